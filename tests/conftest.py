"""No test may charge a ledger of whoever runs it."""

from collections.abc import Iterator

import pytest
from hypothesis import settings


@pytest.fixture(scope="session", autouse=True)
def no_ledger_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LEDGER", "LEDGER_FILE", "REQUIRE_LEDGER", "REQUIRE_END_TO_END"):
            patch.delenv(f"DPSEL_{name}", raising=False)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


# Properties are checked on the same examples every time, and however long one takes on a busy
# machine. `pytest --hypothesis-profile=explore` tries new ones.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("fixed")

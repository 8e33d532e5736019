"""Audits of the command write their files where the tests have theirs."""

import tempfile

import pytest


@pytest.fixture(autouse=True)
def files_of_audits(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.getbasetemp()))

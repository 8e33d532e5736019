"""The notebooks of docs/notebooks: they run as they are, and what they show is stored in them.

`DPSEL_GOLDEN=write pytest -m long tests/test_notebooks.py` stores it anew.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cards.test_pages import Page

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
WRITE = os.environ.get("DPSEL_GOLDEN") == "write"

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def kinds(notebook: Any) -> list[list[list[str]]]:
    """Return what kinds of outputs each cell of code has."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[sorted(one["data"]) for one in cell["outputs"] if "data" in one] for cell in cells]


@pytest.mark.long
@each_notebook
def test_a_notebook_runs_and_shows_what_is_stored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient to run notebooks")
    nbformat = pytest.importorskip("nbformat")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    stored = kinds(notebook)
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    assert list(folder.iterdir()) == []
    if WRITE:
        nbformat.write(notebook, path)
        return
    assert kinds(notebook) == stored


@each_notebook
def test_what_is_stored_was_run_in_order_and_holds_no_script(path: Path) -> None:
    text = path.read_text()
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    shown = [output.get("data", {}) for cell in code for output in cell["outputs"]]
    assert sum("image/png" in data for data in shown) == 1
    pages = [Page("".join(data["text/html"])) for data in shown if "text/html" in data]
    assert len(pages) >= 2
    assert not {"script", "style", "link"} & {tag for page in pages for tag in page.tags}
    assert not [place for place in ("/tmp/", "/home/", "/root/", "/work/") if place in text]
    assert len(text) < 200_000

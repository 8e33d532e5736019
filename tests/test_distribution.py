"""What is shipped: its licence, its metadata, and an installation in an environment of its own."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dpsel
from dpsel.cli.completion import SHELLS

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SELECT = ("select", "sample_data/visits.csv", "--target", "came_back", "--positive", "yes")
ASKED = (*SELECT, "--k", "3", "--epsilon", "1", "--format", "names", "--quiet")
PLANTED = "ward\nglucose\nearlier_visits\n"
# Of the quick set: what meets the libraries most. Browser, cluster and linters are left out.
TESTED = (
    *("tests/core", "tests/tables", "tests/scikit_learn"),
    *("tests/cli/test_select.py", "tests/cli/test_baseline.py"),
)


def test_the_licence_is_apache_2() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    words = " ".join((ROOT / "LICENSE").read_text().split())
    assert words.startswith("Apache License Version 2.0, January 2004")
    assert "END OF TERMS AND CONDITIONS" in words


def test_the_citation_names_this_version() -> None:
    stated = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {dpsel.__version__}\n" in stated
    assert f"\nlicense: {PROJECT['license']}\n" in stated


def test_every_dependency_has_a_lowest_version() -> None:
    extras = PROJECT["optional-dependencies"].values()
    for asked in [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]:
        assert re.fullmatch(r"[a-z-]+>=[0-9.]+", asked), asked


class Environment:
    """A virtual environment with nothing but Python and pip."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self._programs = folder / "bin"

    def run(self, program: str, *arguments: str, folder: Path = ROOT) -> str:
        """Run a program of the environment, and return what it prints."""
        hidden = ("PYTHONPATH", "VIRTUAL_ENV")
        environment = {name: os.environ[name] for name in os.environ if name not in hidden}
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def install(self, *packages: str) -> None:
        """Install packages from the index that pip has; without one the test is skipped."""
        small = ("install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed", "six")
        if subprocess.run([self._programs / "pip", *small], capture_output=True).returncode:
            pytest.skip("pip has no index here")
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", *packages)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of the last commit, checked by twine."""
    work = tmp_path_factory.mktemp("built")
    tools = Environment(work / "tools")
    tools.install("build", "twine")
    source = work / "source"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    tools.run("python", "-m", "build", "--outdir", str(work / "dist"), folder=source)
    files = sorted(map(str, (work / "dist").iterdir()))
    tools.run("twine", "check", "--strict", *files)
    return work / "dist"


@pytest.mark.long
def test_the_wheel_has_the_licence_the_schemas_the_man_page_and_no_tests(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "dpsel/py.typed" in names
    made = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dpsel").rglob("*.json")}
    assert made
    assert made <= set(names)
    assert any(name.endswith(".data/data/share/man/man1/dpsel.1") for name in names)
    assert {f"dpsel/cli/scripts/complete.{shell}" for shell in SHELLS} <= set(names)
    assert not [name for name in names if not name.startswith("dpsel")]


@pytest.mark.long
def test_the_sdist_has_what_its_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "LICENSE",
        "README.md",
        "sample_data/visits.csv",
        "tests/test_docs.py",
        "man/dpsel.1",
    ):
        assert name in names


@pytest.mark.long
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_a_clean_environment_runs_the_sample(built: Path, kind: str, tmp_path: Path) -> None:
    (package,) = built.glob(kind)
    clean = Environment(tmp_path / "clean")
    clean.install(str(package))
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    assert clean.run("dpsel", *ASKED, folder=tmp_path) == PLANTED
    assert clean.run("python", "-m", "dpsel", *ASKED, folder=tmp_path) == PLANTED
    report = ("--report", "r.html", "--trials", "2", "--method", "stump,two-stage", "--quiet")
    table = "sample_data/synthetic_bounded.csv"
    evaluate = ("evaluate", table, "--target", "y", "--k", "2", "--epsilon", "1")
    clean.run("dpsel", *evaluate, *report, folder=tmp_path)
    assert (tmp_path / "r.html").stat().st_size > 10_000


def needed_packages() -> list[str]:
    """Return all dependencies, and what most tests need."""
    kept = ("hypothesis", "jsonschema", "mpmath", "pandas", "pytest", "pytest-xdist")
    tools = PROJECT["optional-dependencies"]["test"]
    return [*PROJECT["dependencies"], *(one for one in tools if one.partition(">=")[0] in kept)]


@pytest.mark.long
def test_the_newest_scikit_learn_passes(tmp_path: Path) -> None:
    newest = Environment(tmp_path / "newest")
    newest.install("--upgrade", *needed_packages())
    newest.run("pip", "install", "--quiet", "--no-deps", str(ROOT))
    newest.run("python", "-m", "pytest", "-q", "-W", "default", "tests/scikit_learn")


@pytest.mark.long
def test_the_lowest_allowed_versions_pass(tmp_path: Path) -> None:
    lowest = [one.replace(">=", "==") for one in needed_packages()]
    oldest = Environment(tmp_path / "oldest")
    oldest.install(*lowest)
    oldest.run("pip", "install", "--quiet", "--no-deps", str(ROOT))
    assert oldest.run("dpsel", *ASKED) == PLANTED
    # Old versions warn of what later ones forbid; that is not what is tested.
    oldest.run("python", "-m", "pytest", "-q", "-W", "default", *TESTED)


def test_python_versions_of_metadata_and_workflow_agree() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    tried = re.findall(r'"(3\.\d+)"', workflow)
    stated = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one]
    assert tried == stated
    assert PROJECT["requires-python"] == f">={stated[0]}"
    assert sys.version_info >= tuple(map(int, stated[0].split(".")))

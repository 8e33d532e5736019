"""The documentation site: `sphinx-build -W docs build/site`, with the extra `docs`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from dpsel import __version__  # noqa: E402

project = "dpsel"
author = "the dpsel developers"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["explanation/reproduce"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_typehints = "none"
napoleon_custom_sections = [("Privacy", "params_style")]
autodoc_member_order = "bysource"
html_theme = "pydata_sphinx_theme"
html_title = f"dpsel {__version__}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}


class HelpText(SphinxDirective):
    """The help of a command, as a terminal of 80 columns shows it."""

    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Run the command with --help."""
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "dpsel", *self.arguments, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        text = "\n".join(lines).strip("\n")
        return [nodes.literal_block(text, text, language="text")]


class RecordFields(SphinxDirective):
    """The fields of a record, from its JSON Schema."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make a list of what the schema describes."""
        schema = json.loads((ROOT / self.arguments[0]).read_text())
        lines = [schema["description"], "", *_fields(schema, "")]
        content = StringList(lines, source=self.arguments[0])
        return self.parse_text_to_nodes("\n".join(content))


def _fields(schema: dict[str, Any], before: str) -> list[str]:
    """Return a line for every field of an object, and of the objects in it."""
    found = []
    for name, about in schema.get("properties", {}).items():
        kinds = about.get("type", "")
        kind = " or ".join(kinds) if isinstance(kinds, list) else kinds
        values = about.get("enum", [about["const"]] if "const" in about else [])
        absent = "" if name in schema.get("required", ()) else "may be absent"
        facts = ", ".join(filter(None, [kind or " or ".join(map(_literal, values)), absent]))
        words = about.get("description", "")
        found.append(
            f"- `{before}{name}`{f' ({facts})' if facts else ''}{f': {words}' if words else ''}"
        )
        found += _fields(about, f"{before}{name}.")
        if isinstance(about.get("items"), dict):
            found += _fields(about["items"], f"{before}{name}[].")
    return found


def _literal(value: object) -> str:
    """Return a value of a record as Markdown."""
    return f"`{json.dumps(value)}`"


class NotebookParser(MystParser):
    """Notebooks as pages, with the outputs that are stored in them."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Turn a notebook into Markdown, and parse that."""
        parts = [part for cell in json.loads(inputstring)["cells"] for part in _cell(cell)]
        super().parse("\n\n".join(parts), document)


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a cell, and what it shows, as Markdown."""
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else _fenced("python", source)
    for output in cell.get("outputs", ()):
        data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
        if "text/html" in data:
            yield _fenced("{raw} html", data["text/html"])
        elif "image/png" in data:
            picture = f"data:image/png;base64,{data['image/png'].strip()}"
            yield _fenced("{raw} html", f'<p><img alt="what this code draws" src="{picture}"></p>')
        elif "text/markdown" in data:
            yield "\n".join(f"> {line}" for line in data["text/markdown"].splitlines())
        else:
            yield _fenced("text", data.get("text/plain", "") or "".join(output["text"]))


def _fenced(kind: str, text: str) -> str:
    """Return a block, whatever it holds."""
    return f"{'`' * 20}{kind}\n{text.rstrip()}\n{'`' * 20}"


def setup(app: Sphinx) -> None:
    """Add the two directives, and notebooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.add_directive("help-text", HelpText)
    app.add_directive("record-fields", RecordFields)

"""MkDocs hooks: tables, pages of commands and notebooks, made when the site is built.

A page holds a comment where a table is wanted:

    <!-- rooms -->              files of the project, with the first lines of their docstrings
    <!-- commands -->           all commands of `sdpbb` with their options
    <!-- parameters -->         parameters of the engine
    <!-- parameters: NAME -->   parameters of a heuristic; "reading": options of reading files

mkdocstrings writes the classes and functions of the reference from their docstrings. Each tutorial
is also a notebook to download: its text and its blocks of code are cells.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from sdpbb.runtime.declaration import (
    Declaration,
    Parameters,
    declarations,
    own_declarations,
)

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[1]
ROOTS = (PROJECT / "sdpbb", PROJECT / "heuristics")
_COMMENT = re.compile(
    r"^<!-- (?P<kind>rooms|commands|parameters)(?:: (?P<name>[\w-]+))? -->$", re.M
)
_CODE = re.compile(r"^```(?P<language>python|sh)\n(?P<code>.*?)^```$", re.M | re.S)
_SKIPPED = re.compile(r"^<!--- skip:.*?-->$", re.M)
_HEAD = "| parameter | default | expected | |\n| --- | --- | --- | --- |"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Return the page with its comments replaced; MkDocs calls this for each page."""
    source = Path(page.file.src_uri)
    if source.parent.name != "tutorials":
        return _COMMENT.sub(_written, markdown)
    path = (Path(config.site_dir) / source).with_suffix(".ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook(markdown), path)
    return f'{markdown}\n\n<a href="../{path.name}" download>This page as a notebook</a>\n'


def notebook(markdown: str) -> nbformat.NotebookNode:
    """Return a page as a notebook, to be run in the folder of the checkout."""
    text = _SKIPPED.sub("", markdown)
    cells, end = [], 0
    for block in _CODE.finditer(text):
        cells.append(new_markdown_cell(text[end : block.start()].strip()))
        shell = "%%bash\n" if block["language"] == "sh" else ""
        cells.append(new_code_cell(shell + block["code"].rstrip()))
        end = block.end()
    cells.append(new_markdown_cell(text[end:].strip()))
    return new_notebook(cells=[cell for cell in cells if cell.source])


def _written(comment: re.Match[str]) -> str:
    if comment["kind"] == "rooms":
        return _rooms()
    if comment["kind"] == "commands":
        return _commands()
    if comment["name"] is None:
        return _engine_parameters()
    if comment["name"] == "reading":
        from sdpbb.runtime.reading import Reading

        return _table(own_declarations(Reading).values())
    return _heuristic_parameters(comment["name"])


def _rooms() -> str:
    """Return a section for each package, with a table of its files."""
    sections = []
    for package in sorted({path.parent for root in ROOTS for path in root.rglob("*.py")}):
        files = sorted(path for path in package.glob("*.py") if path.name != "__init__.py")
        rows = [f"| `{path.name}` | {_first_line(path)} |" for path in files]
        name = package.relative_to(PROJECT).as_posix()
        head = f"## `{name}/`\n\n{_first_line(package / '__init__.py')}"
        sections.append("\n".join([head, "", "| file | |", "| --- | --- |", *rows]))
    return "\n\n".join(sections)


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def _commands() -> str:
    """Return the help of all commands, as cyclopts writes it in Markdown."""
    from cyclopts.docs.markdown import generate_markdown_docs

    from sdpbb.app.cli.app import application

    return generate_markdown_docs(application(), heading_level=2, generate_toc=False)


def _engine_parameters() -> str:
    """Return a section for each component, with a table of its parameters."""
    from sdpbb.run.parameters import SolverParameters

    sections: list[tuple[str, list[Declaration]]] = [("", [])]
    for each in declarations(SolverParameters):
        if isinstance(each.default, Parameters):
            story = (type(each.default).__doc__ or "").partition("\n\n")[2]
            sections.append((f"## {each.path}\n\n{each.help}\n\n{' '.join(story.split())}\n\n", []))
        else:
            sections[-1][1].append(each)
    # A component of components has no table of its own.
    return "\n\n".join(head + (_table(rows) if rows else "") for head, rows in sections)


def _heuristic_parameters(name: str) -> str:
    """Return a table of the parameters of a heuristic: first its own, then inherited ones."""
    from heuristics.registry import method_class, method_parameters

    declared = dict(method_parameters(name))
    del declared["time_limit"]  # every heuristic has it
    own = vars(method_class(name)).get("__annotations__", {})
    return _table(sorted(declared.values(), key=lambda each: each.name not in own))


def _table(rows: Any) -> str:
    return "\n".join([_HEAD, *map(_row, rows)])


def _row(declaration: Declaration) -> str:
    text = f"{declaration.help} {declaration.reason}".strip().replace("|", "\\|")
    return f"| `{declaration.path}` | `{declaration.default}` | {declaration.expected} | {text} |"

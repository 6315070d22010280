"""MkDocs hook: tables of parameters and pages of commands, made when the site is built.

A page holds a comment where a table is wanted:

    <!-- commands -->           all commands of `sdpbb` with their options
    <!-- parameters -->         parameters of the engine
    <!-- parameters: NAME -->   parameters of a heuristic; "reading": options of reading files

mkdocstrings writes the classes and functions of the reference from their docstrings.
"""

from __future__ import annotations

import re
from typing import Any

from sdpbb.runtime.declaration import (
    Declaration,
    Parameters,
    declarations,
    own_declarations,
)

_COMMENT = re.compile(r"^<!-- (?P<kind>commands|parameters)(?:: (?P<name>[\w-]+))? -->$", re.M)
_HEAD = "| parameter | default | expected | |\n| --- | --- | --- | --- |"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with its comments replaced; MkDocs calls this for each page."""
    return _COMMENT.sub(_written, markdown)


def _written(comment: re.Match[str]) -> str:
    if comment["kind"] == "commands":
        return _commands()
    if comment["name"] is None:
        return _engine_parameters()
    if comment["name"] == "reading":
        from sdpbb.runtime.reading import Reading

        return _table(own_declarations(Reading).values())
    return _heuristic_parameters(comment["name"])


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

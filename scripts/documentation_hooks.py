"""Generated parts of the documentation: help texts of the command line, and the parameters.

A line `{{ help NAME }}` of a page becomes what `sdpbb NAME --help` prints, `{{ parameters }}` the
parameters of the engine, as they are declared, and `{{ parameters NAME }}` those of a heuristic.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdpbb.declaration import Declaration

_HEAD = "| parameter | default | expected | |\n| --- | --- | --- | --- |"
_HEURISTIC = re.compile(r"^\{\{ parameters ([a-z-]+) \}\}$", re.MULTILINE)
_HELP = re.compile(r"^\{\{ help ?([a-z ]*) \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **context: Any) -> str:
    """Insert generated parts into a page: MkDocs calls this with the text of each page."""
    markdown = markdown.replace("{{ parameters }}", _parameters())
    markdown = _HEURISTIC.sub(lambda found: _heuristic_parameters(found[1]), markdown)
    return _HELP.sub(lambda found: f"```text\n{_help_text(found[1])}```", markdown)


@cache
def _parameters() -> str:
    """Return a section for each component, with a table of its parameters."""
    from sdpbb.declaration import Parameters, declarations
    from sdpbb.parameters import SolverParameters

    lines = [_HEAD]
    for each in declarations(SolverParameters):
        if isinstance(each.default, Parameters):
            lines += ["", f"## {each.path}", "", each.help, ""]
            story = " ".join((type(each.default).__doc__ or "").split("\n\n", 1)[1:]).split()
            lines += [" ".join(story), ""] if story else []
            lines += [_HEAD]
        else:
            lines.append(_row(each))
    # A component of components has no table of its own.
    return "\n".join(lines).replace(f"{_HEAD}\n\n", "")


def _heuristic_parameters(name: str) -> str:
    """Return a table of the parameters of a heuristic.

    Its own come before those that it inherits, without the time limit, which all have.
    """
    from heuristics.registry import method_class, method_parameters

    declared = dict(method_parameters(name))
    del declared["time_limit"]
    own = vars(method_class(name)).get("__annotations__", {})
    rows = sorted(declared.values(), key=lambda each: each.name not in own)
    return "\n".join([_HEAD, *map(_row, rows)])


def _row(declaration: Declaration) -> str:
    text = f"{declaration.help} {declaration.reason}".strip().replace("|", "\\|")
    default = f"`{declaration.default}`"
    return f"| `{declaration.path}` | {default} | {declaration.expected} | {text} |"


@cache
def _help_text(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "88", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sdpbb", *command.split(), "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout

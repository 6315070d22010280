"""Generated parts of the documentation: help texts of the command line, and the parameters.

A line `{{ help NAME }}` of a page becomes what `sdpbb NAME --help` prints, and `{{ parameters }}`
the parameters of the engine, as they are declared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from typing import Any

_HELP = re.compile(r"^\{\{ help ?([a-z ]*) \}\}$", re.MULTILINE)


def on_page_markdown(markdown: str, **context: Any) -> str:
    """MkDocs calls this with the text of each page."""
    markdown = markdown.replace("{{ parameters }}", _parameters())
    return _HELP.sub(lambda found: f"```text\n{_help_text(found[1])}```", markdown)


@cache
def _parameters() -> str:
    """A section for each component, with a table of its parameters."""
    from sdpbb.declaration import Parameters, declarations
    from sdpbb.parameters import SolverParameters

    head = "| parameter | default | expected | |\n| --- | --- | --- | --- |"
    lines = [head]
    for each in declarations(SolverParameters):
        if isinstance(each.default, Parameters):
            lines += ["", f"## {each.path}", "", each.help, ""]
            story = " ".join((type(each.default).__doc__ or "").split("\n\n", 1)[1:]).split()
            lines += [" ".join(story), ""] if story else []
            lines += [head]
        else:
            text = f"{each.help} {each.reason}".strip().replace("|", "\\|")
            row = (f"`{each.path}`", f"`{each.default}`", each.expected, text)
            lines.append(f"| {' | '.join(row)} |")
    # A component of components has no table of its own.
    return "\n".join(lines).replace(f"{head}\n\n", "")


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

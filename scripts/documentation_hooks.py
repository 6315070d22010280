"""What the documentation is made with besides its pages: help texts of the command line.

A line `{{ help NAME }}` of a page becomes what `sdpbb NAME --help` prints.
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
    return _HELP.sub(lambda found: f"```text\n{_help_text(found[1])}```", markdown)


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

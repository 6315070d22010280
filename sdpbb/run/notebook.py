"""Progress of runs in a notebook: one output, which is updated in place."""

from __future__ import annotations

import sys
from typing import Any

from sdpbb.run.report import COMPILING, ProgressTable
from sdpbb.runtime.rendering import element
from sdpbb.search.events import Compiling, Event, Observer, ignore

# Lines that are shown from the beginning, with the heading of the table, and from the end.
FIRST, LAST = 7, 24


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook. IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookStream:
    """Text of one output of a notebook, of which the beginning and the end are shown."""

    def __init__(self) -> None:
        self._text = ""
        self._output: Any = None

    def write(self, text: str) -> int:
        self._text += text
        return len(text)

    def flush(self) -> None:
        from IPython.display import HTML, display

        # Contents are text, and its style is inherited: it is read on light and dark pages alike.
        shown = HTML(element("pre", self._shown(), style="line-height:1.2").html)
        if self._output is None:
            self._output = display(shown, display_id=True)
        else:
            self._output.update(shown)

    def _shown(self) -> str:
        lines = self._text.splitlines()
        if len(lines) > FIRST + LAST:
            lines = [*lines[:FIRST], "  ...", *lines[-LAST:]]
        return "\n".join(lines)


def progress_table() -> ProgressTable:
    """Return the observer that shows the progress table: in the notebook, or as printed lines."""
    return ProgressTable(NotebookStream() if in_notebook() else None)


def announcement() -> Observer:
    """Return the observer of a run without a table: in a notebook it tells of compilation."""
    if not in_notebook():
        return ignore
    stream = NotebookStream()

    def announce(event: Event) -> None:
        if isinstance(event, Compiling):
            stream.write(f"{COMPILING}\n")
            stream.flush()

    return announce

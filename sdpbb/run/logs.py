"""Log of runs by Python's logging, under the name "sdpbb"; it is heard where the user asks for it.

>>> import logging
>>> logging.basicConfig(level=logging.INFO)  # doctest: +SKIP
"""

from __future__ import annotations

import logging

from sdpbb.run.report import instance_line, notice
from sdpbb.runtime.values import percent_up
from sdpbb.search.events import (
    CheckpointFailed,
    Event,
    Finished,
    MemoryShort,
    Progress,
    Started,
    SubsetLost,
    WorkerLost,
)

LOGGER = logging.getLogger("sdpbb")
# Without a handler Python writes warnings to standard error.
LOGGER.addHandler(logging.NullHandler())

_WARNINGS = (MemoryShort, WorkerLost, SubsetLost, CheckpointFailed)


def log(event: Event) -> None:
    """Observe a run: warnings, its beginning and its end (INFO), new clusterings (DEBUG)."""
    match event:
        case Started():
            LOGGER.info("%s", instance_line(event))
        case Progress(source=source) if source:
            LOGGER.debug(
                "clustering of %s: %.10g, lower bound %.10g, gap %s, after %.1f s",
                *(source, event.upper, event.lower, percent_up(event.gap), event.seconds),
            )
        case Finished(result):
            for note in result.notes:
                LOGGER.warning("%s", note)
            LOGGER.info("%s", result)
        case _:
            if text := notice(event):
                level = logging.WARNING if isinstance(event, _WARNINGS) else logging.INFO
                LOGGER.log(level, "%s", text)

"""Reports of a run: progress table, summary and log.

Every run logs to `sdpbb` of Python's logging. To see it:

>>> import logging
>>> logging.basicConfig(level=logging.INFO)  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import math
import sys
from typing import TextIO

from sdpbb.problem import Instance
from sdpbb.runtime.document import plain_text
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import counted, percent_up, rounded_down
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import (
    CertificateWritten,
    CheckpointFailed,
    Compiling,
    Event,
    Finished,
    MemoryShort,
    NodeEnd,
    NodeLeft,
    Progress,
    Started,
    SubsetLost,
    SubsetsChosen,
    WorkerCrashed,
)
from sdpbb.search.result import Result

LOGGER = logging.getLogger("sdpbb")
# Without a handler Python writes warnings to standard error.
LOGGER.addHandler(logging.NullHandler())
WARNINGS = (MemoryShort, WorkerCrashed, NodeLeft, SubsetLost, CheckpointFailed)

# Minimum seconds between two lines without a new clustering.
INTERVAL = 0.5

# Source of a new clustering: the letter in the first column.
SOURCES = {"start": "L", "k-means++": "K", "sdp": "S", "bounding": "B"}
OTHER_SOURCE = "H"

COMPILING = "Compiling kernels: once per machine and version"
LEGEND = "New clusterings: L given labels, K k-means++, S sdp, B bounding, H other heuristics"
HEADING = (
    f"  {'nodes':>7} {'open':>6} {'lower':>14} {'upper':>14} {'gap':>9} {'cuts':>8} {'time':>9}"
)

WITHOUT_BOUND = (
    "only heuristics run; the only bound is the scatter inside blocks (no bound for a certificate)"
)
IGNORED_BY_SUBSETS = (
    "bounds of subsets ignore minimum sizes, listed sizes, limits on weights, and constraints "
    "between subsets"
)


class ProgressTable:
    """Observer that writes a line-by-line log of the run, then the summary.

    Plain ASCII, flushed after every line, so that it looks the same in a terminal, a pipe and an
    open file. At most one line per INTERVAL, except for new clusterings. The heading of the table
    comes with its first row.

    stream : None: standard output
    version : of this installation; None: look it up
    summarise : whether to write the summary; otherwise the caller does
    """

    def __init__(
        self, stream: TextIO | None = None, version: str | None = None, summarise: bool = True
    ) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._version = installed_version() if version is None else version
        self._summarise = summarise
        self._printed_at = -math.inf
        self._heading = ""  # until the first row of the table

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self._write(_header(event, self._version))
                self._heading = f"{LEGEND}\n\n{HEADING}"
            case Progress():
                if event.source or event.seconds - self._printed_at >= INTERVAL:
                    self._printed_at = event.seconds
                    self._row(progress_line(event))
            case SubsetsChosen():
                self._row(subsets_line(event))
            case Finished(result):
                if self._summarise:
                    self._write("\n" + summary(result))
            case _:
                if text := notice(event):
                    self._write(text)

    def _row(self, text: str) -> None:
        if self._heading:
            self._write(self._heading)
            self._heading = ""
        self._write(text)

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


def notice(event: Event) -> str:
    """Return one line on a rare event; "" for other events."""
    match event:
        case Compiling():
            return COMPILING
        case MemoryShort(n_blocks, needed, available, bounding, workers):
            with_workers = f"with {counted(workers, 'worker')}"
            instead = {None: WITHOUT_BOUND, "colgen": "bounding by column generation alone"}
            return (
                f"memory: a node of {counted(n_blocks, 'block')} needs about {needed:.0f} MiB, "
                f"{max(0.0, available):.0f} MiB are free: "
                f"{instead.get(bounding, with_workers)}"
            )
        case WorkerCrashed(reason):
            return f"a worker crashed ({reason}); what it evaluated is evaluated again"
        case NodeLeft(node, end=NodeEnd.LOST):
            return f"node {node}: two workers crashed; node abandoned, its bound stays valid"
        case SubsetLost(n_blocks):
            return (
                f"subset of {counted(n_blocks, 'block')}: two workers crashed; subset abandoned, "
                "its bound stays valid"
            )
        case CheckpointFailed(path, reason, finished):
            then = "" if finished else "; the run will try again"
            return f"checkpoint {shown_path(path)} not written ({reason}){then}"
        case CertificateWritten(path, n_bytes):
            size = f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:.1f} kB"
            return f"certificate {shown_path(path)} written ({size})"
    return ""


def ignored_by_subsets(instance: Instance) -> list[str]:
    """Return the note on constraints that bounds of subsets ignore, if there are any."""
    stated = instance.min_size, instance.min_weight, instance.max_weight, instance.sizes
    has_limits = any(limit is not None for limit in stated)
    has_pairs = len(instance.cannot_link) or instance.has_soft_constraints
    return [IGNORED_BY_SUBSETS] if has_limits or has_pairs else []


def subsets_line(chosen: SubsetsChosen) -> str:
    """Return one row of the table: the subsets that are bounded next."""
    text = f"  {counted(chosen.n_subsets, 'subset')} of up to {counted(chosen.n_blocks, 'block')}"
    return f"{text:<{len(HEADING) - 9}}{chosen.seconds:8.1f}s"


def progress_line(progress: Progress) -> str:
    """Return one row of the table under HEADING."""
    letter = SOURCES.get(progress.source, OTHER_SOURCE) if progress.source else " "
    lower, upper = progress.lower, progress.upper
    return (
        f"{letter} {progress.n_nodes:7d} {progress.n_open:6d} "
        f"{rounded_down(lower, 8) if math.isfinite(lower) else '-':>14} "
        f"{f'{upper:.8g}' if math.isfinite(upper) else '-':>14} "
        f"{percent_up(progress.gap):>9} {progress.n_cuts:8d} {progress.seconds:8.1f}s"
    )


def summary(result: Result) -> str:
    """Return the summary of a result in several lines."""
    return plain_text(result.document())


def instance_line(instance: Instance) -> str:
    """Return one line: the instance, its points and its constraints."""
    weighted = " with weights" if instance.weights is not None else ""
    said = [
        counted(instance.n_points, "point") + weighted,
        counted(instance.n_features, "feature"),
        f"k = {instance.k}",
        *instance.constraints_in_words,
    ]
    return f"{shown_path(instance.name) or 'unnamed'}: {', '.join(said)}"


def _header(started: Started, version: str) -> str:
    """Return the lines on the start of a run: instance, blocks, and checkpoint."""
    lines = [
        f"sdpbb {version}: exact constrained minimum sum-of-squares clustering",
        instance_line(started.instance),
    ]
    n_points, n_blocks, n_equal = started.instance.n_points, started.n_blocks, started.n_equal
    if n_blocks == n_points:
        lines.append(f"blocks to cluster: the {n_points:,} points, as nothing is merged")
    elif n_blocks:  # else the instance is infeasible at once
        linked = ["must-linked points"] if n_blocks + n_equal < n_points else []
        equal = [counted(n_equal, "equal point")] if n_equal else []
        lines.append(
            f"after merging {' and '.join(linked + equal)}: {n_blocks:,} blocks (points or "
            f"groups), {counted(started.n_cannot_link, 'cannot-link')} between them"
        )
    if (resumed := started.resumed) is not None:
        lines.append(
            f"resumed from {shown_path(resumed.path)}: {counted(resumed.n_nodes, 'node')} done, "
            f"{resumed.n_open} open, {resumed.seconds:.1f} s"
        )
    return "\n".join(lines)


def log(event: Event) -> None:
    """Log a run: warnings, start and end (INFO), new clusterings (DEBUG)."""
    match event:
        case Started(instance):
            LOGGER.info("%s", instance_line(instance))
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
                level = logging.WARNING if isinstance(event, WARNINGS) else logging.INFO
                LOGGER.log(level, "%s", text)

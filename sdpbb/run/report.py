"""Reports of a run: progress table, summary and log.

Runs are logged by Python's logging, under the name "sdpbb"; it is heard where the user asks for it.

>>> import logging
>>> logging.basicConfig(level=logging.INFO)  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import math
import sys
from typing import Protocol

from sdpbb.problem import Instance
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.rendering import plain_text
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
    Observer,
    Progress,
    Resumed,
    Started,
    SubsetLost,
    SubsetsChosen,
    WorkerCrashed,
    ignore,
)
from sdpbb.search.result import Result

LOGGER = logging.getLogger("sdpbb")
# Without a handler Python writes warnings to standard error.
LOGGER.addHandler(logging.NullHandler())
_WARNINGS = (MemoryShort, WorkerCrashed, NodeLeft, SubsetLost, CheckpointFailed)

# Seconds between two lines that tell of no new clustering.
INTERVAL = 0.5

# Where a new clustering came from: the letter in the first column.
SOURCES = {"start": "L", "k-means++": "K", "sdp": "S", "bounding": "B"}
OTHER_SOURCE = "H"

COMPILING = "Compiling kernels: once per machine and version"
LEGEND = "New clusterings: L given labels, K k-means++, S sdp, B bounding, H other heuristics"
HEADING = (
    f"  {'nodes':>7} {'open':>6} {'lower':>14} {'upper':>14} {'gap':>9} {'cuts':>8} {'time':>9}"
)

SUM_OF_SUBSETS = (
    "  subsets: the lower bound is the sum over the subsets bounded so far, so it starts low"
)
RULES_OF_SUBSETS = (
    "  (of limits on clusters the upper ones alone, of soft constraints those inside)"
)


class TextStream(Protocol):
    """Interface of what text is written to."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class ProgressTable:
    """Observer that writes a line-by-line log of the run, then the summary.

    Plain ASCII, flushed after every line, so that it reads the same in a terminal, through a pipe
    and from a file that is still written to. At most one line per INTERVAL, apart from those of
    new clusterings. The heading of the table comes with its first row.

    stream : where to; None for standard output
    version : of this installation; None to find it out
    summarise : whether to write the summary, or to leave it to who knows more than the run does
    """

    def __init__(
        self, stream: TextStream | None = None, version: str | None = None, summarise: bool = True
    ) -> None:
        self._stream: TextStream = sys.stdout if stream is None else stream
        self._version = installed_version() if version is None else version
        self._summarise = summarise
        self._printed_at = -math.inf
        self._held_back: Progress | None = None
        self._heading = ""  # until the first row of the table
        self._on_subsets = ""  # a remark on bounds of subsets, which is written once

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self._write(_header(event, self._version))
                self._heading = f"{LEGEND}\n\n{HEADING}"
                instance, self._on_subsets = event.instance, SUM_OF_SUBSETS
                if instance.stated_limits or instance.has_soft_constraints:
                    self._on_subsets += f"\n{RULES_OF_SUBSETS}"
            case Progress():
                self._progress(event)
            case SubsetsChosen():
                if self._on_subsets:
                    self._row(self._on_subsets)
                self._on_subsets = ""
                self._row(subsets_line(event))
            case Finished(result):
                if self._held_back is not None:
                    self._row(progress_line(self._held_back))
                if self._summarise:
                    self._write("\n" + summary(result))
            case _:
                if text := notice(event):
                    self._write(text)

    def _progress(self, progress: Progress) -> None:
        if not progress.source and progress.seconds - self._printed_at < INTERVAL:
            self._held_back = progress
            return
        self._held_back = None
        self._printed_at = progress.seconds
        self._row(progress_line(progress))

    def _row(self, text: str) -> None:
        if self._heading:
            self._write(self._heading)
            self._heading = ""
        self._write(text)

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


def notice(event: Event) -> str:
    """Return one line on an event that is seldom; "" for the others."""
    match event:
        case Compiling():
            return COMPILING
        case MemoryShort():
            return memory_shortage(event)
        case WorkerCrashed(reason):
            return f"a worker crashed ({reason}); what it evaluated is evaluated again"
        case NodeLeft(node, end=NodeEnd.LOST):
            return f"node {node}: two workers crashed; node abandoned, its bound stays valid"
        case SubsetLost(n_blocks):
            return (
                f"subset of {counted(n_blocks, 'block')}: two workers crashed; subset abandoned, "
                "its bound stays valid"
            )
        case CheckpointFailed():
            return checkpoint_failure(event)
        case CertificateWritten(path, n_bytes):
            size = f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:.1f} kB"
            return f"certificate {shown_path(path)} written ({size})"
    return ""


def memory_shortage(short: MemoryShort) -> str:
    """Return one line: what is done where the chosen bounding does not fit the memory."""
    instead = {
        None: "only heuristics run; the only bound is the scatter inside blocks (no bound for a "
        "certificate)",
        "colgen": "bounding by column generation alone",
    }.get(short.bounding, f"with {counted(short.workers, 'worker')}")
    return (
        f"memory: a node of {counted(short.n_blocks, 'block')} needs about {short.needed:.0f} "
        f"MiB, {max(0.0, short.available):.0f} MiB are free: {instead}"
    )


def checkpoint_failure(failed: CheckpointFailed) -> str:
    """Return one line: the checkpoint that could not be written, and what its file holds."""
    name, written = shown_path(failed.path), failed.written
    there = "does not exist" if written is None else f"holds the state after {written:.1f} s"
    then = "" if failed.finished else "; the run will try again"
    return f"checkpoint {name} not written ({failed.reason}): it {there}{then}"


def subsets_line(chosen: SubsetsChosen) -> str:
    """Return one row of the table: the subsets that are bounded from here on."""
    text = f"  {counted(chosen.n_subsets, 'subset')} of up to {counted(chosen.n_blocks, 'block')}"
    if chosen.n_dropped:
        text += f", {counted(chosen.n_dropped, 'cannot-link')} across"
    return f"{text:<{len(HEADING) - 9}}{chosen.seconds:8.1f}s"


def progress_line(progress: Progress) -> str:
    """Return one row of the table under HEADING."""
    letter = SOURCES.get(progress.source, OTHER_SOURCE) if progress.source else " "
    return (
        f"{letter} {progress.n_nodes:7d} {progress.n_open:6d} {_lower(progress.lower):>14} "
        f"{_upper(progress.upper):>14} {percent_up(progress.gap):>9} {progress.n_cuts:8d} "
        f"{progress.seconds:8.1f}s{_subsets_done(progress)}"
    )


def _subsets_done(progress: Progress) -> str:
    """Return a remark on a bound that is the sum over some of the subsets."""
    if progress.subsets is None:
        return ""
    n_done, n_chosen = progress.subsets
    return f"  bound of subsets: {n_done} of {n_chosen}"


def summary(result: Result) -> str:
    """Return the summary of a result: what is proven, and what it took, over several lines."""
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
    lines = [
        f"sdpbb {version}: exact constrained minimum sum-of-squares clustering",
        instance_line(started.instance),
        _blocks_line(started),
        _resumption(started.resumed),
    ]
    return "\n".join(filter(None, lines))


def _blocks_line(started: Started) -> str:
    """Return one line on the blocks, which other lines count."""
    n_points = started.instance.n_points
    if not started.n_blocks:  # the instance is infeasible at once
        return ""
    if started.n_blocks == n_points:
        return f"blocks to cluster: the {n_points:,} points, as nothing is merged"
    linked = ["must-linked points"] if started.n_blocks + started.n_equal < n_points else []
    equal = [counted(started.n_equal, "equal point")] if started.n_equal else []
    return (
        f"after merging {' and '.join(linked + equal)}: {started.n_blocks:,} blocks (points or "
        f"groups), {counted(started.n_cannot_link, 'cannot-link')} between them"
    )


def _resumption(resumed: Resumed | None) -> str:
    if resumed is None:
        return ""
    return (
        f"resumed from {shown_path(resumed.path)}: {counted(resumed.n_nodes, 'node')} done, "
        f"{resumed.n_open} open, {resumed.seconds:.1f} s"
    )


def _lower(bound: float) -> str:
    return rounded_down(bound, 8) if math.isfinite(bound) else "-"


def _upper(cost: float) -> str:
    return f"{cost:.8g}" if math.isfinite(cost) else "-"


def log(event: Event) -> None:
    """Observe a run: warnings, its beginning and its end (INFO), new clusterings (DEBUG)."""
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
                level = logging.WARNING if isinstance(event, _WARNINGS) else logging.INFO
                LOGGER.log(level, "%s", text)


def announcement() -> Observer:
    """Return the observer of a run without a table: in a notebook it prints of compilation.

    IPython is not imported for it.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return ignore
    return lambda event: print(COMPILING) if isinstance(event, Compiling) else None

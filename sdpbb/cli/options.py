"""The options that several commands take. None stands for what was not given."""

from __future__ import annotations

import os
from enum import Enum
from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Points: a first line 'n d k' or 'n d' and n rows of d numbers, or CSV.",
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option("-k", metavar="K", help="Number of clusters.", show_default="as DATA says"),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random choices.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="S", help="Stop after S seconds of the whole run."),
]
NodeLimit = Annotated[
    int | None,
    typer.Option(metavar="N", help="Stop after N nodes of the whole run."),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(metavar="MIB", help="Stop when the processes of the run occupy more than MIB."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Processes that evaluate nodes, once there are several; not with --dask."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Have nodes evaluated by the workers of a Dask cluster, whose scheduler is at "
        "ADDRESS (tcp://host:8786).",
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the state of the run to a new FILE every few seconds, for 'sdpbb resume'.",
    ),
]
Json = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write the result as JSON; '-' is standard output, and sends the log to standard "
        "error.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write the labels, one per line, in the order of the points, if there is a "
        "clustering; '-' as for --json.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


class Bounding(Enum):
    """Where lower bounds come from."""

    SDP = "sdp"
    COLGEN = "colgen"
    HYBRID = "hybrid"


class BranchingRule(Enum):
    """How the pair of points to branch on is chosen."""

    STRONG = "strong"
    MOST_UNDECIDED = "most-undecided"


def given(**options: object) -> dict[str, object]:
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

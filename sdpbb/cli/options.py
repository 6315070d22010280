"""Options that several commands take; None stands for one that is not given."""

from __future__ import annotations

import os
from enum import Enum, StrEnum
from typing import Annotated

import typer

from sdpbb.cli.exits import DEBUG

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Points: a first line 'n d k' or 'n d' and n rows of d numbers; CSV; Parquet "
        "(.parquet); or a NumPy array (.npy).",
    ),
]
IndexColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column of DATA (CSV or Parquet) that names the rows: messages and constraints "
        "call them so.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="A column of DATA (CSV or Parquet) that is no feature, such as a class; may be "
        "repeated. Without a heading, columns are called 1, 2, ...",
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option("-k", metavar="K", help="Number of clusters.", show_default="as DATA says"),
]
Constraints = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Lines 'ML i j' and 'CL i j' with row numbers from 0, 'GAMMA x' (maximum diameter), "
        "'DELTA x' (minimum separation); on single clusters: "
        "'MAXSIZE n', 'OVERLAP l i j ...', 'DIFFERENCE l i j ...', 'SOFTCL l i j i j ...'.",
    ),
]


class ConstraintsFileFormat(StrEnum):
    """Formats of files of constraints: the names of `CONSTRAINT_FORMATS`."""

    PC_SOS_SDP = "pc-sos-sdp"
    CCCG = "cccg"
    PCCC = "pccc"
    MATRIX = "matrix"


ConstraintsFormat = Annotated[
    ConstraintsFileFormat | None,
    typer.Option(
        show_default="what the file looks like",
        help="The format of FILE: lines 'ML i j'; lines 'i j 1' and 'i j -1'; JSON with lists ml, "
        "cl, sml, scl; or a matrix of 1, -1 and 0.",
    ),
]
OneBased = Annotated[
    bool, typer.Option("--one-based", help="The first row is number 1, not 0, in FILE.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random choices.")]
ParametersFile = Annotated[
    str | None,
    typer.Option(
        "--parameters",
        metavar="FILE",
        help="Parameters of the engine in TOML, as 'sdpbb parameters --toml' prints them; other "
        "options take precedence.",
    ),
]
EngineSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", show_default=False, help="Seed of the random choices.  [default: 0]"
    ),
]
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
Certificate = Annotated[
    str | None,
    typer.Option(
        metavar="OUT",
        help="Write a proof of the result that 'sdpbb verify' checks without the engine.",
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
Gap = Annotated[
    float | None,
    typer.Option(
        metavar="G",
        show_default=False,
        help="Stop when (upper - lower) / upper is at most G.  [default: 0.0001]",
    ),
]
Fixing = Annotated[
    bool | None,
    typer.Option(
        "--fixing/--no-fixing",
        show_default=False,
        help="Fix pairs that every better clustering links one way.  [default: fixing]",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


class Bounding(Enum):
    """Where lower bounds come from."""

    SDP = "sdp"
    COLGEN = "colgen"
    HYBRID = "hybrid"


class SdpSolver(Enum):
    """Who solves the semidefinite relaxations."""

    ADMM = "admm"
    CLARABEL = "clarabel"
    SCS = "scs"


BoundingOption = Annotated[
    Bounding | None,
    typer.Option(
        "--bounding",
        show_default=False,
        help="Where lower bounds come from: the semidefinite relaxation; column generation, "
        "for many small clusters; or both, each where it is the better one.  [default: hybrid]",
    ),
]
SdpSolverOption = Annotated[
    SdpSolver | None,
    typer.Option(
        "--sdp-solver",
        show_default=False,
        help="Who solves the semidefinite relaxations: the method of this program, or an "
        "established conic solver, for a second opinion on up to 150 blocks, which takes far "
        "longer. What counts is proven in the same way.  [default: admm]",
    ),
]


def _show_tracebacks(wanted: bool) -> None:
    if wanted:
        os.environ[DEBUG] = "1"


Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_show_tracebacks,
        is_eager=True,
        help="Show where an internal error happened.",
    ),
]


def given(**options: object) -> dict[str, object]:
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def files(*paths: str | None) -> list[str]:
    """Return the paths of the files that are given."""
    return [path for path in paths if path is not None]


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Events of a run, which its observer receives. The engine prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sdpbb.problem import Instance
from sdpbb.search.result import Result


@dataclass(frozen=True)
class Resumed:
    """The state from which a run goes on.

    path : the checkpoint
    n_nodes, n_open, seconds : nodes evaluated, nodes open, and seconds spent until then
    """

    path: str
    n_nodes: int
    n_open: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Started:
    """The instance has been contracted.

    n_blocks, n_cannot_link : blocks, and cannot-links between them; 0 if contraction has refuted it
    n_equal : points that were joined with equal ones
    resumed : the state from which the run goes on; None for a run from the beginning
    """

    instance: Instance
    n_blocks: int
    n_cannot_link: int
    n_equal: int = 0
    resumed: Resumed | None = None


@dataclass(frozen=True)
class Compiling:
    """Kernels are being compiled: once per machine and version, for seconds rather than minutes."""


@dataclass(frozen=True)
class MemoryShort:
    """Bounding a node as asked for takes more memory than there is, in MiB.

    This is done instead: the bounding used, or None at all, and the number of worker
    processes.
    """

    n_blocks: int
    needed: float
    available: float
    bounding: str | None
    workers: int


@dataclass(frozen=True)
class Progress:
    """The state of the search: after a bound, a heuristic or a node.

    source is "" or names where a new incumbent came from ("k-means++", "sdp", "colouring",
    "bounding", "start"). upper and gap are inf while there is no clustering.
    """

    seconds: float
    n_nodes: int
    n_open: int
    lower: float
    upper: float
    gap: float
    n_cuts: int
    source: str = ""


@dataclass(frozen=True)
class SubsetsChosen:
    """Subsets are bounded next, whose sum bounds the root.

    n_subsets : of a level that are to be bounded
    n_blocks : of the largest of them
    """

    seconds: float
    n_subsets: int
    n_blocks: int


@dataclass(frozen=True)
class SubsetsBounded:
    """The subsets chosen last are bounded, as far as limits have allowed.

    n_subsets, n_blocks, began : what `SubsetsChosen` has said of them
    n_bounded : subsets of them that are done with
    ended : seconds of the run until now
    lower : bound of the whole: the best sum of the bounds of subsets
    """

    n_subsets: int
    n_bounded: int
    n_blocks: int
    began: float
    ended: float
    lower: float


class NodeEnd(Enum):
    """The end of a node."""

    BRANCHED = "branched"
    """It was replaced by two, which `Branched` tells of."""
    CLOSED = "closed"
    """To the tolerance, no clustering of the node is better than the incumbent."""
    INFEASIBLE = "infeasible"
    """No clustering keeps its decisions."""
    LOST = "lost"
    """Two workers died of it: the bound it had is all that will be known."""
    UNPROVEN = "unproven"
    """Its bound leaves a gap that floating-point numbers cannot close."""
    OPEN = "open"
    """The run ended before it was finished."""


@dataclass(frozen=True)
class NodeLeft:
    """A node is done with, for the reason given.

    `lower` is proven for its clusterings, inf if it has none. The root is node 0.
    """

    node: int
    lower: float
    end: NodeEnd


@dataclass(frozen=True)
class Branched:
    """A node with this bound was replaced by two, of these numbers.

    The points of the pair share a cluster in one, and do not in the other.
    """

    node: int
    lower: float
    pair: tuple[int, int]
    together: int
    apart: int


@dataclass(frozen=True)
class WorkerCrashed:
    """A worker died, for the first time of its node or subset, which another one begins again.

    reason : how it ended, such as "was ended by SIGKILL"
    """

    reason: str


@dataclass(frozen=True)
class SubsetLost:
    """The worker that bounded a subset died, twice; the subset keeps the bound it has.

    n_blocks : of the subset
    """

    n_blocks: int


@dataclass(frozen=True)
class CheckpointFailed:
    """The state of the run could not be written; the run goes on and tries again.

    Told once, until a checkpoint has been written again, and at the end if there is none of the
    end.

    path, reason : where, and why not
    finished : whether the run has ended, so that nothing is tried again
    """

    path: str
    reason: str
    finished: bool


@dataclass(frozen=True)
class Finished:
    """The run has ended; its certificate, if it has one, is still to be written."""

    result: Result


@dataclass(frozen=True)
class CertificateWritten:
    """The certificate of the run has been written: a file of `n_bytes` bytes."""

    path: str
    n_bytes: int


NodeEvent = Branched | NodeLeft
Event = (
    Started
    | Compiling
    | MemoryShort
    | Progress
    | SubsetsChosen
    | SubsetsBounded
    | NodeEvent
    | WorkerCrashed
    | SubsetLost
    | CheckpointFailed
    | Finished
    | CertificateWritten
)
Observer = Callable[[Event], object]
"""Function that receives each event; what it returns is ignored."""


def ignore(event: Event) -> None:
    """Do nothing: the observer of a quiet run."""


def all_of(*observers: Observer) -> Observer:
    """Return an observer that tells each of these, in their order."""

    def tell(event: Event) -> None:
        for observer in observers:
            observer(event)

    return tell

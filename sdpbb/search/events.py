"""Events of a run, which its observer receives. The engine prints nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sdpbb.problem import Instance
from sdpbb.search.result import Result


@dataclass(frozen=True)
class Resumed:
    """State from which a run resumes.

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

    n_blocks, n_cannot_link : blocks, and cannot-links between them; 0 if contraction proves that
        the instance is infeasible
    n_equal : points that were joined with equal ones
    resumed : state from which the run resumes; None: a new run
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
    """The requested bounding needs more memory than is free.

    n_blocks : of the instance
    needed, available : MiB
    bounding : method used instead; None: no bound
    workers : number of worker processes used instead
    """

    n_blocks: int
    needed: float
    available: float
    bounding: str | None
    workers: int


@dataclass(frozen=True)
class Progress:
    """State of the search after a bound, a heuristic or a node.

    upper, gap : inf while there is no clustering
    source : of a new incumbent ("k-means++", "sdp", "colouring", "bounding", "start"); "": no new
        incumbent
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
    """The subsets of a level are bounded next; the sum of their bounds is a bound of the root.

    n_subsets : number of subsets to bound
    n_blocks : of the largest subset
    """

    seconds: float
    n_subsets: int
    n_blocks: int


@dataclass(frozen=True)
class SubsetsBounded:
    """The bounding of the last chosen subsets has ended, perhaps at a limit.

    n_subsets, n_blocks, began : n_subsets, n_blocks and seconds of `SubsetsChosen`
    n_bounded : subsets whose bounding is finished
    ended : seconds of the run until now
    lower : bound of the whole: the largest sum of bounds of subsets
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
    """It was replaced by two nodes (see `Branched`)."""
    CLOSED = "closed"
    """To the tolerance, no clustering of the node is better than the incumbent."""
    INFEASIBLE = "infeasible"
    """No clustering satisfies its decisions."""
    LOST = "lost"
    """Two workers died while they evaluated it; its last bound counts."""
    UNPROVEN = "unproven"
    """Its bound leaves a gap that floating-point numbers cannot close."""
    OPEN = "open"
    """The run ended before it was finished."""


@dataclass(frozen=True)
class NodeLeft:
    """The evaluation of a node has ended, for the given reason.

    `lower` is proven for its clusterings, inf if it has none. The root is node 0.
    """

    node: int
    lower: float
    end: NodeEnd


@dataclass(frozen=True)
class Branched:
    """A node was replaced by two nodes, with the numbers `together` and `apart`.

    The points of the pair share a cluster in the first, and do not in the second.
    """

    node: int
    lower: float
    pair: tuple[int, int]
    together: int
    apart: int


@dataclass(frozen=True)
class WorkerCrashed:
    """A worker died. Another worker repeats the evaluation of its node or subset.

    reason : how it ended, such as "was ended by SIGKILL"
    """

    reason: str


@dataclass(frozen=True)
class SubsetLost:
    """Two workers died while they bounded a subset; its last bound counts.

    n_blocks : of the subset
    """

    n_blocks: int


@dataclass(frozen=True)
class CheckpointFailed:
    """The checkpoint could not be written. The run continues, and tries again.

    The event is sent once until a checkpoint has been written again, and at the end of the run if
    the last write fails.

    path, reason : file, and why it could not be written
    finished : whether the run has ended, and does not try again
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
    """The certificate of the run has been written to a file of `n_bytes` bytes."""

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
    """Ignore an event: the observer of a quiet run."""


def all_of(*observers: Observer) -> Observer:
    """Return an observer that passes each event to these observers, in their order."""

    def pass_on(event: Event) -> None:
        for observer in observers:
            observer(event)

    return pass_on

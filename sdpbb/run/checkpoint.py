"""State of a run, and its checkpoint files, from which `sdpbb.resume` resumes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from sdpbb.errors import ArchiveError
from sdpbb.problem import Infeasibility, Instance
from sdpbb.run.certificates.proof import Proof
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.files import FilePath, remove_leftovers, shown_path
from sdpbb.search.events import CheckpointFailed, Observer
from sdpbb.search.reporting import Watch
from sdpbb.search.tree import Search

# Seconds between two writes at least, and the part of the run that may be spent on them.
INTERVAL, SHARE = 5.0, 0.05


@stored
@dataclass(eq=False)
class RunState:
    """State of a run: it works on it, and a checkpoint file holds it.

    instance, parameters : of the run
    seconds : spent on it until it was last written
    infeasibility : the proof that there is no clustering, if contraction or colouring found it
    search : None before it has begun
    proof : of all that the search has proven, if the run is certified
    subsets : of a root that is bounded by the sum of their bounds, and what is proven of them
    """

    instance: Instance
    parameters: SolverParameters
    seconds: float = 0.0
    infeasibility: Infeasibility | None = None
    search: Search | None = None
    proof: Proof | None = None
    subsets: SubsetBounds | None = None


def write_checkpoint(path: FilePath, state: RunState) -> None:
    """Write the state of a run, wholly or not at all.

    Raises
    ------
    OSError
        See `sdpbb.runtime.files.replacement`. What was at path is still there.
    """
    from sdpbb.runtime.archive.file import write_archive  # many runs have no checkpoint

    write_archive(path, state)


def read_checkpoint(path: FilePath) -> RunState:
    """Return the state in a checkpoint.

    Raises
    ------
    ArchiveError
        If it is none, damaged, or of another version of sdpbb. One line that names the file.
    """
    from sdpbb.runtime.archive.file import read_archive

    found = read_archive(path)
    if not isinstance(found, RunState):
        raise ArchiveError(
            f"{shown_path(path)}: does not hold the state of a run; expected a checkpoint"
        )
    return found


class CheckpointWriter(Watch):
    """Watch that writes the state of a run to a file while its search goes on.

    It is written every INTERVAL, but seldom enough to take no more than SHARE of the time, and at
    the end. A disk that is full or a folder that has gone does not end the run: the observer is
    told, and it is tried again. Without a path, nothing is done.
    """

    def __init__(
        self,
        path: FilePath | None,
        state: RunState,
        seconds: Callable[[], float],
        observer: Observer,
    ) -> None:
        """
        Parameters
        ----------
        path : of the file, or None
        state : what is written, as it is then
        seconds : of the run, now
        observer : told of failures
        """
        self._path = path
        self._state = state
        self._seconds = seconds
        self._observer = observer
        self._due = time.perf_counter()
        self._is_failing = False
        self._written: float | None = None
        if path is not None:
            remove_leftovers(path)

    def round_ended(self, search: Search) -> None:
        if time.perf_counter() >= self._due:
            self.write(finished=False)

    def ended(self, search: Search) -> None:
        self.write()

    def write(self, finished: bool = True) -> None:
        """Write the state now; finished : whether the run has ended."""
        if self._path is None:
            return
        started = time.perf_counter()
        self._state.seconds = self._seconds()
        try:
            write_checkpoint(self._path, self._state)
        except (OSError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "out of memory"
            if finished or not self._is_failing:
                where = os.fspath(self._path)
                self._observer(CheckpointFailed(where, reason, finished, self._written))
            self._is_failing = True
        else:
            self._is_failing = False
            self._written = self._state.seconds
        ended = time.perf_counter()
        self._due = ended + max(INTERVAL, (1.0 / SHARE - 1.0) * (ended - started))

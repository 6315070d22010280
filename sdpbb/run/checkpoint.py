"""State of a run, and its checkpoint files, from which `sdpbb.resume` resumes."""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdpbb.errors import ArchiveError
from sdpbb.problem import Infeasibility, Instance
from sdpbb.run.certificates.recorded import Proof
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.archive import Encoder, decoded, stored
from sdpbb.runtime.files import FilePath, remove_leftovers, replacement, shown_path
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import CheckpointFailed, Observer
from sdpbb.search.reporting import Watch
from sdpbb.search.tree import Tree

# Seconds between two writes at least, and the part of the run that may be spent on them.
INTERVAL, SHARE = 5.0, 0.05

_DOCUMENT = "sdpbb-checkpoint.json"


@stored
@dataclass(eq=False)
class RunState:
    """State of a run: it works on it, and a checkpoint file holds it.

    instance, parameters : of the run
    seconds : spent on it until it was last written
    infeasibility : the proof that there is no clustering, if contraction or colouring found it
    tree : of the search; None before it has begun
    proof : of all that the search has proven, if the run is certified
    subsets : of a root that is bounded by the sum of their bounds, and what is proven of them
    """

    instance: Instance
    parameters: SolverParameters
    seconds: float = 0.0
    infeasibility: Infeasibility | None = None
    tree: Tree | None = None
    proof: Proof | None = None
    subsets: SubsetBounds | None = None


def write_checkpoint(path: FilePath, state: RunState) -> None:
    """Write the state of a run, wholly or not at all.

    A checkpoint is a ZIP file of NumPy arrays, as `numpy.savez` writes them, so that `numpy.load`
    shows what is in it. Its first member is a document (`sdpbb.runtime.archive`), with the
    version of sdpbb. Members are as they are in memory: iterates in single precision hardly get
    smaller. Arrays are copied a few MiB at a time; they must not change meanwhile.

    Raises
    ------
    TypeError
        For what an archive does not hold. Nothing is written then.
    OSError
        See `sdpbb.runtime.files.replacement`. What was at path is still there.
    """
    encoder = Encoder(state)
    document = {"sdpbb": installed_version()} | encoder.document
    with replacement(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_DOCUMENT, json.dumps(document, separators=(",", ":")))
        for number, array in enumerate(encoder.arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_checkpoint(path: FilePath) -> RunState:
    """Return the state in a checkpoint.

    The constructors of stored types are called (or `__setstate__`, where they have one), with
    values that passed the checksums but that somebody may have made up; nothing else is. Arrays are
    writable. The checksums of ZIP find every change within 32 neighbouring bits, and miss one in
    2^32 of the others.

    Raises
    ------
    ArchiveError
        If it cannot be read, is none, damaged, of another version of sdpbb or of values that the
        types do not support. One line that names the file.
    """
    name, this = shown_path(path), installed_version()
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its other end
            raise OSError("not a regular file")
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(_DOCUMENT))
            written_by = document["sdpbb"]
            if written_by == this:  # what a value means is defined by the code of its version
                arrays = []
                for number in range(len(archive.namelist()) - 1):
                    with archive.open(f"{number}.npy") as member:
                        arrays.append(np.lib.format.read_array(member, allow_pickle=False))
                state = decoded(document, arrays)
                if not isinstance(state, RunState):
                    raise TypeError
                return state
        problem = (
            f"written by sdpbb {written_by}; this is {this} (sdpbb {written_by} can resume it)"
        )
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error}); expected an sdpbb checkpoint"
    except MemoryError:
        raise
    except Exception as error:
        problem = "is not an sdpbb checkpoint, or is damaged; expected the file as it was written"
        raise ArchiveError(f"{name}: {problem}") from error
    raise ArchiveError(f"{name}: {problem}")


@dataclass(eq=False)
class CheckpointWriter(Watch):
    """Watch that writes the state of a run to a file while its search goes on.

    It is written every INTERVAL, but seldom enough to take no more than SHARE of the time, and at
    the end. A disk that is full or a folder that has gone does not end the run: it reports that to
    the observer, and tries again.

    path : of the file; None: nothing is done
    state : what is written, as it is then
    seconds : of the run, now
    observer : receives failures
    """

    path: FilePath | None
    state: RunState
    seconds: Callable[[], float]
    observer: Observer

    def __post_init__(self) -> None:
        self._due = time.perf_counter()
        self._is_failing = False
        if self.path is not None:
            remove_leftovers(self.path)

    def round_ended(self, tree: Tree) -> None:
        if time.perf_counter() >= self._due:
            self.write(finished=False)

    def ended(self, tree: Tree) -> None:
        self.write()

    def write(self, finished: bool = True) -> None:
        """Write the state now; finished : whether the run has ended."""
        if self.path is None:
            return
        started = time.perf_counter()
        self.state.seconds = self.seconds()
        try:
            write_checkpoint(self.path, self.state)
        except (OSError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "out of memory"
            if finished or not self._is_failing:
                self.observer(CheckpointFailed(os.fspath(self.path), reason, finished))
            self._is_failing = True
        else:
            self._is_failing = False
        ended = time.perf_counter()
        self._due = ended + max(INTERVAL, (1.0 / SHARE - 1.0) * (ended - started))

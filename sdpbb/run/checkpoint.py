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

# Minimum seconds between two writes, and maximum share of the time of a run for them.
INTERVAL, SHARE = 5.0, 0.05

_DOCUMENT = "sdpbb-checkpoint.json"


@stored
@dataclass(eq=False)
class RunState:
    """State of a run, which a checkpoint file holds.

    instance, parameters : of the run
    seconds : of the run until the state was last written
    infeasibility : proof by contraction or colouring that there is no clustering, or None
    tree : of the search; None before the search
    proof : of all bounds of the search; None: the run is not certified
    subsets : bounds of subsets of the root; None: no decomposition
    """

    instance: Instance
    parameters: SolverParameters
    seconds: float = 0.0
    infeasibility: Infeasibility | None = None
    tree: Tree | None = None
    proof: Proof | None = None
    subsets: SubsetBounds | None = None


def write_checkpoint(path: FilePath, state: RunState) -> None:
    """Write the state of a run atomically.

    A checkpoint is a ZIP file of NumPy arrays, as `numpy.savez` writes them; `numpy.load` shows
    them. Its first member is a document (`sdpbb.runtime.archive`), with the version of sdpbb.
    Members are not compressed: iterates in single precision hardly get smaller. Arrays are copied
    a few MiB at a time; they must not change meanwhile.

    Raises
    ------
    TypeError
        If an archive cannot hold the state. Nothing is written then.
    OSError
        See `sdpbb.runtime.files.replacement`. The previous file is still there.
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

    Reading calls only the constructors of stored types (or `__setstate__`, if they have one). Their
    values have passed the checksums, but may be forged. Arrays are writable. The checksums of ZIP
    find every change within 32 neighbouring bits, and miss one in 2^32 other changes.

    Raises
    ------
    ArchiveError
        If the file cannot be read, is not a checkpoint, is damaged, is of another version of sdpbb,
        or has values that the types do not support. The message is one line that names the file.
    """
    name, this = shown_path(path), installed_version()
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its other end
            raise OSError("not a regular file")
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(_DOCUMENT))
            written_by = document["sdpbb"]
            if written_by == this:  # another version may mean something else by a value
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
    """Watch that writes the state of a run to a file during its search.

    It writes every INTERVAL seconds, but at most SHARE of the time, and at the end. A full disk or
    a missing folder does not end the run: the writer reports the failure, and tries again.

    path : of the file; None: write nothing
    state : of the run
    seconds : returns the seconds of the run
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

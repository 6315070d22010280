"""Every reader, on files that were valid before they were changed: an answer, or one line that says
why not."""

from __future__ import annotations

import contextlib
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attacks import valid_files
from attacks.mutations import mutate, reseal
from attacks.outcome import Found, Kind, Outcome, TooSlow
from attacks.reduction import shown, smallest_bytes
from attacks.worker import where

# Of one file, and of finding the smallest one that does the same.
SECONDS, REDUCTION = 5.0, 10.0
PATIENCE = 60.0
GIBIBYTE = 2**30
# Of messages, which may hold a path.
LONGEST = 2000 + 4096
N_ROWS = 6


@dataclass(frozen=True)
class Reader:
    """suffix : of the file; valid : the contents to begin with; read : what is called with the
    path and a generator for its options; sealed : whether checksums are made right again, mostly"""

    name: str
    suffix: str
    valid: list[bytes]
    read: Callable[[Path, np.random.Generator], Any]
    sealed: bool = False


READERS: list[Reader] = []
# What this process has found a small file for.
REDUCED: set[str] = set()


def prepare(folder: Path) -> None:
    """Make the valid files, read each of them, then allow a GiB more than that has taken."""
    READERS[:] = all_readers(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for reader in READERS:
            made = [
                _read(reader, folder, content, np.random.default_rng(options))
                for content in reader.valid
                for options in range(8)
            ]
            if Kind.ACCEPTED not in made:
                raise AssertionError(f"no file for {reader.name} is valid")
    now = _virtual_bytes()
    resource.setrlimit(resource.RLIMIT_AS, (now + GIBIBYTE, resource.RLIM_INFINITY))


def _virtual_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def case(rng: np.random.Generator, folder: Path) -> Outcome:
    """One file."""
    reader = READERS[rng.integers(len(READERS))]
    content = reader.valid[rng.integers(len(reader.valid))]
    if reader.sealed and rng.random() < 0.8:
        content = reseal(rng, content)
    else:
        content = mutate(rng, content, [x for other in READERS for x in other.valid])
    options = int(rng.integers(2**31))
    return Outcome(tried(reader, folder, content, options))


def tried(reader: Reader, folder: Path, content: bytes, options: int) -> Kind:
    """What a reader makes of a file.

    Raises
    ------
    Found
        With the smallest file that does the same.
    """
    wrong = _wrong(reader, folder, content, options)
    if isinstance(wrong, Kind):
        return wrong

    def shows(other: bytes) -> bool:
        return _wrong(reader, folder, other, options) == wrong

    small, signature = content, f"{reader.name}: {wrong}"
    if not (reader.sealed or wrong.startswith("no answer") or signature in REDUCED):
        small = smallest_bytes(content, shows, REDUCTION)
        REDUCED.add(signature)
    raise Found(signature, f"# a file *{reader.suffix} (options {options})\n{shown(small)}")


def _wrong(reader: Reader, folder: Path, content: bytes, options: int) -> Kind | str:
    """What came of it, or what is wrong."""
    try:
        with _patience():
            return _read(reader, folder, content, np.random.default_rng(options))
    except Found as found:
        return found.signature
    except TooSlow:
        return f"no answer in {SECONDS:g} s"
    except Exception as error:
        return where(error)


def _read(reader: Reader, folder: Path, content: bytes, rng: np.random.Generator) -> Kind:
    from sdpbb.errors import InstanceWarning, SdpbbError

    path = folder / f"bad{reader.suffix}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InstanceWarning)
        try:
            reader.read(path, rng)
        except SdpbbError as error:
            _check_message(str(error))
            return Kind.REFUSED
    return Kind.ACCEPTED


def _check_message(message: str) -> None:
    if not message or len(message.splitlines()) != 1:
        raise Found("a message that is not one line")
    if not message.isprintable():
        raise Found("a message with letters that cannot be printed")
    if len(message) > LONGEST:
        raise Found(f"a message of more than {LONGEST} letters")


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """SECONDS instead of the part's own patience."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(left, 1.0) if left else 0.0)


def all_readers(folder: Path) -> list[Reader]:
    """Each with what it begins with."""
    from sdpbb.batch.manifest import read_manifest
    from sdpbb.batch.results_file import opened
    from sdpbb.checkpoint import read_checkpoint
    from sdpbb.errors import InstanceError
    from sdpbb.plots.results_table import read_solved_runs
    from sdpbb.problem.constraints_file import READERS as FORMATS
    from sdpbb.problem.formats import read_constraints, read_instance, read_labels, read_points
    from sdpbb.traces.file import read_trace

    (folder / "a.txt").write_bytes(valid_files.POINTS_TEXT[0])

    def points(path: Path, rng: np.random.Generator) -> None:
        k = None if rng.random() < 0.5 else int(rng.integers(-1, 5))
        has_columns = path.suffix in (".csv", ".parquet")
        names = ("name", "1", "x")[rng.integers(3)] if has_columns and rng.random() < 0.4 else None
        drop = ("class",) if has_columns and rng.random() < 0.5 else ()
        read_points(path, index_column=names, drop=drop)
        # What is no instance may be refused after all.
        with contextlib.suppress(InstanceError):
            read_instance(path, k, index_column=names, drop=drop)

    def labels(path: Path, rng: np.random.Generator) -> None:
        column = "class" if path.suffix in (".csv", ".parquet") else None
        read_labels(path, None if rng.random() < 0.5 else N_ROWS, column)

    def constraints(path: Path, rng: np.random.Generator) -> None:
        named = rng.random() < 0.2
        given = None if rng.random() < 0.4 else list(FORMATS)[rng.integers(len(FORMATS))]
        read_constraints(
            path,
            N_ROWS,
            given,
            one_based=not named and bool(rng.random() < 0.2),
            row_names=["0", "1", "2", "anna", "b c", "5"] if named else None,
        )

    def constraints_by_rule(path: Path, _rng: np.random.Generator) -> None:
        read_constraints(path, N_ROWS)

    def instance(path: Path, _rng: np.random.Generator) -> None:
        read_instance(folder / "a.txt", 2, path)

    def manifest(path: Path, _rng: np.random.Generator) -> None:
        for job in read_manifest(path):
            job.key()

    def rows(path: Path, rng: np.random.Generator) -> None:
        with opened(str(path), bool(rng.random() < 0.9)):
            pass

    def runs(path: Path, rng: np.random.Generator) -> None:
        read_solved_runs([path], None if rng.random() < 0.5 else "bounding")

    files = valid_files
    checkpoints, traces = files.run_files(folder)
    csv_points = [*files.POINTS_CSV, *files.shared("pccc/*.csv")]
    matrices = [*files.MATRIX, *files.shared("bh-kmeans/*.txt", 1)]
    lines = [*files.PC_SOS_SDP, *files.bundled("iris_*.txt")]
    return [
        Reader("points text", ".txt", [*files.POINTS_TEXT, *files.bundled("iris.txt")], points),
        Reader("points csv", ".csv", csv_points, points),
        Reader("points npy", ".npy", files.points_npy(), points),
        Reader("points parquet", ".parquet", files.points_parquet(), points),
        Reader("labels text", ".txt", files.LABELS, labels),
        Reader("labels npy", ".npy", files.labels_npy(), labels),
        Reader("labels csv", ".csv", csv_points, labels),
        Reader("labels parquet", ".parquet", files.points_parquet(), labels),
        Reader("constraints pc-sos-sdp", ".txt", lines, constraints),
        Reader("constraints cccg", ".txt", files.CCCG, constraints),
        Reader(
            "constraints pccc", ".json", [*files.PCCC, *files.shared("pccc/*.json")], constraints
        ),
        Reader("constraints matrix", ".txt", matrices, constraints),
        Reader(
            "constraints",
            ".txt",
            [*files.PC_SOS_SDP, *files.CCCG, *files.PCCC],
            constraints_by_rule,
        ),
        Reader("instance", ".txt", [*files.PC_SOS_SDP[1:], *files.CCCG], instance),
        Reader("manifest toml", ".toml", files.MANIFEST_TOML, manifest),
        Reader("manifest csv", ".csv", files.MANIFEST_CSV, manifest),
        Reader("checkpoint", "", checkpoints, lambda path, _rng: read_checkpoint(path), True),
        Reader("trace", ".json", [*traces[1:]], lambda path, _rng: read_trace(path)),
        Reader("rows of a batch", ".jsonl", files.result_rows(), rows),
        Reader("runs of a batch, json", ".jsonl", files.result_rows(), runs),
        Reader("runs of a batch, csv", ".csv", files.result_tables(), runs),
    ]

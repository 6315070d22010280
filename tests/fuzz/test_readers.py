"""Every reader of files, on valid files that were changed: an answer, or one line why not."""

import contextlib
import resource
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError, InstanceWarning, SdpbbError
from sdpbb.problem.formats import CONSTRAINT_FORMATS as FORMATS
from sdpbb.problem.formats import read_constraints, read_instance, read_labels, read_points
from sdpbb.problem.origin import Origin
from sdpbb.questions.batch.manifest import read_manifest
from sdpbb.questions.batch.outcome import open_folder
from sdpbb.run.checkpoint import read_checkpoint
from tests.fuzz import valid_files as files
from tests.fuzz.mutations import mutate, reseal

GIBIBYTE = 2**30
# Of messages, which may hold a path.
LONGEST = 2000 + 4096
N_ROWS = 6


def points(path: Path, rng: np.random.Generator) -> None:
    k = None if rng.random() < 0.5 else int(rng.integers(-1, 5))
    has_columns = path.suffix in (".csv", ".parquet", ".gz", ".feather", ".xlsx")
    names = ("name", "1", "x")[rng.integers(3)] if has_columns and rng.random() < 0.4 else None
    drop = ("class",) if has_columns and rng.random() < 0.5 else ()
    options = {"missing": (None, "drop-rows", "mean", "median")[rng.integers(4)]}
    if rng.random() < 0.3:
        options["standardize"] = True
    if path.suffix in (".csv", ".gz") and rng.random() < 0.3:
        options["separator"] = ",;\t"[rng.integers(3)]
        options["decimal"] = ".,"[rng.integers(2)]
        options["encoding"] = ("utf-8", "latin-1", "utf-16")[rng.integers(3)]
    table = read_points(path, index_column=names, drop=drop, **options)
    assert table.points.ndim == 2
    assert table.points.size > 0
    assert np.isfinite(table.points).all()
    # A text that is not an instance may be refused.
    with contextlib.suppress(InstanceError):
        read_instance(path, k, index_column=names, drop=drop, **options)


def labels(path: Path, rng: np.random.Generator) -> None:
    column = "class" if path.suffix in (".csv", ".parquet") and rng.random() < 0.7 else None
    read_labels(path, None if rng.random() < 0.5 else N_ROWS, column)


def constraints(path: Path, rng: np.random.Generator) -> None:
    named = rng.random() < 0.2
    given = None if rng.random() < 0.5 else list(FORMATS)[rng.integers(len(FORMATS))]
    read = read_constraints(
        path,
        N_ROWS,
        given,
        origin=Origin(
            first_row=int(not named and rng.random() < 0.2),
            row_names=("0", "1", "2", "anna", "b c", "5") if named else None,
        ),
    )
    for _, i, j, _ in read.each_pair():
        assert 0 <= i < N_ROWS
        assert 0 <= j < N_ROWS
        assert i != j


def instance(path: Path, _rng: np.random.Generator) -> None:
    points_path = path.with_name("points.txt")
    points_path.write_bytes(files.POINTS_TEXT[0])
    read_instance(points_path, 2, path)


def manifest(path: Path, _rng: np.random.Generator) -> None:
    path.with_name("a.txt").write_bytes(files.POINTS_TEXT[0])
    for job in read_manifest(path):
        job.key()


def rows(path: Path, rng: np.random.Generator) -> None:
    folder = path.parent / "study"
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "results.jsonl")
    with open_folder(folder, bool(rng.random() < 0.9)):
        pass


class Reader(NamedTuple):
    """suffix : of the file; valid : the contents to begin with, from a folder to make them in"""

    suffix: str
    read: Callable[[Path, np.random.Generator], Any]
    valid: Callable[[Path], list[bytes]]


READERS = {
    "points text": Reader(
        ".txt", points, lambda _: [*files.POINTS_TEXT, *files.bundled("iris.txt")]
    ),
    "points csv": Reader(".csv", points, lambda _: files.csv_points()),
    "points csv of all kinds": Reader(".csv", points, lambda _: files.CSV_OF_PEOPLE),
    "points csv, compressed": Reader(".csv.gz", points, lambda _: files.compressed_csv()),
    "points npz": Reader(".npz", points, lambda _: files.points_npz()),
    "points feather": Reader(".feather", points, lambda _: files.points_feather()),
    "points excel": Reader(".xlsx", points, files.points_excel),
    "points npy": Reader(".npy", points, lambda _: files.points_npy()),
    "points parquet": Reader(".parquet", points, lambda _: files.points_parquet()),
    "labels text": Reader(".txt", labels, lambda _: files.LABELS),
    "labels beside names": Reader(".csv", labels, lambda _: files.LABEL_TABLES),
    "labels npy": Reader(".npy", labels, lambda _: files.labels_npy()),
    "labels csv": Reader(".csv", labels, lambda _: files.csv_points()),
    "labels parquet": Reader(".parquet", labels, lambda _: files.points_parquet()),
    "pc-sos-sdp": Reader(".txt", constraints, lambda _: files.PC_SOS_SDP),
    "constraints csv": Reader(".csv", constraints, lambda _: files.CONSTRAINT_TABLES),
    "cccg": Reader(".txt", constraints, lambda _: files.CCCG),
    "pccc": Reader(".json", constraints, lambda _: [*files.PCCC, *files.shared("pccc/*.json")]),
    "matrix": Reader(
        ".txt", constraints, lambda _: [*files.MATRIX, *files.shared("bh-kmeans/*.txt", 1)]
    ),
    "instance": Reader(".txt", instance, lambda _: [*files.PC_SOS_SDP, *files.CCCG]),
    "manifest toml": Reader(".toml", manifest, lambda _: files.MANIFEST_TOML),
    "checkpoint": Reader(
        "", lambda path, _: read_checkpoint(path), lambda p: [*files.checkpoints(p)]
    ),
    "rows of a batch": Reader(".jsonl", rows, lambda _: files.result_rows()),
}


@contextmanager
def a_gibibyte_more() -> Iterator[None]:
    """Limit what may be allocated within the block, in addition to what is allocated now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + GIBIBYTE
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def answers(reader: Reader, path: Path, content: bytes, rng: np.random.Generator) -> bool:
    """Whether the file is accepted; what refuses it does so with one line that can be printed."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InstanceWarning)
        try:
            reader.read(path, rng)
        except SdpbbError as error:
            message = str(error)
            assert message.isprintable()
            assert 0 < len(message) <= LONGEST
            # What pyarrow and NumPy allocate is the length that a damaged file states.
            if reader.suffix not in (".feather", ".npy", ".npz"):
                assert "does not fit into the memory" not in message
            if reader.read in (points, labels, constraints):
                assert str(path) in message
                assert len(message) < len(str(path)) + 1000
            return False
    return True


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused_in_one_line(name, tmp_path):
    reader = READERS[name]
    valid = reader.valid(tmp_path)
    path = tmp_path / f"file{reader.suffix}"
    # Before memory is limited, so that what reads them has loaded what it needs.
    assert any(
        answers(reader, path, content, np.random.default_rng(options))
        for content in valid
        for options in range(8)
    )

    @given(st.integers(0, 2**32))
    @example(735)  # a Feather file that states a length of 2 GiB
    def survives(seed):
        rng = np.random.default_rng(seed)
        content = valid[rng.integers(len(valid))]
        if name == "checkpoint" and rng.random() < 0.8:
            content = reseal(rng, content)
        else:
            content = mutate(rng, content, valid)
        answers(reader, path, content, rng)

    with a_gibibyte_more():
        survives()

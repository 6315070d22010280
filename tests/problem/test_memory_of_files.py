"""Files that are too large for the memory."""

import gzip
import io
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sdpbb.errors import InstanceError
from sdpbb.problem.formats import read_instance, read_points
from sdpbb.questions.batch.batch import evaluate
from sdpbb.questions.batch.manifest import Job
from sdpbb.questions.study import isolated
from sdpbb.runtime.memory import within_free_memory

HOUSE = (10**9, 10**6)  # 8 PB of floats

NO_MEMORY = "does not fit into the memory, or is damaged; expected less data"


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    stream = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def npz_that_claims(path: Path, shape: tuple[int, ...], dtype: str = "<f8") -> Path:
    """A small zip file that claims to hold the array of the header."""
    content = header(shape, dtype)
    size = len(content) + int(np.prod([np.dtype(dtype).itemsize, *shape], dtype=object))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", content)
        archive.filelist[0].file_size = size
    return path


@pytest.fixture
def free(monkeypatch):
    """Set the free memory, in MiB, that reading finds."""

    def set_free(mebibytes: float) -> None:
        monkeypatch.setattr("sdpbb.runtime.memory.free_mebibytes", lambda: mebibytes)

    return set_free


@pytest.mark.parametrize("name", ["points.npz", "points.npy"])
def test_headers_of_absurd_shapes_are_one_line(run, tmp_path, name):
    data = tmp_path / name
    if name.endswith("z"):
        npz_that_claims(data, HOUSE)
    else:
        with open(data, "wb") as file:  # nothing but a header is on the disk
            file.write(header((10**6, 10**6)))
            file.truncate(file.tell() + 8 * 10**12)
    for command in (["solve", data], ["solve", tmp_path / "few.csv", "--constraints", data]):
        (tmp_path / "few.csv").write_text("x\n1\n2\n")
        status, out, err = run(*command, "-k", 2)
        assert (status, out, err.count("\n")) == (3, "", 1)
        assert err.startswith(f"error: {data}")


@pytest.mark.long
def test_text_that_unfolds_to_more_than_the_memory_is_one_line(run, tmp_path, free):
    free(60)
    few, data = tmp_path / "few.csv", tmp_path / "bomb.gz"
    few.write_text("x\n1\n2\n3\n")
    for command, line in (
        (["solve", few, "-k", 2, "--constraints", data], b"ML 0 1\n"),
        (["gap", few, data, "-k", 2], b"1\n"),
        (["solve", data, "-k", 2], b"1,2\n"),
    ):
        with gzip.open(data, "wb", compresslevel=1) as file:
            file.write(line * 2**23)
        assert data.stat().st_size < 2**20
        status, out, err = run(*command, "-q")
        assert (status, out) == (3, "")
        assert err == f"error: {data}: {NO_MEMORY}\n"
    outcome = isolated(partial(evaluate, Job(str(data), "points", 2), None), True)
    assert outcome.failure == "bad_input"
    assert outcome.message == f"{data}: {NO_MEMORY}"


def test_columns_that_unfold_to_more_than_the_memory_are_one_line(run, tmp_path, free):
    data = tmp_path / "points.parquet"
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": np.zeros(2**25)}), data, compression="zstd")
    assert data.stat().st_size < 2**20
    (tmp_path / "few.csv").write_text("x\n1\n2\n3\n")
    assert run("check", tmp_path / "few.csv", "-k", 2, "-q")[0] == 0
    free(200)
    status, out, err = run("solve", data, "-k", 2, "-q")
    assert (status, out) == (3, "")
    assert err == f"error: {data}: {NO_MEMORY}\n"


def test_a_workbook_needs_the_memory_of_its_cells(tmp_path, free):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active["A1"] = 1
    book.active.cell(10**5, 16384, 2)
    book.save(tmp_path / "points.xlsx")
    free(200)
    with within_free_memory(), pytest.raises(InstanceError, match=":100000: the row has 16384 fie"):
        read_points(tmp_path / "points.xlsx")


def test_the_limit_is_of_the_block_alone():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(KeyError), within_free_memory():
        raise KeyError
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_a_valid_file_needs_no_more_memory_than_it_takes(tmp_path, free):
    free(600)
    path = tmp_path / "points.npy"
    np.save(path, np.zeros((2**22, 2)))  # 64 MiB, and a copy
    with within_free_memory():
        assert read_instance(path, 1).n_points == 2**22

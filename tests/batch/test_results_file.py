"""Rows on disk, whatever happens."""

import errno
import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.questions.batch.events import BatchError
from sdpbb.questions.batch.results_file import open_results
from tests.batch.rows import failed, infeasible, limited, row

ROWS = [row(name="a"), infeasible(name="b"), failed(name="c", message="ä\n")]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "results.jsonl")


def write(path, rows, resume=False):
    with open_results(path, resume) as file:
        for one in rows:
            file.append(one)


def read(path):
    with open_results(path, True) as file:
        return list(file.rows)


def test_rows_come_back(path):
    write(path, ROWS)
    assert read(path) == ROWS
    write(path, [limited(name="d")], resume=True)
    assert read(path) == [*ROWS, limited(name="d")]
    with open(path, encoding="utf-8") as file:
        assert [json.loads(line)["name"] for line in file] == ["a", "b", "c", "d"]


def test_a_row_is_there_as_soon_as_it_is_appended(path):
    with open_results(path, False) as file:
        for number, one in enumerate(ROWS, start=1):
            file.append(one)
            with open(path, encoding="utf-8") as other:
                assert len(other.readlines()) == number


@given(st.integers(0, 10**6))
def test_a_file_that_was_cut_off_holds_its_whole_lines(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "results.jsonl"
    whole = "".join(one.to_line() for one in ROWS).encode()
    part = whole[: cut % (len(whole) + 1)]
    path.write_bytes(part)
    n_left = part.count(b"\n")
    write(path, [row(name="next")], resume=True)
    assert read(path) == [*ROWS[:n_left], row(name="next")]


def test_what_was_cut_off_leaves_nothing_after_a_shorter_row(path):
    write(path, ROWS[:1])
    with open(path, "ab") as file:
        file.write(failed(name="b", message="x" * 10_000).to_line().encode()[:-1])
    write(path, ROWS[1:2], resume=True)
    with open(path, encoding="utf-8") as file:
        assert file.read() == "".join(one.to_line() for one in ROWS[:2])


def test_rows_are_not_overwritten(path):
    write(path, [])
    write(path, ROWS)  # an empty file holds none
    message = "holds results already; resume with --resume, or give a new folder"
    with (
        pytest.raises(BatchError, match=f"^{re.escape(path)}: {message}$"),
        open_results(path, False),
    ):
        pass
    assert read(path) == ROWS


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "3", "{}", '{"name": "a", "status": "optimal"}', "", "[" * 100_000],
    ids=range(7),
)
def test_what_is_no_row_is_refused_with_its_line(path, line):
    write(path, ROWS[:1])
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(
        BatchError, match=r"results.jsonl:2: is not a row of a batch of this version"
    ):
        read(path)


def test_two_processes_do_not_write_to_one_file(path):
    pytest.importorskip("fcntl")
    expected = pytest.raises(BatchError, match=r"results.jsonl: another batch is writing to it; ")
    with open_results(path, False), expected, open_results(path, True):
        pass
    assert read(path) == []


def test_a_disk_that_takes_a_part_of_a_row_costs_no_row(path):
    resource = pytest.importorskip("resource")
    write(path, ROWS[:1])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_results(path, True) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 40, limits[1]))
        try:
            with pytest.raises(
                BatchError, match=r"could not be written .*the 1 row before is safe"
            ):
                file.append(ROWS[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        file.append(ROWS[2])
    assert read(path) == [ROWS[0], ROWS[2]]


@pytest.mark.parametrize("n_bytes", [0, 40])
def test_a_full_disk_costs_no_row(path, monkeypatch, n_bytes):
    real = os.fsync

    def full(descriptor):
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - n_bytes)
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_results(path, False) as file:
        file.append(ROWS[0])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BatchError) as caught:
            file.append(ROWS[1])
        assert str(caught.value) == (
            f"{path}: could not be written (No space left on device); the 1 row before is safe: "
            "resume with --resume"
        )
        monkeypatch.setattr(os, "fsync", real)
        assert file.rows == ROWS[:1]
    assert read(path) == ROWS[:1]


def test_where_no_file_can_be(tmp_path):
    (tmp_path / "results.jsonl").mkdir()
    with (
        pytest.raises(BatchError, match=r"results.jsonl: cannot be written \(Is a directory\)"),
        open_results(str(tmp_path / "results.jsonl"), False),
    ):
        pass

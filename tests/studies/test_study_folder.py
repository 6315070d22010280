"""Results on disk, whatever happens."""

import errno
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.questions.study_folder import StudyError, StudyFolder, open_folder

ROWS = [{"name": "a"}, {"name": "b", "x": None}, {"name": "c", "message": "ä\n"}]
UNREADABLE = ["{", "[]", "3", '{"x": 1}', "", "[" * 100_000]


def read_row(values):
    return {**values, "name": str(values["name"])}


def opened(path, resume=True):
    return open_folder(path, resume, read_row, others="*.checkpoint")


def write(path, rows, resume=True):
    with opened(path, resume) as folder:
        for row in rows:
            folder.append(row)


def read(path):
    with opened(path) as folder:
        return folder.rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def results(path):
    return path / "results.jsonl"


def test_rows_come_back_and_are_on_disk_as_soon_as_they_are_appended(path, results):
    with opened(path, False) as folder:
        for number, row in enumerate(ROWS, start=1):
            folder.append(row)
            assert len(results.read_text().splitlines()) == number
    assert read(path) == ROWS
    write(path, [{"name": "d"}])
    assert [json.loads(line)["name"] for line in results.read_text().splitlines()] == list("abcd")


@given(st.integers(0, 10**6))
def test_a_file_that_was_cut_off_holds_its_whole_lines(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut")
    whole = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    part = whole[: cut % (len(whole) + 1)]
    (path / "results.jsonl").write_bytes(part)
    write(path, [{"name": "e"}])
    assert read(path) == [*ROWS[: part.count(b"\n")], {"name": "e"}]


def test_a_study_is_not_overwritten(path, results):
    write(path, [])
    write(path, ROWS, resume=False)  # an empty file holds none
    with (
        pytest.raises(StudyError, match=r"out/results.jsonl: holds results already; resume with"),
        opened(path, False),
    ):
        pass
    results.unlink()
    (path / "k2.checkpoint").touch()  # of one that had no result yet
    with pytest.raises(StudyError, match=r"k2.checkpoint: holds results"), opened(path, False):
        pass
    assert read(path) == []


@pytest.mark.parametrize("line", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_row_is_refused_with_its_line(path, results, line):
    write(path, ROWS[:1])
    with open(results, "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(StudyError, match=r"results.jsonl:2: is not a result of this version"):
        read(path)


def test_one_process_writes_at_a_time(path):
    pytest.importorskip("fcntl")
    message = r"results.jsonl: another batch or sweep is writing to it; "
    with opened(path), pytest.raises(StudyError, match=message), opened(path):
        pass


def test_a_disk_that_takes_a_part_of_a_row_costs_no_row(path, results):
    resource = pytest.importorskip("resource")
    write(path, ROWS[:1])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(path) as folder:
        resource.setrlimit(resource.RLIMIT_FSIZE, (results.stat().st_size + 5, limits[1]))
        try:
            with pytest.raises(StudyError, match=r"could not be written .*the rows in results"):
                folder.append(ROWS[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        folder.append(ROWS[2])
    assert read(path) == [ROWS[0], ROWS[2]]


def test_a_row_that_may_not_be_on_disk_is_none(path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(path) as folder:
        folder.append(ROWS[0])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StudyError, match="No space left"):
            folder.append(ROWS[1])
        monkeypatch.undo()
    assert read(path) == ROWS[:1]


def test_files_of_jobs(path):
    with opened(path) as folder:
        assert isinstance(folder, StudyFolder)
        folder.write("labels/a.csv", b"1")
        folder.write("labels/a.csv", "2")
        assert (path / "labels" / "a.csv").read_text() == "2"
        folder.remove("labels/a.csv")
        folder.remove("labels/a.csv")
        assert os.listdir(path / "labels") == []
        assert folder.file("proofs/a.cert") == str(path / "proofs" / "a.cert")
        assert (path / "proofs").is_dir()
        (path / "plain").touch()
        with pytest.raises(StudyError) as caught:
            folder.write("plain/a.csv", "1")
        assert str(caught.value) == (
            f"{path / 'plain'}: could not be written (File exists); the rows in results.jsonl are "
            "safe: resume with --resume"
        )


def test_folders_that_cannot_be_used(tmp_path, path):
    def refusal(there):
        with pytest.raises(StudyError) as caught, opened(there):
            pass
        return str(caught.value)

    file = tmp_path / "file"
    file.touch()
    assert refusal(file) == f"{file}: could not be written (File exists); expected a folder"
    assert refusal("") == "'': is not the name of a file"
    assert "x: could not be written (Not a directory); expected" in refusal(file / "x")
    (path / "results.jsonl").mkdir(parents=True)
    assert refusal(path).endswith("results.jsonl: could not be written (Is a directory)")

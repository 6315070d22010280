"""Results on disk, whatever happens."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import FileInUse, InstanceError
from sdpbb.questions.batch.outcome import BatchFolder, open_folder
from tests.batch.rows import row

ROWS = [row(name="a"), row(name="b", gap=None), row(name="c", message="ä\n")]
UNREADABLE = ["{", "[]", "3", '{"x": 1}', "", "[" * 100_000]


def write(path, rows, resume=True):
    with open_folder(path, resume) as folder:
        for one in rows:
            folder.append(one.to_row())


def read(path):
    with open_folder(path, True) as folder:
        return folder.rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def results(path):
    return path / "results.jsonl"


def test_rows_come_back_and_are_on_disk_as_soon_as_they_are_appended(path, results):
    with open_folder(path, False) as folder:
        for number, one in enumerate(ROWS, start=1):
            folder.append(one.to_row())
            assert len(results.read_text().splitlines()) == number
    assert read(path) == ROWS
    write(path, [row(name="d")])
    assert [json.loads(line)["name"] for line in results.read_text().splitlines()] == list("abcd")


@given(st.integers(0, 10**6))
def test_a_file_that_was_cut_off_holds_its_whole_lines(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut")
    whole = "".join(json.dumps(one.to_row()) + "\n" for one in ROWS).encode()
    part = whole[: cut % (len(whole) + 1)]
    (path / "results.jsonl").write_bytes(part)
    write(path, [])
    assert (path / "results.jsonl").read_bytes() == part[: part.rfind(b"\n") + 1]
    write(path, [row(name="e")])
    assert read(path) == [*ROWS[: part.count(b"\n")], row(name="e")]


def test_a_study_is_not_overwritten(path, results):
    write(path, [])
    write(path, ROWS, resume=False)  # an empty file holds none
    with (
        pytest.raises(
            InstanceError, match=r"out/results.jsonl: holds results already; resume with"
        ),
        open_folder(path, False),
    ):
        pass


@pytest.mark.parametrize("line", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_row_is_refused_with_its_line(path, results, line):
    write(path, ROWS[:1])
    with open(results, "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(InstanceError, match=r"results.jsonl:2: is not a result of this version"):
        read(path)


def test_one_process_writes_at_a_time(path):
    pytest.importorskip("fcntl")
    message = r"results.jsonl: another batch is writing to it; "
    with open_folder(path, True), pytest.raises(FileInUse, match=message), open_folder(path, True):
        pass


def test_a_disk_that_takes_a_part_of_a_row_costs_no_row(path, results):
    resource = pytest.importorskip("resource")
    write(path, ROWS[:1])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_folder(path, True) as folder:
        resource.setrlimit(resource.RLIMIT_FSIZE, (results.stat().st_size + 5, limits[1]))
        try:
            with pytest.raises(InstanceError, match=r"could not be written .*the rows in results"):
                folder.append(ROWS[1].to_row())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    write(path, ROWS[2:])
    assert read(path) == [ROWS[0], ROWS[2]]


def test_files_of_jobs(path):
    with open_folder(path, True) as folder:
        assert isinstance(folder, BatchFolder)
        folder.write("labels/a.csv", b"1")
        folder.write("labels/a.csv", "2")
        assert (path / "labels" / "a.csv").read_text() == "2"
        folder.remove("labels/a.csv")
        folder.remove("labels/a.csv")
        assert os.listdir(path / "labels") == []
        assert folder.file("proofs/a.cert") == str(path / "proofs" / "a.cert")
        assert (path / "proofs").is_dir()
        (path / "plain").touch()
        with pytest.raises(InstanceError) as caught:
            folder.write("plain/a.csv", "1")
        assert str(caught.value) == (
            f"{path / 'plain'}: could not be written (File exists); the rows in results.jsonl are "
            "safe: resume with --resume"
        )


def test_folders_that_cannot_be_used(tmp_path, path):
    def refusal(there):
        with pytest.raises(InstanceError) as caught, open_folder(there, True):
            pass
        return str(caught.value)

    file = tmp_path / "file"
    file.touch()
    assert refusal(file) == f"{file}: could not be written (File exists); expected a folder"
    assert refusal("") == "'': is not the name of a file"
    assert "x: could not be written (Not a directory); expected" in refusal(file / "x")
    (path / "results.jsonl").mkdir(parents=True)
    assert refusal(path).endswith("results.jsonl: could not be written (Is a directory)")

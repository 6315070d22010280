import os
import stat

import pytest

from sdpbb import files
from sdpbb.files import output_problem, write_atomically


def test_writes_what_it_is_given(tmp_path):
    write_atomically(tmp_path / "a.txt", "gap ≤ 1e-4\n")
    assert (tmp_path / "a.txt").read_bytes() == "gap ≤ 1e-4\n".encode()
    write_atomically(tmp_path / "a.txt", "")
    assert (tmp_path / "a.txt").read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_the_old_file_survives_a_failure(tmp_path, monkeypatch, step):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "atomic", "")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_cannot_be_written_is_known_before(tmp_path):
    assert output_problem(tmp_path / "new.txt") is None
    assert "is a folder" in output_problem(tmp_path)
    assert "there is no folder" in output_problem(tmp_path / "no" / "a.txt")
    assert "not a regular file" in output_problem(os.devnull)
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(os.devnull, "")


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda *arguments: False)
    assert "is not writable" in output_problem(tmp_path / "a.txt")

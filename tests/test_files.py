import os
import stat

import pytest

from sdpbb.runtime import files
from sdpbb.runtime.files import output_problem, replacement, shown_path, write_atomically


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


def test_the_old_file_survives_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacement(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        file.write(b"er")
    assert path.read_bytes() == b"newer"


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o640


@pytest.fixture
def mask():
    """Sets the process's mask, as it was at the end."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("present", [None, 0o600, 0o644, 0o666, 0o640])
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_what_is_being_written_has_the_permissions_of_the_file(
    tmp_path, mask, monkeypatch, present, umask
):
    """From its beginning."""
    created, really = [], files.os.open

    def noted(name, flags, mode):
        created.append(mode)
        return really(name, flags, mode)

    monkeypatch.setattr(files.os, "open", noted)
    path = tmp_path / "a.txt"
    if present is not None:
        path.write_text("secret")
        path.chmod(present)
    mask(umask)
    expected = 0o666 & ~umask if present is None else present
    with replacement(path) as file:
        (temporary,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(temporary.stat().st_mode) == expected
        file.write(b"new")
    assert created == [0o666 if present is None else present]
    assert stat.S_IMODE(path.stat().st_mode) == expected
    assert path.read_text() == "new"


def test_what_cannot_be_written_is_known_before(tmp_path):
    assert output_problem(tmp_path / "new.txt") is None
    assert "is a folder" in output_problem(tmp_path)
    assert "there is no folder" in output_problem(tmp_path / "no" / "a.txt")
    assert output_problem("") == "'': is not the name of a file"
    assert "is a device" in output_problem(os.devnull)
    with pytest.raises(OSError, match="is a device"):
        write_atomically(os.devnull, "")


def test_a_file_without_permission_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    # Not by its mode: whoever may do everything may write to it all the same.
    monkeypatch.setattr(files.os, "access", lambda asked, mode: asked != path)
    assert output_problem(path) == f"{path}: the file exists and is not writable"


def test_names_are_shown_on_one_line(tmp_path):
    assert shown_path(tmp_path) == str(tmp_path)
    assert shown_path("a\nb\udcff") == r"'a\nb\udcff'"


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda *arguments: False)
    assert "is not writable" in output_problem(tmp_path / "a.txt")

"""What Numba does where it can write nowhere: a process of its own, on a copy of the packages."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sdpbb.runtime import cache_folder
from sdpbb.runtime.cache_folder import VARIABLE, ensure_cache_folder

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def sealed(monkeypatch, tmp_path):
    """Nothing to write to but the folder for temporary files."""
    monkeypatch.setattr(cache_folder, "ROOT", os.devnull)
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    monkeypatch.setenv(VARIABLE, os.devnull)
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "numba", type(sys)("numba"))
    sys.modules["numba"].config = type(sys)("config")
    return tmp_path


def test_the_folder_is_private_and_found_again(sealed, monkeypatch):
    ensure_cache_folder()
    folder = Path(os.environ[VARIABLE])
    assert folder.parent == sealed
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert str(folder) == sys.modules["numba"].config.CACHE_DIR
    monkeypatch.setenv(VARIABLE, os.devnull)  # one that cannot be written to is as good as none
    ensure_cache_folder()
    assert os.environ[VARIABLE] == str(folder)


@pytest.mark.parametrize("squat", ["open", "link", "file"])
def test_a_folder_that_others_may_have_made_is_not_used(sealed, monkeypatch, squat):
    ensure_cache_folder()
    folder = Path(os.environ.pop(VARIABLE))
    if squat == "open":
        folder.chmod(0o777)
    else:
        folder.rmdir()
    if squat == "link":
        folder.symlink_to(sealed)
    if squat == "file":
        folder.touch()
    ensure_cache_folder()
    other = Path(os.environ[VARIABLE])
    assert other != folder
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_numba_is_left_alone_where_it_finds_a_folder(sealed, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(sealed))
    ensure_cache_folder()
    assert VARIABLE not in os.environ
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    monkeypatch.setenv(VARIABLE, str(sealed))
    ensure_cache_folder()
    assert os.environ[VARIABLE] == str(sealed)


def test_kernels_can_be_imported_where_nothing_can_be_written(tmp_path):
    hidden = shutil.ignore_patterns("__pycache__")
    for package in ("sdpbb", "heuristics"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=hidden)
        for folder in {source.parent for source in (tmp_path / package).rglob("*.py")}:
            (folder / "__pycache__").touch()  # a file: not even root can write into it
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "HOME": os.devnull,
        "XDG_CACHE_HOME": os.devnull,
        "TMPDIR": str(tmp_path / "tmp"),
    }
    environment.pop(VARIABLE, None)
    script = "import heuristics; print(heuristics.__file__, heuristics.MultiStart.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{tmp_path / 'heuristics' / '__init__.py'} MultiStart\n", done.stderr

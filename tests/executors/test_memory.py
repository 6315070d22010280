import mmap
import subprocess
import sys

import psutil
import pytest

from sdpbb.runtime.memory import resident_mebibytes

GRANDCHILD = """
import sys
held = bytearray(64 * 2**20)
held[::4096] = b"x" * len(held[::4096])
print("grown", flush=True)
sys.stdin.read()
"""


CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


def test_what_descendants_hold_counts_while_they_live():
    before = resident_mebibytes()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, GRANDCHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"grown\n"
        assert resident_mebibytes() > before + 60
        child.stdin.close()
        child.wait()
    assert resident_mebibytes() < before + 40


def test_this_process_counts():
    before = resident_mebibytes()
    with mmap.mmap(-1, 64 * 2**20) as held:  # not memory that other tests have left
        held[::4096] = b"x" * len(held[::4096])
        assert resident_mebibytes() > before + 60


def test_a_process_may_end_while_it_is_counted(monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(ended.pid)
    ended.wait()
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: [])
    before = resident_mebibytes()
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: [process])
    assert resident_mebibytes() == pytest.approx(before, abs=60)

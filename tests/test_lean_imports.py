"""What processes of this project import, and what they leave to be imported later."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdpbb.runtime.interruption import lean_imports

ROOT = Path(__file__).resolve().parents[1]
INSTANCE = ["instances/iris.txt", "--constraints", "instances/iris_ml_38_cl_38.txt"]


def printed(script: str) -> list[str]:
    """What a script prints last: JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


HEAVY = {
    *("numba", "scipy", "sklearn", "cvxpy", "clarabel", "scs", "highspy", "joblib"),
    "matplotlib",
}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("--help", 0),
        ("solve missing", 3),
        ("batch missing.toml --out x", 3),
        ("heuristic --list", 0),
        ("heuristic --help", 0),
        ("heuristic pccc missing", 3),
        ("heuristic kmedians missing", 2),
        ("sweep --help", 0),
    ],
)
def test_help_and_errors_do_not_wait_for_the_engine(words, status):
    script = f"""
import atexit, json, sys
import sdpbb
atexit.register(lambda: print(json.dumps([*sys.modules])))
sys.argv[1:] = {words.split()}
from sdpbb.__main__ import main
main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    heavy = HEAVY & {*json.loads(done.stdout.splitlines()[-1])}
    assert not heavy
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_the_command_imports_what_it_uses():
    script = f"""
import json, sys
from sdpbb.__main__ import main
sys.argv = ["sdpbb", "solve", *{INSTANCE}]
try:
    main()
except SystemExit:
    print(json.dumps([name for name, module in sys.modules.items()]))
"""
    unused = (
        "scipy.spatial",
        "scipy.sparse.csgraph",
        "scipy.sparse.linalg",
        "cvxpy",
        "highspy",
        "psutil",
        "sdpbb.bounds.certified",
        "sdpbb.bounds.lagrangian.generation",
        "sdpbb.run.certificates.writer",
        "sdpbb.problem.statements",
        "sdpbb.search.trace",
    )
    printed(script)  # compiles what is not cached
    loaded = printed(script)
    assert "numba" in loaded
    assert not {*unused} & {*loaded}


def test_garbage_is_collected_after_the_imports():
    with lean_imports():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.unfreeze()

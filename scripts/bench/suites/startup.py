"""Start of processes: whole processes, of one checkout or of several in turn.

Each part is run once to fill the caches of Python and Numba, and then as often as asked for; the
medians of wall-clock and of CPU seconds are written. Each part from "imports" on includes those
before. With --cold kernels are compiled: each checkout solves once with an empty cache.

`--only batch` is `sdpbb batch` of 1,000 instances by two workers. Each has 30 points in two
dimensions, drawn around three centres, and 20 constraints on random pairs that agree with them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scripts.bench import rows
from scripts.bench.data import ROOT
from scripts.bench.measuring import Ended, commit, in_checkout
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown
from sdpbb.problem.formats import Constraints, write_constraints, write_points

KEY = ""
COLUMNS = "checkout part runs wall cpu"
OPTIONS = {"checkouts": [ROOT], "runs": 7, "cold": False}
SOLVE = (
    *("-m", "sdpbb", "solve", "instances/iris.txt"),
    *("--constraints", "instances/iris_ml_38_cl_38.txt"),
)
PARTS = {
    "python": ("-c", "pass"),
    "numpy": ("-c", "import numpy"),
    "numba": ("-c", "import numba"),
    "help": ("-m", "sdpbb", "solve", "--help"),
    "imports": ("-c", "import sdpbb.run.solver"),
    "kernels": ("-c", "from sdpbb.run.kernels import WarmUp; WarmUp('sdp')()"),
    "solve": SOLVE,
}
"""Arguments of Python."""
ONLY = (*PARTS, "first run")
N_INSTANCES, N_POINTS, N_CONSTRAINTS, K = 1000, 30, 20, 3


def write_batch(folder: Path) -> None:
    """Write the instances and the manifest that names them; the same files every time."""
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(np.ones((N_POINTS, N_POINTS), bool), k=1))
    lines = ["data,constraints"]
    for number in range(N_INSTANCES):
        classes = rng.integers(0, K, N_POINTS)
        classes[:K] = np.arange(K)
        points = rng.uniform(0.0, 6.0, (K, 2))[classes] + rng.normal(size=(N_POINTS, 2))
        drawn = pairs[np.sort(rng.choice(len(pairs), N_CONSTRAINTS, replace=False))]
        same = classes[drawn[:, 0]] == classes[drawn[:, 1]]
        write_points(folder / f"{number}.txt", points, K)
        write_constraints(folder / f"{number}_pairs.txt", Constraints(drawn[same], drawn[~same]))
        lines.append(f"{number}.txt,{number}_pairs.txt")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")


def arguments(part: str, folder: Path) -> list[str]:
    """Return the arguments of Python for a part; a batch is in a folder."""
    if part != "batch":
        return list(PARTS.get(part, SOLVE))
    command = ["-m", "sdpbb", "batch", str(folder / "manifest.csv"), "--workers", "2", "--quiet"]
    return [*command, "--out", tempfile.mkdtemp(dir=folder)]


def cases(options: Options) -> list[Case]:
    return [{"part": part} for part in (("first run",) if options.cold else (*PARTS, "batch"))]


def measure(options: Options, part: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each checkout."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    runs = 1 if options.cold else options.runs
    if part == "batch":
        write_batch(options.scratch)
    found: dict[Path, list[Ended]] = {checkout: [] for checkout in options.checkouts}
    for number in range(runs if options.cold else runs + 1):
        for checkout, ended in found.items():
            with tempfile.TemporaryDirectory() as kernels:
                env = {"PYTHONPYCACHEPREFIX": str(options.scratch)}
                env |= {"NUMBA_CACHE_DIR": kernels} if options.cold else {}
                one = in_checkout(checkout, arguments(part, options.scratch), env=env)
            if number or options.cold:
                ended.append(one)
    for checkout, ended in found.items():
        seconds = {c: f"{median(getattr(one, c) for one in ended):.2f}" for c in ("wall", "cpu")}
        yield {"checkout": commit(checkout), "part": part, "runs": runs, **seconds}


def table(known: list[rows.Row], options: Options) -> list[str]:
    return markdown(list(known[0]), [list(row.values()) for row in known], text=(0, 1))


TABLES = {"startup": table}

"""Write the instances that ship with the project, Iris and Wine with constraints, or prove them.

    python scripts/instances.py           points and constraint sets, the same files every time
    python scripts/instances.py --prove   instances/optima.toml: optima, proven to a gap of 1e-8

The points are those of scikit-learn. The constraint sets are drawn as in section 4.2 of the
PC-SOS-SDP paper: a pair of points is selected at random, and is a must-link or a cannot-link by
the points' true classes, until there are as many of both kinds as wanted (about n/4 and n/2
constraints; only must-links, only cannot-links, or equally many).

Optima are those of all constraint sets with the k of their data file, and of Iris without
constraints for k = 2 to 6. An entry that could not be proven within the time limit is left out,
and named.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_iris, load_wine

import sdpbb
from sdpbb.problem.formats import Constraints, write_constraints, write_points
from sdpbb.runtime.files import write_atomically

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
GAP = 1e-8
HEADER = f"""\
# Proven optima of the instances in this folder, written by scripts/instances.py --prove.
#
# value is the sum of squares of a clustering that keeps the constraints; no such clustering has
# one below lower_bound; gap = (value - lower_bound) / value was asked to be at most {GAP:g}.
# nodes and seconds are those of the run.
"""


def draw_constraints(
    classes: Sequence[int], n_must_link: int, n_cannot_link: int, seed: int
) -> Constraints:
    """Return random constraints between different pairs of points that agree with their classes."""
    rng = random.Random(seed)  # whose random() is the same in every version of Python
    n = len(classes)
    must_link: set[tuple[int, int]] = set()
    cannot_link: set[tuple[int, int]] = set()
    while len(must_link) < n_must_link or len(cannot_link) < n_cannot_link:
        i, j = sorted((int(n * rng.random()), int(n * rng.random())))
        kind, wanted = (
            (must_link, n_must_link) if classes[i] == classes[j] else (cannot_link, n_cannot_link)
        )
        if i != j and len(kind) < wanted:
            kind.add((i, j))
    return Constraints(_as_pairs(must_link), _as_pairs(cannot_link))


def constraint_counts(n: int) -> list[tuple[int, int]]:
    """Return the numbers of must-links and cannot-links of the sets for n points."""
    counts = []
    for half in (round(n / 8), round(n / 4)):
        counts += [(2 * half, 0), (0, 2 * half), (half, half)]
    return counts


def make_instances(folder: Path) -> None:
    """Write the points and the constraint sets of every data set to folder."""
    for name, data in (("iris", load_iris()), ("wine", load_wine())):
        n, k = len(data.data), len(data.target_names)
        write_points(folder / f"{name}.txt", data.data, k)
        for must_links, cannot_links in constraint_counts(n):
            constraints = draw_constraints(data.target.tolist(), must_links, cannot_links, seed=0)
            write_constraints(folder / f"{name}_ml_{must_links}_cl_{cannot_links}.txt", constraints)


def _as_pairs(pairs: set[tuple[int, int]]) -> np.ndarray:
    return np.array(sorted(pairs), np.intp).reshape(-1, 2)


class Case(NamedTuple):
    """One instance: the files' names, and k."""

    data: str
    constraints: str
    k: int


def cases(folder: Path) -> list[Case]:
    """Return the instances in a folder, in the order of the entries."""
    found = [Case("iris.txt", "", k) for k in range(2, 7)]
    for data in ("iris.txt", "wine.txt"):
        sets = sorted(path.name for path in folder.glob(f"{Path(data).stem}_ml_*_cl_*.txt"))
        found += [Case(data, name, 3) for name in sets]
    return found


def entry(case: Case, result: sdpbb.Result) -> str:
    """Return the TOML table of a proven optimum."""
    return (
        "\n[[optimum]]\n"
        f'data = "{case.data}"\n'
        f'constraints = "{case.constraints}"\n'
        f"k = {case.k}\n"
        f"value = {result.objective!r}\n"
        f"lower_bound = {result.lower_bound!r}\n"
        f"gap = {float(result.gap or 0.0)!r}\n"
        f"nodes = {result.statistics.n_nodes}\n"
        f"seconds = {result.statistics.wall_seconds:.1f}\n"
        f'proven_by = "sdpbb {result.version}, branch and cut over SDP bounds"\n'
    )


def prove(folder: Path, time_limit: float) -> int:
    """Write the optima that are proven within a time limit for each; return 1 if one is not."""
    parameters = sdpbb.SolverParameters(gap=GAP, time_limit=time_limit)
    entries, unproven = [], []
    for case in cases(folder):
        constraints = folder / case.constraints if case.constraints else None
        instance = sdpbb.read_instance(folder / case.data, case.k, constraints)
        result = sdpbb.solve(instance, parameters)
        print(f"{case.data} {case.constraints or '-'} k={case.k}: {result}", flush=True)
        if result.status is sdpbb.SolutionStatus.OPTIMAL:
            entries.append(entry(case, result))
        else:
            unproven.append(case)
    write_atomically(folder / "optima.toml", HEADER + "".join(entries))
    for case in unproven:
        print(f"NOT PROVEN, left out: {case}", file=sys.stderr)
    return 1 if unproven else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prove", action="store_true", help="write the optima")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds of each proof")
    options = parser.parse_args()
    if options.prove:
        return prove(INSTANCES, options.time_limit)
    make_instances(INSTANCES)
    return 0


if __name__ == "__main__":
    sys.exit(main())

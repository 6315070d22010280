"""Solve every bundled instance to a gap of 1e-8 and write the proofs to instances/optima.toml.

The entries are those of all constraint sets with the k of their data file, and of Iris without
constraints for k = 2 to 6. An entry that could not be proven within the time limit is left out,
and named.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import sdpbb
from sdpbb.runtime.files import write_atomically

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
GAP = 1e-8
HEADER = f"""\
# Proven optima of the instances in this folder, written by scripts/prove_optima.py.
#
# value is the sum of squares of a clustering that keeps the constraints; no such clustering has
# one below lower_bound; gap = (value - lower_bound) / value was asked to be at most {GAP:g}.
# nodes and seconds are those of the run.
"""


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds per instance")
    arguments = parser.parse_args()
    parameters = sdpbb.SolverParameters(gap=GAP, time_limit=arguments.time_limit)
    entries, unproven = [], []
    for case in cases(INSTANCES):
        constraints = INSTANCES / case.constraints if case.constraints else None
        instance = sdpbb.read_instance(INSTANCES / case.data, case.k, constraints)
        result = sdpbb.solve(instance, parameters)
        print(f"{case.data} {case.constraints or '-'} k={case.k}: {result}", flush=True)
        if result.status is sdpbb.SolutionStatus.OPTIMAL:
            entries.append(entry(case, result))
        else:
            unproven.append(case)
    write_atomically(INSTANCES / "optima.toml", HEADER + "".join(entries))
    for case in unproven:
        print(f"NOT PROVEN, left out: {case}", file=sys.stderr)
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main())

"""Solve scikit-learn's breast cancer and digits data with constraints drawn from their labels.

n / 2 constraints each, half of them must-links and half cannot-links, between distinct random
pairs. Prints the log of each run, its gap, its seconds and the peak memory of this process.
"""

from __future__ import annotations

import argparse
import resource
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import sdpbb
from sdpbb.report import ProgressTable

DATA = {"breast_cancer": load_breast_cancer, "digits": load_digits}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA), help=f"of {', '.join(DATA)}")
    parser.add_argument("--seed", type=int, default=0, help="of the constraints")
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--time-limit", type=float, default=7200.0)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    parameters = sdpbb.SolverParameters(
        gap=arguments.gap, time_limit=arguments.time_limit, workers=arguments.workers
    )
    for name in arguments.names:
        result = sdpbb.solve(
            constrained(name, arguments.seed),
            parameters,
            ProgressTable(sys.stdout, sdpbb.__version__),
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}: {result.status.value}, gap {result.gap:.2e}, "
            f"{result.statistics.wall_seconds:.1f} s, {peak:.0f} MiB\n",
            flush=True,
        )
    return 0


def constrained(name: str, seed: int) -> sdpbb.Instance:
    """Return the data with n // 4 must-links and about as many cannot-links, n // 2 in all."""
    points, labels = DATA[name](return_X_y=True)
    n, rng = len(points), np.random.default_rng(seed)
    links: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    wanted = {True: n // 4, False: n // 2 - n // 4}
    while any(len(links[same]) < wanted[same] for same in links):
        i, j = sorted(rng.integers(n, size=2).tolist())
        same = bool(labels[i] == labels[j])
        if i != j and len(links[same]) < wanted[same]:
            links[same].add((i, j))
    k = len(np.unique(labels))
    return sdpbb.Instance(points, k, sorted(links[True]), sorted(links[False]), name=name)


if __name__ == "__main__":
    sys.exit(main())

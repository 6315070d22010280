"""Write the instances that ship with the project, Iris and Wine with constraints.

    python scripts/instances.py           points and constraint sets, the same files every time

The points are those of scikit-learn. The constraint sets are drawn as in section 4.2 of the
PC-SOS-SDP paper: a pair of points is selected at random, and is a must-link or a cannot-link by
the points' true classes, until there are as many of both kinds as wanted (about n/4 and n/2
constraints; only must-links, only cannot-links, or equally many).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, load_wine

from sdpbb.problem.formats import Constraints, write_constraints, write_points

INSTANCES = Path(__file__).resolve().parents[1] / "instances"


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


if __name__ == "__main__":
    make_instances(INSTANCES)

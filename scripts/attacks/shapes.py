"""Random instances of every shape, and what is needed to see one again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sdpbb import Instance

Points = NDArray[np.float64]
Pairs = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Case:
    """points (n, d), k, and pairs (p, 2)."""

    points: Points
    k: int
    must_link: Pairs
    cannot_link: Pairs

    @property
    def n(self) -> int:
        return len(self.points)

    def instance(self) -> Instance:
        from sdpbb import Instance

        return Instance(self.points, self.k, self.must_link, self.cannot_link)

    def code(self, parameters: str = "", check: str = "print(repr(result))") -> str:
        """Lines of Python that show it."""
        return "\n".join(
            [
                "import sdpbb",
                f"instance = sdpbb.Instance({self.points.tolist()!r}, {self.k},",
                f"    {self.must_link.tolist()!r}, {self.cannot_link.tolist()!r})",
                f"result = sdpbb.solve(instance{f', {parameters}' if parameters else ''})",
                check,
            ]
        )


def _uniform(rng: np.random.Generator, n: int, d: int) -> Points:
    return rng.random((n, d))


def _blobs(rng: np.random.Generator, n: int, d: int) -> Points:
    centres = rng.normal(size=(int(rng.integers(1, n + 1)), d)) * 10.0 ** rng.integers(0, 3)
    return centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, d))


def _grid(rng: np.random.Generator, n: int, d: int) -> Points:
    return rng.integers(0, int(rng.integers(2, 5)), (n, d)).astype(float)


def _collinear(rng: np.random.Generator, n: int, d: int) -> Points:
    return rng.integers(-5, 6, (n, 1)) * rng.normal(size=(1, d)) + rng.normal(size=(1, d))


def _duplicated(rng: np.random.Generator, n: int, d: int) -> Points:
    few = rng.normal(size=(int(rng.integers(1, max(n // 2, 1) + 1)), d))
    return few[rng.integers(0, len(few), n)]


def _equal(rng: np.random.Generator, n: int, d: int) -> Points:
    return np.tile(rng.normal(size=(1, d)), (n, 1))


def _outlier(rng: np.random.Generator, n: int, d: int) -> Points:
    points = rng.normal(size=(n, d))
    points[rng.integers(n)] *= 10.0 ** rng.integers(1, 5)
    return points


def _simplex(rng: np.random.Generator, n: int, d: int) -> Points:
    """All at the same distances: everything is a tie."""
    return np.eye(n, max(n, d))[rng.permutation(n)]


SHAPES: tuple[Callable[[np.random.Generator, int, int], Points], ...] = (
    _uniform,
    _blobs,
    _grid,
    _collinear,
    _duplicated,
    _equal,
    _outlier,
    _simplex,
)


def random_points(rng: np.random.Generator, n: int, d: int) -> Points:
    """(n, d) of any shape (and more columns for those that need them)."""
    return SHAPES[rng.integers(len(SHAPES))](rng, n, d)


def random_links(rng: np.random.Generator, n: int) -> tuple[Pairs, Pairs]:
    """Pairs of any density; half of the time those that some clustering keeps, so that many links
    need not be infeasible ones."""
    i, j = np.triu_indices(n, 1)
    pairs = np.stack([i, j], axis=1)[rng.permutation(len(i))]
    n_links = int(len(pairs) * rng.random() ** 3)
    if rng.random() < 0.5:
        labels = rng.integers(0, int(rng.integers(1, n + 1)), n)
        pairs = pairs[:n_links]
        together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        return pairs[together], pairs[~together]
    n_must = int(rng.integers(0, n_links + 1)) if rng.random() < 0.7 else 0
    return pairs[:n_must], pairs[n_must:n_links]


def random_case(rng: np.random.Generator, n_max: int, n_min: int = 1, d_max: int = 50) -> Case:
    """Of n_min to n_max points in 1 to d_max dimensions, most of them in few."""
    n = int(rng.integers(n_min, n_max + 1))
    d = 1 + int(d_max * rng.random() ** 4)
    must_link, cannot_link = random_links(rng, n)
    return Case(random_points(rng, n, d), int(rng.integers(1, n + 1)), must_link, cannot_link)

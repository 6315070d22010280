"""Blocks for the tests of pricing, and all their clusters in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.pricing import places

Adjacency = NDArray[np.bool_]

SEARCHES = ("clusters", "places")
"""How prices are proven: of all clusters, or, where dimensions are few, by the places of means."""


@contextmanager
def searching(by: str) -> Iterator[None]:
    """Context manager: prices are proven in this way, one of `SEARCHES`."""
    with pytest.MonkeyPatch.context() as patch:
        if by == "clusters":
            patch.setattr(places, "MOST_DIMENSIONS", 0)
        yield


@st.composite
def contracted_blocks(draw: st.DrawFn, most: int = 8) -> tuple[Contracted, Adjacency]:
    """Up to `most` blocks on a small grid, or next to it, in all units; and cannot-links."""
    m, d = draw(st.integers(1, most)), draw(st.integers(0, 5))
    unit = draw(st.sampled_from([1e-6, 0.3, 1.0, 1e6]))
    grid = draw(st.lists(st.integers(0, 4), min_size=m * d, max_size=m * d))
    means = np.array(grid, np.float64).reshape(m, d)
    if draw(st.booleans()):
        means += np.random.default_rng(draw(st.integers(0, 99))).normal(size=(m, d))
    means = unit * (means + draw(st.sampled_from([0.0, 0.1, 1000.0])))
    sizes = np.array(draw(st.lists(st.sampled_from([1, 1, 2, 5, 100]), min_size=m, max_size=m)))
    inner = 0.1 * np.array(draw(st.lists(st.integers(0, 20), min_size=m, max_size=m)))
    scatter = np.where(sizes > 1, unit**2 * inner, 0.0)
    adjacency = np.zeros((m, m), bool)
    pairs = list(combinations(range(m), 2))
    kind = draw(st.sampled_from(["none", "some", "cliques"]))
    if kind == "some":
        for (i, j), linked in zip(pairs, draw(bits(len(pairs))), strict=True):
            adjacency[i, j] = adjacency[j, i] = linked
    elif kind == "cliques":
        number = np.array(draw(st.lists(st.integers(0, 2), min_size=m, max_size=m)))
        adjacency = (number[:, None] == number) & (number > 0) & ~np.eye(m, dtype=bool)
    contracted = Contracted(int(sizes.sum()), sizes.astype(np.float64), means, scatter, 0.0)
    return contracted, adjacency


def bits(count: int) -> st.SearchStrategy[list[bool]]:
    return st.lists(st.booleans(), min_size=count, max_size=count)


def exact_values(
    contracted: Contracted, adjacency: Adjacency, prices: NDArray[np.float64]
) -> dict[int, Fraction]:
    """c(X) - prices(X) of all clusters X without a cannot-linked pair, by the binary number of
    which the ones are in X."""
    m, d = contracted.means.shape
    e = [int(size) for size in contracted.weights]
    c = [[Fraction(x) for x in row] for row in contracted.means.tolist()]
    own = [Fraction(w) - Fraction(p) for w, p in zip(contracted.scatter, prices, strict=True)]
    alone = [own[i] + e[i] * sum(x * x for x in c[i]) for i in range(m)]
    linked = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in adjacency]
    zero = Fraction(0)
    sums = {0: (0, zero, [zero] * d)}
    values = {}
    for number in range(1, 1 << m):
        i = number.bit_length() - 1
        rest = number ^ (1 << i)
        if rest not in sums or linked[i] & rest:
            continue
        size, total, moment = sums[rest]
        moment = [x + e[i] * y for x, y in zip(moment, c[i], strict=True)]
        sums[number] = size, total, moment = size + e[i], total + alone[i], moment
        values[number] = total - sum(x * x for x in moment) / size
    return values


def least_value(
    contracted: Contracted, adjacency: Adjacency, prices: NDArray[np.float64]
) -> Fraction:
    """The least of them."""
    return min(exact_values(contracted, adjacency, prices).values())

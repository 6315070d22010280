"""Blocks with prices, cannot-links and rules, and all their clusters in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from sdpbb.checker.kernel.geometry import Contracted
from sdpbb.checker.kernel.rules import Either, Limit, Rules
from sdpbb.checker.pricing import places

SEARCHES = ("clusters", "places")
"""How prices are proven: of all clusters, or, where dimensions are few, by the places of means."""


@contextmanager
def searching(by: str) -> Iterator[None]:
    """Context manager: prices are proven in this way, one of `SEARCHES`."""
    with pytest.MonkeyPatch.context() as patch:
        if by == "clusters":
            patch.setattr(places, "MOST_DIMENSIONS", 0)
        yield


class Priced(NamedTuple):
    """Blocks, pairs (m, m) that are cannot-linked, prices (m,), and rules on clusters."""

    contracted: Contracted
    adjacency: NDArray[np.bool_]
    prices: NDArray[np.float64]
    rules: Rules = ()

    @property
    def scale(self) -> float:
        return float(np.abs(self.prices).sum() + self.contracted.scatter.sum())

    def values(self) -> dict[int, Fraction]:
        """c(X) - prices(X) of all clusters X that are allowed, by the binary number of which the
        ones are in X."""
        contracted = self.contracted
        m, d = contracted.means.shape
        e = [int(size) for size in contracted.weights]
        c = [[Fraction(x) for x in row] for row in contracted.means.tolist()]
        pairs = zip(contracted.scatter.tolist(), self.prices.tolist(), strict=True)
        own = [Fraction(w) - Fraction(p) for w, p in pairs]
        alone = [own[i] + e[i] * sum(x * x for x in c[i]) for i in range(m)]
        linked = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in self.adjacency]
        zero = Fraction(0)
        sums = {0: (0, zero, [zero] * d)}
        values = {}
        for number in range(1, 1 << m):
            i = number.bit_length() - 1
            rest = number ^ (1 << i)
            if rest not in sums or linked[i] & rest:
                continue
            if not keeps(self.rules, [j for j in range(m) if number >> j & 1]):
                continue
            size, total, moment = sums[rest]
            moment = [x + e[i] * y for x, y in zip(moment, c[i], strict=True)]
            sums[number] = size, total, moment = size + e[i], total + alone[i], moment
            values[number] = total - sum(x * x for x in moment) / size
        return values


def keeps(rules: Rules, blocks: list[int]) -> bool:
    """Whether a set of blocks keeps the rules, by their definition; then so do its parts."""
    for rule in rules:
        if isinstance(rule, Either):
            if not any(keeps(part, blocks) for part in rule.alternatives):
                return False
        elif _spent(rule, blocks) > rule.most:
            return False
    return True


def _spent(limit: Limit, blocks: list[int]) -> float:
    counts = [1] * len(limit.pairs) if limit.counts is None else limit.counts.tolist()
    pairs = zip(limit.pairs.tolist(), counts, strict=True)
    inside = sum(count for (i, j), count in pairs if i in blocks and j in blocks)
    return float(sum(limit.weights[i] for i in blocks) + inside)


def random_limit(rng: np.random.Generator, m: int) -> Limit:
    """Tight enough to matter, mostly; now and then so that nothing is allowed."""
    weights = rng.integers(0, 4, m) * (rng.random(m) < 0.8)
    upper = np.zeros((m, m), np.int64)
    if rng.random() < 0.4:
        upper = np.triu(rng.integers(0, 3, (m, m)) * (rng.random((m, m)) < 0.5), 1)
        weights *= rng.random() < 0.5
    pairs = np.argwhere(upper)
    return Limit(weights, pairs, int(rng.integers(0, 7)), upper[tuple(pairs.T)])


def random_rules(rng: np.random.Generator, m: int) -> Rules:
    """Up to three, of which some are alternatives."""
    rules: list[Limit | Either] = []
    for _ in range(int(rng.integers(0, 4))):
        if rng.random() < 0.7:
            rules.append(random_limit(rng, m))
        else:
            parts = [
                tuple(random_limit(rng, m) for _ in range(int(rng.integers(1, 3))))
                for _ in range(int(rng.integers(1, 3)))
            ]
            rules.append(Either(tuple(parts)))
    return tuple(rules)


@st.composite
def contracted_blocks(draw: st.DrawFn, most: int = 8) -> tuple[Contracted, NDArray[np.bool_]]:
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
    number = np.array(draw(st.lists(st.integers(0, 2), min_size=m, max_size=m)))
    adjacency = (number[:, None] == number) & (number > 0) & ~np.eye(m, dtype=bool)
    kept = draw(st.sampled_from([0.0, 0.5, 1.0]))  # of cliques
    adjacency &= np.random.default_rng(m).random((m, m)) < kept
    contracted = Contracted(int(sizes.sum()), sizes.astype(np.float64), means, scatter, 0.0)
    return contracted, adjacency | adjacency.T


@st.composite
def problems(draw: st.DrawFn, ruled: bool = True) -> Priced:
    """Often with sets of the same value."""
    contracted, adjacency = draw(contracted_blocks())
    m = contracted.m
    rules = random_rules(np.random.default_rng(draw(st.integers(0, 10**6))), m) if ruled else ()
    spread = float(np.ptp(contracted.means, axis=0).max(initial=0.0)) or 1.0
    kind = draw(st.sampled_from(["any", "equal", "leaving"]))
    if kind == "any":
        steps = draw(st.lists(st.integers(-4, 30), min_size=m, max_size=m))
        factor = draw(st.sampled_from([0.01, 0.1, 1.0, 10.0])) * spread**2
        return Priced(contracted, adjacency, factor * np.array(steps, np.float64), rules)
    if kind == "equal":
        factor = draw(st.floats(0.01, 3.0)) * spread**2
        prices = factor * contracted.weights + contracted.scatter
        return Priced(contracted, adjacency, prices, rules)
    # Blocks of a set that are each worth what it gains by them, to rounding.
    among = draw(st.lists(st.booleans(), min_size=m, max_size=m).filter(any))
    e, c = contracted.weights, contracted.means
    size = e[among].sum()
    mean = e[among] @ c[among] / size
    squares = ((c - mean) ** 2).sum(axis=1)
    factors = np.where(among, size / np.maximum(size - e, 1.0), size / (size + e))
    return Priced(contracted, adjacency, e * factors * squares + contracted.scatter, rules)


def random_problem(rng: np.random.Generator, m: int, d: int, n_links: int, rules: Rules = ()):
    """More blocks, with values that are apart."""
    sizes = rng.integers(1, 4, m).astype(np.float64)
    means = rng.normal(size=(m, d))
    scatter = np.where(sizes > 1, rng.exponential(0.1, m), 0.0)
    adjacency = np.zeros((m, m), bool)
    for i, j in rng.permutation(list(combinations(range(m), 2)))[:n_links]:
        adjacency[i, j] = adjacency[j, i] = True
    prices = scatter + sizes * rng.gamma(3.0, 0.3 * d, m)
    contracted = Contracted(int(sizes.sum()), sizes, means, scatter, 0.0)
    return Priced(contracted, adjacency, prices, rules)

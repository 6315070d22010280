"""Packings and colourings, of the engine and of the checker, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Measure
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.packing import ClusterByCluster, is_packable
from sdpbb.problem.feasibility import ClusterPacking, UndecidedPacking
from sdpbb.problem.quantities import Quantity
from tests.examples import examples
from tests.graphs import complete, cycle, mycielski, proper_colourings, random_graph


def drawn(seed: int):
    """Measures of a few blocks, and cannot-links: sizes, listed or not, weights, or both."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    counts, units = rng.integers(1, 4, m), rng.integers(1, 10 ** rng.integers(1, 15), m)
    measures, n, total = [], int(counts.sum()), int(units.sum())
    kind = rng.integers(0, 4)
    if kind == 0 and n >= k:
        sizes = (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()
        wide = rng.integers(0, rng.integers(1, 4), k).tolist()
        listed = [(size, size + more) for size, more in zip(sizes, wide, strict=True)]
        limits = SizeLimits.of(n, k, listed=listed) or SizeLimits(n, k, 1, n - k + 1)
        measures.append((counts, limits))
    if kind == 1:
        measures.append((counts, SizeLimits(n, k, int(rng.integers(1, n // k + 2)), n)))
    if kind >= 1 or not measures:
        least = int(total / k * rng.uniform(0.2, 1.0)) + 1
        most = int(total / k * rng.uniform(1.0, 2.0))
        measures.append((units, SizeLimits(total, k, least, most)))
    adjacency = np.triu(rng.random((m, m)) < rng.choice([0.0, 0.3]), 1)
    return measures, adjacency | adjacency.T, k


def fits(measures, adjacency, labels: np.ndarray, k: int) -> bool:
    def sums(of_blocks: np.ndarray) -> np.ndarray:
        return np.array([of_blocks[labels == cluster].sum() for cluster in range(k)])

    apart = adjacency & (labels[:, None] == labels)
    return not apart.any() and all(limits.keeps(sums(values)) for values, limits in measures)


@given(st.integers(0, 10**6))
@examples(150)
def test_packings_are_those_of_enumeration(seed):
    measures, adjacency, k = drawn(seed)
    if any(limits.is_empty for _, limits in measures):
        return
    rows = product(range(k), repeat=len(adjacency))
    expected = any(fits(measures, adjacency, np.array(row), k) for row in rows)
    labels = ClusterPacking([Quantity(*each) for each in measures], adjacency).labels()
    assert (labels is not None) is expected
    checked = [Measure.of(*each) for each in measures]
    assert is_packable(adjacency, k, checked) is expected
    assert ClusterByCluster(checked, adjacency).succeeds() is expected
    assert labels is None or fits(measures, adjacency, labels, k)


@pytest.mark.parametrize("seed", range(4))
def test_weights_a_unit_from_a_packing(seed):
    """With the greatest weight of the best packing there is one, and with a unit less, none."""
    rng = np.random.default_rng(seed)
    units = rng.integers(10**14, 10**15, 18)
    total, apart = int(units.sum()), np.zeros((18, 18), bool)
    sums = (np.arange(2**17)[:, None] >> np.arange(18) & 1) @ units
    best = int(np.maximum(sums, total - sums).min())
    for most in (best, best - 1):
        limits = SizeLimits(total, 2, total - most, most)
        assert is_packable(apart, 2, [Measure.of(units, limits)]) is (most == best)


def test_it_is_given_up_in_time():
    units = np.random.default_rng(0).integers(10**14, 10**15, 60)
    total, apart = int(units.sum()), np.zeros((60, 60), bool)
    narrow = SizeLimits(total, 3, total // 3 - 10**9, total // 3 + 10**9)
    wide = SizeLimits(int(units[:40].sum()), 3, 1, int(units[:40].sum()))
    for values, limits, why in ((units, narrow, "too many"), (units[:40], wide, "within the work")):
        own = apart[: len(values), : len(values)]
        with pytest.raises(Rejected, match=why):
            ClusterByCluster([Measure.of(values, limits)], own).succeeds()
        with pytest.raises(UndecidedPacking, match=why):
            ClusterPacking([Quantity(values, limits)], own).labels()


def test_packings_are_given_up_in_time():
    counts = np.full(60, 7)
    limits = SizeLimits(420, 6, 69, 71)
    with pytest.raises(Rejected, match="could not be decided"):
        is_packable(np.zeros((60, 60), bool), 6, [Measure.of(counts, limits)], steps=20)


@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(0.1, 0.9))
def test_colourings_are_those_of_enumeration(seed, k, density):
    adjacency = random_graph(np.random.default_rng(seed), 6, density)
    assert is_packable(adjacency, k) is bool(proper_colourings(adjacency, k))


def test_graphs_without_triangles_may_need_many_colours():
    adjacency = complete(2)
    for colours in (3, 4, 5):
        adjacency = mycielski(adjacency)
        assert is_packable(adjacency, colours)
        assert not is_packable(adjacency, colours - 1)
    with pytest.raises(Rejected, match="could not be decided within 20 steps"):
        is_packable(adjacency, 4, steps=20)


def test_colourings_of_many_vertices_and_of_none():
    assert not is_packable(cycle(1501), 2)
    assert is_packable(cycle(1501), 3)
    assert is_packable(np.zeros((0, 0), bool), 1)
    assert not is_packable(np.diag([True, False]), 5)

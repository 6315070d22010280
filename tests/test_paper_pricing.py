import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from tests.enumeration import random_instance

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import paper_pricing as paper


def contraction_of(seed: int, n_max: int = 13) -> Contraction:
    """The first consistent instance with at most 12 blocks from this seed on."""
    rng = np.random.default_rng(seed)
    while True:
        contraction = contract(random_instance(rng, n_max))
        if isinstance(contraction, Contraction) and contraction.n_blocks <= 12:
            return contraction


def clusters(contraction: Contraction) -> list[np.ndarray]:
    """Every non-empty set of blocks without a cannot-linked pair."""
    m = contraction.n_blocks
    sets = [np.flatnonzero(code >> np.arange(m) & 1) for code in range(1, 1 << m)]
    adjacent = contraction.adjacency
    return [X for X in sets if not adjacent[np.ix_(X, X)].any()]


def reduced_cost(contraction: Contraction, X: np.ndarray, prices: np.ndarray) -> float:
    """c(X) - prices(X) by the definition of c."""
    e, c = contraction.sizes[X], contraction.means[X]
    centre = e @ c / e.sum()
    cost = contraction.scatter[X].sum() + e @ ((c - centre) ** 2).sum(axis=1)
    return float(cost - prices[X].sum())


def random_prices(contraction: Contraction, rng: np.random.Generator) -> np.ndarray:
    """From worthless to far above what clusters cost, some of them 0."""
    m = contraction.n_blocks
    level = max(contraction.total, 1.0) / m * 10 ** rng.uniform(-1.5, 1)
    return level * rng.random(m) * (rng.random(m) < 0.9) + contraction.scatter * rng.random(m)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_the_least_value_is_that_of_all_clusters(seed):
    contraction = contraction_of(seed)
    rng = np.random.default_rng(seed)
    prices = random_prices(contraction, rng)
    values = np.array([reduced_cost(contraction, X, prices) for X in clusters(contraction)])
    scale = 1e-11 * (contraction.total + prices.sum() + 1.0)
    found = paper.paper_pricing(contraction, prices)
    assert found.finished
    assert found.value == pytest.approx(values.min(), abs=scale)
    for target in (values.min() - 1.0, float(np.median(values)), 0.0):
        found = paper.paper_pricing(contraction, prices, target)
        assert found.value == pytest.approx(min(target, values.min()), abs=scale)


def test_many_blocks_of_one_point_without_and_with_cannot_links():
    rng = np.random.default_rng(5)
    points = rng.random((12, 2))
    pairs = [(i, i + 1) for i in range(0, 11, 2)]
    for cannot_link in ([], pairs):
        contraction = contract(Instance(points, 3, cannot_link=cannot_link))
        assert isinstance(contraction, Contraction)
        every = clusters(contraction)
        assert len(every) == (3**6 - 1 if cannot_link else 2**12 - 1)
        prices = np.full(12, 0.05)
        least = min(reduced_cost(contraction, X, prices) for X in every)
        assert paper.paper_pricing(contraction, prices).value == pytest.approx(least)


def test_pair_sums_are_those_of_the_points():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(6, 3))
    contraction = contract(Instance(points, 2, must_link=[(0, 1), (1, 2), (3, 4)]))
    assert isinstance(contraction, Contraction)
    squared = ((points[:, None, :] - points) ** 2).sum(axis=2)
    blocks = [np.flatnonzero(contraction.block_of == b) for b in range(contraction.n_blocks)]
    sums = np.array([[squared[np.ix_(a, b)].sum() for b in blocks] for a in blocks])
    sums[np.diag_indices(len(blocks))] /= 2  # there every pair is counted twice
    assert paper.pair_sums(contraction) == pytest.approx(sums)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_bound_holds_for_every_set_of_candidates(seed):
    """Section 4.3: X with any of its candidates is never below the bound, whatever X is."""
    rng = np.random.default_rng(seed)
    contraction = contraction_of(seed, n_max=10)
    m = contraction.n_blocks
    prices = random_prices(contraction, rng)
    d, sizes = paper.pair_sums(contraction), contraction.sizes
    order = rng.permutation(m)
    cut = int(rng.integers(0, m))
    X, candidates = order[:cut], order[cut:]
    beta = d[np.diag_indices(m)] + d[:, X].sum(axis=1)
    old = np.triu(d[np.ix_(X, X)]).sum()
    by_price = np.argsort(-prices / sizes)
    bound = paper._size_bound(
        old, sizes[X].sum(), prices[X].sum(), candidates, m - cut, beta, sizes, prices, by_price
    )
    for code in range(1 << (m - cut)):
        more = candidates[np.flatnonzero(code >> np.arange(m - cut) & 1)]
        whole = np.concatenate([X, more])
        if len(whole):
            value = reduced_cost(contraction, whole, prices)
            assert bound <= value + 1e-11 * (contraction.total + prices.sum() + 1.0)


def test_a_search_that_is_cut_off_says_so_and_gives_what_it_met():
    contraction = contract(Instance(np.random.default_rng(0).random((30, 2)), 6))
    assert isinstance(contraction, Contraction)
    prices = np.full(30, 0.05)
    whole = paper.paper_pricing(contraction, prices)
    assert whole.finished
    values = []
    for limit in (1, 5, whole.n_nodes - 1, whole.n_nodes):
        found = paper.paper_pricing(contraction, prices, 0.0, limit)
        assert found.n_nodes <= limit
        assert found.finished == (limit == whole.n_nodes)
        values.append(found.value)
    assert values[0] == 0.0
    assert values[-1] == whole.value
    assert all(later <= earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("prices", [[1.0, -1e-9, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0]])
def test_prices_without_a_bound_are_refused(prices):
    contraction = contract(Instance(np.eye(3), 2))
    assert isinstance(contraction, Contraction)
    with pytest.raises(ParameterError, match="expected 3 finite numbers >= 0"):
        paper.paper_pricing(contraction, np.array(prices))


def test_methods_are_compared_on_the_same_problems():
    rng = np.random.default_rng(3)
    problems = []
    for name in ("a", "b"):
        contraction = contract(Instance(rng.random((12, 2)), 3))
        assert isinstance(contraction, Contraction)
        problems.append(paper.PricingProblem(name, contraction, np.full(12, 0.1), 0.0))

    def ours(contraction, prices, target):
        every = clusters(contraction)
        values = [reduced_cost(contraction, X, prices) for X in every]
        return paper.Priced(min(target, *values), len(every), True)

    rows = paper.compare_pricing(problems, ours)
    assert [row.problem.name for row in rows] == ["a", "b"]
    assert all(row.agrees and row.our_seconds > 0 and row.paper_seconds > 0 for row in rows)
    table = paper.pricing_table(rows)
    assert len(table) == 4
    assert table[2].startswith("| a | 12 | ")
    assert table[2].endswith("| yes |")
    assert "| 4,095 |" in table[2]

    def wrong(contraction, prices, target):
        return paper.Priced(ours(contraction, prices, target).value * 1.001, 1, True)

    rows = paper.compare_pricing(problems, wrong)
    assert not any(row.agrees for row in rows)
    assert paper.pricing_table(rows)[2].endswith("| NO |")
    cut_off = paper.compare_pricing(problems, ours, node_limit=1)
    assert all(row.agrees and not row.paper.finished for row in cut_off)
    assert "| >1 |" in paper.pricing_table(cut_off)[2]

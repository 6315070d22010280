import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from heuristics import MultiStart, MultiStartParameters, starts
from heuristics.descent import Descent
from sdpbb.errors import ParameterError
from sdpbb.problem import Infeasibility, Instance, Partition, contract
from sdpbb.problem.feasibility import find_feasible
from tests.examples import examples
from tests.graphs import clusterings, complete, contraction_of, proper, random_graph

FEW = MultiStartParameters(n_starts=3, n_relocations=3)


def check(contraction, solution):
    assert proper(contraction.adjacency, solution.labels)
    assert np.array_equal(np.unique(solution.labels), np.arange(contraction.k))
    assert solution.cost == contraction.cost(solution.labels)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.floats(0, 0.3), st.booleans())
@examples(40)
def test_solutions_are_clusterings_no_dearer_than_a_given_one(seed, k, density, local_search):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 12, density), k, rng)
    labels = find_feasible(contraction)
    if isinstance(labels, Infeasibility):
        return
    parameters = MultiStartParameters(n_starts=2, n_relocations=2, local_search=local_search)
    solution = MultiStart(parameters).run(contraction, rng)
    check(contraction, solution)
    assert solution.source == "k-means++"
    improved = MultiStart(parameters).run(contraction, rng, start=labels)
    check(contraction, improved)
    assert improved.source == "given"
    assert improved.cost <= contraction.cost(labels)


@pytest.mark.long
def test_optimal_on_most_tiny_instances():
    optimal = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        adjacency = random_graph(rng, 8, 0.2)
        contraction = contraction_of(adjacency, 3, rng)
        feasible = clusterings(adjacency, 3)
        best = min(contraction.cost(labels) for labels in feasible)
        found = MultiStart(MultiStartParameters(n_starts=5, n_relocations=10)).run(contraction, rng)
        assert found.cost >= best - 1e-9
        optimal += found.cost <= best + 1e-9
    assert optimal >= 19


def test_the_affinity_of_a_local_optimum_leads_back_to_it():
    rng = np.random.default_rng(2)
    contraction = contraction_of(random_graph(rng, 30, 0.05), 3, rng)
    optimum = MultiStart().run(contraction, rng)
    weight = np.bincount(optimum.labels, weights=contraction.weights)
    affinity = (optimum.labels[:, None] == optimum.labels) / weight[optimum.labels]
    parameters = MultiStartParameters(n_starts=2, n_relocations=0)
    found = MultiStart(parameters).run(contraction, rng, affinity)
    assert found.source == "sdp"
    assert found.cost == pytest.approx(optimum.cost, rel=1e-12)


@pytest.fixture
def many(monkeypatch):
    """Take 40 blocks for many, and 20 for those of a coreset."""
    monkeypatch.setattr(starts, "LARGE_BLOCKS", 40)
    monkeypatch.setattr(starts, "DRAWS", 20)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)


@pytest.mark.parametrize("seed", range(6))
def test_solutions_over_many_blocks_are_clusterings(seed, many):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(90, 3)) * 10.0 ** rng.integers(-3, 3)
    points[:30] = points[30:60]
    pairs = rng.permutation(90).reshape(-1, 2)
    instance = Instance(points, 4, pairs[:10], pairs[10 : 10 + 3 * (seed % 5)])
    contraction = contract(instance)
    assert starts.is_large(contraction)
    known = find_feasible(contraction)
    told = []
    descent = Descent(contraction, FEW, known)
    search = MultiStart(FEW)
    solution = search.run(contraction, rng, descent=descent, found=told.append)
    check(contraction, solution)
    assert solution is told[-1]
    for each in told:
        check(contraction, each)
    lifted = Partition(contraction.lift(solution.labels))
    assert lifted.is_feasible(instance)
    assert lifted.sum_of_squares(points) == pytest.approx(solution.cost, rel=1e-12)
    for labels in (solution.labels, known):
        better = search.run(contraction, rng, descent=descent, start=labels)
        assert better.cost <= contraction.cost(labels)


def test_many_equal_points(many):
    few = contract(Instance(np.repeat([[0.0], [1.0], [5.0]], 30, axis=0), 3))
    assert MultiStart(FEW).run(few, np.random.default_rng(0)).cost == 0.0
    one = contract(Instance(np.ones((60, 2)), 3))
    solution = MultiStart(FEW).run(one, np.random.default_rng(0))
    check(one, solution)
    assert solution.cost == 0.0


def test_as_cheap_as_many_starts_of_k_means_on_twenty_thousand_points():
    rng = np.random.default_rng(8)
    truth = rng.integers(12, size=20_000)
    points = 2.0 * rng.normal(size=(12, 4))[truth] + rng.normal(size=(20_000, 4))
    contraction = contract(Instance(points, 12))
    found = MultiStart(FEW).run(contraction, rng)
    check(contraction, found)
    reference = KMeans(12, n_init=5, random_state=0).fit(points)
    assert found.cost <= contraction.cost(reference.labels_) * (1.0 + 1e-6)


def test_an_infeasible_contraction_is_refused():
    contraction = contraction_of(complete(4), 3, np.random.default_rng(5))
    with pytest.raises(ParameterError, match="no clustering"):
        MultiStart(FEW).run(contraction, np.random.default_rng(5))

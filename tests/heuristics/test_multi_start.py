import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

import heuristics
from heuristics import MultiStart, MultiStartParameters, starts
from heuristics.descent import BestClustering, Descent
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
def test_solutions_are_clusterings(seed, k, density, local_search):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 12, density), k, rng)
    if isinstance(find_feasible(contraction), Infeasibility):
        return
    parameters = MultiStartParameters(n_starts=2, n_relocations=2, local_search=local_search)
    solution = MultiStart(parameters).run(contraction, rng)
    check(contraction, solution)
    assert solution.source == "k-means++"


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


@given(st.integers(0, 2**32 - 1))
@examples(20)
def test_improving_never_makes_worse(seed):
    rng = np.random.default_rng(seed)
    contraction = contraction_of(random_graph(rng, 12, 0.1), 4, rng)
    labels = find_feasible(contraction)
    if isinstance(labels, Infeasibility):
        return
    improved = MultiStart(FEW).run(contraction, rng, start=labels)
    check(contraction, improved)
    assert improved.source == "given"
    assert improved.cost <= contraction.cost(labels)


@pytest.mark.parametrize("n_assignments", [1, 2, 3])
def test_a_descent_ends_after_the_assignment_in_which_time_runs_out(n_assignments):
    rng = np.random.default_rng(6)
    contraction = contraction_of(random_graph(rng, 200, 0.005), 12, rng)
    centres = contraction.means[:12]
    whole = Descent(contraction, FEW)
    best = whole.from_centres(centres, BestClustering(contraction, "given"))
    assert whole.assign.n_steps > 3

    def time_left() -> float:
        return 1.0 if descent.assign.n_steps < n_assignments else 0.0

    descent = Descent(contraction, FEW, time_left=time_left)
    found = descent.from_centres(centres, BestClustering(contraction, "given", time_left))
    assert descent.assign.n_steps == n_assignments
    check(contraction, found)
    assert found.cost >= best.cost


@pytest.fixture
def many(monkeypatch):
    """Take 40 blocks for many, and 20 for those of a coreset."""
    monkeypatch.setattr(starts, "LARGE_BLOCKS", 40)
    monkeypatch.setattr(starts, "DRAWS", 20)
    monkeypatch.setattr(starts, "DRAWS_PER_CLUSTER", 0)


@pytest.mark.parametrize("seed", range(12))
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


def test_the_same_seed_gives_the_same_solution_over_many_blocks(many):
    contraction = contract(Instance(np.random.default_rng(7).normal(size=(200, 2)), 6))
    first, second = (MultiStart(FEW).run(contraction, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first.labels, second.labels)


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


@pytest.mark.parametrize(
    "change",
    [
        {"n_starts": 0},
        {"n_relocations": -1},
        {"max_iterations": 1.5},
        {"n_starts": True},
        {"assignment_time_limit": 0.0},
    ],
)
def test_parameters_are_validated(change):
    with pytest.raises(ParameterError, match=next(iter(change))):
        MultiStartParameters(**change)


def test_importing_the_package_loads_no_solver():
    slow = ("numba", "sklearn", "highspy", "gurobipy", "scipy")
    command = f"import sys, heuristics; print([m for m in {slow} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]", loaded.stderr


def test_unknown_names_of_the_package():
    with pytest.raises(AttributeError, match="nothing"):
        heuristics.nothing  # noqa: B018

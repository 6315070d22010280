"""Extremes among instances of thousands of points, which take seconds: no matrix of all blocks."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from sdpbb.problem import InfeasibilityKind, Instance
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.events import MemoryShort, SubsetsChosen
from sdpbb.search.result import SolutionStatus
from tests.constants import NO_PLACES, constants

PARAMETERS = SolverParameters(gap=0.02)
CENTRES = 20.0 * np.random.default_rng(1).normal(size=(5, 3))


@pytest.fixture(autouse=True, scope="module")
def no_places() -> Iterator[None]:
    with constants(NO_PLACES):
        yield


def clouds(n: int) -> np.ndarray:
    noise = np.random.default_rng(0).normal(size=(n, 3))
    return CENTRES[np.arange(n) % 5] + noise


def begun(instance: Instance, parameters: SolverParameters = PARAMETERS):
    """The result, and whether the run has started with subsets."""
    events = []
    result = solve(instance, parameters, events.append)
    assert not any(isinstance(event, MemoryShort) for event in events)
    return result, any(isinstance(event, SubsetsChosen) for event in events)


@pytest.mark.parametrize("pairs", ["none", "must-links", "cannot-links"])
def test_one_point_repeated_costs_nothing(pairs):
    links = [(i, i + 1) for i in range(0, 20_000, 2)]
    instance = Instance(
        np.full((100_000, 3), 1e7 / 3),
        10,
        links if pairs == "must-links" else (),
        links if pairs == "cannot-links" else (),
    )
    result, _ = begun(instance)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, 0.0)


def test_a_point_repeated_beside_others_is_one_block():
    points = np.ones((100_000, 3))
    points[:20] += np.random.default_rng(0).normal(size=(20, 3))
    result, _ = begun(Instance(points, 10))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_blocks == 21
    of_the_others = solve(Instance(points[:21], 10), PARAMETERS)
    assert result.objective >= of_the_others.lower_bound


def test_one_cluster_and_as_many_as_points():
    points = clouds(5000)
    result, _ = begun(Instance(points, 1))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(((points - points.mean(axis=0)) ** 2).sum(), rel=1e-12)
    result, _ = begun(Instance(points, 5000))
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, 0.0)


@pytest.mark.long
def test_a_block_larger_than_a_subset():
    """A third of the points are one block, so what it costs is most."""
    links = [(i, i + 1) for i in range(1000)]
    result, with_subsets = begun(Instance(clouds(3000), 5, links))
    assert with_subsets
    assert result.status is SolutionStatus.OPTIMAL
    assert len(set(result.partition.labels[:1001].tolist())) == 1


@pytest.mark.long
def test_cannot_links_among_k_points_of_all_subsets():
    clique = np.random.default_rng(0).choice(3000, 5, replace=False).tolist()
    result, with_subsets = begun(Instance(clouds(3000), 5, (), list(combinations(clique, 2))))
    assert with_subsets
    assert result.status is SolutionStatus.OPTIMAL
    assert len(set(result.partition.labels[clique].tolist())) == 5


@pytest.mark.parametrize("k", [5, 40])
def test_cannot_links_among_more_than_k_points_are_a_proof(k):
    clique = np.random.default_rng(0).choice(3000, k + 1, replace=False).tolist()
    result, _ = begun(Instance(clouds(3000), k, (), list(combinations(clique, 2))))
    assert result.status is SolutionStatus.INFEASIBLE
    assert result.infeasibility.kind is InfeasibilityKind.CLIQUE
    assert result.conflict.kind is InfeasibilityKind.CLIQUE


@pytest.mark.long
def test_subsets_smaller_than_k_count_nothing():
    subsets = DecompositionParameters(least_blocks=2, smallest=2, per_cluster=1)
    result, with_subsets = begun(
        Instance(clouds(600), 12), replace(PARAMETERS, gap=0.3, decomposition=subsets)
    )
    assert with_subsets
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_lost_subsets == 0

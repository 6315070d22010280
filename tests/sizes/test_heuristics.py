"""Heuristics that keep limits on sizes."""

from random import Random

import numpy as np
import pytest

from heuristics.best_of import BestOf
from heuristics.incumbents import IncumbentSearch, PreparedSearch
from heuristics.multi_start import MultiStart
from heuristics.parameters import MultiStartParameters
from heuristics.result import HeuristicStatus
from sdpbb.problem import Instance, Partition, contract
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import no_limit
from tests.any_instance import drawn_instance
from tests.enumeration import feasible_clusterings


def keeps(instance, labels):
    limits = instance.size_limits
    return limits is None or limits.keeps(np.bincount(labels))


@pytest.mark.parametrize("seed", range(60))
def test_best_of_finds_the_optimum_of_tiny_instances(seed):
    instance = drawn_instance(Random(seed), "pairs", always=["sizes"], n=(3, 9), k=(1, 4))
    costs = [Partition(labels).cost(instance) for labels in feasible_clusterings(instance)]
    result = BestOf(n_runs=2, n_starts=3, n_relocations=10).run(instance, seed)
    if not costs:
        assert result.status is HeuristicStatus.INFEASIBLE
        return
    assert result.keeps_hard_constraints
    assert keeps(instance, result.labels)
    assert result.sum_of_squares == pytest.approx(min(costs), rel=1e-9, abs=1e-9)


def searches_of(monkeypatch, n, k, is_root):
    """Return relocations of the search before the bound and of the next, and the costs found."""
    instance = Instance(np.random.default_rng(0).normal(size=(n, 2)), k, max_size=-(-n // k))
    contraction, efforts, costs = contract(instance), [], []
    run = MultiStart.run

    def run_and_note(search, contraction, rng, affinity, descent, *given):
        efforts.append(search.parameters.n_relocations)
        costs.append([contraction.cost(descent.known())])
        few = MultiStart(MultiStartParameters(n_starts=2, n_relocations=1))
        return run(few, contraction, rng, affinity, descent, *given)

    def found(labels, source):
        costs[-1].append(contraction.cost(labels))

    monkeypatch.setattr(MultiStart, "run", run_and_note)
    known = find_feasible(contraction)
    prepared = PreparedSearch(IncumbentSearch(), contraction, known, no_limit, is_root)
    affinity = np.full((n, n), 1.0 / n)
    for of in (None, affinity):
        prepared.search(np.random.default_rng(1), of, lambda: False, found)
    return efforts, costs


@pytest.mark.parametrize(
    ("n", "k", "is_root", "efforts"),
    [
        (30, 3, True, [4, 18]),
        (30, 3, False, [4, 4]),
        (40, 10, True, [4, 100]),
        (500, 20, True, [100, 100]),
        (500, 20, False, [4, 4]),
    ],
)
def test_a_root_within_limits_is_searched_for_longer(monkeypatch, n, k, is_root, efforts):
    assert searches_of(monkeypatch, n, k, is_root)[0] == efforts


@pytest.mark.parametrize("is_root", [False, True])
def test_a_search_begins_from_the_best_of_those_before(monkeypatch, is_root):
    _, (before, after) = searches_of(monkeypatch, 60, 5, is_root)
    assert before == sorted(before, reverse=True)
    assert after[0] == before[-1] < before[0]

"""Heuristics that keep limits on sizes."""

from random import Random

import numpy as np
import pytest

from heuristics.bckm import BCKM
from heuristics.best_of import BestOf
from heuristics.cop_kmeans import COPKMeans
from heuristics.result import HeuristicStatus
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Partition
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


def test_bounds_are_stated_once():
    instance = Instance(np.arange(6.0)[:, None], 2, min_size=2)
    for own in ({"min_size": 3}, {"max_size": 4}):
        with pytest.raises(
            ParameterError, match="not allowed, as the instance limits sizes itself"
        ):
            BCKM(**own).run(instance)


def test_more_runs_of_listed_sizes_never_end_worse():
    """Parts of two clusterings put together may have other sizes than those listed."""
    points = np.random.default_rng(0).normal(size=(60, 2))
    instance = Instance(points, 5, sizes=[4, 8, 12, 16, 20])
    results = [
        BestOf(n_runs=n_runs, n_starts=1, n_relocations=0).run(instance, 3) for n_runs in (1, 2, 6)
    ]
    costs = [result.sum_of_squares for result in results]
    assert costs == sorted(costs, reverse=True)
    assert all(keeps(instance, result.labels) for result in results)


def test_best_of_begins_from_a_method_that_keeps_sizes():
    instance = Instance(np.random.default_rng(0).normal(size=(40, 2)), 3, min_size=12)
    improved = BestOf(n_runs=1, n_relocations=0, method=BCKM()).run(instance, 0)
    own_seed = int(np.random.default_rng(0).integers(2**31, size=1)[0])
    begun = BCKM().run(instance, own_seed)
    assert keeps(instance, improved.labels)
    assert improved.sum_of_squares <= begun.sum_of_squares * (1 + 1e-12)
    with pytest.raises(InstanceError, match=r"^cop-kmeans: supports constraints on pairs only"):
        BestOf(method=COPKMeans()).run(instance)

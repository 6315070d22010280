"""Heuristics that keep limits on sizes."""

from random import Random

import numpy as np
import pytest

from heuristics.best_of import BestOf
from heuristics.result import HeuristicStatus
from sdpbb.problem import Partition
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

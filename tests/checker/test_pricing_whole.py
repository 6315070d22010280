"""Verified pricing where clusters have least sizes or weights, or soft pairs: by all clusters."""

import numpy as np
import pytest

from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import over_blocks
from sdpbb.checker.kernel.size_rules import with_limits
from sdpbb.checker.partitions import cluster_costs, require_no_partition
from sdpbb.checker.pricing import clusters_below, proven_least
from sdpbb.problem import Contraction, Instance
from sdpbb.problem.checker_rules import checked_soft_pairs, checker_rules
from tests.bounds.lagrangian.brute_force import all_columns, whole_instance
from tests.enumeration import clusterings


def checked(instance: Instance, contraction: Contraction):
    """The blocks as the checker sees them, their cannot-links, and the rules on clusters."""
    geometry = Geometry.of(instance.points, instance.weights, checked_soft_pairs(instance))
    rules = with_limits(checker_rules(instance), instance.n_points, instance.k)
    blocks = contraction.block_of
    return geometry.contracted(blocks), contraction.adjacency, over_blocks(rules, blocks)


@pytest.mark.parametrize("seed", range(60))
def test_least_values_are_proven_and_no_more(seed):
    instance, contraction = whole_instance(seed)
    columns = all_columns(contraction)
    if not len(columns):
        return
    contracted, adjacency, rules = checked(instance, contraction)
    rng = np.random.default_rng([seed, 3])
    m = contraction.n_blocks
    prices = rng.normal(size=m) * rng.choice([0.1, 1.0, 5.0]) + rng.choice([0.0, 0.5, 3.0])
    values = columns.costs - columns.members @ prices
    least, middle = float(values.min()), float(np.median(values))
    proven = proven_least(contracted, adjacency, prices, least - 1e-9, rules=rules)
    assert least - 1e-7 <= proven <= least - 1e-9
    with pytest.raises(Rejected, match="worth less"):
        proven_least(contracted, adjacency, prices, least + 1e-6, rules=rules)
    found = clusters_below(
        contracted, adjacency, prices, proven, middle + 1e-9, 10**6, 10**6, rules
    )
    keys = set(map(bytes, found))
    assert len(keys) == len(found)
    assert set(map(bytes, columns.members[values <= middle])) <= keys
    assert keys <= set(map(bytes, columns.members[values < middle + 1e-6]))


@pytest.mark.parametrize("seed", range(60))
def test_partitions_have_the_sizes_asked_for(seed):
    instance, contraction = whole_instance(seed)
    columns = all_columns(contraction)
    contracted, adjacency, rules = checked(instance, contraction)
    k, m = contraction.k, contraction.n_blocks
    costs = cluster_costs(contracted, columns.members, adjacency)
    assert costs == pytest.approx(columns.costs, rel=1e-9, abs=1e-9)
    rows = [row for row in clusterings(m, k) if contraction.keeps(row)]
    best = min((contraction.cost(row) for row in rows), default=1e3) - contraction.soft.constant

    def require(below: float) -> None:
        none = np.empty((0, 3), np.int32), np.empty(0)
        given = contracted, k, columns.members, below, np.zeros(m), *none
        require_no_partition(*given, 10**6, adjacency, rules)

    if best > 1e-6:
        require(best * (1.0 - 1e-7))
    if rows:
        with pytest.raises(Rejected, match="costs less"):
            require(max(best * (1.0 + 1e-6), 1e-6))

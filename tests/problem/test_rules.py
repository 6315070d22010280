"""Contract of rules on clusters: with any mixture of rules, all results agree with enumeration.

One rule is a user's class with a least amount, which the whole engine supports.
"""

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import InstanceError
from sdpbb.problem import AllOf, AnyOf, Infeasibility, Instance, MaximumSize, contract
from sdpbb.problem.cluster_constraints import BUILT_IN, BuiltInConstraint
from sdpbb.problem.feasibility import find_feasible
from sdpbb.problem.quantities import Quantity
from sdpbb.runtime.archive import stored
from tests.any_instance import drawn_instance, drawn_pairs
from tests.enumeration import Truth, canonical, clusterings
from tests.examples import examples

# What the optimum of a run is tested for: all but far groups, other units and known classes.
PARTS = (
    *("equal points", "pairs", "constraints", "own constraints"),
    *("weights", "sizes", "weight limits", "soft pairs"),
)


@stored
@dataclass(frozen=True)
class MinimumOverlap(BuiltInConstraint):
    """A cluster has at least `least` of some points."""

    points: tuple[int, ...]
    least: int

    is_anti_monotone = False

    def quantity(self, n: int, k: int) -> Quantity:
        return Quantity.at_least(self.least, np.isin(np.arange(n), self.points), k)


@pytest.fixture(autouse=True, scope="module")
def known():
    BUILT_IN.append(MinimumOverlap)
    yield
    BUILT_IN.remove(MinimumOverlap)


def drawn(random: Random, *parts: str) -> Instance:
    """An instance with some of the parts, which may also have a least amount."""
    instance = drawn_instance(random, *parts, k=(1, 5))
    if random.random() < 0.5:
        return instance
    n, k, least = instance.n_points, instance.k, random.choice([1, 1, 2])
    count = min(n, max(1, random.randint(least * k - 1, least * k + 1)))
    rule = MinimumOverlap(tuple(random.sample(range(n), count)), least)
    own = random.choice([rule, AllOf([rule])])
    return replace(instance, cluster_constraints=(own, *instance.cluster_constraints))


RANDOMS = st.randoms(use_true_random=False)


@examples(150)
@given(RANDOMS)
def test_the_blocks_of_a_node_have_all_clusterings_and_no_others(random):
    instance = drawn(random)
    more = [drawn_pairs(random, instance.n_points, random.choice([0, 2])) for _ in range(2)]
    decided = replace(
        instance,
        must_link=[*instance.must_link, *more[0]],
        cannot_link=[*instance.cannot_link, *more[1]],
    )
    truth = Truth(decided)
    wanted = {tuple(row) for row in truth.labels.tolist()}
    found = contract(instance, *more)
    if isinstance(found, Infeasibility):
        assert not wanted
        return
    if decided.k == 2 and not decided.rules.go_beyond_pairs:
        assert wanted  # contracting decides two colours
    assert np.array_equal(found.block_of, canonical(found.block_of))
    links = found.cannot_link.tolist()
    assert links == sorted([i, j] for i, j in set(map(tuple, links)) if i < j)
    assert np.array_equal(found.adjacency, found.adjacency.T)
    kept = set()
    for labels in clusterings(found.n_blocks, found.k):
        clusters = (np.flatnonzero(labels == c) for c in range(found.k))
        are_allowed = all(found.allows(blocks) for blocks in clusters)
        assert found.keeps(labels) == (are_allowed and found.keeps_sizes(labels))
        if found.keeps(labels):
            lifted = found.lift(labels)
            kept.add(tuple(canonical(lifted).tolist()))
            cost = truth.cost_of(lifted)
            assert found.cost(labels) == pytest.approx(cost, rel=1e-9, abs=1e-9 * found.total)
    assert kept == wanted
    labels = find_feasible(found)
    if isinstance(labels, Infeasibility):
        assert not wanted
    else:
        i, j = found.cannot_link.T
        assert (labels[i] != labels[j]).all()
        assert found.keeps_sizes(labels)


@pytest.mark.long
@examples(15)
@given(RANDOMS, st.sampled_from(["colgen", "hybrid"]))
def test_the_optimum_is_that_of_enumeration(random, bounding):
    instance = drawn(random, *PARTS)
    truth = Truth(instance)
    result = sdpbb.solve(instance, sdpbb.SolverParameters(bounding=bounding))
    if not truth.is_feasible:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert truth.has(result.labels)
    assert result.objective == pytest.approx(truth.optimum, rel=2e-5, abs=1e-9)


def test_no_part_of_an_alternative_has_a_least_amount():
    with pytest.raises(InstanceError, match=r"^AnyOf: MinimumOverlap is not anti-monotone"):
        AnyOf([MaximumSize(3), AllOf([MinimumOverlap((0, 1), 1)])])


def test_a_least_amount_has_no_certificate_and_no_order_of_k(tmp_path):
    instance = Instance([[0.0], [1.0]], 1, cluster_constraints=[MinimumOverlap((0,), 1)])
    with pytest.raises(sdpbb.ParameterError, match="MinimumOverlap"):
        sdpbb.solve(instance, certificate=str(tmp_path / "least.cert"))
    assert not instance.is_monotone

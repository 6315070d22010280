"""A rule of one's own on a quantity, with a least amount: one class, known to the whole engine."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import InstanceError
from sdpbb.problem import (
    AllOf,
    AnyOf,
    Infeasibility,
    Instance,
    MaximumSize,
    Partition,
    contract,
)
from sdpbb.problem.cluster_constraints import BUILT_IN, BuiltInConstraint
from sdpbb.problem.feasibility import find_feasible
from sdpbb.problem.quantities import Quantity
from sdpbb.runtime.archive.stored import stored
from tests.enumeration import clusterings
from tests.examples import examples


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


@st.composite
def instances(draw):
    n = draw(st.integers(2, 7))
    k = draw(st.integers(1, min(n, 4)))
    seed = draw(st.integers(0, 2**32 - 1))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    points = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    own = [MinimumOverlap(tuple(points), draw(st.integers(1, max(1, len(points) // k))))]
    if draw(st.booleans()):
        own = [AllOf([*own, MaximumSize(draw(st.integers(n // k, n)))])]
    limits = draw(
        st.sampled_from([{}, {}, {"min_size": 2}, {"max_size": n - 1}, {"min_weight": 2}])
    )
    weights = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return Instance(
        np.random.default_rng(seed).normal(size=(n, 2)),
        k,
        draw(st.lists(pair, max_size=1)),
        draw(st.lists(pair, max_size=2)),
        cluster_constraints=own,
        weights=draw(st.sampled_from([None, weights])),
        **limits,
    )


def feasible(instance: Instance) -> set[tuple[int, ...]]:
    """The clusterings that are feasible, by the definition of the rule."""
    found = set()
    for labels in clusterings(instance.n_points, instance.k):
        own = instance.cluster_constraints[0]
        own = own.constraints[0] if isinstance(own, AllOf) else own
        overlaps = np.bincount(labels[list(own.points)], minlength=instance.k)
        others = Instance(
            instance.points,
            instance.k,
            instance.must_link,
            instance.cannot_link,
            weights=instance.weights,
            min_size=instance.min_size,
            max_size=instance.largest_size,
            min_weight=instance.min_weight,
        )
        if overlaps.min() >= own.least and Partition(labels).is_feasible(others):
            found.add(tuple(labels.tolist()))
    return found


@examples(200)
@given(instances())
def test_contraction_and_feasibility_agree_with_enumeration(instance):
    wanted, found = feasible(instance), contract(instance)
    for labels in clusterings(instance.n_points, instance.k):
        assert Partition(labels).is_feasible(instance) is (tuple(labels.tolist()) in wanted)
    if isinstance(found, Infeasibility):
        assert not wanted
        return
    kept = [row for row in clusterings(found.n_blocks, instance.k) if found.keeps(row)]
    assert {tuple(Partition(found.lift(row)).labels.tolist()) for row in kept} == wanted
    labels = find_feasible(found)
    assert not wanted if isinstance(labels, Infeasibility) else found.keeps_sizes(labels)


@pytest.mark.long
@examples(20)
@given(instances(), st.sampled_from(["colgen", "hybrid", "decomposition"]))
def test_the_optimum_is_that_of_enumeration(instance, bounding):
    costs = [Partition(np.array(row)).cost(instance) for row in feasible(instance)]
    result = sdpbb.solve(instance, sdpbb.SolverParameters(bounding=bounding))
    if not costs:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(min(costs), rel=1e-5, abs=1e-9)


def test_no_part_of_an_alternative_has_a_least_amount():
    with pytest.raises(InstanceError, match=r"^AnyOf: MinimumOverlap is not anti-monotone"):
        AnyOf([MaximumSize(3), AllOf([MinimumOverlap((0, 1), 1)])])


def test_what_has_no_certificate_is_said_before(tmp_path):
    instance = Instance([[0.0], [1.0]], 1, cluster_constraints=[MinimumOverlap((0,), 1)])
    with pytest.raises(sdpbb.ParameterError, match="MinimumOverlap"):
        sdpbb.solve(instance, certificate=str(tmp_path / "least.cert"))
    assert not instance.is_monotone

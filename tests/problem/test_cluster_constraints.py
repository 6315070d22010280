import pickle
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from sdpbb import SolutionStatus, SolverParameters, solve
from sdpbb.errors import InstanceError
from sdpbb.problem import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    Partition,
    SoftCannotLinks,
    contract,
)
from sdpbb.problem.rules import Rules, is_built_in
from tests.any_instance import any_instance
from tests.enumeration import holds


@dataclass(frozen=True)
class MaximumSpread(ClusterConstraint):
    """A user's constraint on the sum of squares, which further points never reduce."""

    limit: float

    def allows(self, instance: Instance, members: np.ndarray) -> bool:
        points = instance.points[members]
        return float(((points - points.mean(axis=0)) ** 2).sum()) <= self.limit


CONSTRAINED = any_instance("equal points", "pairs", "own constraints", always=["constraints"])


def subsets(n: int) -> list[set[int]]:
    return [set(c) for size in range(1, n + 1) for c in combinations(range(n), size)]


@given(CONSTRAINED)
def test_constraints_are_their_definitions_and_antimonotone(instance):
    for constraint in instance.cluster_constraints:
        allowed = {}
        for cluster in subsets(instance.n_points):
            verdict = constraint.allows(instance, np.array(sorted(cluster)))
            assert verdict == holds(constraint, instance, cluster)
            allowed[frozenset(cluster)] = verdict
        for cluster, verdict in allowed.items():
            if verdict and len(cluster) > 1:
                assert all(allowed[cluster - {i}] for i in cluster)


LINE = np.arange(6.0)[:, None]


def line(k: int, *constraints: ClusterConstraint, must_link=()) -> Instance:
    return Instance(LINE, k, must_link, cluster_constraints=constraints)


def test_blocks_that_no_cluster_may_hold_together_are_cannot_linked(monkeypatch):
    instance = line(3, MaximumSize(3), must_link=[(0, 1), (2, 3)])
    assert contract(instance).cannot_link.tolist() == [[0, 1]]
    instance = line(3, MaximumSpread(5.0))
    apart = [[0, 4], [0, 5], [1, 5]]
    assert contract(instance).cannot_link.tolist() == apart
    monkeypatch.setattr("sdpbb.problem.contraction.LARGEST_FOR_PAIRS", 5)
    contraction = contract(instance)
    assert contraction.cannot_link.tolist() == []
    assert [contraction.allows(np.array(pair)) for pair in (*apart, [0, 3])] == [False] * 3 + [True]


@pytest.mark.parametrize(
    "constraint",
    [
        MaximumSize(20_000),
        MaximumOverlap(range(100), 15),
        MinimumDifference(range(99_990), 2),
        SoftCannotLinks([(i, i + 1) for i in range(0, 200, 2)], 5),
        AnyOf([MaximumSize(20_000), MaximumOverlap([10, 20], 1)]),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_constraints_on_clusters_of_many_points_take_no_matrix(constraint):
    points = np.random.default_rng(0).normal(size=(100_000, 1))
    contraction = contract(Instance(points, 10, cluster_constraints=[constraint]))
    assert contraction.n_blocks == 100_000
    assert contraction.keeps(np.arange(100_000) % 10)
    assert not contraction.keeps(np.minimum(np.arange(100_000), 9))


def test_what_follows_from_merged_blocks_is_found():
    """The cannot-links merge 2 with 3, as k = 3. Only their union is too large to join 4."""
    instance = Instance(
        np.arange(6.0)[:, None],
        3,
        [(4, 5)],
        [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)],
        cluster_constraints=[MaximumSize(3)],
    )
    contraction = contract(instance)
    assert contraction.block_of.tolist() == [0, 1, 2, 2, 3, 3]
    assert [2, 3] in contraction.cannot_link.tolist()


def test_what_never_binds_is_dropped():
    instance = line(2, MaximumSize(6), MaximumOverlap([0, 1], 2), MinimumDifference([0], 5))
    assert not instance.rules.go_beyond_pairs
    contraction = contract(instance)
    assert (contraction.instance, len(contraction.upper_limits)) == (None, 0)
    # If the pair is cannot-linked, the limit never binds.
    instance = line(2, SoftCannotLinks([(0, 1)], 0))
    assert instance.rules.go_beyond_pairs
    contraction = contract(instance)
    assert contraction.cannot_link.tolist() == [[0, 1]]
    assert (len(contraction.upper_limits), contraction.upper_limits.pairs.shape) == (0, (0, 6, 6))


@pytest.mark.parametrize("d", [1, 2, 9, 130])
def test_a_diameter_is_the_same_to_the_last_bit_for_all_and_for_two_points(d):
    points = np.random.default_rng(d).normal(size=(12, d))
    for i, j in combinations(range(12), 2):
        distance = float(np.sqrt(((points[i:] - points[i]) ** 2).sum(axis=1))[j - i])
        for limit in (distance, np.nextafter(distance, 0.0), np.nextafter(distance, np.inf)):
            instance = Instance(points, 2, cluster_constraints=[MaximumDiameter(limit)])
            is_forbidden = [i, j] in instance.rules.apart.tolist()
            assert is_forbidden == (limit < distance)
            allows = instance.cluster_constraints[0].allows
            assert is_forbidden != allows(instance, np.array([i, j]))


def test_a_subclass_of_a_built_in_constraint_is_asked():
    class Odd(MaximumSize):
        def allows(self, instance, members):
            return len(members) < self.limit

    rules = Rules.of([Odd(3)], LINE, 2)
    assert (rules.quantities, rules.oracles) == ((), (Odd(3),))
    assert not is_built_in(Odd(3))
    assert not is_built_in(AllOf([AnyOf([MaximumSize(2), Odd(3)])]))
    assert is_built_in(AllOf([AnyOf([MaximumSize(2)]), MaximumDiameter(1)]))


def test_spellings_are_the_same_constraint():
    assert MaximumOverlap(np.array([2, 0, 2]), np.int64(1)) == MaximumOverlap((0, 2), 1)
    assert SoftCannotLinks(np.array([[2, 0], [0, 2]]), 1) == SoftCannotLinks(((0, 2),), 1)
    assert MaximumDiameter(2) == MaximumDiameter(2.0)
    for constraint in (MaximumOverlap([1], 0), AllOf([SoftCannotLinks([(0, 1)], 0)])):
        assert pickle.loads(pickle.dumps(constraint)) == constraint
        assert hash(pickle.loads(pickle.dumps(constraint))) == hash(constraint)


class Forgetful(ClusterConstraint):
    def allows(self, instance, members):
        len(members) <= 3  # noqa: B015  without a return statement


class Wordy(ClusterConstraint):
    def allows(self, instance, members):
        return "no"


@pytest.mark.parametrize("wrong", [Forgetful(), Wordy(), AllOf([Wordy()]), AnyOf([Forgetful()])])
def test_an_answer_that_is_neither_true_nor_false_is_refused(wrong):
    instance = Instance(np.arange(8.0).reshape(4, 2), 2, cluster_constraints=[wrong])
    with pytest.raises(InstanceError, match=r"allows returned .*; expected True or False"):
        contract(instance)
    with pytest.raises(InstanceError, match=r"allows returned .*; expected True or False"):
        Partition([0, 0, 1, 1]).is_feasible(instance)


class Vandal(ClusterConstraint):
    def allows(self, instance, members):
        members[:] = 0
        return True


def test_a_constraint_cannot_change_the_members_it_is_given():
    instance = Instance(np.arange(8.0).reshape(4, 2), 2, cluster_constraints=[Vandal()])
    with pytest.raises(ValueError, match="read-only"):
        contract(instance)


def test_largest_sizes_inside_of_all_of_are_limits_on_sizes():
    overlap = MaximumOverlap([0, 1], 1)
    instance = line(2, AllOf([MaximumSize(5), AllOf([MaximumSize(4), overlap])]))
    assert instance.max_size == 4
    assert instance.cluster_constraints == (AllOf([overlap]),)
    alone = line(2, AllOf([MaximumSize(4)]))
    assert (alone.max_size, alone.cluster_constraints) == (4, ())
    assert not alone.has_constraints_beyond_sizes


def test_columns_have_clusterings_where_no_heuristic_knows_the_rules():
    points = np.random.default_rng(0).normal(size=(40, 2))
    instance = Instance(points, 8, cluster_constraints=[MaximumOverlap(range(20), 3)])
    result = solve(instance, SolverParameters(node_limit=1))
    assert result.status is SolutionStatus.OPTIMAL

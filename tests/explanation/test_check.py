import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import Instance, MaximumDiameter
from sdpbb.questions import check
from sdpbb.questions.check import check_constraints
from sdpbb.run.explanation import Diagnosis
from tests.any_instance import ForbiddenSets
from tests.enumeration import feasible_clusterings
from tests.examples import examples
from tests.explanation.cases import can_hold, contradictory, points


def without(instance: Instance, statements) -> Instance:
    positions = {
        name: [s.position for s in statements if s.argument == name]
        for name in ("must_link", "cannot_link")
    }
    return replace(
        instance,
        **{name: np.delete(getattr(instance, name), at, axis=0) for name, at in positions.items()},
    )


@pytest.mark.long
@given(st.integers(0, 2**32 - 1))
@examples(120)
def test_what_is_implied_holds_in_every_clustering(seed):
    instance = contradictory(seed)
    report = check_constraints(instance)
    labels = feasible_clusterings(instance)
    assert report.is_feasible == bool(len(labels))
    json.dumps(report.to_dict(), allow_nan=False)
    str(report)
    if not len(labels):
        assert (report.groups, report.forced, report.redundant) == (None, (), ())
        return
    for i, j in report.forced:
        assert (labels[:, i] == labels[:, j]).all()
    same = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    upper = np.triu_indices(instance.n_points, 1)
    groups = report.groups
    assert groups.stated_together <= groups.together <= (same[upper] == 1).sum()
    assert groups.stated_apart <= groups.apart <= (same[upper] == 0).sum()
    assert groups.n_groups - groups.n_blocks == len(report.forced)
    assert np.array_equal(labels, feasible_clusterings(without(instance, report.redundant)))
    if instance.sizes is not None:  # listed sizes are for one k
        return
    for k in range(1, instance.n_points + 1):
        if not groups.k_at_least <= k <= groups.k_at_most:
            assert not can_hold(replace(instance, k=k))


def test_repeated_and_closing_constraints_are_redundant():
    must_link = [(0, 1), (1, 2), (0, 2), (1, 0)]
    cannot_link = [(2, 3), (0, 3), (3, 4)]
    report = check_constraints(Instance(points(6), 4, must_link, cannot_link))
    assert [str(s) for s in report.redundant] == [
        "must_link[2]  ML 0 2",
        "must_link[3]  ML 0 1",
        "cannot_link[1]  CL 0 3",
    ]


def test_points_that_cannot_links_force_together():
    triangle = [(0, 1), (0, 2), (1, 2), (3, 0), (3, 1)]
    instance = Instance(points(5), 3, [(2, 3)], [*triangle, (4, 0), (4, 1)])
    assert check_constraints(instance).forced == ((2, 4),)


def test_a_cannot_link_that_a_diameter_implies_is_redundant():
    far = np.array([[0.0], [3.0], [7.0]])
    instance = Instance(far, 3, None, [(0, 2)], cluster_constraints=[MaximumDiameter(5.0)])
    assert [s.text for s in check_constraints(instance).redundant] == ["CL 0 2"]


def test_what_is_not_found_out_is_not_claimed(monkeypatch):
    monkeypatch.setattr(check, "diagnose", lambda *arguments: Diagnosis(None))
    report = check_constraints(Instance(points(5), 2, [(0, 2)], [(0, 1)]))
    assert report.is_feasible is None
    assert "unknown: found neither" in str(report)
    assert report.groups is not None


def test_what_deserves_a_second_look():
    table = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    assert not list(check.suspicions(Instance(table, 2)))
    instance = Instance(
        table, 3, [(0, 1)], [(0, 2), (0, 1)], soft_must_link=[(0, 3, 0.5)], name="some"
    )
    assert list(check.suspicions(instance)) == [
        "1 soft constraint not checked",
        "cannot_link[0]  CL 0 2: these points are equal",
        "only 2 different points for k = 3 clusters",
    ]


def test_sizes_and_own_constraints_together_are_decided():
    """The first packing violates a constraint, and another packing satisfies it."""
    sets = ({1, 3, 4}, {1, 2}, {3, 4, 5}, {0, 2, 4})
    own = ForbiddenSets(tuple(map(frozenset, sets)))
    for sizes, is_feasible in (([1, 1, 4], True), ([1, 1, (2, 5)], True), ([1, 5], False)):
        instance = Instance(points(6), len(sizes), cluster_constraints=[own], sizes=sizes)
        assert bool(len(feasible_clusterings(instance))) is is_feasible
        assert check_constraints(instance).is_feasible is is_feasible

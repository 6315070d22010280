"""Violations: those of the definition; an objection exactly where a clustering is infeasible."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import Instance, MaximumSize, Origin, PairLines, Partition
from sdpbb.problem.partition import objection, violations
from tests.any_instance import any_instance


@given(any_instance(), st.data())
def test_there_is_an_objection_exactly_where_a_clustering_is_not_feasible(instance, data):
    n, k = instance.n_points, instance.k
    labels = st.lists(st.integers(0, k - 1), min_size=n, max_size=n)
    partition = Partition(np.array(data.draw(labels)))
    assert (objection(instance, partition) == "") == partition.is_feasible(instance)


def test_a_limit_that_no_line_states_has_no_place(tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("MAXWEIGHT 4\n")
    weights = [1.0, 2.0, 1.5, 1.0]
    instance = Instance.from_points(np.arange(4.0)[:, None], 2, file, weights=weights)
    partition = Partition(np.array([0, 0, 0, 1]))
    for stated, place in ((instance, f"{file}:1"), (replace(instance, max_weight=3.0), "")):
        (one,) = violations(stated, partition)
        assert (one.place, one.weight) == (place, 4.5)


@given(any_instance("pairs"), st.data())
def test_violations_are_those_of_the_definition(instance, data):
    labels = st.lists(st.integers(0, 3), min_size=instance.n_points, max_size=instance.n_points)
    row = data.draw(labels)
    expected = [
        (kind, position, (i, j))
        for kind, pairs in (
            ("must-link", instance.must_link),
            ("cannot-link", instance.cannot_link),
        )
        for position, (i, j) in enumerate(pairs.tolist())
        if (row[i] == row[j]) == (kind == "cannot-link")
    ]
    found = violations(instance, Partition(np.array(row)))
    assert [(one.kind, one.position, one.points) for one in found] == expected


def test_violations_are_named_as_the_user_names_them():
    lines = PairLines(np.array([[0, 1], [1, 3]]), np.array([4, 9]), 2)
    origin = Origin(1, None, "c.txt", must_link=lines)
    instance = Instance(
        np.arange(4.0)[:, None],
        2,
        must_link=[(3, 1), (0, 1)],
        cannot_link=[(0, 2)],
        cluster_constraints=[MaximumSize(4), MaximumSize(2)],
        origin=origin,
    )
    found = violations(instance, Partition(np.array([0, 0, 0, 1])))
    assert list(map(str, found)) == [
        "must-link 2 4 (c.txt:9)",
        "cannot-link 1 3",
        "MaximumSize(limit=2): a cluster of 3 points, rows 1, 2, 3",
    ]
    assert [one.position for one in found] == [0, 0, 1]
    assert found[0].to_dict() == {
        "kind": "must-link",
        "position": 0,
        "points": [1, 3],
        "rows": ["2", "4"],
        "place": "c.txt:9",
        "constraint": "",
        "weight": None,
    }

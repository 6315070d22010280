"""Violations: those of the definition; an objection exactly where a clustering is infeasible."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import Instance, MaximumSize, Origin, PairLines, Partition
from sdpbb.problem.partition import objection, violations
from tests.any_instance import any_instance

POINTS = np.arange(5.0)[:, None]
WEIGHTS = [1.0, 0.5, 2.0, 0.25, 1.25]


@pytest.mark.parametrize(
    ("stated", "labels", "words"),
    [
        ({}, [0, 0, 0, 0, 0], "1 cluster instead of k = 2"),
        ({"must_link": [(1, 3)]}, [0, 0, 0, 1, 1], "violates must-link 1 3"),
        ({"cannot_link": [(0, 1)]}, [0, 0, 0, 1, 1], "violates cannot-link 0 1"),
        (
            {"cluster_constraints": [MaximumSize(2)]},
            [0, 0, 0, 1, 1],
            "violates MaximumSize(limit=2): a cluster of 3 points, rows 0, 1, 2",
        ),
        (
            {"min_size": 2},
            [0, 0, 0, 0, 1],
            "violates min_size = 2: a cluster of 1 point, rows 4",
        ),
        (
            {"max_size": 3},
            [0, 0, 0, 0, 1],
            "violates max_size = 3: a cluster of 4 points, rows 0, 1, 2, 3",
        ),
        (
            {"sizes": (2, 3)},
            [0, 0, 0, 0, 1],
            "violates sizes = (2, 3): a cluster of 4 points, rows 0, 1, 2, 3",
        ),
        (
            {"min_weight": 2.0},
            [0, 0, 0, 1, 1],
            "violates min_weight = 2: a cluster of 2 points that weighs 1.5, rows 3, 4",
        ),
        (
            {"max_weight": 3.0},
            [0, 0, 0, 1, 1],
            "violates max_weight = 3: a cluster of 3 points that weighs 3.5, rows 0, 1, 2",
        ),
    ],
)
def test_there_is_an_objection_exactly_where_a_clustering_is_not_feasible(stated, labels, words):
    instance = Instance(POINTS, 2, weights=WEIGHTS, **stated)
    assert objection(instance, Partition(np.array(labels))) == words
    for assigned in itertools.product(range(3), repeat=5):
        partition = Partition(np.array(assigned))
        assert (objection(instance, partition) == "") == partition.is_feasible(instance)


def test_pairs_are_told_by_the_names_of_rows_and_their_line(tmp_path):
    (tmp_path / "p.csv").write_text("id,x\na,0\nb,1\nc,2\n")
    (tmp_path / "c.txt").write_text("# pairs\nML a c\n")
    instance = Instance.from_files(tmp_path / "p.csv", 2, tmp_path / "c.txt", index_column="id")
    expected = f"violates must-link a c ({tmp_path / 'c.txt'}:2)"
    assert objection(instance, Partition(np.array([0, 0, 1]))) == expected


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


def test_limits_are_told_with_their_line_and_what_the_cluster_weighs(tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("# known\nMAXSIZE 2\nMINSIZE 2\nMAXWEIGHT 4\nMINWEIGHT 1.5\n")
    weights = [1.0, 2.0, 1.5, 1.0]
    instance = Instance.from_points(np.arange(4.0)[:, None], 2, file, weights=weights)
    found = violations(instance, Partition(np.array([0, 0, 0, 1])))
    assert list(map(str, found)) == [
        f"min_size = 2 ({file}:3): a cluster of 1 point, rows 3",
        f"max_size = 2 ({file}:2): a cluster of 3 points, rows 0, 1, 2",
        f"min_weight = 1.5 ({file}:5): a cluster of 1 point that weighs 1, rows 3",
        f"max_weight = 4 ({file}:4): a cluster of 3 points that weighs 4.5, rows 0, 1, 2",
    ]
    assert [one.weight for one in found] == [None, None, 1.0, 4.5]
    changed = replace(instance, max_weight=3.0)
    (*_, one) = violations(changed, Partition(np.array([0, 0, 0, 1])))
    assert (one.constraint, one.place) == ("max_weight = 3", "")  # no line states this one


def test_large_clusters_are_not_printed_in_full():
    names = tuple("abcdefghijklmnopqrstuvwxyz")
    points = np.zeros((26, 1))
    limit = [MaximumSize(3)]
    instance = Instance(points, 1, cluster_constraints=limit, origin=Origin(row_names=names))
    (found,) = violations(instance, Partition(np.zeros(26, int)))
    assert found.rows == names
    assert str(found).endswith("a cluster of 26 points, rows a, b, c, d, e, f, g, h, ...")

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError
from sdpbb.gaps.labelling import label_numbers, violations
from sdpbb.problem import Instance, MaximumSize, Origin, PairLines, Partition
from tests.enumeration import clusterings, random_instance

LABELS = [7, -1, 7, 3, -1]
NUMBERS = [0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, np.int8),
        np.array(LABELS, float),
        np.array(LABELS, object),
        [str(label) for label in LABELS],
        np.array(LABELS).astype(str),
        ["7", "", "7", 7, ""],
        [True, False, True, 2, 0],
        map(float, LABELS),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_kind(labels):
    numbers = label_numbers(labels, 5)
    assert numbers.dtype == np.intp
    assert numbers.tolist() == NUMBERS


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_series(library):
    series = pytest.importorskip(library).Series
    for values in (LABELS, [str(label) for label in LABELS]):
        assert label_numbers(series(values), 5).tolist() == NUMBERS


def test_a_number_and_its_text_are_two_labels():
    assert label_numbers([1, "1", 1.0], 3).tolist() == [0, 1, 0]


ONE = "expected one integer, number or text per point"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0], "labels: 3 of them; expected 5, one per point"),
        ([0, 1, None, 0, 1], f"labels[2] is of type NoneType; {ONE}"),
        ([0, 1, 0, float("nan"), 1], f"labels[3] is nan; {ONE}"),
        (None, f"labels: of type NoneType; {ONE}"),
        ([0, [1], 0, 0, 1], f"labels[1] is of type list; {ONE}"),
        (np.zeros((5, 1)), "labels: an array of shape (5, 1); expected (n,)"),
        (np.array(3), "labels: an array of shape (); expected (n,)"),
        ("01001", f"labels: of type str; {ONE}"),
        ({0: 1}, f"labels: of type dict; {ONE}"),
        (5, f"labels: of type int; {ONE}"),
    ],
)
def test_what_labels_are_not(labels, message):
    with pytest.raises(InstanceError, match=f"^{re.escape(message)}$"):
        label_numbers(labels, 5)


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 1, None], dtype="Int64")
    with pytest.raises(InstanceError, match=r"^labels\[2\] is of type NAType; "):
        label_numbers(labels, 3)


@given(st.integers(0, 10**9))
def test_violations_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_max=7)
    labels = rng.permutation(clusterings(instance.n_points, int(rng.integers(1, 4))))[:1]
    for row in labels:  # none, if there are more clusters than points
        expected = [
            ("must-link", position, (i, j))
            for position, (i, j) in enumerate(instance.must_link.tolist())
            if row[i] != row[j]
        ] + [
            ("cannot-link", position, (i, j))
            for position, (i, j) in enumerate(instance.cannot_link.tolist())
            if row[i] == row[j]
        ]
        found = violations(instance, Partition(row))
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


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_no_column(library):
    frame = pytest.importorskip(library).DataFrame({"cls": LABELS})
    with pytest.raises(InstanceError, match=r"frame; expected one column of it, \['cls'\] say$"):
        label_numbers(frame, 5)


def test_limits_are_told_with_their_line_and_what_the_cluster_weighs(tmp_path):
    file = tmp_path / "c.txt"
    file.write_text("# known\nMAXSIZE 2\nMINSIZE 2\nMAXWEIGHT 4\nMINWEIGHT 1.5\n")
    weights = [1.0, 2.0, 1.5, 1.0]
    instance = Instance.from_points(np.arange(4.0)[:, None], 2, file, weights=weights)
    found = violations(instance, Partition(np.array([0, 0, 0, 1])))
    assert list(map(str, found)) == [
        f"MaximumSize(limit=2) ({file}:2): a cluster of 3 points, rows 0, 1, 2",
        f"min_size = 2 ({file}:3): a cluster of 1 point, rows 3",
        f"min_weight = 1.5 ({file}:5): a cluster of 1 point that weighs 1, rows 3",
        f"max_weight = 4 ({file}:4): a cluster of 3 points that weighs 4.5, rows 0, 1, 2",
    ]
    assert [one.weight for one in found] == [None, None, 1.0, 4.5]
    changed = replace(instance, max_weight=3.0)
    (*_, one) = violations(changed, Partition(np.array([0, 0, 0, 1])))
    assert (one.constraint, one.place) == ("max_weight = 3", "")  # no line states this one


@given(st.integers(0, 10**9))
def test_the_first_place_of_each_pair_is_found(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([sorted(rng.choice(6, 2, replace=False)) for _ in range(rng.integers(0, 12))])
    pairs = pairs.astype(np.intp).reshape(-1, 2)
    stated = PairLines(pairs, np.arange(len(pairs)) * 3 + 1, len(pairs))
    origin = Origin(constraints_path="c.txt", cannot_link=stated)
    for i in range(8):
        for j in range(i):
            lines = [3 * at + 1 for at, pair in enumerate(pairs.tolist()) if pair == [j, i]]
            expected = f"c.txt:{lines[0]}" if lines else ""
            assert origin.place("cannot_link", i, j) == expected


def test_large_clusters_are_not_printed_in_full():
    names = tuple("abcdefghijklmnopqrstuvwxyz")
    points = np.zeros((26, 1))
    limit = [MaximumSize(3)]
    instance = Instance(points, 1, cluster_constraints=limit, origin=Origin(row_names=names))
    (found,) = violations(instance, Partition(np.zeros(26, int)))
    assert found.rows == names
    assert str(found).endswith("a cluster of 26 points, rows a, b, c, d, e, f, g, h, ...")

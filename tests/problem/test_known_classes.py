"""Known classes of rows: the pairs that they imply, and all ways to state them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.runtime.document import plain_text
from tests.examples import examples

POINTS = [[0.0], [0.1], [5.0], [5.1], [9.0]]
CLASSES = ["a", None, "b", "a", ""]
MUST, CANNOT = [[0, 3]], [[0, 2]]


RULES = {  # whether two rows of known classes are linked, by classes_may
    None: lambda is_class_same, is_cluster_same: is_class_same == is_cluster_same,
    "share": lambda is_class_same, is_cluster_same: is_cluster_same or not is_class_same,
    "split": lambda is_class_same, is_cluster_same: is_class_same or not is_cluster_same,
}


@given(
    st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=1, max_size=6),
    st.integers(1, 4),
    st.sampled_from([None, "share", "split"]),
)
@examples(300)
def test_the_pairs_say_what_the_classes_say(classes, k, may):
    """A clustering satisfies the pairs exactly if clusters agree with classes, subject to `may`.

    With a weight, each pair of rows that contradicts the classes costs the weight.
    """
    known = replace(KnownClasses.of(classes, len(classes)), may=may)
    soft = replace(known, weight=2.0)
    for labels in itertools.product(range(k), repeat=len(classes)):
        n_wrong = sum(
            not RULES[may](classes[i] == classes[j], labels[i] == labels[j])
            for i, j in itertools.combinations(range(len(classes)), 2)
            if classes[i] >= 0 and classes[j] >= 0
        )

        def n_violated(of, labels=labels):
            return sum(labels[i] != labels[j] for i, j in of.together.tolist()) + sum(
                labels[i] == labels[j] for i, j in of.apart.tolist()
            )

        assert (n_wrong == 0) == (n_violated(known) == 0)
        assert n_violated(soft) == n_wrong
        contradicted = soft.contradicted(np.array(labels), k)
        assert (len(contradicted) == 0) == (n_wrong == 0)


@pytest.mark.parametrize("unknown", [-1, -1.0, None, np.nan, "", " ", "-1", "NA", "nan"])
def test_unknown_classes(unknown):
    classes = KnownClasses.of([3, unknown, 4, 3], 4)
    assert classes.numbers.tolist() == [0, -1, 1, 0]
    assert (classes.names, classes.n_known) == (("3", "4"), 3)


def test_conflicts_name_the_classes():
    result = sdpbb.solve(POINTS, 3, known_classes=CLASSES, must_link=[(2, 3)])
    places = [member.place for member in result.conflict.members]
    assert sorted(places) == ["known_classes: a", "known_classes: a, b", "must_link[0]"]


WRONG = ["a", "a", "b", "b", "a"]  # the last row is a b


def test_wrong_classes_show():
    points = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    given_ = {"known_classes": WRONG, "known_weight": 0.5}
    result = sdpbb.solve(points, 2, **given_)
    assert result.cluster_classes == ("a", "b")
    assert result.contradicted_classes.tolist() == [4]
    # Two soft must-links and two soft cannot-links of the last row are violated.
    assert result.objective == pytest.approx(0.005 + 0.02 + 4 * 0.5)
    assert "Contradicted    1 row: 4 (a)" in plain_text(result.document())
    assert result.to_dict()["contradicted_classes"] == ["4"]
    report = sdpbb.optimality_gap(points, [0, 0, 1, 1, 1], **given_)
    assert report.soft.to_dict() == result.soft.to_dict()
    prices = sdpbb.constraint_prices(points, k=2, **given_).prices
    assert {price.statement.place for price in prices} >= {"known_classes: a"}
    fitted = sdpbb.ExactConstrainedKMeans(2).fit(points, **given_)
    assert fitted.labels_.tolist() == [0, 0, 1, 1, 1]
    hard = sdpbb.solve(points, 2, known_classes=WRONG)
    assert hard.labels.tolist() == [0, 0, 1, 1, 0]
    assert len(hard.contradicted_classes) == 0


def test_classes_name_the_clusters():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    result = sdpbb.solve(points, 3, known_classes=["far", None, None, "near", None])
    assert result.cluster_classes == ("far", "near", "")
    assert "Classes         0 far, 1 near" in plain_text(result.document())
    assert sdpbb.solve(points, 3).cluster_classes == ()

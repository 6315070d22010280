"""Queries: what is asked first, and what asking ends with."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.questions.query_strategy import (
    NoClusteringToAskAbout,
    QueryKind,
    density,
    information,
    standing_of,
)
from sdpbb.questions.suggest import suggest_queries
from tests.any_instance import any_instance
from tests.contracts.test_questions import answered
from tests.enumeration import feasible_clusterings
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def with_classes(draw):
    """An instance with a few true answers, and the classes of its points."""
    instance = draw(any_instance("equal points", "pairs", n=(2, 9), k=(1, 4)))
    possible = feasible_clusterings(instance)
    assume(len(possible))
    return instance, possible[draw(st.integers(0, len(possible) - 1))]


@examples(60)
@given(with_classes(), SEEDS)
def test_asking_until_nothing_is_left_ends_with_the_truth(drawn, seed):
    instance, classes = drawn
    for number in range(instance.n_points**2):
        report = sdpbb.suggest_queries(instance, q=1 + number % 3, seed=seed)
        if not report.queries:
            break
        instance = answered(instance, classes, report.pairs)
    assert not report.queries
    assert report.note.startswith("no queries: ")
    (truth,) = feasible_clusterings(instance)
    np.testing.assert_array_equal(truth, sdpbb.Partition(classes).labels)


def blobs(n_each: int = 15, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 20.0]])
    classes = np.repeat(np.arange(3), n_each)
    return centres[classes] + rng.normal(size=(3 * n_each, 2)), classes


def test_points_between_clusters_are_asked_about_first():
    points, _ = blobs()
    points = np.vstack([points, [[2.0, 0.0]]])
    report = sdpbb.suggest_queries(sdpbb.Instance(points, 3), q=4)
    asked = [query for query in report.queries if query.kind is QueryKind.POINT]
    # The far blob is not in question.
    assert all(point < 30 or point == 45 for query in asked for point in query.rows)
    assert " or " in asked[0].reason


def test_sizes_that_leave_one_answer_are_not_asked_about():
    """The block of 0 and 1 fills its cluster."""
    points = np.array([[0.0], [0.1], [0.2], [0.3]])
    instance = sdpbb.Instance(points, 2, must_link=[(0, 1)], max_size=2)
    pairs = sdpbb.suggest_queries(instance, q=3).pairs
    assert not [pair for pair in pairs if {0, 1} & set(pair)]


def test_equal_points_and_single_features_have_queries():
    report = sdpbb.suggest_queries(sdpbb.Instance(np.zeros((6, 1)), 2), q=9)
    assert len(report.queries) == 5


def test_infeasible_constraints_are_told_in_one_line():
    points, _ = blobs()
    for instance in (
        sdpbb.Instance(points, 3, [(0, 1)], [(0, 1)]),
        sdpbb.Instance(points, 3, cannot_link=list(itertools.combinations(range(4), 2))),
    ):
        with pytest.raises(NoClusteringToAskAbout, match="no clustering satisfies") as raised:
            sdpbb.suggest_queries(instance)
        assert "\n" not in str(raised.value)


@examples(40)
@given(with_classes())
def test_memberships_are_shares_and_leave_out_what_is_known(drawn):
    instance, _ = drawn
    standing = standing_of(instance, None, 0, np.inf)
    first = standing.representatives
    shares = standing.memberships
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0.0).all()
    assert not shares[standing.contraction.adjacency[:, first]].any()
    np.testing.assert_array_equal(shares[first], np.eye(instance.k))
    np.testing.assert_array_equal(standing.labels[first], np.arange(instance.k))


def test_information_is_entropy_per_question():
    shares = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    np.testing.assert_allclose(information(shares), [0.0, 1.0 / 1.5, 1.5 / 1.75])


def test_density_is_that_of_the_median_and_limited():
    points = np.concatenate([np.zeros(20), np.linspace(5.0, 25.0, 41), [100.0]])[:, None]
    found = density(standing_of(sdpbb.Instance(points, 2), None, 0, np.inf))
    assert np.median(found) == 1.0
    np.testing.assert_array_equal(found[:20], 2.0)
    assert found[-1] == found.min() < 0.1


def test_a_clustering_that_violates_limits_gives_way_to_one_that_keeps_them(monkeypatch):
    points = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1]])
    instance = Instance(points, 2, weights=[1.0, 1.0, 1.0, 1.0, 1.5, 1.5], max_weight=3.6)
    violating = np.array([0, 0, 0, 0, 1, 1])
    monkeypatch.setattr("heuristics.incumbents.first_clustering", lambda *arguments: violating)
    report = suggest_queries(instance, 1)
    assert Partition(report.labels).is_feasible(instance)
    assert report.note == ""


def test_a_clustering_that_violates_limits_is_told_of():
    instance = Instance(np.arange(6.0)[:, None], 2, max_size=3)
    report = replace(suggest_queries(instance, 1), labels=np.array([0, 0, 1, 1, 1, 1]))
    assert "violates max_size = 3: a cluster of 4 points, rows" in report.note
    assert report.note in str(report)
    assert json.loads(report.to_json())["note"] == report.note


@given(with_classes(), st.sampled_from([None, 1.0]))
@examples(50)
def test_classes_are_asked_of_rows_that_have_none(drawn, weight):
    """Asked until nothing is left, every cluster has a row with a class; every class is met.

    Classes that may be wrong are met only if the last clustering has clusters of them.
    """
    instance, classes = drawn
    known = np.full(len(classes), -1)
    for _ in range(len(classes) + 1):
        stated = replace(KnownClasses.of(known, len(known)), weight=weight)
        now = replace(instance, known_classes=stated)
        report = suggest_queries(now, 3, ask="classes")
        rows = report.rows
        assert (known[rows] == -1).all()
        assert len(set(rows)) == len(rows) == len(report.queries)
        assert not report.pairs
        if not len(rows):
            break
        known[rows] = classes[rows]
    else:
        raise AssertionError("rows are asked for ever")
    assert set(report.labels[known != -1].tolist()) == set(range(instance.k))
    if weight is None:
        assert set(known.tolist()) >= set(range(instance.k))


def test_the_form_of_classes_is_a_file_of_known_classes(tmp_path):
    points = np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.3]])
    classes = ["a", None, None, None, None, None]
    instance = sdpbb.Instance(points, 3, known_classes=classes)
    report = suggest_queries(instance, 2, ask="classes")
    assert [query.kind for query in report.queries] == [QueryKind.CLASS] * 2
    assert {int(query.rows[0]) // 2 for query in report.queries} == {1, 2}
    form = report.form()
    assert form.splitlines()[:2] == ["row,class", "0,a"]
    (tmp_path / "known.csv").write_text(form.replace(",\n", ",b\n", 1))
    np.save(tmp_path / "points.npy", points)
    read = sdpbb.read_instance(tmp_path / "points.npy", 3, known_classes=tmp_path / "known.csv")
    assert read.origin.known_classes.n_known == 2
    assert "class?" in str(report)
    assert "Points to ask about" in report.document().title
    assert str(report.queries[0]).startswith("what is the class of ")

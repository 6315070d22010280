"""Contract of questions: what is said of labels, and asked about pairs, is true by enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Partition
from sdpbb.problem.checker_rules import foreign_constraints
from sdpbb.questions.query_strategy import NoClusteringToAskAbout, QueryKind
from tests.any_instance import any_instance
from tests.contracts.runs import assert_proven
from tests.enumeration import Truth, cluster_costs, clusterings
from tests.examples import examples

EXACT = sdpbb.SolverParameters(gap=1e-9)
# The one node is given up at once: what is proven is weak, and must hold all the same.
HASTY = replace(EXACT, bounding="sdp", sdp=SdpParameters(max_iterations=20), node_limit=1)


def any_labels(instance, truth, data):
    """Labels with any number of clusters; every other time some that satisfy the constraints."""
    candidates = truth.labels
    if not truth.is_feasible or data.draw(st.booleans()):
        candidates = clusterings(instance.n_points, data.draw(st.integers(1, instance.n_points)))
    names = np.array(data.draw(st.permutations(range(instance.n_points))))
    return names[candidates[data.draw(st.integers(0, len(candidates) - 1))]]


@given(any_instance(), st.sampled_from(["exact", "hasty", "certified"]), st.data())
@examples(150)
def test_the_gap_of_labels_is_true(tmp_path_factory, instance, way, data):
    if way == "certified" and foreign_constraints(instance.cluster_constraints):
        way = "exact"
    truth = Truth(instance)
    labels = any_labels(instance, truth, data)
    path = tmp_path_factory.mktemp("gap") / "proof" if way == "certified" else None
    parameters = HASTY if way == "hasty" else EXACT
    if instance.has_constraints_beyond_sizes:
        parameters = replace(parameters, bounding="hybrid")
    report = sdpbb.optimality_gap(instance, labels, parameters=parameters, certificate=path)
    assert_gap_true(report, instance, truth, labels)
    if way != "hasty":
        assert (report.verdict is sdpbb.LabelVerdict.INFEASIBLE) is not truth.is_feasible
    if way != "hasty" and report.is_comparable:
        excess = report.objective - truth.optimum
        assert report.gap * report.objective <= excess + 1e-8 * report.objective
        assert report.verdict in (sdpbb.LabelVerdict.OPTIMAL, sdpbb.LabelVerdict.NOT_OPTIMAL)
    if path:
        assert_certified(report, sdpbb.verify_certificate(path, instance), truth)


def assert_gap_true(report, instance, truth, labels):
    inside = labels == np.unique(labels)[:, None]
    exact = sum(cluster_costs(instance, inside))
    cost, rounding = float(exact), 1e-9 * float(exact)
    assert report.objective == pytest.approx(cost, rel=1e-9, abs=0.0)
    assert (report.k, report.n_clusters) == (instance.k, len(inside))
    assert report.is_comparable == (len(inside) == instance.k and truth.has(labels))
    if not truth.is_feasible:
        possible = (sdpbb.LabelVerdict.INFEASIBLE, sdpbb.LabelVerdict.NOT_COMPARABLE)
        assert report.verdict in possible
        return
    assert report.lower_bound <= truth.optimum * (1.0 + 1e-12)
    if not report.is_comparable:
        assert report.verdict is sdpbb.LabelVerdict.NOT_COMPARABLE
        assert report.gap is report.saving is None
        return
    excess = cost - truth.optimum
    assert report.saving * cost - rounding <= excess <= report.gap * cost + rounding
    assert report.gap * cost == pytest.approx(max(cost - report.lower_bound, 0.0), abs=rounding)
    if report.proven_optimal:
        assert excess <= 1e-8 * cost
    if report.verdict is sdpbb.LabelVerdict.NOT_OPTIMAL:
        assert exact > min(truth.exact_costs)


def assert_certified(report, verdict, truth):
    """The certificate is about the labels, or about a clustering if they have no gap."""
    if not truth.is_feasible:
        assert verdict.status == "infeasible"
        return
    assert verdict.lower_bound <= truth.optimum * (1.0 + 1e-12)
    own = report if report.is_comparable else report.result
    assert verdict.cost == pytest.approx(own.objective, rel=1e-9, abs=1e-12)
    if report.is_comparable:
        assert verdict.status == ("optimal" if report.proven_optimal else "feasible")


def answered(instance, classes, pairs):
    """The instance with the true answers to pairs."""
    links = {True: instance.must_link.tolist(), False: instance.cannot_link.tolist()}
    for i, j in pairs:
        links[bool(classes[i] == classes[j])].append((i, j))
    return replace(instance, must_link=links[True], cannot_link=links[False])


def implied(n, answers):
    """What answers imply for each pair, (n, n): 1 together, -1 apart, 0 neither."""
    together = np.eye(n, dtype=bool)
    apart = np.zeros((n, n), dtype=bool)
    for (i, j), is_same in answers.items():
        (together if is_same else apart)[[i, j], [j, i]] = True
    for _ in range(n):
        together |= together @ together
    apart = together @ apart @ together
    return together.astype(int) - apart


ASKED = any_instance("equal points", "pairs", "weights", "sizes", "weight limits", "soft pairs")


@given(ASKED, st.integers(0, 999))
@examples(100)
def test_suggestions_are_open_and_their_true_answers_keep_the_optimum(instance, seed):
    truth = Truth(instance)
    if not truth.is_feasible:
        with pytest.raises(NoClusteringToAskAbout):
            sdpbb.suggest_queries(instance, q=4, seed=seed)
        return
    report = sdpbb.suggest_queries(instance, q=4, seed=seed)
    assert Partition(report.labels).is_feasible(instance)
    assert sdpbb.suggest_queries(instance, q=4, seed=seed).to_dict() == report.to_dict()
    assert len({frozenset(pair) for pair in report.pairs}) == len(report.pairs) <= 4
    for query in report.queries:
        assert query.clusters == tuple(report.labels[list(query.rows)])
        assert query.names == tuple(map(str, query.rows))
        assert query.score >= 0.0
        assert -1e-9 <= query.likely_together <= 1.0 + 1e-9
        assert query.kind is not QueryKind.CLUSTERS or query.clusters[0] != query.clusters[1]
    assert_none_implied(instance, report.pairs)
    other = answered(instance, truth.best, report.pairs)
    assert_proven(sdpbb.solve(other, gap=1e-6), Truth(other), 1e-6)
    assert Truth(other).optimum == truth.optimum


def assert_none_implied(instance, pairs):
    """Whatever the answers to the others are."""
    known = dict.fromkeys(map(tuple, instance.must_link.tolist()), True)
    known |= dict.fromkeys(map(tuple, instance.cannot_link.tolist()), False)
    for left_out, (i, j) in enumerate(pairs):
        others = [pair for at, pair in enumerate(pairs) if at != left_out]
        for answers in product([False, True], repeat=len(others)):
            found = implied(instance.n_points, known | dict(zip(others, answers, strict=True)))
            assert found[i, j] == 0

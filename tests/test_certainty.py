"""What is said of all clusterings near the optimum is true of every single one."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance
from tests.any_instance import any_instance
from tests.enumeration import Truth
from tests.examples import examples

RNG = np.random.default_rng(5)
CLOUDS = np.concatenate([RNG.normal(centre, 0.6, (12, 2)) for centre in ((0, 0), (4, 0), (0, 4))])


@given(any_instance(), st.sampled_from([1e-3, 0.02, 0.3, 2.0]))
@examples(60)
def test_all_that_is_said_is_true_of_every_clustering(instance, within):
    truth = Truth(instance)
    report = sdpbb.certainty(instance, within)
    if not truth.is_feasible:
        assert report.result.partition is None
        return
    assert report.is_complete
    labels, anchors, n = report.labels, report.anchors, instance.n_points
    cost = report.result.objective
    near = truth.labels[truth.costs <= (1 + within) * cost * (1 - 1e-9)]
    own, scale = labels == np.arange(instance.k)[:, None], float(truth.costs.max())
    for i in range(n):
        with_anchor = truth.labels[:, i] == truth.labels[:, anchors[labels[i]]]
        away = truth.costs[~with_anchor]
        least = away.min(initial=np.inf) - truth.optimum
        slack = 1e-9 * scale
        assert report.at_least[i] <= least + slack
        assert report.at_most[i] >= least - slack
        if report.certain[i]:
            assert (near[:, i] == near[:, anchors[labels[i]]]).all()
        # Where clusterings are in the order of the bounds' precision apart, both may be said.
        elif least > (within * cost) * (1 + 1e-3) + slack:
            assert not report.uncertain[i]
    for row in near:
        joined = row[:, None] == row[anchors]
        assert not (joined & ~report.may_join).any()
        for cluster in np.flatnonzero(report.stable):
            assert ((row == row[anchors[cluster]]) == own[cluster]).all()


def test_a_larger_share_makes_fewer_points_certain():
    certain = [sdpbb.certainty(CLOUDS, within, k=3).certain for within in (0.01, 0.1, 0.5)]
    for smaller, larger in pairwise(certain):
        assert not (larger & ~smaller).any()


def test_constraints_make_points_certain():
    labels = sdpbb.solve(CLOUDS, 3).labels
    known = Instance(CLOUDS, 3, known_classes=labels)
    report = sdpbb.certainty(known, 5.0)
    assert report.certain.all()
    assert report.stable.all()
    assert np.isinf(report.at_least).all()


def test_labels_to_begin_with_are_checked():
    with pytest.raises(ParameterError, match="labels = "):
        sdpbb.certainty(CLOUDS, k=3, labels=[0, 1])
    found = sdpbb.solve(CLOUDS, 3)
    assert sdpbb.certainty(CLOUDS, k=3, labels=found.labels).is_complete


def test_what_is_known_at_the_end_of_the_time_is_reported():
    stop = threading.Event()
    stop.set()
    report = sdpbb.certainty(CLOUDS, 0.05, k=3, interrupt=stop)
    assert report.interrupted
    told = []
    report = sdpbb.certainty(CLOUDS, 0.2, k=3, on_point=lambda known, left: told.append(left))
    assert told[-1] == 0

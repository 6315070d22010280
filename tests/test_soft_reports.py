"""Soft constraints and weights in results, gaps, reports, pictures and the estimator."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sdpbb
from heuristics.result import centres_of
from sdpbb.plots import plot_clusters
from sdpbb.plots.pages import within
from sdpbb.problem.coordinates import weight_exponent
from sdpbb.run.report import summary

POINTS = np.array([[0.0], [0.1], [10.0], [10.1]])
HEAVY = {"soft_must_link": [(0, 2, 1.0), (0, 1, 2.0)], "soft_cannot_link": [(2, 3, 0.5)]}


def test_a_result_tells_the_parts_of_its_cost_and_what_is_violated():
    result = sdpbb.solve(sdpbb.Instance(POINTS, 2, **HEAVY))
    assert result.objective == pytest.approx(0.01 + 1.5)
    assert result.soft.sum_of_squares == pytest.approx(0.01)
    assert result.soft.penalty == 1.5
    assert result.soft.must_link == ((0, 2, 1.0),)
    assert result.soft.cannot_link == ((2, 3, 0.5),)
    told = json.loads(result.to_json())["soft"]
    assert told["violated_must_link"] == [[0, 2, 1.0]]
    assert told["violated_cannot_link"] == [[2, 3, 0.5]]
    text = summary(result)
    assert "Cost            1.51\nSum of squares  0.01\n" in text
    assert "1 of 2 soft must-links, 1 of 1 soft cannot-link, weight 1.5" in text
    assert str(result).startswith("optimal: cost 1.51")


def test_without_soft_constraints_nothing_is_told_of_them():
    result = sdpbb.solve(sdpbb.Instance(POINTS, 2))
    assert result.soft is None
    assert "soft" not in result.to_dict()
    assert "Sum of squares" in summary(result)
    assert "Cost" not in summary(result)


def test_the_estimator_takes_soft_pairs():
    model = sdpbb.ExactConstrainedKMeans(n_clusters=2).fit(POINTS, soft_must_link=[(0, 2, 1e4)])
    assert model.labels_[0] == model.labels_[2]
    assert model.inertia_ == model.result_.objective


@pytest.mark.parametrize("exponent", range(-60, 60, 7))
def test_the_mean_weight_is_near_one_in_units_of_a_power_of_four(exponent):
    rng = np.random.default_rng(abs(exponent))
    weights = 2.0**exponent * rng.uniform(0.01, 5.0, 9)
    mean = 4.0 ** -weight_exponent(weights) * weights.mean()
    assert 0.5 <= mean < 2.0


def test_pictures_and_reports_show_weighted_means_and_sums():
    rng = np.random.default_rng(1)
    instance = sdpbb.Instance(rng.normal(size=(12, 2)), 3, weights=rng.uniform(0.1, 9.0, 12))
    result = sdpbb.solve(instance)
    costs = within(instance, result.partition)
    assert costs.sum() == pytest.approx(result.objective, rel=1e-12)
    ax = plot_clusters(instance, result.partition)
    (drawn,) = [c for c in ax.collections if c.get_label() == "means of the 3 clusters"]
    np.testing.assert_allclose(drawn.get_offsets(), centres_of(instance, result.partition.labels))
    plt.close(ax.figure)

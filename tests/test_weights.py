"""Weights of points: every part minimises the weighted sum of squares."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import sdpbb
from heuristics.result import centres_of
from sdpbb.plots import plot_clusters
from sdpbb.plots.pages import within
from sdpbb.problem import Instance
from sdpbb.problem.coordinates import weight_exponent


@pytest.mark.parametrize("exponent", range(-60, 60, 7))
def test_the_mean_weight_is_near_one_in_units_of_a_power_of_four(exponent):
    rng = np.random.default_rng(abs(exponent))
    weights = 2.0**exponent * rng.uniform(0.01, 5.0, 9)
    mean = 4.0 ** -weight_exponent(weights) * weights.mean()
    assert 0.5 <= mean < 2.0


def test_no_weights_are_none():
    assert Instance([[0.0], [1.0]], 1).weights is None
    assert Instance([[0.0], [1.0]], 1, weights=[1, 2]).weights.dtype == np.float64


def test_pictures_and_reports_show_weighted_means_and_sums():
    rng = np.random.default_rng(1)
    instance = Instance(rng.normal(size=(12, 2)), 3, weights=rng.uniform(0.1, 9.0, 12))
    result = sdpbb.solve(instance)
    costs = within(instance, result.partition)
    assert costs.sum() == pytest.approx(result.objective, rel=1e-12)
    ax = plot_clusters(instance, result.partition)
    (drawn,) = [c for c in ax.collections if c.get_label() == "means of the 3 clusters"]
    np.testing.assert_allclose(drawn.get_offsets(), centres_of(instance, result.partition.labels))
    plt.close(ax.figure)

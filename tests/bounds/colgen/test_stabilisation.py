import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdpbb.bounds.colgen.master_programme import MasterSolution, Phase
from sdpbb.bounds.colgen.stabilisation import (
    ALPHA,
    ALPHA_STEP,
    BOX_DECREASE,
    BOX_PENALTY,
    BOX_WIDTH,
    LEAST_PENALTY,
    MOST_ALPHA,
    DualValues,
    Observation,
    Stabilisation,
    resumed_stabilisation,
    stabilisation,
)


def dual(*prices: float, sigma: float = 0.0) -> DualValues:
    return DualValues(np.array(prices), sigma)


def solution(own: DualValues, perturbation: float) -> MasterSolution:
    return MasterSolution(Phase.COST, 0.0, np.ones(1), own.prices, own.sigma, perturbation)


def seen(at: DualValues, *cluster: bool, first: bool = True, proven: bool = False) -> Observation:
    return Observation(at, np.array(cluster) if cluster else None, first, proven)


def smoothing(**state: Any) -> Stabilisation:
    return resumed_stabilisation(replace(stabilisation(True).state, **state))


def test_without_stabilisation_prices_are_the_masters_own():
    scheme = stabilisation(False, dual(1.0, 2.0))
    own = dual(3.0, 4.0)
    assert scheme.penalty() is None
    assert list(scheme.points(own)) == [own]
    assert scheme.solved(solution(own, 0.0))


def test_an_unperturbed_solution_of_a_perturbed_programme_is_one_without():
    scheme = stabilisation(True, dual(1.0, 2.0))
    assert scheme.penalty() is not None
    assert scheme.solved(solution(dual(1.0, 2.0), perturbation=0.0))


def test_the_box_follows_the_solutions_and_vanishes():
    scheme = stabilisation(True, dual(1.0, 3.0))
    first = scheme.penalty()
    assert first is not None
    assert (first.width, first.slope) == (2.0 * BOX_WIDTH, BOX_PENALTY)
    scheme.observe(dual(9.0, 9.0), seen(dual(9.0, 9.0)), 2)
    assert scheme.penalty().centre.tolist() == [1.0, 3.0]
    rounds = 0
    while (penalty := scheme.penalty()) is not None:
        slope, rounds = penalty.slope, rounds + 1
        assert rounds < 20
        assert not scheme.solved(solution(dual(6.0, 2.0), perturbation=0.1))
    assert slope >= LEAST_PENALTY > slope * BOX_DECREASE
    scheme.state.strength, scheme.state.n_solved = 0.04, 1
    assert scheme.penalty().centre.tolist() == [6.0, 2.0]
    assert np.isclose(scheme.penalty().width, 4.0 * BOX_WIDTH * BOX_DECREASE)


def test_smoothed_prices_lie_between_and_end_at_the_masters_own():
    scheme = smoothing(centre=dual(0.0, 10.0), strength=0.9)
    own = dual(10.0, 0.0, sigma=1.0)
    points = list(scheme.points(own))
    assert points[-1] is own
    weights = [at.prices[1] / 10.0 for at in points]
    assert np.allclose(weights, [0.9, 0.8, 0.6, 0.2, 0.0])
    assert np.allclose([at.prices[0] / 10.0 + w for at, w in zip(points, weights, strict=True)], 1)
    assert np.allclose([at.sigma for at in points], 1.0 - np.array(weights))


def test_the_centre_has_the_best_bound_and_is_corrected_by_a_proof():
    scheme = stabilisation(True)
    worse, better = dual(2.0, 2.0, sigma=1.5), dual(3.0, 3.0, sigma=1.5)
    own = dual(4.0, 4.0)
    for at, centre in ((worse, worse), (better, better), (worse, better)):
        scheme.observe(own, seen(at), 2)
        assert scheme.state.centre is centre
    proven = replace(better, sigma=2.9)
    scheme.observe(own, seen(proven, proven=True), 2)
    assert scheme.state.centre is proven
    scheme.observe(own, seen(worse), 2)
    assert scheme.state.centre is worse


def test_alpha_follows_the_subgradient():
    """At the smoothed prices the cluster met shows in which direction the bound rises."""
    centre, own = dual(0.0, 10.0), dual(10.0, 0.0)
    at = own.towards(centre, ALPHA)
    uphill, downhill = (False, True), (True, False)  # 1 - k a is (1, -1), or (-1, 1)
    for cluster, expected in (
        (uphill, ALPHA / (1.0 + ALPHA_STEP)),
        (downhill, ALPHA + (1.0 - ALPHA) * ALPHA_STEP),
    ):
        scheme = smoothing(centre=centre)
        scheme.observe(own, seen(at, *cluster), 2)
        assert np.isclose(scheme.state.strength, expected)
    scheme = smoothing(centre=centre)
    scheme.observe(own, seen(at, *uphill, first=False), 2)
    assert scheme.state.strength == ALPHA
    for _ in range(100):
        scheme.observe(own, seen(at, *downhill), 2)
    assert scheme.state.strength == MOST_ALPHA
    for _ in range(100):
        scheme.observe(own, seen(at, *uphill), 2)
    assert scheme.state.strength == 0.0
    assert [point is own for point in scheme.points(own)] == [True]


def test_the_scheme_is_chosen_by_what_is_known():
    without, given = stabilisation(True), stabilisation(True, dual(1.0, 2.0))
    assert without.state.scheme == "smoothing"
    assert given.state.scheme == "box"
    assert resumed_stabilisation(given.state).penalty() is not None


@pytest.mark.parametrize("is_needed", [False, True])
@pytest.mark.parametrize("centre", [None, dual(0.3, 0.2, 0.1)])
def test_a_state_is_all_there_is(is_needed, centre):
    rng = np.random.default_rng(3)
    straight, other = stabilisation(is_needed, centre), stabilisation(is_needed, centre)
    for _ in range(8):
        own = dual(*rng.random(3), sigma=float(rng.random()))
        observed = seen(dual(*rng.random(3)), *(rng.random(3) < 0.5))
        points = []
        for scheme in (straight, other):
            points.append([p.prices.tolist() for p in scheme.points(own)])
            scheme.observe(own, observed, 2)
            scheme.solved(solution(own, 0.5))
        assert points[0] == points[1]
        state = pickle.loads(pickle.dumps(other.state))
        other = resumed_stabilisation(state)
        penalties = [scheme.penalty() for scheme in (straight, other)]
        assert (penalties[0] is None) == (penalties[1] is None)
        if penalties[0] is not None:
            assert penalties[0].centre.tolist() == penalties[1].centre.tolist()
            assert penalties[0].slope == penalties[1].slope

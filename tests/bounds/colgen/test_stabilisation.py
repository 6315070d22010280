import pickle
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.bounds.colgen.master_programme import MasterSolution, Phase
from sdpbb.bounds.colgen.parameters import StabilisationParameters
from sdpbb.bounds.colgen.stabilisation import DualValues, Observation, stabilisation
from sdpbb.errors import ParameterError


def dual(*prices: float, sigma: float = 0.0) -> DualValues:
    return DualValues(np.array(prices), sigma)


def solution(own: DualValues, perturbation: float) -> MasterSolution:
    return MasterSolution(Phase.COST, 0.0, np.ones(1), own.prices, own.sigma, perturbation)


def seen(at: DualValues, *cluster: bool, first: bool = True, proven: bool = False) -> Observation:
    return Observation(at, np.array(cluster) if cluster else None, first, proven)


def test_without_stabilisation_prices_are_the_masters_own():
    scheme = stabilisation(StabilisationParameters("none"), dual(1.0, 2.0))
    own = dual(3.0, 4.0)
    assert scheme.penalty() is None
    assert list(scheme.points(own)) == [own]
    assert scheme.solved(solution(own, 0.0))


def test_perturbations_shrink_as_published():
    """mu = 0.99, then divided by 2, 4, 8, ...; theta is equal at first, then the duals."""
    scheme = stabilisation(StabilisationParameters("perturbation", least_mu=1e-3))
    own = dual(1.0, 3.0)
    assert scheme.penalty() is None
    scheme.observe(own, seen(own), 2)
    slopes, theta = [], [2.0, 2.0]
    for prices in ((5.0, 1.0), (4.0, 2.0), (3.0, 3.0), (2.0, 4.0)):
        penalty = scheme.penalty()
        assert penalty is not None
        slopes.append(penalty.slope)
        assert penalty.width == 0.0
        assert penalty.centre.tolist() == theta
        theta = list(prices)
        assert not scheme.solved(solution(dual(*prices), perturbation=1.0))
    assert slopes == [0.99, 0.99 / 2, 0.99 / 8, 0.99 / 64]
    assert scheme.penalty() is None  # 0.99 / 1024 is below the least
    assert scheme.solved(solution(own, 0.0))


@pytest.mark.parametrize("name", ["perturbation", "box"])
def test_an_unperturbed_solution_of_a_perturbed_programme_is_one_without(name):
    scheme = stabilisation(StabilisationParameters(name), dual(1.0, 2.0))
    assert scheme.penalty() is not None
    assert scheme.solved(solution(dual(1.0, 2.0), perturbation=0.0))


def test_the_box_follows_the_solutions_and_vanishes():
    parameters = StabilisationParameters("box", box_width=0.5, box_penalty=0.4, box_decrease=0.1)
    scheme = stabilisation(parameters, dual(1.0, 3.0))
    first = scheme.penalty()
    assert first is not None
    assert (first.width, first.slope) == (1.0, 0.4)
    scheme.observe(dual(9.0, 9.0), seen(dual(9.0, 9.0)), 2)
    assert scheme.penalty().centre.tolist() == [1.0, 3.0]
    rounds = 0
    while scheme.penalty() is not None:
        rounds += 1
        assert rounds < 10
        assert not scheme.solved(solution(dual(6.0, 2.0), perturbation=0.1))
    scheme.state.strength, scheme.state.n_solved = 0.04, 1
    assert scheme.penalty().centre.tolist() == [6.0, 2.0]
    assert np.isclose(scheme.penalty().width, 4.0 * 0.5 * 0.1)


def test_smoothed_prices_lie_between_and_end_at_the_masters_own():
    scheme = stabilisation(StabilisationParameters("smoothing", alpha=0.9), dual(0.0, 10.0))
    own = dual(10.0, 0.0, sigma=1.0)
    points = list(scheme.points(own))
    assert points[-1] is own
    weights = [at.prices[1] / 10.0 for at in points]
    assert np.allclose(weights, [0.9, 0.8, 0.6, 0.2, 0.0])
    assert np.allclose([at.prices[0] / 10.0 + w for at, w in zip(points, weights, strict=True)], 1)
    assert np.allclose([at.sigma for at in points], 1.0 - np.array(weights))


def test_the_centre_has_the_best_bound_and_is_corrected_by_a_proof():
    scheme = stabilisation(StabilisationParameters("smoothing"))
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
    parameters = StabilisationParameters("smoothing", alpha=0.5, alpha_step=0.1)
    centre, own = dual(0.0, 10.0), dual(10.0, 0.0)
    at = own.towards(centre, 0.5)
    uphill, downhill = (False, True), (True, False)  # 1 - k a is (1, -1), or (-1, 1)
    for cluster, expected in ((uphill, 0.5 / 1.1), (downhill, 0.55)):
        scheme = stabilisation(parameters, centre)
        scheme.observe(own, seen(at, *cluster), 2)
        assert np.isclose(scheme.state.strength, expected)
    scheme = stabilisation(parameters, centre)
    scheme.observe(own, seen(at, *uphill, first=False), 2)
    assert scheme.state.strength == 0.5
    for _ in range(100):
        scheme.observe(own, seen(at, *downhill), 2)
    assert scheme.state.strength == parameters.max_alpha
    for _ in range(100):
        scheme.observe(own, seen(at, *uphill), 2)
    assert scheme.state.strength == 0.0
    assert [point is own for point in scheme.points(own)] == [True]


def test_the_scheme_is_chosen_by_what_is_known():
    parameters = StabilisationParameters("auto")
    without, given = stabilisation(parameters), stabilisation(parameters, dual(1.0, 2.0))
    assert without.state.scheme == "smoothing"
    assert given.state.scheme == "box"
    assert stabilisation(parameters, state=given.state).penalty() is not None


@pytest.mark.parametrize("name", ["none", "perturbation", "smoothing", "box"])
def test_a_state_is_all_there_is(name):
    rng = np.random.default_rng(3)
    parameters = StabilisationParameters(name)
    straight, other = stabilisation(parameters), stabilisation(parameters)
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
        other = stabilisation(parameters, state=state)
        penalties = [scheme.penalty() for scheme in (straight, other)]
        assert (penalties[0] is None) == (penalties[1] is None)
        if penalties[0] is not None:
            assert penalties[0].centre.tolist() == penalties[1].centre.tolist()
            assert penalties[0].slope == penalties[1].slope


def test_parameters_out_of_their_domain_are_refused():
    for wrong in (
        {"scheme": "bundle"},
        {"mu": 0.0},
        {"alpha": 1.0},
        {"alpha_step": 1.0},
        {"box_width": -1.0},
        {"box_decrease": 1.0},
    ):
        with pytest.raises(ParameterError):
            StabilisationParameters(**wrong)

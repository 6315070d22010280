"""BLPKM, BH-k-means and PCCC: exact assignment steps, pairs hard or at a price, and means."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.alternating import alternate
from heuristics.assignment import AssignmentSolution, PairwiseAssignment
from heuristics.penalised import BLPKM, PCCC, BHKMeans, PenalisedStep
from heuristics.result import HeuristicStatus, Stop, Violations
from heuristics.starts import kmeans_plus_plus
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Instance, contract
from tests.any_instance import any_instance
from tests.enumeration import random_instance
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)
SOFT = any_instance("equal points", "pairs", always=["soft pairs"], n=(2, 5), k=(1, 4))


def means(instance: Instance, labels: np.ndarray) -> np.ndarray:
    return np.array([instance.centred[labels == c].mean(axis=0) for c in range(instance.k)])


def objective(instance: Instance, labels: np.ndarray, centres: np.ndarray, price: float) -> float:
    """Of squared distances, over the points, and of the soft pairs as they were given."""
    squares = ((instance.centred - centres[labels]) ** 2).sum()
    return squares + price * Violations.of(instance, labels).soft_weight


def feasible_labels(instance: Instance) -> list[np.ndarray]:
    """All labels 0..k-1, empty clusters allowed, that keep the hard constraints."""
    every = map(np.array, product(range(instance.k), repeat=instance.n_points))
    return [labels for labels in every if Violations.of(instance, labels).hard == 0]


# The method


@given(SOFT, st.floats(0.01, 10))
@examples(60)
def test_ends_at_the_cheapest_assignment_to_its_own_means(instance, price):
    result = PCCC(penalty=price).run(instance, 1)
    if result.labels is None:
        return
    centres = means(instance, result.labels)
    reached = objective(instance, result.labels, centres, price)
    assert result.penalised_objective == pytest.approx(reached, rel=1e-9, abs=1e-12)
    every = [objective(instance, labels, centres, price) for labels in feasible_labels(instance)]
    cheapest = feasible_labels(instance)[int(np.argmin(every))]
    # Where the cheapest labels leave a cluster empty, that is filled at a price.
    if len(np.unique(cheapest)) == instance.k:
        assert reached <= min(every) + 1e-9


def test_without_constraints_every_point_is_nearest_to_its_own_mean():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(200, 3)), 7)
    for q in (None, 1, 2):
        result = PCCC(q=q).run(instance, 1)
        squares = ((instance.points[:, None] - result.centers) ** 2).sum(axis=2)
        assert np.array_equal(np.argmin(squares, axis=1), result.labels)
        assert result.penalised_objective == pytest.approx(result.sum_of_squares)


# Assignment steps that find nothing


@pytest.mark.parametrize("n_found", [0, 1])
def test_the_last_clustering_is_kept_where_an_assignment_finds_nothing(monkeypatch, n_found):
    """It is the first clustering, or that of the step before."""
    rng = np.random.default_rng(11)
    classes = np.arange(30) % 3
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((30, 30)), 1)))
    apart = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][:25]
    solve, calls = PairwiseAssignment.__call__, []

    def call(self, *arguments):
        calls.append(len(calls) < n_found)
        return solve(self, *arguments) if calls[-1] else AssignmentSolution(None)

    monkeypatch.setattr(PairwiseAssignment, "__call__", call)
    result = PCCC().run(Instance(rng.normal(size=(30, 2)), 3, cannot_link=apart))
    assert len(calls) == n_found + 1
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.TIME_LIMIT)
    assert (result.violations.hard, result.n_iterations) == (0, n_found)
    assert len(np.unique(result.labels)) == 3
    assert result.penalised_objective == pytest.approx(result.sum_of_squares)


def test_not_found_is_told_as_such(monkeypatch):
    monkeypatch.setattr("heuristics.penalised.first_clustering", lambda *_: None)
    monkeypatch.setattr(PairwiseAssignment, "__call__", lambda *_: AssignmentSolution(None))
    result = PCCC().run(Instance(np.eye(4), 3, cannot_link=[(0, 1)]))
    assert (result.status, result.stop) == (HeuristicStatus.NOT_FOUND, Stop.TIME_LIMIT)
    assert result.labels is None


# Lists of candidates, and the penalty


def test_lists_are_long_enough_for_the_hard_cannot_links():
    rng = np.random.default_rng(2)
    star = Contraction(
        6,
        np.arange(8),
        np.ones(8),
        rng.normal(size=(8, 2)),
        np.zeros(8),
        np.array([(0, 1), (0, 2), (0, 3)]),
    )
    assert [PCCC(q=q).n_candidates(star) for q in (None, 1, 2, 5, 9, "auto")] == [6, 4, 4, 5, 6, 4]
    free = Contraction(
        6, star.block_of, star.weights, star.means, star.scatter, np.empty((0, 2), int)
    )
    assert [PCCC(q=q).n_candidates(free) for q in (None, 1, 2, "auto")] == [6, 1, 2, 2]


@pytest.mark.parametrize("distance", ["squared", "euclidean"])
def test_the_default_penalty_is_taken_at_the_centres_of_the_iteration(distance):
    rng = np.random.default_rng(6)
    points = rng.normal(size=(20, 2))
    must_link, soft = [(0, 1), (1, 2)], [(3, 4, 0.5)]
    instance = Instance(
        points,
        3,
        must_link,
        soft_must_link=soft,
        soft_cannot_link=soft,  # one is violated
    )
    contraction = contract(instance)
    result = PCCC(distance=distance, max_iterations=1).run(instance, 9)
    initial = kmeans_plus_plus(contraction, np.random.default_rng(9))
    power = 2 if distance == "squared" else 1
    lengths = np.sqrt(((contraction.means[:, None] - initial) ** 2).sum(axis=2)) ** power
    blocks = result.labels[contraction.representatives]
    centres = means(instance, result.labels)[blocks]
    own = np.sqrt(((contraction.means - centres) ** 2).sum(axis=1)) ** power
    cost = result.sum_of_squares if power == 2 else contraction.weights @ own
    price = (result.penalised_objective - cost) / 0.5
    assert price == pytest.approx(lengths.sum() / contraction.n_blocks)


# Several starts


@given(SOFT, st.floats(0.01, 10))
@examples(20)
def test_more_starts_never_end_at_a_greater_objective_of_one_price(instance, price):
    results = [PCCC(penalty=price, n_starts=t).run(instance, 1) for t in range(1, 5)]
    if results[0].labels is None:
        return
    reached = [result.penalised_objective for result in results]
    assert all(after <= before * (1 + 1e-12) + 1e-12 for before, after in pairwise(reached))


# The loop


def test_a_penalty_that_goes_up_and_down_does_not_go_on_for_ever():
    # The soft must-link is kept at the high price and given up at the low one, again and again.
    points = np.array([[-9.0], [-8.0], [8.0], [9.0]])
    instance = Instance(points, 2, soft_must_link=[(1, 2, 1.0)])
    contraction = contract(instance)
    prices = iter([1e6, 1e-6] * 50)
    assign = PairwiseAssignment(contraction)
    step = PenalisedStep(contraction, "squared", 2, assign, lambda _: next(prices))
    found = alternate(contraction, step, points[[0, 3]], step.rule, 50)
    assert found.stop is Stop.CONVERGED
    assert found.n_iterations <= 4


# BLPKM and BH-k-means


def test_it_is_pccc_on_hard_constraints():
    rng = np.random.default_rng(2)
    classes = rng.integers(4, size=40)
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((40, 40)), 1)))[:60]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    instance = Instance(rng.normal(size=(40, 2)), 4, pairs[same], pairs[~same])
    for seed in range(3):
        ours, theirs = BLPKM().run(instance, seed), PCCC().run(instance, seed)
        assert ours.status is theirs.status is HeuristicStatus.FOUND
        assert np.array_equal(ours.labels, theirs.labels)


def number_violated(instance: Instance, labels: np.ndarray) -> int:
    """Each pair once, however often it is given."""
    together = np.concatenate([instance.must_link, instance.soft_must_link.pairs])
    apart = np.concatenate([instance.cannot_link, instance.soft_cannot_link.pairs])
    return sum(
        (labels[i] == labels[j]) != same
        for pairs, same in ((together, True), (apart, False))
        for i, j in {tuple(sorted(pair)) for pair in pairs.tolist()}
    )


@given(SEEDS, st.sampled_from(["squared", "euclidean"]))
@examples(60)
def test_the_objective_is_that_of_the_paper_at_the_means(seed, distance):
    """After one iteration: the labels are the cheapest to the initial centres, and what is left to
    check is that the reported objective is theirs at their means, under the price of the start."""
    instance = random_instance(np.random.default_rng(seed), n_max=7)
    method = BHKMeans(p=0.5, distance=distance, max_iterations=1)
    result = method.run(instance, seed)
    distances = np.sqrt(((instance.points - result.centers[result.labels]) ** 2).sum(axis=1))
    if distance == "squared":
        distances **= 2
    violated = number_violated(instance, result.labels)
    rest = result.penalised_objective - distances.sum()
    if violated == 0:
        assert rest == pytest.approx(0, abs=1e-9)
        return
    # The centres of the start are points, so that M is the largest distance between two points, of
    # those from one that was drawn.
    longest = np.sqrt(((instance.points[:, None] - instance.points) ** 2).sum(axis=2))
    if distance == "squared":
        longest **= 2
    largest = rest / (0.5 * violated)
    assert np.isclose(longest.max(axis=1), largest).any() or np.isclose(largest, 0, atol=1e-12)


def test_hard_and_soft_constraints_are_one_and_the_same_and_count_once():
    points = np.random.default_rng(7).normal(size=(30, 2))
    must, cannot = [(0, 1), (2, 3)], [(0, 4), (1, 5), (6, 7)]
    soft_must, soft_cannot = ([(*pair, 1.0) for pair in pairs] for pairs in (must, cannot))
    stated = (
        {"must_link": must, "cannot_link": cannot},
        {"soft_must_link": soft_must, "soft_cannot_link": soft_cannot},
        {"must_link": must * 2, "cannot_link": cannot, "soft_must_link": soft_must},
        {"must_link": must, "cannot_link": cannot, "soft_cannot_link": [(4, 0, 1.0)]},
    )
    first, *others = (BHKMeans().run(Instance(points, 3, **each), 2) for each in stated)
    for other in others:
        assert np.array_equal(first.labels, other.labels)
        assert first.penalised_objective == other.penalised_objective


def test_a_pair_given_twice_is_no_stronger_than_one_against_it():
    points = [[0.0], [9.0], [1.0], [10.0]]
    result = BHKMeans(p=10.0).run(Instance(points, 2, [(0, 1), (1, 0)], [(0, 1)]))
    assert result.labels.tolist() == [0, 1, 0, 1]
    assert BHKMeans(p=10.0).run(Instance(points, 2, [(0, 1)])).violations.hard == 0


def test_other_weights_are_refused():
    points = [[0.0], [1.0], [2.0]]
    with pytest.raises(InstanceError, match=r"soft_cannot_link\[1\] has weight 0\.5.*pccc"):
        BHKMeans().run(Instance(points, 2, soft_cannot_link=[(0, 1, 1.0), (1, 2, 0.5)]))

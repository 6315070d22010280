"""BLPKM, BH-k-means and PCCC: exact assignment steps, pairs hard or at a price, and means."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.alternating import BlockDistances, PenalisedStep, StepVerdict, alternate
from heuristics.assignment import AssignmentSolution, PairwiseAssignment
from heuristics.kmeans import unconstrained
from heuristics.kmeans_steps import cluster_means
from heuristics.penalised import BLPKM, PCCC, BHKMeans, list_length
from heuristics.result import HeuristicStatus, Stop, Violations
from heuristics.starts import kmeans_plus_plus
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import OutOfTime
from tests.enumeration import random_instance
from tests.examples import examples
from tests.graphs import contraction_of, random_graph

SEEDS = st.integers(0, 2**32 - 1)


def with_soft_pairs(instance: Instance, rng: np.random.Generator) -> Instance:
    """Soft pairs of either kind: some twice, some against each other, some next to hard ones."""
    n = instance.n_points
    soft = []
    for _ in range(2):
        pairs = rng.integers(n, size=(rng.integers(0, n + 2), 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        weights = rng.choice([0.1, 0.5, 1.0], len(pairs))
        soft.append([(int(i), int(j), w) for (i, j), w in zip(pairs, weights, strict=True)])
    soft[1] += soft[0][:1]
    return Instance(
        instance.points, instance.k, instance.must_link, instance.cannot_link, "", *soft
    )


def soft_instance(seed: int, n_max: int = 5) -> Instance:
    rng = np.random.default_rng(seed)
    return with_soft_pairs(random_instance(rng, n_max), rng)


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


def alternated(contraction, n_candidates, penalty, rng=None, centres=None):
    """The end of an alternation, and F_P after each of its steps, under the P of its time."""
    blocks = BlockDistances(contraction, "squared", n_candidates)
    step = PenalisedStep(blocks, PairwiseAssignment(contraction), penalty)
    objectives: list[float] = []

    def rule(labels):
        cost, violated = blocks.cost(labels), contraction.soft.penalty(labels)
        objectives.append(cost + step.penalty * violated)
        before, verdict = step.objective, step.rule(labels)
        is_better = objectives[-1] < before * (1 - 1e-12)
        assert (verdict is StepVerdict.NO_BETTER) == (not is_better)
        return verdict

    centres = kmeans_plus_plus(contraction, rng) if centres is None else centres
    try:
        return alternate(contraction, step, centres, rule, 50), objectives
    except OutOfTime:
        return None, objectives


# The method


@given(SEEDS, st.floats(0.01, 10))
@examples(60)
def test_ends_at_the_cheapest_assignment_to_its_own_means(seed, price):
    instance = soft_instance(seed)
    result = PCCC(penalty=price).run(instance, seed)
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


@given(SEEDS, st.floats(0.01, 10), st.integers(1, 3))
@examples(60)
def test_an_exact_assignment_and_its_means_never_increase_the_objective(seed, price, q):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 12, 0.15)
    contraction = contraction_of(graph, 3, rng)
    n = contraction.n_points
    soft = [(int(i), int(j), 0.5) for i, j in rng.integers(n, size=(10, 2)) if i != j]
    points = contraction.means[contraction.block_of]
    instance = Instance(points, 3, soft_cannot_link=soft)
    soft_pairs = instance.soft_must_link, instance.soft_cannot_link
    blocks = contraction.block_of, contraction.cannot_link
    contraction = replace(contraction, soft=SoftBlocks.of(*soft_pairs, *blocks))
    lists = list_length(contraction, q)
    found, objectives = alternated(contraction, lists, lambda _: price, rng)
    assert all(after < before for before, after in pairwise(objectives[:-1]))
    if found is not None and lists == 3:
        assert objectives[-1] <= objectives[-2] * (1 + 1e-9) if found.n_iterations > 1 else True


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


@given(SEEDS, st.integers(1, 4))
@examples(60)
def test_lists_hold_the_nearest_centres(seed, q):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(q, 9))
    contraction = contraction_of(random_graph(rng, int(rng.integers(k, 20)), 0.1), k, rng)
    centres = rng.normal(size=(k, 2))
    blocks = BlockDistances(contraction, "squared", q)
    distances = blocks.distances(centres)
    assert distances == pytest.approx(((contraction.means[:, None] - centres) ** 2).sum(axis=2))
    lists = blocks.candidates(distances)
    if q == k:
        assert lists is None
        return
    assert (lists.sum(axis=1) == q).all()
    farthest = np.where(lists, distances, -np.inf).max(axis=1)
    assert (farthest <= np.where(lists, np.inf, distances).min(axis=1)).all()


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
    assert [list_length(star, q) for q in (None, 1, 2, 5, 9, "auto")] == [6, 4, 4, 5, 6, 4]
    free = Contraction(
        6, star.block_of, star.weights, star.means, star.scatter, np.empty((0, 2), int)
    )
    assert [list_length(free, q) for q in (None, 1, 2, "auto")] == [6, 1, 2, 2]


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
    method = PCCC(distance=distance, start="random", max_iterations=1)
    result = method.run(instance, 9)
    drawn = np.random.default_rng(9).choice(contraction.n_blocks, 3, replace=False)
    initial = contraction.means[drawn]
    power = 2 if distance == "squared" else 1
    lengths = np.sqrt(((contraction.means[:, None] - initial) ** 2).sum(axis=2)) ** power
    blocks = result.labels[contraction.representatives]
    centres = means(instance, result.labels)[blocks]
    own = np.sqrt(((contraction.means - centres) ** 2).sum(axis=1)) ** power
    cost = result.sum_of_squares if power == 2 else contraction.weights @ own
    price = (result.penalised_objective - cost) / 0.5
    assert price == pytest.approx(lengths.sum() / contraction.n_blocks)


# Several starts


@given(SEEDS, st.floats(0.01, 10))
@examples(20)
def test_more_starts_never_end_at_a_greater_objective_of_one_price(seed, price):
    instance = soft_instance(seed, n_max=8)
    results = [PCCC(penalty=price, n_starts=t).run(instance, seed) for t in range(1, 5)]
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
    found, objectives = alternated(contraction, 2, lambda _: next(prices), centres=points[[0, 3]])
    assert found.stop is Stop.CONVERGED
    assert found.n_iterations == len(objectives) <= 4


def test_an_empty_cluster_keeps_its_centre():
    rng = np.random.default_rng(5)
    contraction = contraction_of(random_graph(rng, 6, 0.0), 3, rng)
    centres = rng.normal(size=(3, 2))
    labels = np.array([0, 0, 2, 2, 2, 0])
    updated = cluster_means(contraction, labels, centres)
    assert np.array_equal(updated[1], centres[1])
    for c in (0, 2):
        sizes, rows = contraction.weights[labels == c], contraction.means[labels == c]
        assert updated[c] == pytest.approx(sizes @ rows / sizes.sum())


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


def test_at_a_low_price_it_is_kmeans():
    rng = np.random.default_rng(6)
    instance = Instance(rng.normal(size=(80, 2)), 4, cannot_link=[(0, 1), (2, 3)])
    result = BHKMeans(p=1e-9).run(instance, 1)
    squares = ((instance.points[:, None] - result.centers) ** 2).sum(axis=2)
    assert np.array_equal(np.argmin(squares, axis=1), result.labels)


def test_hard_and_soft_constraints_are_one_and_the_same_and_count_once():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(30, 2))
    must_link, cannot_link = [(0, 1), (2, 3)], [(0, 4), (1, 5), (6, 7)]
    hard = BHKMeans().run(Instance(points, 3, must_link, cannot_link), 2)
    soft = BHKMeans().run(
        Instance(
            points,
            3,
            soft_must_link=[(*pair, 1.0) for pair in must_link],
            soft_cannot_link=[(*pair, 1.0) for pair in cannot_link],
        ),
        2,
    )
    both = BHKMeans().run(
        Instance(
            points,
            3,
            must_link * 2,
            cannot_link,
            soft_must_link=[(*pair, 1.0) for pair in must_link],
            soft_cannot_link=[(0, 4, 1.0), (4, 0, 1.0)],
        ),
        2,
    )
    for other in (soft, both):
        assert np.array_equal(hard.labels, other.labels)
        assert hard.penalised_objective == other.penalised_objective
    assert hard.violations.soft_weight == 0
    assert soft.violations.hard == 0


def test_a_pair_given_twice_is_no_stronger_than_one_against_it():
    points = [[0.0], [9.0], [1.0], [10.0]]
    result = BHKMeans(p=10.0).run(Instance(points, 2, [(0, 1), (1, 0)], [(0, 1)]))
    assert result.labels.tolist() == [0, 1, 0, 1]
    assert BHKMeans(p=10.0).run(Instance(points, 2, [(0, 1)])).violations.hard == 0


def test_other_weights_are_refused():
    points = [[0.0], [1.0], [2.0]]
    with pytest.raises(InstanceError, match=r"soft_cannot_link\[1\] has weight 0\.5.*pccc"):
        BHKMeans().run(Instance(points, 2, soft_cannot_link=[(0, 1, 1.0), (1, 2, 0.5)]))


def test_every_point_is_a_block_for_any_k():
    contraction = unconstrained(Instance([[0.0], [1.0], [5.0]], 1))
    assert contraction.n_blocks == 3
    assert contraction.cost(np.zeros(3, int)) == pytest.approx(14.0)

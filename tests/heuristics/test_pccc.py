from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.alternating import PenalisedStep, StepVerdict, alternate
from heuristics.assignment import AssignmentSolution, PairwiseAssignment
from heuristics.block_distances import BlockDistances
from heuristics.kmeans_steps import cluster_means
from heuristics.pccc import PCCC, list_length
from heuristics.result import HeuristicStatus, Stop, Violations
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.time_left import OutOfTime
from tests.enumeration import optimum, random_instance
from tests.examples import examples
from tests.graphs import complete, contraction_of, mycielski, random_graph

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


@given(SEEDS, st.sampled_from([None, 1, 2, "auto"]), st.sampled_from(["squared", "euclidean"]))
@examples(120)
def test_found_if_and_only_if_there_is_a_clustering(seed, q, distance):
    instance = soft_instance(seed, n_max=8)
    start = "random" if seed % 2 else "k-means++"
    result = PCCC(q=q, distance=distance, start=start).run(instance, seed)
    least = optimum(instance.without_soft_pairs())
    if least is None:
        assert result.status is HeuristicStatus.INFEASIBLE
        return
    assert result.status is HeuristicStatus.FOUND
    assert result.stop is Stop.CONVERGED
    assert result.violations.hard == 0
    assert len(np.unique(result.labels)) == instance.k
    assert result.sum_of_squares >= least - 1e-9
    assert result.n_iterations >= 1


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


@given(SEEDS)
@examples(40)
def test_at_a_high_price_the_least_possible_weight_is_violated(seed):
    instance = soft_instance(seed)
    result = PCCC(penalty=1e6).run(instance, seed)
    if result.labels is None:
        return
    onto = [x for x in feasible_labels(instance) if len(np.unique(x)) == instance.k]
    least = min(Violations.of(instance, labels).soft_weight for labels in onto)
    anyhow = min(Violations.of(instance, x).soft_weight for x in feasible_labels(instance))
    if least == anyhow:
        assert result.violations.soft_weight == pytest.approx(least)


def test_without_constraints_every_point_is_nearest_to_its_own_mean():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(200, 3)), 7)
    for q in (None, 1, 2):
        result = PCCC(q=q).run(instance, 1)
        squares = ((instance.points[:, None] - result.centers) ** 2).sum(axis=2)
        assert np.array_equal(np.argmin(squares, axis=1), result.labels)
        assert result.penalised_objective == pytest.approx(result.sum_of_squares)


def test_confidence_decides_between_two_contradictory_constraints():
    points = [[0.0], [1.0], [10.0], [11.0]]
    soft = {"soft_must_link": [(1, 2, 0.9)], "soft_cannot_link": [(1, 2, 0.2)]}
    linked = PCCC(penalty=1e4).run(Instance(points, 2, **soft))
    assert linked.labels[1] == linked.labels[2]
    assert linked.violations.soft_weight == pytest.approx(0.2)
    apart = PCCC(penalty=1e-4).run(Instance(points, 2, **soft))
    assert apart.labels.tolist() == [0, 0, 1, 1]


def test_coinciding_points_fill_every_cluster():
    instance = Instance(
        np.zeros((9, 2)), 4, cannot_link=[(0, 1), (1, 2)], soft_must_link=[(0, 2, 1.0)]
    )
    for q in (None, 2):
        result = PCCC(q=q).run(instance, 5)
        assert result.status is HeuristicStatus.FOUND
        assert len(np.unique(result.labels)) == 4
        assert result.violations.hard == 0


def test_no_time_and_interruption():
    instance = Instance(np.random.default_rng(0).normal(size=(50, 2)), 3)
    late = PCCC(time_limit=1e-9).run(instance)
    assert (late.status, late.stop) == (HeuristicStatus.NOT_FOUND, Stop.TIME_LIMIT)
    assert late.labels is None
    stopped = PCCC().run(instance, stop=lambda: True)
    assert (stopped.status, stopped.stop) == (HeuristicStatus.NOT_FOUND, Stop.INTERRUPTED)
    asked = iter([False, True])
    once = PCCC().run(instance, stop=lambda: next(asked, True))
    assert (once.status, once.stop, once.n_iterations) == (
        HeuristicStatus.FOUND,
        Stop.INTERRUPTED,
        1,
    )
    assert PCCC(max_iterations=1).run(instance).stop is Stop.ITERATION_LIMIT


# Assignment steps that find nothing


@pytest.fixture
def instance_with_hard_pairs():
    rng = np.random.default_rng(11)
    classes = np.arange(30) % 3
    pairs = rng.permutation(np.argwhere(np.triu(np.ones((30, 30)), 1)))
    apart = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]][:25]
    return Instance(rng.normal(size=(30, 2)), 3, cannot_link=apart)


def assignments_that_fail(monkeypatch, fails) -> list[bool]:
    """Let those calls find nothing for which fails(number, has a start); a list of which did."""
    calls: list[bool] = []
    solve = PairwiseAssignment.__call__

    def call(self, costs, allowed, penalty, start, time_left):
        calls.append(fails(len(calls), start is not None))
        if calls[-1]:
            return AssignmentSolution(None)
        return solve(self, costs, allowed, penalty, start, time_left)

    monkeypatch.setattr(PairwiseAssignment, "__call__", call)
    return calls


def test_a_colouring_is_begun_from_where_the_first_assignment_finds_nothing(
    monkeypatch, instance_with_hard_pairs
):
    calls = assignments_that_fail(monkeypatch, lambda number, has_start: not has_start)
    result = PCCC().run(instance_with_hard_pairs)
    assert calls[:2] == [True, False]
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.CONVERGED)
    assert result.violations.hard == 0


def test_the_last_clustering_is_kept_where_a_later_assignment_finds_nothing(
    monkeypatch, instance_with_hard_pairs
):
    calls = assignments_that_fail(monkeypatch, lambda number, has_start: number == 1)
    result = PCCC().run(instance_with_hard_pairs)
    assert calls == [False, True]
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.TIME_LIMIT)
    assert (result.violations.hard, result.n_iterations) == (0, 1)


def test_a_colouring_is_the_result_where_no_assignment_finds_anything(
    monkeypatch, instance_with_hard_pairs
):
    assignments_that_fail(monkeypatch, lambda number, has_start: True)
    result = PCCC().run(instance_with_hard_pairs)
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.TIME_LIMIT)
    assert (result.violations.hard, result.n_iterations) == (0, 0)
    assert len(np.unique(result.labels)) == 3
    assert result.penalised_objective == pytest.approx(result.sum_of_squares)


def test_not_found_is_told_as_such(monkeypatch, instance_with_hard_pairs):
    monkeypatch.setattr(PCCC, "_is_decidable", lambda *_: False)
    assignments_that_fail(monkeypatch, lambda number, has_start: True)
    result = PCCC().run(instance_with_hard_pairs)
    assert (result.status, result.stop) == (HeuristicStatus.NOT_FOUND, Stop.TIME_LIMIT)
    assert result.labels is None


def test_what_the_assignment_proves_infeasible_is_so(monkeypatch):
    monkeypatch.setattr(PCCC, "_is_decidable", lambda *_: False)
    graph = mycielski(mycielski(complete(2)))
    points = np.random.default_rng(0).normal(size=(len(graph), 2))
    instance = Instance(points, 3, cannot_link=np.argwhere(np.triu(graph)))
    result = PCCC().run(instance)
    assert result.status is HeuristicStatus.INFEASIBLE
    assert result.infeasibility.kind is InfeasibilityKind.NOT_COLOURABLE


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


def test_several_starts_find_groups_that_one_misses():
    rng = np.random.default_rng(0)
    groups = 10.0 * rng.normal(size=(6, 2))
    points = (groups[:, None] + rng.normal(size=(6, 8, 2))).reshape(-1, 2)
    instance = Instance(points, 6, cannot_link=[(0, 1)])
    one, many = (PCCC(start="random", n_starts=t).run(instance, 0) for t in (1, 20))
    assert many.sum_of_squares < 0.9 * one.sum_of_squares
    assert many.violations.hard == 0


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


@given(SEEDS)
@examples(60)
def test_the_graph_of_blocks_counts_what_the_points_violate(seed):
    rng = np.random.default_rng(seed)
    instance = soft_instance(seed, n_max=8)
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    labels = rng.integers(instance.k, size=contraction.n_blocks)
    i, j = contraction.cannot_link.T
    if (labels[i] == labels[j]).any():
        return
    violated = Violations.of(instance, contraction.lift(labels)).soft_weight
    assert contraction.soft.penalty(labels) == pytest.approx(violated)

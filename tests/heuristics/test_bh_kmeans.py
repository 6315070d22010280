from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.bh_kmeans import BHKMeans, all_soft
from heuristics.kmeans import unconstrained
from heuristics.result import HeuristicStatus, Stop, Violations
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance
from tests.enumeration import random_instance
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)


def number_violated(instance: Instance, labels: np.ndarray) -> int:
    """Each pair once, however often it is given."""
    softened = all_soft(instance)
    found = Violations.of(softened, labels)
    return found.soft_must_link + found.soft_cannot_link


@given(SEEDS, st.sampled_from(["squared", "euclidean"]), st.sampled_from([0.2, 1.0]))
@examples(100)
def test_contradictory_constraints_are_no_obstacle(seed, distance, p):
    instance = random_instance(np.random.default_rng(seed))
    result = BHKMeans(p=p, distance=distance).run(instance, seed)
    assert result.status is HeuristicStatus.FOUND
    assert result.stop is Stop.CONVERGED
    assert len(np.unique(result.labels)) == instance.k


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


@given(SEEDS)
@examples(40)
def test_at_a_high_price_as_few_as_possible_are_violated(seed):
    drawn = random_instance(np.random.default_rng(seed), n_max=6)
    k = min(drawn.k, 3)
    instance = Instance(drawn.points, k, drawn.must_link, drawn.cannot_link)
    softened = all_soft(instance)
    every = np.array(list(product(range(k), repeat=instance.n_points)))
    i, j = softened.soft_must_link.pairs.T
    u, v = softened.soft_cannot_link.pairs.T
    count = (every[:, i] != every[:, j]).sum(axis=1) + (every[:, u] == every[:, v]).sum(axis=1)
    onto = np.array([len(np.unique(labels)) == k for labels in every])
    result = BHKMeans(p=1e6).run(instance, seed)
    distinct = len(np.unique(instance.points, axis=0)) > 1
    if count[onto].min() == count.min() and distinct:  # else one is filled at a price, or M is 0
        assert number_violated(instance, result.labels) == count.min()


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


@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("distance", ["squared", "euclidean"])
def test_one_cluster_and_one_each(k, distance):
    points = np.random.default_rng(8).normal(size=(7, 2))
    result = BHKMeans(distance=distance).run(Instance(points, k, [(0, 1)], [(2, 3)]))
    assert len(np.unique(result.labels)) == k
    assert result.violations.hard == 1
    if k == 1 and distance == "euclidean":  # of the points, not of one block
        spread = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1)).sum()
        assert result.penalised_objective > spread


def test_other_weights_and_wrong_parameters_are_refused():
    points = [[0.0], [1.0], [2.0]]
    with pytest.raises(InstanceError, match=r"soft_cannot_link\[1\] has weight 0\.5.*pccc"):
        BHKMeans().run(Instance(points, 2, soft_cannot_link=[(0, 1, 1.0), (1, 2, 0.5)]))
    for wrong in ({"p": 0}, {"p": -1.0}, {"p": True}, {"distance": ""}, {"max_iterations": 0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            BHKMeans(**wrong)


def test_every_point_is_a_block_for_any_k():
    contraction = unconstrained(Instance([[0.0], [1.0], [5.0]], 1))
    assert contraction.n_blocks == 3
    assert contraction.cost(np.zeros(3, int)) == pytest.approx(14.0)

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heuristics.blpkm import BLPKM
from heuristics.pccc import PCCC
from heuristics.result import HeuristicStatus
from sdpbb.problem import Instance
from tests.enumeration import optimum, random_instance
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.sampled_from(["squared", "euclidean"]))
@examples(100)
def test_found_if_and_only_if_there_is_a_clustering(seed, distance):
    instance = random_instance(np.random.default_rng(seed))
    result = BLPKM(distance=distance).run(instance, seed)
    least = optimum(instance)
    if least is None:
        assert result.status is HeuristicStatus.INFEASIBLE
        assert result.infeasibility is not None
        return
    assert result.status is HeuristicStatus.FOUND
    assert result.violations.hard == 0
    assert len(np.unique(result.labels)) == instance.k
    assert result.sum_of_squares >= least - 1e-9
    assert result.penalised_objective is None


@given(SEEDS)
@examples(60)
def test_no_clustering_is_cheaper_at_the_means_of_the_last(seed):
    drawn = random_instance(np.random.default_rng(seed), n_max=6)
    instance = Instance(drawn.points, min(drawn.k, 3), drawn.must_link, drawn.cannot_link)
    result = BLPKM().run(instance, seed)
    if result.labels is None:
        return
    every = np.array(list(product(range(instance.k), repeat=instance.n_points)))
    for i, j in instance.must_link:
        every = every[every[:, i] == every[:, j]]
    for i, j in instance.cannot_link:
        every = every[every[:, i] != every[:, j]]
    squares = ((instance.points[:, None] - result.centers) ** 2).sum(axis=2)
    costs = squares[np.arange(instance.n_points), every].sum(axis=1)
    # Where the cheapest labels leave a cluster empty, that is filled at a price.
    if len(np.unique(every[np.argmin(costs)])) == instance.k:
        assert result.sum_of_squares <= costs.min() + 1e-9


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


def test_squared_distances_give_the_smaller_sum_of_squares_more_often():
    rng = np.random.default_rng(3)
    fewer = 0
    for _ in range(10):
        points = rng.exponential(size=(60, 2)) ** 2
        instance = Instance(points, 4, cannot_link=[(0, 1), (1, 2), (5, 9)])
        squared = min(BLPKM().run(instance, seed).sum_of_squares for seed in range(3))
        euclidean = min(
            BLPKM(distance="euclidean").run(instance, seed).sum_of_squares for seed in range(3)
        )
        fewer += squared <= euclidean
    assert fewer >= 8

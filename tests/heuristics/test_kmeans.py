import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Reference

from heuristics.alternating import kmeans
from heuristics.kmeans import KMeans, best_kmeans, unconstrained
from heuristics.method import RunClock
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Instance, contract
from tests.examples import examples

seeds = st.integers(0, 2**32 - 1)


def random_points(seed: int, n: int = 40, k: int = 4) -> Instance:
    return Instance(np.random.default_rng(seed).normal(size=(n, 3)), k)


@pytest.mark.parametrize("seed", range(10))
def test_it_comes_to_what_scikit_learn_comes_to(seed):
    points = unconstrained(random_points(seed, n=100, k=5))
    centres = kmeans_plus_plus(points, np.random.default_rng(seed))
    reference = Reference(5, init=centres, n_init=1, tol=0.0, algorithm="lloyd").fit(points.means)
    found = kmeans(points, centres, 300)
    assert points.cost(found.labels) == pytest.approx(reference.inertia_, rel=1e-12)


def test_constraints_are_not_looked_at_but_listed():
    instance = Instance(
        [[0.0], [0.1], [5.0], [5.1]],
        2,
        must_link=[(0, 2)],
        cannot_link=[(0, 1), (1, 2)],
        soft_cannot_link=[(2, 3, 0.5)],
    )
    result = KMeans().run(instance)
    assert result.labels.tolist() == [0, 0, 1, 1]
    assert (result.violations.must_link, result.violations.cannot_link) == (1, 1)
    assert result.violations.soft_weight == 0.5
    assert not result.keeps_hard_constraints


@given(seeds)
@examples(20)
def test_kmeans_over_blocks_keeps_must_links(seed):
    rng = np.random.default_rng(seed)
    instance = Instance(
        rng.normal(size=(20, 2)), 3, must_link=rng.permutation(20)[:8].reshape(4, 2)
    )
    contraction = contract(instance)
    found = best_kmeans(contraction, rng, RunClock(), 2, 100)
    labels = contraction.lift(found.labels)
    assert (labels[instance.must_link[:, 0]] == labels[instance.must_link[:, 1]]).all()
    assert found.cost == contraction.cost(found.labels)

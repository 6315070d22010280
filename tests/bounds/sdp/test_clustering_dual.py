import numpy as np
import pytest

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.clustering_dual import clustering_affinity, clustering_dual
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.problem import Instance, contract
from tests.bounds.sdp.problems import small_problem
from tests.enumeration import clustering_matrix


def far_clusters(seed: int) -> tuple[Instance, np.ndarray]:
    """Clusters of different sizes that are far apart, with must-links inside and cannot-links."""
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    labels = np.repeat(np.arange(k), rng.integers(4, 12, size=k))
    points = rng.normal(size=(len(labels), d)) + 100.0 * labels[:, None]
    first = np.unique(labels, return_index=True)[1]
    must_link = [(int(first[0]), int(first[0]) + 1), (int(first[1]), int(first[1]) + 2)]
    return Instance(points, k, must_link, [(int(first[0]), int(first[1]))]), labels


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_the_cost_where_clusters_are_far_apart(seed):
    instance, labels = far_clusters(seed)
    contraction = contract(instance)
    of_blocks = labels[contraction.representatives]
    relaxation = Relaxation.of(contraction)
    dual = clustering_dual(contraction, relaxation, of_blocks)
    bound, cost = safe_bound(relaxation, dual).value, contraction.cost(of_blocks)
    assert cost * (1 - 1e-6) <= bound <= cost
    between = of_blocks[:, None] != of_blocks
    assert (dual.N[between & ~relaxation.forbidden] > 0).all()


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_of_any_clustering_is_no_more_than_the_optimum(seed):
    problem = small_problem(seed)
    for labels in problem.labels[np.random.default_rng(seed).permutation(len(problem.labels))[:5]]:
        numbered = np.unique(labels, return_inverse=True)[1]
        dual = clustering_dual(problem.contraction, problem.relaxation, numbered)
        assert np.array_equal(dual.N, dual.N.T)
        assert (dual.N[~problem.relaxation.forbidden] >= 0).all()
        assert safe_bound(problem.relaxation, dual).value <= problem.optimum * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_affinity_is_the_clustering_matrix(seed):
    problem = small_problem(seed)
    labels = np.unique(problem.labels[0], return_inverse=True)[1]
    Z = clustering_affinity(problem.contraction, labels)
    assert np.allclose(Z, clustering_matrix(labels, problem.contraction.weights), rtol=1e-14)


def test_a_root_that_knows_an_optimal_clustering_of_far_clusters_takes_no_iteration():
    instance, labels = far_clusters(3)
    contraction = contract(instance)
    of_blocks = labels[contraction.representatives]
    run = SdpBounding().start(contraction, None, of_blocks)
    cost = contraction.cost(of_blocks)
    progress = run.advance(cost * (1 - 1e-5))
    assert progress.n_iterations == 0
    assert cost * (1 - 1e-5) <= progress.bound.value <= cost
    assert progress.bound.evidence is not None


def test_points_in_one_place_have_dual_values():
    contraction = contract(Instance(np.zeros((5, 2)), 2))
    relaxation = Relaxation.of(contraction)
    dual = clustering_dual(contraction, relaxation, np.array([0, 0, 1, 1, 1]))
    assert safe_bound(relaxation, dual).value <= 0.0

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heuristics.cop_kmeans import COPKMeans
from heuristics.kmeans import unconstrained
from heuristics.result import HeuristicStatus, Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Instance, Partition
from sdpbb.problem.graph import connected_components
from tests.enumeration import sums_of_squares
from tests.examples import examples

seeds = st.integers(0, 2**32 - 1)

# Where both ends come before the middle they go apart, and the middle has no cluster left.
PATH = Instance([[0.0], [5.0], [10.0], [0.1]], 2, cannot_link=[(0, 1), (1, 2)])


def instance_with_pairs(rng: np.random.Generator) -> Instance:
    n = int(rng.integers(6, 20))
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    drawn = pairs[rng.permutation(len(pairs))[:10]]
    n_must_link = int(rng.integers(0, 6))
    k = int(rng.integers(2, 4))
    return Instance(rng.normal(size=(n, 2)), k, drawn[:n_must_link], drawn[n_must_link:])


def one_pass(instance, order, centres):
    """The labels of one pass over single points, by the letter of the source: constraints are
    closed transitively, and checked with the points assigned before. None at a dead end."""
    n = instance.n_points
    block = connected_components(n, instance.must_link)
    apart = {(block[i], block[j]) for i, j in instance.cannot_link}
    apart |= {(b, a) for a, b in apart}
    labels = np.full(n, -1)
    for i in order:
        distances = ((instance.centred[i] - centres) ** 2).sum(axis=1)
        for c in np.argsort(distances, kind="stable"):
            inside = np.flatnonzero(labels == c)
            outside = np.flatnonzero((labels >= 0) & (labels != c))
            if any((block[i], block[j]) in apart for j in inside):
                continue
            if any(block[i] == block[j] for j in outside):
                continue
            labels[i] = c
            break
        else:
            return None
    return labels


def by_single_points(instance, seed):
    """The labels that the passes end with, None at a dead end; () where a cluster is empty."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(instance.n_points)
    centres = kmeans_plus_plus(unconstrained(instance), rng)
    last, met = None, []
    for _ in range(100):
        labels = one_pass(instance, order, centres)
        if labels is None:
            return None
        if len(np.unique(labels)) < instance.k:
            return ()
        if np.array_equal(labels, last):
            break
        last = labels
        met.append(labels)
        members = [instance.centred[labels == c] for c in range(instance.k)]
        centres = np.array([points.mean(axis=0) for points in members])
    costs = sums_of_squares(instance.points, np.array(met))
    return met[int(np.argmin(costs))]


@given(seeds)
@examples(60)
def test_blocks_at_a_time_are_points_at_a_time(seed):
    instance = instance_with_pairs(np.random.default_rng(seed))
    result = COPKMeans().run(instance, seed)
    if result.status is HeuristicStatus.INFEASIBLE:
        return
    expected = by_single_points(instance, seed)
    if expected is None:
        assert result.stop is Stop.DEAD_END
    elif len(expected):
        assert Partition(result.labels) == Partition(expected)


def test_a_dead_end_is_no_clustering_and_no_proof():
    results = [COPKMeans().run(PATH, seed) for seed in range(30)]
    statuses = {result.status for result in results}
    assert statuses == {HeuristicStatus.FOUND, HeuristicStatus.NOT_FOUND}
    failed = next(result for result in results if result.status is HeuristicStatus.NOT_FOUND)
    assert failed.stop is Stop.DEAD_END
    assert failed.labels is failed.infeasibility is None
    assert failed.n_iterations == 1


def test_more_starts_get_past_dead_ends():
    for seed in range(5):
        assert COPKMeans(n_starts=30).run(PATH, seed).keeps_hard_constraints

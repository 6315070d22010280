"""The pairs over blocks, by the weights that labels violate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.assignment import PairGraph, pair_graph
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from tests.examples import examples
from tests.heuristics.assignment.programmes import objective


def random_soft(rng, n, count):
    """Pairs with repetitions, in either order."""
    i = rng.integers(0, n, count)
    j = (i + rng.integers(1, n, count)) % n
    return list(zip(i.tolist(), j.tolist(), rng.choice([0.25, 0.5, 1.0], count), strict=True))


def violated(instance, labels):
    apart, together = instance.soft_cannot_link, instance.soft_must_link
    total = apart.weights[labels[apart.pairs[:, 0]] == labels[apart.pairs[:, 1]]].sum()
    return (
        total + together.weights[labels[together.pairs[:, 0]] != labels[together.pairs[:, 1]]].sum()
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(1, 3))
@examples(200)
def test_violated_weight_is_that_of_the_points(seed, n, k):
    rng = np.random.default_rng(seed)
    hard = [[p[:2] for p in random_soft(rng, n, int(rng.integers(0, 3)))] for _ in range(2)]
    soft = [random_soft(rng, n, int(rng.integers(0, 8))) for _ in range(2)]
    instance = Instance(
        rng.normal(size=(n, 2)),
        min(k, n),
        *hard,
        soft_must_link=soft[0],
        soft_cannot_link=soft[1],
    )
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        return
    graph = pair_graph(contraction)
    m = contraction.n_blocks
    for _ in range(5):
        labels = rng.integers(0, 4, m)
        found = objective(graph, np.zeros((m, 4)), None, 1.0, labels)
        i, j = contraction.cannot_link.T
        if (labels[i] == labels[j]).any():
            assert found == np.inf
        else:
            expected = violated(instance, contraction.lift(labels))
            assert found + graph.constant == pytest.approx(expected)
    assert graph.constant >= 0
    hard_pairs = {tuple(pair) for pair in graph.pairs[graph.is_hard].tolist()}
    assert hard_pairs == {tuple(pair) for pair in contraction.cannot_link.tolist()}


def test_opposing_pairs_are_netted_off():
    instance = Instance(
        np.arange(4.0)[:, None],
        2,
        soft_must_link=[(0, 1, 1.0), (1, 0, 0.5), (2, 3, 0.5)],
        soft_cannot_link=[(0, 1, 0.25), (2, 3, 0.5)],
    )
    graph = pair_graph(contract(instance))
    assert graph.pairs.tolist() == [[0, 1]]
    assert graph.weights.tolist() == [-1.25]
    assert graph.constant == 0.75


@pytest.mark.parametrize(
    ("pairs", "weights", "message"),
    [
        ([[1, 0]], [1.0], "i < j"),
        ([[0, 3]], [1.0], "i < j < 3"),
        ([[0, 2], [0, 1]], [1.0, 1.0], "sorted"),
        ([[0, 1], [0, 1]], [1.0, 1.0], "each once"),
        ([[0, 1]], [0.0], "other than 0"),
        ([[0, 1]], [-np.inf], "inf or finite"),
        ([[0, 1]], [np.nan], "inf or finite"),
        ([[0, 1]], [1.0, 2.0], "shapes"),
    ],
)
def test_wrong_graphs(pairs, weights, message):
    with pytest.raises(ParameterError, match=message):
        PairGraph(3, np.array(pairs), np.array(weights))

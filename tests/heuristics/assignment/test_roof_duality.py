"""The roof dual, persistency and maximum flows, against enumeration and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from heuristics.assignment.flow import augment, network
from heuristics.assignment.potts import Potts
from heuristics.assignment.roof_duality import find_satisfying, roof_dual
from tests.examples import examples
from tests.heuristics.assignment.programmes import random_candidates, random_pairs

SEEDS = st.integers(0, 2**32 - 1)


def random_potts(seed, m, density, k, kinds=("hard", "apart", "together")):
    rng = np.random.default_rng(seed)
    graph = random_pairs(rng, m, density, kinds)
    candidates = random_candidates(rng, m, k, 2)
    # Few binary digits: there are ties, and nothing is rounded.
    costs = rng.integers(-8, 9, (m, 2)) / 4
    weights = np.where(graph.is_hard, np.inf, np.sign(graph.weights))
    weights *= rng.choice([0.25, 0.5, 1.0, 2.0], len(weights))
    return Potts(costs, candidates, graph.pairs, weights)


def values(potts):
    """The objective of every labelling (number, n), and all labellings."""
    bits = np.arange(2**potts.n)[:, None] >> np.arange(potts.n) & 1
    return np.array([potts.value(labels) for labels in bits]), bits


@given(SEEDS, st.integers(1, 8), st.floats(0, 1), st.integers(2, 5))
@examples(200)
def test_bound_and_persistency(seed, m, density, k):
    potts = random_potts(seed, m, density, k)
    value, labellings = values(potts)
    dual = roof_dual(potts)
    least = value.min()
    assert dual.bound <= least + 1e-9
    if least == np.inf:
        return
    minimisers = labellings[value <= least + 1e-9]
    known = dual.labels >= 0
    assert (minimisers[:, known] == dual.labels[known]).all(axis=1).any()
    assert (minimisers[:, dual.is_strong] == dual.labels[dual.is_strong]).all()
    if known.all():
        assert dual.bound == pytest.approx(least, abs=1e-9)


@given(SEEDS, st.integers(1, 9), st.floats(0, 1))
@examples(100)
def test_must_links_alone_are_settled_entirely(seed, m, density):
    potts = random_potts(seed, m, density, 2, ("together",))
    dual = roof_dual(potts)
    assert (dual.labels >= 0).all()
    assert potts.value(dual.labels) == pytest.approx(values(potts)[0].min(), abs=1e-9)
    assert dual.bound == pytest.approx(values(potts)[0].min(), abs=1e-9)


@given(SEEDS, st.integers(1, 9), st.floats(0, 0.8), st.integers(2, 6))
@examples(200)
def test_hard_pairs_of_two_labels_are_decided(seed, m, density, k):
    potts = random_potts(seed, m, density, k, ("hard", "hard", "apart"))
    labels = find_satisfying(potts)
    is_feasible = bool(np.isfinite(values(potts)[0]).any())
    assert (labels is not None) == is_feasible
    assert labels is None or np.isfinite(potts.value(labels))


@given(SEEDS, st.integers(1, 12), st.integers(0, 60))
@examples(150)
def test_maximum_flow(seed, n, n_arcs):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, n_arcs))
    tails, heads = tails[tails != heads], heads[tails != heads]
    capacities = rng.integers(0, 20, len(tails))
    terminal = rng.integers(-30, 31, n)
    source, sink = n, n + 1
    i = np.concatenate([tails, np.full(n, source), np.arange(n)])
    j = np.concatenate([heads, np.arange(n), np.full(n, sink)])
    c = np.concatenate([capacities, np.maximum(terminal, 0), np.maximum(-terminal, 0)])
    whole = coo_array((c.astype(np.int32), (i, j)), shape=(n + 2, n + 2)).tocsr()
    expected = maximum_flow(whole, source, sink).flow_value
    graph, left = network(n, tails, heads, capacities), terminal.copy()
    before = graph.capacity.copy()
    phases = int(rng.integers(1, 3))
    flow, is_maximum = 0, False
    while not is_maximum:
        increase, is_maximum = augment(graph, left, phases)
        flow += increase
    assert flow == expected
    # What flowed through arcs and terminals balances at every node, within the capacities.
    assert (graph.capacity >= 0).all()
    flow_in_pairs = (before - graph.capacity).reshape(-1, 2)
    assert (flow_in_pairs.sum(axis=1) == 0).all()
    tail = graph.head[np.arange(len(graph.head)) ^ 1]
    net = np.zeros(n, int)
    np.add.at(net, graph.head, np.maximum(before - graph.capacity, 0))
    np.subtract.at(net, tail, np.maximum(before - graph.capacity, 0))
    assert (net + terminal - left == 0).all()

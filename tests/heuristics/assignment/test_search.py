"""Local search: hard pairs are kept, the objective does not increase."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.assignment.descent import improve
from heuristics.assignment.feasible_labels import construct
from heuristics.assignment.potts import Potts, signed_pairs
from tests.examples import examples
from tests.heuristics.assignment.programmes import random_lists, random_pairs

SEEDS = st.integers(0, 2**32 - 1)


def random_potts(rng, m, density, k, listed):
    q = int(rng.integers(1, k + 1)) if listed else k
    costs = np.round(rng.normal(size=(m, k)), int(rng.integers(0, 4)))
    costs[~random_lists(rng, m, k, q)] = np.inf
    return Potts(costs, *signed_pairs(random_pairs(rng, m, k, density)))


@given(SEEDS, st.integers(1, 6), st.floats(0, 1), st.integers(1, 4), st.booleans())
@examples(150)
def test_labels_keep_the_hard_pairs_and_only_get_cheaper(seed, m, density, k, listed):
    potts = random_potts(np.random.default_rng(seed), m, density, k, listed)
    labels = construct(potts)
    if labels is None:
        return  # no promise; that it is rare is tested on larger graphs
    value = potts.value(labels)
    assert np.isfinite(value)
    better = improve(potts, labels)
    assert potts.value(better) <= value + 1e-9
    # No single block can be moved at a gain.
    for i in range(m):
        for label in range(potts.k):
            moved = np.where(np.arange(m) == i, label, better)
            assert potts.value(moved) >= potts.value(better) - 1e-9


@pytest.mark.parametrize(("n", "k", "degree"), [(600, 3, 100), (800, 5, 100), (600, 30, 100)])
@pytest.mark.parametrize("informed", [True, False])
def test_planted_labels_are_found(n, k, degree, informed):
    rng = np.random.default_rng(n + k)
    planted = rng.integers(0, k, n)
    i, j = rng.integers(0, n, (2, n * degree))
    across = planted[i] != planted[j]
    low, high = np.minimum(i, j)[across], np.maximum(i, j)[across]
    keys = np.unique(low * n + high)[: n * degree // 2]
    pairs = np.column_stack(np.divmod(keys, n))
    costs = rng.normal(size=(n, k))
    if informed:
        costs[np.arange(n), planted] -= 3.0
    potts = Potts(costs, pairs, np.full(len(pairs), np.inf))
    labels = construct(potts)
    assert labels is not None
    assert np.isfinite(potts.value(improve(potts, labels)))


def test_the_search_is_repeatable():
    rng = np.random.default_rng(3)
    potts = random_potts(rng, 200, 0.03, 6, False)
    runs = [improve(potts, construct(potts)) for _ in range(2)]
    assert np.array_equal(*runs)

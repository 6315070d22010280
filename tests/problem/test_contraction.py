"""Contractions: blocks, and merges that cannot-links force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import (
    Infeasibility,
    InfeasibilityKind,
    Instance,
    contract,
)
from sdpbb.problem.infeasibility import forced_merges


def test_blocks_of_a_parent_are_never_split(monkeypatch):
    """Propagation may find less in a child than in its parent, if its budget runs out."""
    instance = Instance(
        np.arange(6.0)[:, None], 3, cannot_link=[(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]
    )
    parent = contract(instance)
    assert parent.block_of[2] == parent.block_of[3]
    monkeypatch.setattr("sdpbb.problem.infeasibility.CLIQUE_BUDGET", 0)
    assert contract(instance).n_blocks == 6
    child = contract(instance, cannot_link=[(4, 5)], blocks=parent.block_of)
    np.testing.assert_array_equal(child.block_of, parent.block_of)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(0.05, 0.5))
def test_an_odd_cycle_is_one(n, seed, density):
    rng = np.random.default_rng(seed)
    edges = np.array(
        [(i, j) for j in range(n) for i in range(j) if rng.random() < density], np.intp
    ).reshape(-1, 2)
    outcome = forced_merges(n, edges, 2)
    if isinstance(outcome, Infeasibility):
        assert outcome.kind is InfeasibilityKind.ODD_CYCLE
        cycle = outcome.points
        assert len(cycle) % 2 == 1
        assert len(set(cycle)) == len(cycle)
        present = {frozenset(edge) for edge in edges.tolist()}
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        assert all(frozenset(step) in present for step in steps)

"""Blocks that cannot-links force together; tests/problem/test_rules.py has all others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import (
    Contraction,
    Infeasibility,
    InfeasibilityKind,
    Instance,
    contract,
)
from sdpbb.problem.infeasibility import forced_merges
from tests.enumeration import Truth


def test_k_2_is_decided():
    """For two clusters propagation alone is a proof either way: contraction is feasible."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(2, 8))
        pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < 0.35]
        instance = Instance(rng.normal(size=(n, 1)), 2, cannot_link=pairs)
        assert isinstance(contract(instance), Contraction) == Truth(instance).is_feasible


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


def test_common_neighbours_of_a_clique_are_merged():
    cannot_link = np.array([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)])
    assert forced_merges(5, cannot_link, 3).tolist() == [[2, 3]]


def test_infeasibility_shortens_a_long_list_of_points():
    shown = str(Infeasibility(InfeasibilityKind.ODD_CYCLE, tuple(range(13))))
    assert shown.endswith("10, 11, ...)")
    assert str(Infeasibility(InfeasibilityKind.ODD_CYCLE, tuple(range(12)))).endswith("10, 11)")
    assert str(Infeasibility(InfeasibilityKind.TOO_FEW_BLOCKS)) == "fewer than k blocks"

"""Propagation against full enumeration of the clusterings of small instances."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import (
    Contraction,
    Infeasibility,
    InfeasibilityKind,
    Instance,
    contract,
)
from sdpbb.problem.propagation import forced_merges
from tests.examples import examples


def clusterings(n: int) -> Iterator[tuple[int, ...]]:
    """All clusterings of n points, in canonical form (restricted growth strings)."""
    if n == 0:
        yield ()
        return
    for labels in clusterings(n - 1):
        for label in range(max(labels, default=-1) + 2):
            yield (*labels, label)


CLUSTERINGS = {
    (n, k): [labels for labels in clusterings(n) if len(set(labels)) == k]
    for n in range(1, 8)
    for k in range(1, n + 1)
}


def keep(found, must_link, cannot_link):
    return [
        labels
        for labels in found
        if all(labels[i] == labels[j] for i, j in must_link)
        and all(labels[i] != labels[j] for i, j in cannot_link)
    ]


@st.composite
def graphs(draw, max_points=7):
    n = draw(st.integers(1, max_points))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    kinds = draw(st.lists(st.sampled_from("...MCCC"), min_size=len(pairs), max_size=len(pairs)))
    must_link = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "M"]
    cannot_link = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == "C"]
    return n, must_link[:2], cannot_link


def check(n, k, must_link, cannot_link):
    feasible = keep(CLUSTERINGS[n, k], must_link, cannot_link)
    points = np.random.default_rng(n).normal(size=(n, 2))
    outcome = contract(Instance(points, k, must_link, cannot_link))
    if isinstance(outcome, Infeasibility):
        assert not feasible
        return
    for labels in feasible:
        of_blocks = np.array(labels)[outcome.representatives]
        assert tuple(outcome.lift(of_blocks)) == labels, "a merge that is not forced"
        i, j = outcome.cannot_link.T
        assert (of_blocks[i] != of_blocks[j]).all()
    # And nothing is lost: what keeps the block constraints keeps the instance's.
    for labels in CLUSTERINGS[n, k]:
        of_blocks = np.array(labels)[outcome.representatives]
        constant = tuple(outcome.lift(of_blocks)) == labels
        i, j = outcome.cannot_link.T
        if constant and (of_blocks[i] != of_blocks[j]).all():
            assert labels in feasible


@pytest.mark.long
@examples(150)
@given(graphs())
def test_forced_merges_and_infeasibility_agree_with_enumeration(graph):
    n, must_link, cannot_link = graph
    for k in range(1, n + 1):
        check(n, k, must_link, cannot_link)


def test_k_2_is_decided():
    """For two clusters propagation alone is a proof either way: contraction is feasible."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(2, 8))
        pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < 0.35]
        outcome = contract(Instance(rng.normal(size=(n, 1)), 2, cannot_link=pairs))
        assert isinstance(outcome, Contraction) == bool(keep(CLUSTERINGS[n, 2], [], pairs))


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
    assert str(Infeasibility(InfeasibilityKind.TOO_FEW_BLOCKS)) == "fewer than k blocks"

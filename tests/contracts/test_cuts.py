"""Contract of cuts: what is separated is violated, valid, and the same to the checker.

A homogeneous inequality <B, Z> >= rhs over few blocks is valid if, and only if, for all partitions
of its blocks into at most k parts without a cannot-link,

    sum over the parts A of min over the weights s of clusters that hold A of 1_A' B 1_A / s >= rhs.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.cuts.capacities import CLIQUES, CapacityClique, capacity_cut
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, kind_number
from sdpbb.bounds.sdp.evidence import checked_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Contraction, contract
from tests.any_instance import any_instance
from tests.enumeration import Truth, clustering_matrix, clusterings
from tests.examples import examples

CAPACITIES = [
    kind_number(name) for name in ("point_sets", "weight_sets", "point_cliques", "weight_cliques")
]
HARD = ("equal points", "far groups", "units", "pairs", "weights", "sizes", "weight limits")


def affinity_matrices(rng, labels, weights):
    """Matrices to separate: random ones, and averages of clusterings with something added."""
    m = len(weights)
    noise = rng.random((m, m)) * (rng.random((m, m)) < 0.8)
    noise = (noise + noise.T) / weights.sum()
    yield noise + np.diag(rng.random(m) + 0.5) / weights.sum()
    chosen = labels[rng.integers(len(labels), size=3)]
    yield sum(clustering_matrix(row, weights) for row in chosen) / 3.0 + 0.1 * noise
    # Half of each way to pair a block with a neighbour in a circle, which pentagons cut off.
    around = np.roll(np.eye(m), 1, axis=1)
    yield np.eye(m) / weights + 0.5 * (around + around.T) / weights.mean()


def separated(relaxation, labels, seed):
    """Cuts of all families but soft pairs, whose terms have a price; and the matrix of each."""
    roots = np.sqrt(relaxation.weights)
    for Z in affinity_matrices(np.random.default_rng(seed), labels, relaxation.weights):
        Y = roots[:, None] * np.where(relaxation.forbidden, 0.0, Z) * roots
        cuts = separate(replace(relaxation, soft=None), Y)
        yield relaxation.to_affinity(Y), cuts


def capacity_cuts(relaxation):
    """Cuts and cliques of all sets of blocks, of all quantities that are limited."""
    cuts, m = CutSet.empty(), relaxation.m
    for family, measure in relaxation.measures.items():
        for chosen in map(np.array, product([False, True], repeat=m)):
            if not chosen.any():
                continue
            cuts = cuts + capacity_cut(family, measure, chosen)
            clique = CapacityClique.of(measure, chosen)
            if 2 <= clique.n_leaves <= m:
                leaves = np.array(list(combinations(range(m), clique.n_leaves)))
                cuts = cuts + clique.cuts(CLIQUES[family], leaves)
    return cuts


@given(any_instance(*HARD, n=(4, 8), k=(2, 4)), st.integers(0, 2**32 - 1))
@examples(80)
def test_a_separated_cut_is_violated_and_valid(instance, seed):
    contraction, truth = contract(instance), Truth(instance)
    assume(isinstance(contraction, Contraction) and contraction.n_blocks > 2)
    assume(truth.is_feasible and contraction.means.any())
    relaxation = Relaxation.of(contraction)
    labels = truth.labels[:, contraction.representatives]
    i, j = sorted(np.random.default_rng(seed).permutation(instance.n_points)[:2].tolist())
    child = contract(instance, must_link=[(i, j)])
    for Z, cuts in separated(relaxation, labels, seed):
        # Cuts of capacities are violated if the rows of Y u add up to u.
        is_violated = cuts.values(Z) < cuts.rhs
        assert is_violated[~np.isin(cuts.members.kind, CAPACITIES)].all()
        assert instance.stated_limits or len(np.unique(cuts.keys)) == len(cuts)
        assert_valid(cuts, labels, relaxation.weights)
        assert_checked(cuts, relaxation, seed)
        assert_merged(cuts, contraction, child, (i, j), truth)


@given(
    st.one_of(
        any_instance("pairs", "weights", always=["sizes"], n=(4, 6), k=(2, 4)),
        any_instance("pairs", "sizes", always=["weight limits"], n=(4, 6), k=(2, 4)),
    ),
    st.integers(0, 2**32 - 1),
)
@examples(60)
def test_all_capacity_cuts_are_valid(instance, seed):
    contraction, truth = contract(instance), Truth(instance)
    assume(isinstance(contraction, Contraction) and contraction.has_limits and truth.is_feasible)
    assume(contraction.means.any())
    relaxation = Relaxation.of(contraction)
    cuts = capacity_cuts(relaxation)
    assert_valid(cuts, truth.labels[:, contraction.representatives], relaxation.weights)
    if len(cuts):
        assert_checked(cuts, relaxation, seed)
        theirs, _ = checked_cuts(cuts.members, relaxation)
        with pytest.raises(Rejected, match="on what is not limited"):
            theirs.sums(np.ones(len(theirs)), replace(relaxation.node, limits=None))
    pair = tuple(sorted(np.random.default_rng(seed).permutation(instance.n_points)[:2].tolist()))
    child = contract(instance, must_link=[pair])
    assert_merged(cuts, contraction, child, pair, truth)


def assert_merged(cuts, contraction, child, pair, truth):
    """Cuts hold in the child whose points of a pair are together, also for the checker."""
    if not isinstance(child, Contraction):
        return
    old, unused = contraction.n_blocks, np.zeros(len(cuts))
    dual = DualPoint(np.zeros((old, old)), cuts, unused)  # merging makes equal cuts one
    merged = dual.merged(child.block_of[contraction.representatives], child.n_blocks).cuts
    together = truth.labels[truth.labels[:, pair[0]] == truth.labels[:, pair[1]]]
    assert_valid(merged, together[:, child.representatives], child.weights)
    of_child = Relaxation.of(child)
    theirs, _ = checked_cuts(merged.members, of_child)
    theirs.sums(np.ones(len(theirs)), of_child.node)  # which are not rejected


def assert_valid(cuts, labels, weights):
    """No clustering of the blocks violates a cut."""
    for row in labels:
        Z = clustering_matrix(row, weights)
        sizes = np.abs(cuts.coefficient * Z[cuts.row, cuts.column])
        rounding = 1e-12 * (np.abs(cuts.rhs) + np.bincount(cuts.owner, sizes, len(cuts)))
        assert (cuts.values(Z) >= cuts.rhs - rounding).all()


def assert_checked(cuts, relaxation, seed):
    """The checker accepts the cuts, with the same left-hand sides, and right-hand sides or more."""
    theirs, order = checked_cuts(cuts.members, relaxation)
    forbidden = relaxation.forbidden
    t = np.random.default_rng(seed).random(len(cuts))
    B = np.zeros(forbidden.shape)
    np.add.at(B, (cuts.row, cuts.column), t[cuts.owner] * cuts.coefficient)
    sums = theirs.sums(t[order], relaxation.node)
    scale = np.abs(B).max(initial=0.0)
    assert sums.matrix[~forbidden] == pytest.approx(0.5 * (B + B.T)[~forbidden], abs=1e-12 * scale)
    assert sum(sums.sides) >= cuts.rhs @ t - 1e-12 * np.abs(cuts.rhs) @ t


def least_value(B, weights, heaviest, adjacency, k):
    """The left-hand side of the complete test, at the partition where it is the least."""
    m, least = len(B), np.inf
    for parts in range(1, min(k, m) + 1):
        for row in clusterings(m, parts):
            same = row[:, None] == row
            if (same & adjacency).any():
                continue
            total = 0.0
            for c in range(parts):
                inside = row == c
                value, own = B[np.ix_(inside, inside)].sum(), weights[inside].sum()
                total += value / (max(heaviest, own) if value > 0.0 else own)
            least = min(least, total)
    return least


@given(any_instance("pairs", "weights", n=(5, 7), k=(3, 4)), st.integers(0, 2**32 - 1))
@examples(25)
def test_a_cut_that_is_perturbed_is_not_valid(instance, seed):
    """By a thousandth of its coefficients: some clustering violates it."""
    contraction = contract(instance)
    assume(isinstance(contraction, Contraction) and contraction.means.any())
    relaxation, rng = Relaxation.of(contraction), np.random.default_rng(seed)
    labels = Truth(instance).labels[:, contraction.representatives]
    assume(len(labels))
    e, k = relaxation.weights, relaxation.k
    for _, cuts in separated(relaxation, labels, seed):
        for c in rng.permutation(len(cuts))[:3]:
            terms = slice(cuts.start[c], cuts.start[c + 1])
            blocks, place = np.unique([cuts.row[terms], cuts.column[terms]], return_inverse=True)
            B = np.zeros((len(blocks),) * 2)
            np.add.at(B, tuple(place.reshape(2, -1)), cuts.coefficient[terms] / 2.0)
            B, rhs = B + B.T, cuts.rhs[c]
            adjacency = contraction.adjacency[np.ix_(blocks, blocks)]
            rest = (e[blocks], relaxation.node.heaviest, adjacency, k)
            rounding = 1e-12 * np.abs(B).sum() / e.min()
            least = least_value(B, *rest)
            assert least >= rhs - rounding
            # Three clusters reach the right-hand side of all families but pentagons, as estimates
            # are sharp at one matrix.
            if not adjacency.any() and rhs > -1.0:
                assert least <= rhs + rounding
                assert least_value(B - 1e-3 * np.abs(B), *rest) < rhs - rounding

"""Contract of all forms of cuts: what the checker accepts holds for every clustering."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.cuts import Cuts, inequalities, templates
from sdpbb.checker.kernel.cuts.capacities import MeasureRows, Sets
from sdpbb.checker.kernel.cuts.inequalities import Group, NodeFacts
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors, least_of_vector, partitions
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from tests.checker.drawn_cuts import FORMS, drawn_cuts
from tests.checker.nodes import CheckedNode, drawn_nodes

PLAIN = NodeFacts(2, np.ones(5), np.zeros((5, 5), bool))
BELL = [1, 1, 2, 5, 15, 52, 203]


# A form of which no clustering attains the cuts that are drawn.
NEVER_ATTAINED = {"pentagons"}


@cache
def nodes() -> list[CheckedNode]:
    return drawn_nodes(300)


@pytest.mark.parametrize("name", FORMS)
def test_what_is_accepted_holds_for_all_clusterings(name, monkeypatch):
    """Some clustering attains some of the cuts, so that no larger side would be valid.

    Errors of sums are bounded by their terms, however few of these are added at once.
    """
    rng, n_accepted, nearest = np.random.default_rng(0), 0, np.inf
    for number, found in enumerate(nodes() * 3):
        for module in (inequalities, templates):
            monkeypatch.setattr(module, "TERMS_AT_ONCE", (1, 2**22)[number % 2])
        cuts = drawn_cuts(rng, name, found.facts)
        t = rng.choice([0.0, 1e-3, 1.0, 1e6], (len(cuts), 1)[number % 3 == 0])
        t = np.broadcast_to(t, len(cuts))
        try:
            sums = cuts.sums(t, found.facts)
        except Rejected:
            continue
        n_accepted += 1
        assert all((A == A.T).all() for A in sums[:3])
        assert not t.all() or ((sums.roundings == 0.0) == (sums.absolute == 0.0)).all()
        assert (np.abs(sums.matrix) <= sums.absolute * (1 + 1e-14)).all()
        scale = float(np.abs(sums.sides).max(initial=0.0)) + float(sums.absolute.max())
        gaps = [
            float((sums.matrix * Z).sum()) - sum(sums.sides) + paid
            for Z, paid in zip(found.matrices, found.paid, strict=True)
        ]
        assert min(gaps) >= -1e-11 * scale - 1e-12 * max(found.paid)
        if t.any() and scale > 0.0:
            nearest = min(nearest, min(gaps) / scale)
    assert n_accepted >= 8
    assert nearest <= 1e-9 or name in NEVER_ATTAINED


def test_partitions_are_all_there_are():
    for t, number in enumerate(BELL):
        none = np.zeros((t, t), bool)
        found = {frozenset(map(frozenset, parts)) for parts in partitions(t, t, none)}
        assert len(found) == number
    linked = np.zeros((4, 4), bool)
    linked[0, 3] = linked[3, 0] = True
    found = list(partitions(4, 2, linked))
    assert len(found) == len(set(map(str, found))) == 4
    assert all(len(parts) == 2 and not any({0, 3} <= part for part in parts) for parts in found)


def summed(group: Group, node: NodeFacts = PLAIN) -> None:
    """Sum cuts: `Rejected` if they are not valid."""
    cuts = Cuts((group,))
    cuts.sums(np.ones(len(cuts)), node)


def rows(*entries: object, width: int = 1) -> np.ndarray:
    return np.array(entries, np.int64).reshape(-1, width)


SIZES = NodeFacts(3, np.ones(6), np.zeros((6, 6), bool), SizeLimits.of(6, 3, listed=(1, 2, 3)))
HALVES = NodeFacts(3, np.full(5, 0.5), np.zeros((5, 5), bool))
DENSE = np.random.default_rng(0).random((40, 40)) < 0.5
GRAPH = NodeFacts(3, np.ones(40), DENSE | DENSE.T)
MANY = np.random.default_rng(1).integers(40, size=(2000, 6))
CIRCLE, NONE = rows(*range(5), width=5), rows(width=4)


@pytest.mark.parametrize(
    ("group", "why", "node"),
    [
        (Vectors(rows(0, -1, width=2), (-1, 1)), r"outside of 0\.\.4", PLAIN),
        (Vectors(np.zeros((1, 5), int), (1024,) * 5), "do not give a valid cut", PLAIN),
        (Templates(rows(0), 1, ((0, 0, 1.0),), 0.5), "not valid", PLAIN),
        (Templates(rows(*[0] * 9, width=9), 9, ((0, 8, 1.0),), 0.0), "a template of 9", PLAIN),
        (Templates(MANY, 6, ((0, 1, 1.0),), 0.0), "patterns .*; expected at most 256", GRAPH),
        (MeasureRows(rows(0), "most"), "not limited", PLAIN),
        (MeasureRows(rows(*[0] * 11), "most"), "11 cuts on rows of 5 blocks", PLAIN),
        (Sets(rows(2, 0, 1, width=3), 2, "points"), "not in the order of the cuts", SIZES),
        (Sets(rows(0, 0, 1, width=3), 1, "units"), "what is not limited", SIZES),
        (LiftedPentagons(CIRCLE, rows(0, 0, 5, 1, width=4)), r"outside of 0\.\.4", PLAIN),
        (LiftedPentagons(CIRCLE, NONE), "no whole numbers", HALVES),
        (Vectors(np.zeros((9, 4096), np.int32), (-1, *[1] * 4095)), "more than 134217728", PLAIN),
    ],
)
def test_what_is_no_cut_is_rejected(group, why, node):
    """The vectors have other arrays that are not cuts."""
    with pytest.raises(Rejected, match=why):
        summed(group, node)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    st.integers(0, 3),
    st.integers(-4, 4),
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.booleans(),
)
def test_the_side_of_a_vector_is_at_most_that_of_any_partition(y, alpha, beta, sizes, are_exact):
    """Places may share a cluster of any size; a size that none is above says less."""
    given = [Fraction(size) for size in sizes]
    largest = [max(given)] * len(sizes)
    try:
        side = least_of_vector(y, alpha, beta, given if are_exact else largest, are_exact)
    except Rejected:
        assert beta
        return

    def value(parts) -> Fraction:
        total = Fraction(0)
        for cluster, size in enumerate(given):
            v = sum(x for x, own in zip(y, parts, strict=True) if own == cluster)
            total += (alpha * v * (v - 1) // 2 + beta * v) / size
        return total

    assert side <= min(map(value, product(range(len(given)), repeat=len(y))))


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (["vectors", [1] * 4097, 1, 0], "an integer vector of 4097 places"),
        (["vectors", [1025], 1, 0], "vector: 1025; expected a whole number in -1024..1024"),
        (["vectors", [1], 2**31 + 1, 0], "alpha: 2147483649; expected a whole number"),
        (["templates", 2, [[0, 8, 1]], 0], "a place: 8; expected a whole number"),
        (["sets", 2**24, "points"], "count: 16777216; expected a whole number in 1..16777215"),
    ],
)
def test_groups_at_the_limits_of_the_format_are_rejected(group, why):
    """The vectors have other groups that are invalid."""
    with pytest.raises(Rejected, match=why):
        Cuts.read([group], None, 5)


def zeros(name, dtypes, most, width):
    """As many rows of zeros as are allowed."""
    return np.zeros((len(most) - 1, width), dtypes[0])


def test_all_arrays_together_have_a_moderate_number_of_entries():
    found = Cuts.read([["vectors", [1], 1, 0]] * 3, zeros, 5)
    assert sum(group.blocks.size for group in found.groups) == 6_400_000 + 64 * 25
    with pytest.raises(Rejected, match="sets: more cuts than rows of blocks"):
        Cuts.read([["sets", 2**22, "points"]], zeros, 5)

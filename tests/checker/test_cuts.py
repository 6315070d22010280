"""Contract of all forms of cuts: what the checker accepts holds for every clustering."""

from functools import cache

import numpy as np
import pytest

from sdpbb.checker.kernel.cuts import Cuts, inequalities, templates
from sdpbb.checker.kernel.cuts.capacities import SetCliques, Sets
from sdpbb.checker.kernel.cuts.inequalities import Group, NodeFacts
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.measures import ListedCliques, MeasureRows, Traces
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors, partitions
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from tests.checker.drawn_cuts import FORMS, drawn_cuts
from tests.checker.nodes import CheckedNode, drawn_nodes

PLAIN = NodeFacts(2, np.ones(5), np.zeros((5, 5), bool))
# Of five points in two clusters, and a little more.
CLIQUE = 1 / 4 + 1e-15
BELL = [1, 1, 2, 5, 15, 52, 203]


# Forms of which no clustering attains the cuts that are drawn.
NEVER_ATTAINED = {"pentagons", "soft cannot-links", "soft must-links"}


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
        t = rng.choice([0.0, 1e-3, 1.0, 1e6], len(cuts))
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


def summed(group: Group, blocks, node: NodeFacts = PLAIN, parts=(), estimates=()) -> None:
    """Sum cuts: `Rejected` if they are not valid."""
    cuts = Cuts(
        (group,),
        np.array(blocks, np.int32),
        np.array(parts, np.int64),
        np.array(estimates, np.int32).reshape(-1, 3),
    )
    cuts.sums(np.ones(len(cuts)), node)


COMPLEMENT = Templates(1, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0)


@pytest.mark.parametrize(
    ("group", "blocks", "why"),
    [
        (Vectors(1, (-1, 1)), [0, -1], r"outside of 0\.\.4"),
        (COMPLEMENT, [0, 1, 2], "not valid"),
        (COMPLEMENT, [2, 1, 1], "not valid"),
        (Templates(1, 1, ((0, 0, 1.0),), 0.5), [0], "not valid"),
        (Templates(1, 3, ((0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)), CLIQUE), [0, 1, 2], "not valid"),
        (Templates(1, 9, ((0, 8, 1.0),), 0.0), [0] * 9, "a template of 9 places"),
        (Templates(1, 1, ((0, 0, -1.0),), -1.0), [0], "as little as they may"),
        (SoftTerms(1, "must"), [2, 2, 1], "of one block"),
        (MeasureRows(1, "most"), [0], "not limited"),
        (MeasureRows(11, "most"), [0] * 11, "11 cuts on rows of 5 blocks"),
        (Traces((1,)), [0], "not limited"),
        (Traces((2,)), [0, 0], "more points of a block"),
        (ListedCliques(1, 2, "largest"), [0, 1], "none that differ"),
    ],
)
def test_what_is_no_cut_is_rejected(group, blocks, why):
    with pytest.raises(Rejected, match=why):
        summed(group, blocks)


@pytest.mark.parametrize(
    ("group", "blocks", "parts", "why"),
    [
        (ListedCliques(1, 3, "smallest"), [0, 1, 2], [], "not 2 blocks"),
        (Sets((2,), "points"), [0, 0], [1, 1], "ascending order"),
        (Sets((2,), "points"), [1, 0], [1, 1], "ascending order"),
        (Sets((2,), "points"), [0, 1], [1, 2], "more of a block"),
        (Sets((1,), "units"), [0], [1], "what is not limited"),
        (SetCliques((2,), "points", (1,)), [0, 1, 0], [1, 1], "less than two"),
        (SetCliques((2,), "points", (2, 2)), [0, 1, 0, 1, 0, 1], [1, 1], "some for each set"),
        (SetCliques((6,), "points", (2,)), [0, 1, 2, 3, 4, 5, 0, 1], [1] * 6, "no more leaves"),
    ],
)
def test_what_is_no_cut_within_limits_is_rejected(group, blocks, parts, why):
    """Six points in clusters of 1, 2 and 3."""
    node = NodeFacts(3, np.ones(6), np.zeros((6, 6), bool), SizeLimits.of(6, 3, listed=(1, 2, 3)))
    with pytest.raises(Rejected, match=why):
        summed(group, blocks, node, parts)


def test_traces_list_no_more_points_of_a_block_than_it_has():
    weights = np.array([1.0, 2.0, 5.0])
    node = NodeFacts(2, weights, np.zeros((3, 3), bool), SizeLimits.of(8, 2, listed=(3, 5)))
    summed(Traces((4,)), [0, 1, 1, 2], node)
    for blocks in ([0, 0], [1, 1, 1], [2] * 6):
        with pytest.raises(Rejected, match="more points of a block"):
            summed(Traces((len(blocks),)), blocks, node)


@pytest.mark.parametrize(
    ("estimates", "why"),
    [
        ([(30, 0, 1)], "a place that there is not"),
        ([(-1, 0, 1)], "a place that there is not"),
        ([(17, 0, 1)], "a place that there is not"),
        ([(0, 5, 1)], r"outside of 0\.\.4"),
        ([(0, 0, 0)], "for no points"),
        ([(0, 0, -1)], "for no points"),
        ([(0, 0, 2)], "for more than a block has"),
        ([(0, 2, 2), (1, 2, 2)], "for more points than a block has"),
        ([(15, 2, 3), (15, 2, 1)], "for more points than a block has"),
    ],
)
def test_what_is_no_pentagon_is_rejected(estimates, why):
    sizes = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    node = NodeFacts(3, sizes, np.zeros((5, 5), bool))
    with pytest.raises(Rejected, match=why):
        summed(LiftedPentagons((len(estimates),)), range(5), node, estimates=estimates)
    sound = [(0, 2, 2), (2, 2, 1), (15, 1, 2)]
    summed(LiftedPentagons((3,)), range(5), node, estimates=sound)
    fractions = NodeFacts(3, 0.5 * sizes, np.zeros((5, 5), bool))
    with pytest.raises(Rejected, match="no whole numbers"):
        summed(LiftedPentagons((0,)), range(5), fractions)


def test_templates_with_many_patterns_are_refused():
    m = 40
    adjacency = np.triu(np.random.default_rng(0).random((m, m)) < 0.5, 1)
    node = NodeFacts(3, np.ones(m), adjacency | adjacency.T)
    rows = np.random.default_rng(1).integers(m, size=(2000, 6))
    with pytest.raises(Rejected, match="patterns of cannot-links; expected at most 256"):
        summed(Templates(2000, 6, ((0, 1, 1.0),), 0.0), rows.reshape(-1), node)


def test_cuts_that_would_take_long_are_refused():
    long = Vectors(9, (-1, *[1] * 4095))
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        summed(long, np.zeros(9 * 4096))
    wide = NodeFacts(600, np.ones(601), np.zeros((601, 601), bool))
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        summed(Cliques(400), np.zeros(400 * 601), wide)


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (["vectors", 1, [1] * 4097], "an integer vector of 4097 places"),
        (["vectors", 1, [1025]], "vector: 1025; expected a whole number in -1024..1024"),
        (["templates", 1, 2, [[0, 1, 1], [1, 0, 1]], 0], "with one twice"),
        (["templates", 1, 2, [[0, 8, 1]], 0], "a place: 8; expected a whole number"),
        (["cliques", 2**24], "count: 16777216; expected a whole number in 1..16777215"),
        (["vectors", 6_401_601, [1]], "the cuts have more than 6401600 entries"),
    ],
)
def test_groups_at_the_limits_of_the_format_are_rejected(group, why):
    """What else is no group is among the vectors."""
    with pytest.raises(Rejected, match=why):
        Cuts.read([group], None, 5, 2)
    with pytest.raises(Rejected, match="the cuts have more than 16777216 entries"):
        Cuts.read([["vectors", 2**23, [1, 1]]] * 2, None, 2**13, 2)

"""Contract of all families of cuts: what the checker accepts holds for every clustering."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from sdpbb.bounds.sdp.cuts.cliques import clique_cuts
from sdpbb.bounds.sdp.cuts.complements import complement_cuts
from sdpbb.bounds.sdp.cuts.stars import star_cuts
from sdpbb.checker.cuts import FAMILIES, Cuts, inequalities, require_moderate, templates
from sdpbb.checker.cuts.inequalities import NodeFacts
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.sizes import SizeLimits
from tests.checker.drawn_cuts import EnumeratedNode, drawn_arrays, enumerated_nodes

INT8, INT4 = np.int64, np.int32
NAMES = [family.name for family in FAMILIES]
PLAIN = NodeFacts(2, np.ones(5), np.zeros((5, 5), bool))


# Families of which no clustering attains the cuts that are drawn.
NEVER_ATTAINED = {"pentagons", "soft_cannot_links", "soft_must_links"}


@cache
def nodes() -> list[EnumeratedNode]:
    return enumerated_nodes(160)


@pytest.mark.parametrize("family", FAMILIES, ids=NAMES)
def test_what_is_accepted_holds_for_all_clusterings(family):
    """Some clustering attains some of the cuts, so that no larger side would be valid."""
    rng, n_accepted, nearest = np.random.default_rng(0), 0, np.inf
    for found in nodes() * 3:
        cuts = Cuts.of(found.node.k, drawn_arrays(rng, family, found.node))
        t = rng.choice([0.0, 1e-3, 1.0, 1e6], len(cuts))
        try:
            sums = cuts.sums(t, found.node)
        except Rejected:
            continue
        n_accepted += 1
        scale = float(np.abs(sums.sides).max(initial=0.0)) + float(sums.absolute.max())
        gaps = [
            float((sums.matrix * Z).sum()) - sum(sums.sides) + paid
            for Z, paid in zip(found.matrices, found.paid, strict=True)
        ]
        assert min(gaps) >= -1e-11 * scale - 1e-12 * max(found.paid)
        if t.any() and scale > 0.0:
            nearest = min(nearest, min(gaps) / scale)
    assert n_accepted >= 8
    assert nearest <= 1e-9 or family.name in NEVER_ATTAINED


@pytest.mark.parametrize("at_once", [1, 2**22])
def test_errors_of_sums_are_bounded_by_their_terms(monkeypatch, at_once):
    for module in (inequalities, templates):
        monkeypatch.setattr(module, "TERMS_AT_ONCE", at_once)
    rng, count = np.random.default_rng(1), 0
    for found in nodes() * 2:
        family = FAMILIES[rng.integers(len(FAMILIES))]
        cuts = Cuts.of(found.node.k, drawn_arrays(rng, family, found.node))
        t = rng.exponential(size=len(cuts))
        try:
            matrix, absolute, roundings, _ = cuts.sums(t, found.node)
        except Rejected:
            continue
        count += 1
        assert all((A == A.T).all() for A in (matrix, absolute, roundings))
        assert ((roundings == 0.0) == (absolute == 0.0)).all()
        assert (np.abs(matrix) <= absolute * (1 + 1e-14)).all()
    assert count > 40


def test_sums_agree_with_the_cuts_of_the_solver():
    rng = np.random.default_rng(0)
    m, k, n = 9, 2, 14
    adjacency = ~np.eye(m, dtype=bool)
    trees = [rng.permutation(m)[:5] for _ in range(20)]
    centre, leaves = np.array(trees)[:, 0], np.array(trees)[:, 1:]
    cliques = np.array([rng.permutation(m)[: k + 1] for _ in range(5)], dtype=INT4)
    complements = np.array([rng.permutation(m)[:3] for _ in range(5)], dtype=INT4)
    stars = star_cuts(centre.astype(INT4), leaves.astype(INT4), np.full(20, 4, dtype=INT4))
    theirs = stars + clique_cuts(cliques, n - k + 1) + complement_cuts(complements)
    ours = Cuts.of(
        k,
        {
            "star_start": np.arange(21) * 5,
            "star_blocks": np.concatenate(trees).astype(INT4),
            "cliques": cliques,
            "complements": complements,
        },
    )
    t = rng.exponential(size=30)
    sums = ours.sums(t, NodeFacts(k, np.r_[np.ones(m - 1), n - m + 1.0], adjacency))
    for _ in range(5):
        Z = rng.normal(size=(m, m))
        Z = Z + Z.T
        assert (sums.matrix * Z).sum() == pytest.approx(t @ theirs.values(Z))
    exact = sum(map(Fraction, t[20:25].tolist())) / (n - k + 1)
    assert sum(map(Fraction, sums.sides)) <= exact
    assert sum(sums.sides) == pytest.approx(float(t @ theirs.rhs))


def of(node: NodeFacts = PLAIN, **arrays) -> Cuts:
    """Cuts of arrays, summed: `Rejected` if they are not valid."""
    cuts = Cuts.of(node.k, arrays)
    cuts.sums(np.ones(max(0, len(cuts))), node)
    return cuts


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"star_start": np.array([1], INT8)}, "starts of stars"),
        ({"star_start": np.array([], INT8)}, "starts of stars"),
        ({"star_start": np.array([0.0])}, "star_start of shape"),
        ({"star_start": np.array([[0]], INT8)}, "star_start of shape"),
        ({"star_start": np.array([0, 1], INT8), "star_blocks": np.array([1], INT4)}, "no leaves"),
        ({"star_start": np.array([0, 2], INT8), "star_blocks": np.array([1], INT4)}, "0..1"),
        ({"star_blocks": np.array([1], INT4)}, "fit"),
        ({"star_start": np.array([0, 2**62, 2**63 - 1, -(2**62), 0], INT8)}, "0..0"),
        (
            {"star_start": np.array([0, 3, 2], INT8), "star_blocks": np.array([1, 0], INT4)},
            "0..2",
        ),
        ({"cliques": np.zeros((1, 2), INT4)}, "cliques of shape"),
        ({"cliques": np.zeros(3, INT4)}, "cliques of shape"),
        ({"cliques": np.array([[0, 1, 5]], INT4)}, "outside of 0..4"),
        ({"cliques": np.array([[0, 1, -1]], INT4)}, "outside of 0..4"),
        ({"cliques": np.array([[0.0, 1.0, 2.0]])}, "cliques of shape"),
        ({"complements": np.zeros((1, 2), INT4)}, "complements of shape"),
        ({"complements": np.array([[0, 1, 2]], INT4)}, "not valid"),
        ({"complements": np.array([[2, 1, 1]], INT4)}, "not valid"),
        ({"pentagons": np.zeros((1, 4), INT4)}, "pentagons of shape"),
        ({"soft_must_links": np.array([[2, 2, 1]], INT4)}, "of one block"),
        ({"most_points": np.zeros(1, INT4)}, "not limited"),
        ({"size_pairs": np.zeros((1, 2), INT4)}, "not limited"),
        ({"most_point_rows": np.zeros(1, INT4)}, "not limited"),
        ({"point_set_start": np.array([0, 1], INT8)}, "fit|0..0"),
    ],
)
def test_what_is_no_cut_is_rejected(changes, why):
    with pytest.raises(Rejected, match=why):
        of(**changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"smallest_start": [0, 3], "smallest_blocks": [0, 1, 2]}, "not 2 blocks"),
        ({"listed_start": [0, 2], "listed_blocks": [0, 0]}, "more points"),
        ({"point_set_start": [0, 2], "point_set_blocks": [0, 0]}, "ascending order"),
        ({"point_set_start": [0, 2], "point_set_blocks": [1, 0]}, "ascending order"),
        ({"point_set_start": [0, 2], "point_set_blocks": [0, 9]}, "outside of"),
        ({"point_set_start": [0, 2], "point_set_parts": [1, 2]}, "more of a block"),
        ({"point_set_start": [0, 2], "point_set_parts": [0, 1]}, "more of a block"),
        ({"point_set_start": [0, 2], "point_set_parts": [1]}, "a part of each"),
        ({"weight_set_start": [0, 1], "weight_set_blocks": [0]}, "what is not limited"),
        ({"point_clique_leaf_start": [0, 1], "point_clique_leaves": [0]}, "less than two"),
        ({"point_clique_leaf_start": [0, 3], "point_clique_leaves": [0, 1]}, "0..2"),
        ({"point_clique_leaf_start": [0, 1, 2]}, "one for each cut"),
        ({"point_clique_leaves": [0, 9]}, "outside of"),
        ({"point_clique_blocks": [0, 1, 2, 3, 4, 5]}, "no more leaves"),
    ],
)
def test_what_is_no_cut_within_limits_is_rejected(changes, why):
    """Six points in clusters of 1, 2 and 3."""
    node = NodeFacts(3, np.ones(6), np.zeros((6, 6), bool), SizeLimits.of(6, 3, listed=(1, 2, 3)))
    arrays = {key: np.array(value, INT8) for key, value in changes.items()}
    word = next(iter(changes)).rsplit("_", 1)[0].removesuffix("_leaf")
    if word.endswith(("_set", "_clique")):
        blocks = arrays.setdefault(f"{word}_blocks", np.arange(2))
        arrays.setdefault(f"{word}_parts", np.ones(len(blocks), INT8))
        arrays.setdefault(f"{word}_start", np.array([0, len(blocks)]))
    if word.endswith("_clique"):
        arrays.setdefault(f"{word}_leaves", np.arange(2))
        arrays.setdefault(f"{word}_leaf_start", np.array([0, 2]))
    with pytest.raises(Rejected, match=why):
        of(node, **arrays)


ESTIMATES = [[0, 2, 2], [2, 2, 1], [15, 1, 2]]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pentagons": [[0, 1, 2, 3, 5]]}, r"outside of 0\.\.4"),
        ({"estimates": np.zeros((3, 2), INT4)}, "estimates of shape"),
        ({"estimate_start": [0]}, "one for each cut"),
        ({"estimate_start": [1, 3]}, "begins with 0"),
        ({"estimate_start": [0, 2]}, "do not fit"),
        ({"estimate_start": [0, 4]}, r"estimates: expected numbers in 0\.\.3"),
        ({"estimates": [(30, 0, 1)]}, "a place that there is not"),
        ({"estimates": [(-1, 0, 1)]}, "a place that there is not"),
        ({"estimates": [(17, 0, 1)]}, "a place that there is not"),
        ({"estimates": [(0, 5, 1)]}, r"outside of 0\.\.4"),
        ({"estimates": [(0, 0, 0)]}, "for no points"),
        ({"estimates": [(0, 0, -1)]}, "for no points"),
        ({"estimates": [(0, 0, 2)]}, "for more than a block has"),
        ({"estimates": [(0, 2, 2), (1, 2, 2)]}, "for more points than a block has"),
        ({"estimates": [(15, 2, 3), (15, 2, 1)]}, "for more points than a block has"),
    ],
)
def test_what_is_no_pentagon_is_rejected(changes, why):
    sizes = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    node = NodeFacts(3, sizes, np.zeros((5, 5), bool))
    sound = {"pentagons": [[0, 1, 2, 3, 4]], "estimate_start": [0, 3], "estimates": ESTIMATES}
    arrays = {key: np.array(value, INT8) for key, value in {**sound, **changes}.items()}
    if "estimates" in changes:
        arrays["estimate_start"][-1] = len(arrays["estimates"])
    with pytest.raises(Rejected, match=why):
        of(node, **arrays)
    of(node, **{key: np.array(value, INT8) for key, value in sound.items()})
    fractions = NodeFacts(3, 0.5 * sizes, np.zeros((5, 5), bool))
    with pytest.raises(Rejected, match="no whole numbers"):
        of(fractions, pentagons=np.zeros((1, 5), INT4), estimate_start=np.zeros(2, INT8))


def test_complements_are_for_two_clusters():
    complements = np.array([[2, 0, 1]], INT4)
    adjacency = ~np.eye(3, dtype=bool)
    of(NodeFacts(2, np.ones(3), adjacency), complements=complements)
    with pytest.raises(Rejected, match="not valid"):
        of(NodeFacts(3, np.ones(3), adjacency), complements=complements)


def test_stars_that_would_take_all_memory_are_refused():
    blocks = np.zeros(2**12 + 1, INT4)
    with pytest.raises(Rejected, match="more than 4096 blocks"):
        of(star_start=np.array([0, len(blocks)]), star_blocks=blocks)


def test_cuts_that_would_take_long_are_refused():
    start = np.arange(10) * 2**12
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        of(star_start=start, star_blocks=np.zeros(start[-1], INT4))
    wide = NodeFacts(600, np.ones(601), np.zeros((601, 601), bool))
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        of(wide, cliques=np.zeros((400, 601), INT4))


def test_cuts_that_would_take_much_memory_are_refused():
    wide = np.zeros((64 * 100_025 // 3 + 1, 3), INT4)
    with pytest.raises(Rejected, match="the cuts have more than 6401600 entries"):
        of(cliques=wide)
    require_moderate(2**13, [(2**24,)])
    with pytest.raises(Rejected, match="the cuts have more than 16777216 entries"):
        require_moderate(2**13, [(2**23, 2), (1,)])

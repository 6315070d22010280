from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts.cliques import clique_cuts
from sdpbb.bounds.sdp.cuts.complements import complement_cuts
from sdpbb.bounds.sdp.cuts.stars import star_cuts
from sdpbb.checker.cuts import Cuts, require_moderate
from sdpbb.checker.cuts import family as module
from sdpbb.checker.cuts.cliques import Cliques
from sdpbb.checker.cuts.complements import Complements
from sdpbb.checker.cuts.pentagons import Pentagons
from sdpbb.checker.cuts.stars import Stars
from sdpbb.checker.rejection import Rejected
from tests.checker.duals import cuts_of, family, random_cuts
from tests.checker.exact import random_problem
from tests.enumeration import clustering_matrix

seeds = st.integers(0, 10**6)


def by_definition(
    cuts: Cuts, Z: np.ndarray, sizes: np.ndarray, adjacency: np.ndarray
) -> list[float]:
    """The left-hand sides at Z, term by term as `Cuts` writes them."""
    values = []
    stars, cliques, complements, pentagons, *soft = cuts.families
    assert not any(map(len, soft))
    for c in range(len(stars)):
        i, *T = stars.blocks[stars.start[c] : stars.start[c + 1]].tolist()
        pairs = sum(Z[T[a], T[b]] for b in range(len(T)) for a in range(b))
        values.append(Z[i, i] + pairs - sum(Z[i, j] for j in T))
    for Q in cliques.blocks.tolist():
        values.append(sum(Z[Q[a], Q[b]] for b in range(len(Q)) for a in range(b)))
    values += [Z[i, j] + Z[i, h] - Z[i, i] for i, j, h in complements.blocks.tolist()]
    values += [pentagon(pentagons, c, Z, sizes, adjacency) for c in range(len(pentagons))]
    return values


def pentagon(
    pentagons: Pentagons, c: int, Z: np.ndarray, sizes: np.ndarray, adjacency: np.ndarray
) -> float:
    """The upper estimates of the chords less the lower ones of the edges, block by block."""
    v = pentagons.cycles[c].tolist()
    value = 0.0
    for pair in range(10):
        p, q = v[pair % 5], v[(pair % 5 + (1 if pair < 5 else 2)) % 5]
        for s in range(len(sizes)):
            z, points = 0.0, 0
            for place, block, count in pentagons.estimates[
                pentagons.start[c] : pentagons.start[c + 1]
            ].tolist():
                if place // 3 != pair or block != s:
                    continue
                points += count
                three = [p, q, s]
                o = three.pop(place % 3)
                a, b = three
                lower = Z[o, a] + Z[o, b] - Z[o, o]
                z += count * (lower if pair < 5 else Z[o, s])
            if pair < 5:
                value -= z
            elif not (adjacency[p, q] or adjacency[p, s] or adjacency[q, s]):
                value += z + (sizes[s] - points) * Z[p, q]
    return value


@given(seeds)
def test_every_cut_holds_at_every_clustering(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, k=int(rng.choice([1, 2, 3])), n_min=3)
    cuts = random_cuts(rng, problem.k, problem.adjacency, problem.contracted.weights)
    cuts.check(problem.k, problem.contracted.weights, problem.adjacency)
    n, k = len(problem.points), problem.k
    n_stars, n_pentagons = len(family(cuts, Stars)), len(family(cuts, Pentagons))
    cliques = slice(n_stars, n_stars + len(family(cuts, Cliques)))
    first = np.unique(problem.block_of, return_index=True)[1]
    for labels in problem.labels[:50]:
        Z = clustering_matrix(labels, np.ones(n))[np.ix_(first, first)]
        values = np.array(by_definition(cuts, Z, problem.contracted.weights, problem.adjacency))
        others = slice(0, len(cuts) - n_pentagons)
        assert (values[others] >= -1e-12).all()
        assert (values >= -2.0 - 1e-12).all()
        assert (values[cliques] >= 1.0 / (n - k + 1) - 1e-12).all()


@given(seeds, st.sampled_from([1, 2**22]))
def test_the_sum_is_the_one_of_the_definition(seed, at_once):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, k=int(rng.choice([2, 3])), n_min=3)
    m, sizes = len(problem.adjacency), problem.contracted.weights
    cuts = random_cuts(rng, problem.k, problem.adjacency, sizes)
    t = rng.exponential(size=len(cuts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TERMS_AT_ONCE", at_once)
        total, absolute, count = cuts.sums(t, sizes, problem.adjacency)
    assert all((A == A.T).all() for A in (total, absolute, count))
    assert ((count == 0.0) == (absolute == 0.0)).all()
    assert (np.abs(total) <= absolute * (1 + 1e-14)).all()
    Z = rng.normal(size=(m, m))
    Z = Z + Z.T
    values = by_definition(cuts, Z, sizes, problem.adjacency)
    expected = float(t @ np.array(values)) if len(t) else 0.0
    np.testing.assert_allclose((total * Z).sum(), expected, atol=1e-11)


def test_sums_agree_with_the_cuts_of_the_solver():
    rng = np.random.default_rng(0)
    m, k, n = 9, 2, 14
    trees = [rng.permutation(m)[:5] for _ in range(20)]
    centre, leaves = np.array(trees)[:, 0], np.array(trees)[:, 1:]
    cliques = np.array([rng.permutation(m)[: k + 1] for _ in range(5)], dtype=np.int32)
    complements = np.array([rng.permutation(m)[:3] for _ in range(5)], dtype=np.int32)
    stars = star_cuts(
        centre.astype(np.int32), leaves.astype(np.int32), np.full(20, 4, dtype=np.int32)
    )
    theirs = stars + clique_cuts(cliques, n - k + 1) + complement_cuts(complements)
    ours = Cuts.of(
        k,
        Stars(np.arange(21) * 5, np.concatenate(trees).astype(np.int32)),
        Cliques(cliques),
        Complements(complements),
    )
    t = rng.exponential(size=30)
    total, _, _ = ours.sums(t, np.ones(m), np.zeros((m, m), bool))
    for _ in range(5):
        Z = rng.normal(size=(m, m))
        Z = Z + Z.T
        assert (total * Z).sum() == pytest.approx(t @ theirs.values(Z))
    below = ours.right_hand_side(t, np.r_[np.ones(m - 1), n - m + 1.0], k)
    exact = sum(map(Fraction, t[20:25].tolist())) / (n - k + 1)
    assert Fraction(below) <= exact
    assert below == pytest.approx(float(t @ theirs.rhs))


INT8, INT4 = np.int64, np.int32


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"star_start": np.array([1], INT8)}, "starts of stars"),
        ({"star_start": np.array([], INT8)}, "starts of stars"),
        ({"star_start": np.array([0.0])}, "starts of stars"),
        ({"star_start": np.array([[0]], INT8)}, "starts of stars"),
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
        ({"cliques": np.array([[0.0, 1.0, 2.0]])}, "outside of 0..4"),
        ({"complements": np.zeros((1, 2), INT4)}, "complements of shape"),
        ({"complements": np.array([[0, 1, 2]], INT4)}, "cannot-linked pair"),
        ({"complements": np.array([[2, 1, 1]], INT4)}, "cannot-linked pair"),
    ],
)
def test_what_is_no_cut_is_rejected(changes, why):
    adjacency = np.zeros((5, 5), dtype=bool)
    adjacency[0, 1] = adjacency[1, 0] = True
    Cuts.of(2).check(2, np.ones(5), adjacency)
    with pytest.raises(Rejected, match=why):
        cuts_of(2, **changes).check(2, np.ones(5), adjacency)


def test_complements_are_for_two_clusters():
    adjacency = ~np.eye(3, dtype=bool)
    complements = np.array([[2, 0, 1]], INT4)
    cuts_of(2, complements=complements).check(2, np.ones(3), adjacency)
    with pytest.raises(Rejected, match="two clusters"):
        cuts_of(3, complements=complements).check(3, np.ones(3), adjacency)


def test_stars_that_would_take_all_memory_are_refused():
    blocks = np.zeros(2**12 + 1, np.int32)
    cuts = cuts_of(2, star_start=np.array([0, len(blocks)]), star_blocks=blocks)
    with pytest.raises(Rejected, match="more than 4096 blocks"):
        cuts.check(2, np.ones(3), np.zeros((3, 3), bool))


def test_cuts_that_would_take_long_are_refused():
    start = np.arange(10) * 2**12
    cuts = cuts_of(2, star_start=start, star_blocks=np.zeros(start[-1], np.int32))
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        cuts.check(2, np.ones(3), np.zeros((3, 3), bool))
    few = cuts_of(2, star_start=start[:9], star_blocks=np.zeros(start[8], np.int32))
    few.check(2, np.ones(3), np.zeros((3, 3), bool))
    wide = np.zeros((400, 601), np.int32)
    with pytest.raises(Rejected, match="more than 134217728 pairs of blocks"):
        cuts_of(600, cliques=wide).check(600, np.ones(3), np.zeros((3, 3), bool))


def test_cuts_that_would_take_much_memory_are_refused():
    wide = np.zeros((64 * 100_009 // 3 + 1, 3), np.int32)
    with pytest.raises(Rejected, match="the cuts have more than 6400576 entries"):
        cuts_of(2, cliques=wide).check(2, np.ones(3), np.zeros((3, 3), bool))
    cuts_of(2, cliques=wide[9:]).check(2, np.ones(3), np.zeros((3, 3), bool))
    require_moderate(2**13, [(2**24,)])
    with pytest.raises(Rejected, match="the cuts have more than 16777216 entries"):
        require_moderate(2**13, [(2**23, 2), (1,)])

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.rejection import Rejected
from tests.enumeration import clusterings

NONE = np.empty((0, 2), np.int64)


def blocks_of(n: int, k: int, together=NONE, apart=NONE) -> Blocks:
    pairs = (np.array(p, np.int64).reshape(-1, 2) for p in (together, apart))
    return Blocks.of(n, k, *pairs)


def kept(blocks: Blocks, labels: np.ndarray) -> np.ndarray:
    """Those of the labels (number, n) that the blocks allow."""
    same = labels[:, :, None] == labels[:, None, :]
    of = blocks.block_of
    must = of[:, None] == of
    cannot = blocks.adjacency[np.ix_(of, of)]
    return labels[(same | ~must).all(axis=(1, 2)) & ~(same & cannot).any(axis=(1, 2))]


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_exactly_what_the_pairs_forbid_is_lost(seed, k):
    """Whatever pairs are added, and in whatever order: the blocks allow the same clusterings."""
    rng = np.random.default_rng(seed)
    n = 6
    blocks, truth = blocks_of(n, k), clusterings(n, k)
    for _ in range(int(rng.integers(1, 5))):
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(rng.integers(1, 3))])
        together = rng.random(len(pairs)) < 0.4
        blocks = blocks.changed(pairs[together], pairs[~together])
        same = truth[:, pairs[:, 0]] == truth[:, pairs[:, 1]]
        truth = truth[(same == together).all(axis=1)]
        first = np.unique(blocks.block_of, return_index=True)[1]
        assert (np.diff(first) > 0).all()
        assert blocks.adjacency.shape == (len(first), len(first))
        assert (blocks.adjacency == blocks.adjacency.T).all()
        assert (kept(blocks, clusterings(n, k)) == truth).all() or len(truth) == 0
        assert (blocks.contradiction is None) or len(truth) == 0
        if len(truth) == 0:
            assert len(kept(blocks, clusterings(n, k))) == 0
            assert k > 2 or blocks.contradiction is not None


@given(st.integers(0, 2**32))
def test_two_clusters_leave_no_choice_in_a_component(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(6)])
    blocks = blocks_of(8, 2, apart=pairs)
    if not blocks.adjacency.diagonal().any():
        assert (blocks.adjacency.sum(axis=1) <= 1).all()


@given(st.integers(0, 2**32), st.integers(3, 4))
def test_merges_by_cliques_lose_nothing(seed, k):
    rng = np.random.default_rng(seed)
    n = 7
    blocks = blocks_of(
        n, k, apart=[(i, j) for i in range(n) for j in range(i) if rng.random() < 0.6]
    )
    before = kept(blocks, clusterings(n, k))
    for _ in range(50):
        row = rng.choice(n, k + 1, replace=False)[None]
        try:
            blocks = blocks.merged(row)
        except Rejected:
            continue
    assert (kept(blocks, clusterings(n, k)) == before).all()

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import (
    Contraction,
    Infeasibility,
    InfeasibilityKind,
    Instance,
    Partition,
    contract,
)
from tests.any_instance import any_instance
from tests.examples import examples

PAIRS = any_instance("pairs", "equal points", n=(2, 9), d=(1, 9))


@given(PAIRS, st.randoms(use_true_random=False))
def test_contraction_commutes_with_the_order_of_the_points(instance, random):
    n = instance.n_points
    order = list(range(n))
    random.shuffle(order)
    place = np.argsort(order)  # point i of the instance is point place[i] of the shuffled one
    shuffled = Instance(
        instance.points[order],
        instance.k,
        place[instance.must_link],
        place[instance.cannot_link],
    )
    contraction, other = contract(instance), contract(shuffled)
    if isinstance(contraction, Infeasibility):
        assert isinstance(other, Infeasibility)
        return
    assert isinstance(other, Contraction)
    block, other_block = contraction.block_of, other.block_of[place]
    assert np.array_equal(block[:, None] == block, other_block[:, None] == other_block)
    renamed = other_block[contraction.representatives]  # our block -> theirs
    np.testing.assert_allclose(contraction.weights, other.weights[renamed])
    np.testing.assert_allclose(contraction.scatter, other.scatter[renamed], atol=1e-12)
    assert np.array_equal(contraction.adjacency, other.adjacency[np.ix_(renamed, renamed)])


@examples(50)
@given(PAIRS)
def test_blocks_and_their_cannot_links_are_in_canonical_form(instance):
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return
    assert np.array_equal(contraction.block_of, Partition(contraction.block_of).labels)
    assert contraction.weights.sum() == instance.n_points
    i, j = contraction.cannot_link.T
    assert (i < j).all()
    pairs = contraction.cannot_link.tolist()
    assert pairs == sorted(map(list, set(map(tuple, pairs))))
    assert np.array_equal(contraction.adjacency, contraction.adjacency.T)


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


POINTS = np.arange(10.0).reshape(5, 2)


@pytest.mark.parametrize(
    ("k", "must_link", "cannot_link", "kind", "points"),
    [
        (
            2,
            [(0, 1), (1, 2)],
            [(3, 4), (0, 2)],
            InfeasibilityKind.CANNOT_LINK_IN_BLOCK,
            {0, 1, 2},
        ),
        (2, [], [(0, 1), (1, 2), (0, 2), (2, 3)], InfeasibilityKind.ODD_CYCLE, {0, 1, 2}),
        (
            3,
            [],
            [(i, j) for i in range(4) for j in range(i)],
            InfeasibilityKind.CLIQUE,
            {0, 1, 2, 3},
        ),
        (1, [], [(1, 3)], InfeasibilityKind.CLIQUE, {1, 3}),
        (4, [(0, 1), (1, 2)], [], InfeasibilityKind.TOO_FEW_BLOCKS, {0, 3, 4}),
    ],
)
def test_contradictions_are_named_with_the_users_rows(k, must_link, cannot_link, kind, points):
    infeasibility = contract(Instance(POINTS, k, must_link, cannot_link))
    assert isinstance(infeasibility, Infeasibility)
    assert infeasibility.kind is kind
    assert set(infeasibility.points) == points
    assert kind.value in str(infeasibility)


def test_two_clusters_merge_both_sides_of_a_cannot_link_path():
    contraction = contract(Instance(POINTS, 2, cannot_link=[(0, 1), (1, 2), (2, 3)]))
    assert contraction.block_of.tolist() == [0, 1, 0, 1, 2]

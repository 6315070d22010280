import numpy as np
import pytest

from sdpbb.bounds.bound import SafeBound
from sdpbb.problem import Instance, contract
from sdpbb.search.branching import most_undecided_pair
from sdpbb.search.node import Node, NodeStatus, Outcome
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree

LABELS = np.array([0, 1])


@pytest.fixture
def tree() -> Tree:
    return Tree(Node(), Tolerances(gap=0.1, zero=0.0))


def branched(lower: float) -> Outcome:
    return Outcome(NodeStatus.BRANCH, SafeBound(lower), pair=(3, 5))


def test_the_bound_counts_open_running_and_closed_nodes(tree):
    tree.offer(LABELS, 100.0, "given")
    root = tree.next_node()
    assert tree.lower == 0.0
    tree.running(SafeBound(40.0))
    assert tree.lower == 40.0
    assert tree.n_open == 1
    tree.split(root, branched(50.0))
    assert (tree.lower, tree.n_open) == (50.0, 2)
    together = tree.next_node()
    assert (together.must_link, together.cannot_link) == (((3, 5),), ())
    tree.close(SafeBound(92.0))
    apart = tree.next_node()
    assert (apart.must_link, apart.cannot_link) == ((), ((3, 5),))
    assert tree.lower == 50.0
    tree.close(SafeBound(95.0))
    assert (tree.lower, tree.n_open) == (92.0, 0)
    assert tree.is_closed
    assert tree.next_node() is None


def test_a_node_that_holds_no_clustering_does_not_count(tree):
    tree.offer(LABELS, 100.0, "given")
    tree.next_node()
    tree.drop()
    assert tree.lower == 100.0
    assert tree.is_closed


def test_a_better_incumbent_closes_open_nodes(tree):
    tree.offer(LABELS, 100.0, "given")
    tree.split(tree.next_node(), branched(50.0))
    assert not tree.is_closed
    assert tree.n_open == 2
    assert tree.offer(LABELS, 55.0, "sdp")
    assert not tree.offer(LABELS, 55.0, "sdp")
    assert tree.n_open == 0
    assert tree.next_node() is None
    assert (tree.lower, tree.upper, tree.source) == (50.0, 55.0, "sdp")


def test_an_unfinished_node_is_put_back_with_what_was_proven(tree):
    node = tree.next_node()
    tree.put_back(node, SafeBound(30.0))
    assert (tree.lower, tree.n_open) == (30.0, 1)
    again = tree.next_node()
    assert (again.number, again.lower) == (node.number, SafeBound(30.0))


def test_best_first(tree):
    tree.split(tree.next_node(), branched(10.0))
    tree.split(tree.next_node(), branched(20.0))
    assert tree.next_node().lower == SafeBound(10.0)
    assert tree.next_node().lower == SafeBound(20.0)


def test_node_numbers_are_never_used_twice(tree):
    numbers = {0}
    for lower in range(5):
        node = tree.next_node()
        tree.put_back(node, node.lower)
        node = tree.next_node()
        tree.split(node, branched(float(lower)))
        numbers.update(n.number for _, _, n in tree._open)
    assert numbers == set(range(11))


def test_tolerances():
    tolerances = Tolerances(gap=0.01, zero=1e-20)
    assert tolerances.closes(SafeBound(99.0), 100.0)
    assert not tolerances.closes(SafeBound(98.9), 100.0)
    assert not tolerances.closes(SafeBound(0.0), 1e-19)
    assert tolerances.closes(SafeBound(0.0), 1e-20)
    assert not tolerances.closes(SafeBound(1e300), np.inf)
    assert tolerances.improves(5.0, np.inf)
    assert tolerances.improves(5.0 - 1e-15, 5.0)
    assert not tolerances.improves(5.0, 5.0)
    assert tolerances.relative_gap(0.0, 1e-20) == 0.0
    assert tolerances.relative_gap(1.0, 2.0) == 0.5


def test_a_gap_of_zero_means_precision():
    tolerances = Tolerances(gap=0.0, zero=0.0)
    assert tolerances.closes(SafeBound(1.0 - 1e-13), 1.0)
    assert not tolerances.closes(SafeBound(1.0 - 1e-11), 1.0)


def test_branching_takes_the_pair_that_is_neither_together_nor_apart():
    contraction = contract(Instance(np.arange(5.0)[:, None], 2, cannot_link=[(0, 4)]))
    m = contraction.n_blocks
    Z = np.eye(m) * 0.5
    Z[1, 2] = Z[2, 1] = 0.3
    i, j = most_undecided_pair(contraction, Z)
    assert {i, j} == {1, 2}


def test_branching_never_takes_a_cannot_link():
    contraction = contract(Instance(np.arange(3.0)[:, None], 3, cannot_link=[(0, 1), (1, 2)]))
    assert most_undecided_pair(contraction, np.ones((3, 3))) == (0, 2)

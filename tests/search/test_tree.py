import copy
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem import Instance, contract
from sdpbb.search.branching import branching_pair, most_contested_pair, most_undecided_pair
from sdpbb.search.events import NodeEnd, NodeLeft
from sdpbb.search.node import Fixings, Node, NodeResult, NodeStatus
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree, with_fixings

LABELS = np.array([0, 1])


@pytest.fixture
def tree() -> Tree:
    return Tree(Node(), Tolerances(gap=0.1))


PAIR = (3, 5)


def split(tree: Tree, lower: float) -> Node:
    """Replace the next node by two children with this bound."""
    node = tree.select()
    update(tree, node.number, lower=ProvenBound(lower))
    tree.split(node.number, PAIR)
    return node


def update(tree: Tree, number: int, **more: object) -> None:
    tree.update(replace(tree.running(number), **more))


def test_the_bound_counts_open_running_and_closed_nodes(tree):
    tree.offer(LABELS, 100.0, "given")
    root = tree.select()
    assert tree.lower == 0.0
    update(tree, root.number, lower=ProvenBound(40.0))
    assert tree.lower == 40.0
    assert tree.n_open == 1
    assert tree.split(root.number, PAIR) == (1, 2)
    assert (tree.lower, tree.n_open) == (40.0, 2)
    together = tree.select()
    assert (together.must_link, together.cannot_link) == ((PAIR,), ())
    tree.close(together.number, ProvenBound(92.0))
    apart = tree.select()
    assert (apart.must_link, apart.cannot_link) == ((), (PAIR,))
    assert tree.lower == 40.0
    tree.close(apart.number, ProvenBound(95.0))
    assert (tree.lower, tree.n_open) == (92.0, 0)
    assert tree.is_closed
    assert tree.select() is None


def test_several_nodes_can_run(tree):
    tree.offer(LABELS, 100.0, "given")
    split(tree, 10.0)
    one, two = tree.select(), tree.select()
    assert (tree.n_open, tree.n_waiting, tree.select()) == (2, 0, None)
    update(tree, one.number, lower=ProvenBound(30.0))
    assert tree.lower == 10.0
    tree.close(two.number, ProvenBound(95.0))
    assert tree.lower == 30.0


def test_a_node_that_holds_no_clustering_does_not_count(tree):
    tree.offer(LABELS, 100.0, "given")
    tree.drop(tree.select().number)
    assert tree.lower == 100.0
    assert tree.is_closed


def test_no_node_proves_more_than_its_fixings_allow(tree):
    """Fixed pairs hold below 93 only: what is above has not been looked at."""
    tree.offer(LABELS, 100.0, "given")
    root = tree.select()
    tree.update(with_fixings(root, Fixings(cannot_link=np.array([[0, 1]]), below=93.0)))
    assert tree.running(0).proven(ProvenBound(99.0)) == ProvenBound(93.0)
    tree.drop(0)
    assert tree.n_open == 0
    assert tree.lower == 93.0


def test_a_child_begins_with_the_bound_and_the_fixings_of_its_parent(tree):
    tree.offer(LABELS, 100.0, "given")
    root = tree.select()
    tree.update(with_fixings(root, Fixings(cannot_link=np.array([[0, 1]]), below=93.0)))
    update(tree, root.number, lower=ProvenBound(50.0))
    for number in tree.split(root.number, PAIR):
        node = tree.select()
        assert (node.number, node.lower, node.fixings.below) == (number, ProvenBound(50.0), 93.0)


def test_a_better_incumbent_closes_open_nodes(tree):
    tree.offer(LABELS, 100.0, "given")
    split(tree, 50.0)
    assert not tree.is_closed
    assert tree.n_open == 2
    assert tree.offer(LABELS, 55.0, "sdp")
    assert not tree.offer(LABELS, 55.0, "sdp")
    assert tree.n_open == 0
    assert tree.select() is None
    assert (tree.lower, tree.upper, tree.source) == (50.0, 55.0, "sdp")


def result(status: NodeStatus, lower: float, **more: object) -> NodeResult:
    return NodeResult(status, ProvenBound(lower), **more)


@pytest.mark.parametrize("status", [NodeStatus.UNFINISHED, NodeStatus.FIXED])
def test_a_node_whose_evaluation_is_to_go_on_comes_first(tree, status):
    split(tree, 10.0)
    node = tree.select()
    assert not tree.apply(node.number, result(status, 30.0))
    assert (tree.lower, tree.n_open, tree.n_due, tree.n_waiting) == (10.0, 2, 1, 1)
    again = tree.select()
    assert (again.number, again.lower) == (node.number, ProvenBound(30.0))
    assert (tree.n_open, tree.n_due) == (2, 0)


def test_a_result_closes_drops_or_splits_its_node(tree):
    split(tree, 10.0)
    split(tree, 20.0)
    found = {"labels": LABELS, "cost": 100.0, "source": "sdp"}
    branching = result(NodeStatus.BRANCH, 30.0, pair=PAIR, **found)
    assert tree.apply(tree.select().number, branching) == PAIR
    assert (tree.upper, tree.source) == (100.0, "sdp")
    assert not tree.apply(tree.select().number, result(NodeStatus.INFEASIBLE, 40.0))
    # A bound that closes the node does so whatever is to be done with it besides.
    assert not tree.apply(tree.select().number, result(NodeStatus.BRANCH, 95.0, pair=PAIR))
    assert (tree.n_open, tree.n_due, tree.lower) == (1, 0, 30.0)


def test_a_closed_node_whose_bound_does_not_close_it_is_given_up(tree):
    tree.offer(LABELS, 100.0, "given")
    assert not tree.apply(tree.select().number, result(NodeStatus.CLOSED, 80.0))
    assert (tree.n_open, tree.lower, tree.is_closed) == (0, 80.0, False)
    assert tree.take_news() == [NodeLeft(0, 80.0, NodeEnd.UNPROVEN)]


def test_a_lost_node_keeps_its_bound_and_the_run_from_being_closed(tree):
    tree.offer(LABELS, 100.0, "given")
    node = tree.select()
    update(tree, node.number, lower=ProvenBound(70.0))
    tree.abandon(node.number, NodeEnd.LOST)
    assert (tree.n_open, tree.lower, tree.is_closed) == (0, 70.0, False)
    tree.offer(LABELS, 75.0, "sdp")
    assert tree.is_closed


def test_best_first(tree):
    split(tree, 10.0)
    split(tree, 20.0)
    tree.select()
    split(tree, 30.0)
    assert [tree.select().lower.value for _ in range(3)] == [20.0, 30.0, 30.0]


def test_node_numbers_are_never_used_twice(tree):
    numbers = {0}
    for lower in range(5):
        split(tree, float(lower))
        numbers.update(n.number for n in tree.__getstate__()["nodes"])
    assert numbers == set(range(11))


def test_a_restored_tree_goes_on_as_the_saved_one(tree):
    tree.offer(LABELS, 100.0, "given")
    split(tree, 10.0)
    split(tree, 20.0)
    tree.abandon(tree.select().number, NodeEnd.LOST)
    tree.close(tree.select().number, ProvenBound(91.0))
    running = tree.select()
    other = copy.deepcopy(tree)
    assert (other.lower, other.upper) == (tree.lower, 100.0)
    assert other.n_open == tree.n_open == other.n_waiting
    assert other.select().number == running.number
    assert other.split(running.number, PAIR) == tree.split(running.number, PAIR)
    numbers = [sorted(n.number for n in t.__getstate__()["nodes"]) for t in (tree, other)]
    assert numbers[0] == numbers[1]


def test_tolerances():
    tolerances = Tolerances(gap=0.01)
    assert tolerances.closes(ProvenBound(99.0 + 1e-12), 100.0)
    assert not tolerances.closes(ProvenBound(98.9), 100.0)
    assert not tolerances.closes(ProvenBound(0.0), 1e-300)
    assert tolerances.closes(ProvenBound(0.0), 0.0)
    assert not tolerances.closes(ProvenBound(1e300), np.inf)
    assert tolerances.improves(5.0, np.inf)
    assert tolerances.improves(5.0 - 1e-15, 5.0)
    assert not tolerances.improves(5.0, 5.0)


def test_a_tree_without_a_clustering_is_exhausted_when_no_node_is_left(tree):
    root = tree.select()
    assert (tree.lower, tree.gap, tree.is_exhausted) == (0.0, np.inf, False)
    tree.split(root.number, PAIR)
    tree.drop(tree.select().number)
    assert (tree.n_open, tree.lower, tree.is_exhausted) == (1, 0.0, False)
    tree.drop(tree.select().number)
    assert (tree.n_open, tree.is_closed, tree.is_exhausted) == (0, False, True)
    assert copy.deepcopy(tree).is_exhausted


def test_neither_a_lost_node_nor_an_incumbent_leaves_a_tree_exhausted(tree):
    tree.abandon(tree.select().number, NodeEnd.LOST)
    assert not tree.is_exhausted
    other = Tree(Node(), tree.tolerances)
    other.offer(LABELS, 5.0, "given")
    other.drop(other.select().number)
    assert (other.is_closed, other.is_exhausted) == (True, False)


def test_a_gap_of_zero_means_precision():
    tolerances = Tolerances(gap=0.0)
    assert tolerances.closes(ProvenBound(1.0 - 1e-13), 1.0)
    assert not tolerances.closes(ProvenBound(1.0 - 1e-11), 1.0)


def test_branching_takes_the_pair_that_is_neither_together_nor_apart():
    contraction = contract(Instance(np.arange(5.0)[:, None], 2, cannot_link=[(0, 4)]))
    m = contraction.n_blocks
    Z = np.eye(m) * 0.5
    Z[1, 2] = Z[2, 1] = 0.3
    assert most_undecided_pair(contraction, Z) == (1, 2)


def test_branching_never_takes_a_cannot_link():
    contraction = contract(Instance(np.arange(3.0)[:, None], 3, cannot_link=[(0, 1), (1, 2)]))
    assert most_undecided_pair(contraction, np.ones((3, 3))) == (0, 2)
    triangle = contract(Instance(np.arange(3.0)[:, None], 3, [], [(0, 1), (1, 2), (0, 2)]))
    assert most_undecided_pair(triangle, np.ones((3, 3))) is None


def test_branching_takes_the_soft_pair_in_doubt_whose_weight_counts_most():
    """Of 0 and 1, 2 and 3, 4 and 5, of which 0 and 1 are together: half is paid for the others."""
    soft = {"soft_must_link": [(0, 1, 9.0), (2, 3, 1.0)], "soft_cannot_link": [(4, 5, 2.0)]}
    contraction = contract(Instance(np.arange(6.0)[:, None], 3, **soft))
    Z = np.zeros((6, 6))
    for i, j, together in ((0, 1, 1.0), (2, 3, 0.5), (4, 5, 0.5)):
        # Half of two in one cluster, half of each alone: at a share of two clusters of one point.
        Z[[i, j], [i, j]] = 1.0 - 0.5 * together
        Z[i, j] = Z[j, i] = 0.5 * together
    assert most_contested_pair(contraction, Z) == (4, 5)
    assert branching_pair(contraction, Z) == (4, 5)
    Z[[4, 5], [4, 5]], Z[4, 5], Z[5, 4] = 1.0, 0.0, 0.0
    assert branching_pair(contraction, Z) == (2, 3)


def test_branching_where_no_soft_pair_is_in_doubt():
    points = np.arange(5.0)[:, None]
    contraction = contract(Instance(points, 2, soft_must_link=[(0, 4, 1.0)]))
    Z = np.eye(5) * 0.5
    Z[1, 2] = Z[2, 1] = 0.3
    Z[[0, 4], [0, 4]] = 1.0
    assert most_contested_pair(contraction, Z) is None
    assert branching_pair(contraction, Z) == (1, 2)

import copy
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem import Instance, contract
from sdpbb.search.events import Branched, NodeEnd, NodeEvent, NodeLeft
from sdpbb.search.node import (
    Fixings,
    Node,
    NodeResult,
    NodeStatus,
    branching_pair,
    most_contested_pair,
    most_undecided_pair,
)
from sdpbb.search.tree import Tolerances, Tree
from tests.examples import examples

LABELS = np.array([0, 1])


PAIR = (3, 5)


class Model:
    """Costs of all clusterings, dealt to the unfinished nodes of a tree by decisions at random."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.costs = [rng.uniform(80.0, 120.0) for _ in range(rng.randint(0, 9))]
        self.tree = Tree(Node(), Tolerances(rng.choice([0.0, 0.3])))
        self.held: dict[int, list[float]] = {0: self.costs}
        self.n_created, self.due = 1, set()
        self.lost: set[int] = set()
        self.before = self.nodes

    @property
    def nodes(self) -> dict[int, Node]:
        """The unfinished nodes, by their numbers."""
        return {node.number: node for node in self.tree.__getstate__()["nodes"]}

    def step(self) -> None:
        """Do one of the things that may happen to a tree."""
        rng = self.rng
        if rng.random() < 0.2:
            self.tree, self.due = copy.deepcopy(self.tree), set()
            assert self.tree.n_open == self.tree.n_waiting
        tree = self.tree
        if rng.random() < 0.1 and self.costs:
            cost, before = rng.choice(self.costs), tree.upper
            assert tree.offer(LABELS, cost, "given") == (cost < before)
            assert tree.upper == min(cost, before)
        waiting = self.nodes
        node = tree.select()
        if node is None:
            return
        if self.due:
            assert node.number in self.due
        else:
            assert node.lower == min(each.lower for each in waiting.values())
        self.due.discard(node.number)
        self.evaluate(node)

    def evaluate(self, node: Node) -> None:
        """Apply a result that is true of the clusterings of a node, or lose it."""
        rng, tree, number, held = self.rng, self.tree, node.number, self.held[node.number]
        least = min(held, default=np.inf)
        proven = rng.choice([0.0, rng.random() * least, least]) if held else rng.uniform(0.0, 200.0)
        more: dict[str, object] = {}
        if held and rng.random() < 0.5:
            more = {"labels": LABELS, "cost": rng.choice(held), "source": "sdp"}
        draw = rng.random()
        if draw < 0.05:
            tree.abandon(number, NodeEnd.LOST)
            self.lost.add(number)
        elif not held and draw < 0.5:
            assert tree.apply(number, result(NodeStatus.INFEASIBLE, 0.0)) is None
        elif draw < 0.4:
            fixings, status = Fixings(), NodeStatus.UNFINISHED
            if draw < 0.2 and np.isfinite(tree.upper):
                below = tree.tolerances.cutoff(tree.upper)
                fixings, status = Fixings(np.array([[0, 1]]), below), NodeStatus.FIXED
                self.held[number] = [cost for cost in held if cost < below]
            assert tree.apply(number, result(status, proven, fixings=fixings, **more)) is None
            self.due |= {number} & self.nodes.keys()
        elif tree.apply(number, result(NodeStatus.BRANCH, proven, pair=PAIR, **more)) == PAIR:
            children = tree.split(number, PAIR)
            assert children == (self.n_created, self.n_created + 1)
            self.n_created += 2
            halves = [rng.random() < 0.5 for _ in held]
            for is_together, child in zip((True, False), children, strict=True):
                self.held[child] = [
                    cost for cost, half in zip(held, halves, strict=True) if half == is_together
                ]
                born = self.nodes[child]
                assert (born.must_link, born.cannot_link) == (
                    (*node.must_link, PAIR) if is_together else node.must_link,
                    node.cannot_link if is_together else (*node.cannot_link, PAIR),
                )

    def check_news(self, told: list[NodeEvent]) -> None:
        """There is an event of each node that is done with, with the bound that it had."""
        nodes = self.nodes
        born = {
            child
            for each in told
            if isinstance(each, Branched)
            for child in (each.together, each.apart)
        }
        assert {each.node for each in told} == (self.before.keys() | born) - nodes.keys()
        for each in told:
            if isinstance(each, Branched):
                assert each.pair == PAIR
            elif each.end is NodeEnd.LOST:
                assert each.node in self.lost
            else:
                least = self.tree.tolerances.cutoff(self.tree.upper)
                assert min(self.held[each.node], default=np.inf) >= each.lower >= least
                assert each.end is (NodeEnd.INFEASIBLE if each.lower == np.inf else NodeEnd.CLOSED)
        left = {(each.node, each.lower, each.end) for each in self.tree.open_nodes()}
        assert left == {(n, node.lower.value, NodeEnd.OPEN) for n, node in nodes.items()}
        self.before = nodes

    def check(self) -> None:
        """What is said of the tree is true of the clusterings."""
        tree, nodes = self.tree, self.nodes
        self.check_news(tree.take_news())
        assert tree.n_open == len(nodes)
        assert tree.lower <= min(self.costs, default=np.inf)
        for number, node in nodes.items():
            assert node.lower.value <= min(self.held[number], default=np.inf)
            assert tree.lower <= node.lower.value
        assert not (tree.is_closed and tree.is_exhausted)
        if not nodes and not self.lost:
            assert tree.is_closed or tree.is_exhausted
            assert tree.is_exhausted == (not self.costs)


@given(st.integers(0, 2**32 - 1))
@examples(100)
def test_a_tree_proves_what_is_true_of_all_clusterings(seed):
    """Whatever becomes of its nodes, and wherever it is copied."""
    model, lower = Model(Random(seed)), 0.0
    for _ in range(40):
        model.step()
        model.check()
        assert model.tree.bound_of_nodes >= lower
        lower = model.tree.bound_of_nodes


def result(status: NodeStatus, lower: float, **more: object) -> NodeResult:
    return NodeResult(status, ProvenBound(lower), **more)


def test_a_closed_node_whose_bound_does_not_close_it_is_given_up():
    tree = Tree(Node(), Tolerances(gap=0.1))
    tree.offer(LABELS, 100.0, "given")
    assert not tree.apply(tree.select().number, result(NodeStatus.CLOSED, 80.0))
    assert (tree.n_open, tree.lower, tree.is_closed) == (0, 80.0, False)
    assert tree.take_news() == [NodeLeft(0, 80.0, NodeEnd.UNPROVEN)]
    tree.offer(LABELS, 85.0, "sdp")
    assert (tree.lower, tree.source, tree.is_closed) == (80.0, "sdp", True)


def test_neither_a_lost_node_nor_an_incumbent_leaves_a_tree_exhausted():
    tree = Tree(Node(), Tolerances(gap=0.1))
    tree.abandon(tree.select().number, NodeEnd.LOST)
    assert not tree.is_exhausted
    other = Tree(Node(), tree.tolerances)
    other.offer(LABELS, 5.0, "given")
    other.apply(other.select().number, result(NodeStatus.INFEASIBLE, 0.0))
    assert (other.lower, other.is_closed, other.is_exhausted) == (5.0, True, False)


def test_tolerances():
    tolerances = Tolerances(gap=0.01)
    assert tolerances.closes(ProvenBound(99.0 + 1e-12), 100.0)
    assert not tolerances.closes(ProvenBound(98.9), 100.0)
    assert not tolerances.closes(ProvenBound(0.0), 1e-300)
    assert tolerances.closes(ProvenBound(0.0), 0.0)
    assert not tolerances.closes(ProvenBound(1e300), np.inf)


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

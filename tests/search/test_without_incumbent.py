"""Trees whose nodes may have clusterings that no heuristic finds, or none at all."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.bound import BoundingMethod, BoundProgress, PairFixings, ProvenBound
from sdpbb.problem import (
    InfeasibilityKind,
    Instance,
    MaximumSize,
    SoftCannotLinks,
    contract,
)
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.report import ProgressTable, summary
from sdpbb.run.solver import resume, solve
from sdpbb.search.evaluate import evaluate
from sdpbb.search.events import Progress
from sdpbb.search.loop import branch_and_bound
from sdpbb.search.node import Fixings, Node, NodeResult, NodeStatus
from sdpbb.search.result import SolutionStatus, Termination
from sdpbb.search.tree import Tree
from tests.any_instance import any_instance
from tests.enumeration import ExactSquares, clusterings, optimum
from tests.examples import examples
from tests.search.test_evaluate import context_of

LITTLE = MultiStartParameters(n_starts=1, n_relocations=1)
LITTLE_SEARCH = HeuristicSchedule(before=LITTLE, during=LITTLE)
COLGEN = SolverParameters(bounding="colgen", gap=1e-9)


class Blind(BoundingMethod):
    """Knows no bound but zero: nothing ends before every block is decided."""

    def start(self, contraction, warm_start, known=None):
        return BlindRun(contraction)

    def mebibytes(self, contraction):
        return 1.0


class BlindRun:
    n_iterations = 1

    def __init__(self, contraction):
        self.contraction = contraction

    def attach(self, contraction, method):
        return self

    def advance(self, cutoff, time_left=None):
        return BoundProgress(self.bound(), True, 0)

    def bound(self):
        return ProvenBound(0.0)

    def clustering(self):
        return None

    def affinity(self):
        return np.full((self.contraction.n_blocks,) * 2, 1.0 / self.contraction.n_points)

    def fixings(self, cutoff):
        assert math.isfinite(cutoff)  # nothing follows where nothing is known
        return PairFixings(np.empty((0, 2), np.intp))

    def warm_start(self):
        return None


class Seeing(Blind):
    """Knows all clusterings of a node: its bound is the optimum, less a part."""

    def __init__(self, share, gives=True):
        self.share, self.gives = share, gives

    def start(self, contraction, warm_start, known=None):
        return SeeingRun(contraction, self.share, self.gives)


class SeeingRun(BlindRun):
    def __init__(self, contraction, share, gives):
        super().__init__(contraction)
        self.share, self.gives = share, gives
        labels = clusterings(contraction.n_blocks, contraction.k)
        self.labels = [row for row in labels if contraction.keeps(row)]
        self.costs = [contraction.cost(row) for row in self.labels]

    def bound(self):
        return ProvenBound(self.share * min(self.costs) if self.costs else math.inf)

    def clustering(self):
        return self.labels[int(np.argmin(self.costs))] if self.gives and self.costs else None


def use(monkeypatch, bounding):
    monkeypatch.setattr("sdpbb.run.plan.bounding_method", lambda name, *arguments: bounding)


@pytest.mark.parametrize("bounding", [Blind(), Seeing(0.9), Seeing(0.7, gives=False)])
@examples(30)
@given(instance=any_instance("pairs", "constraints", "own constraints", n=(3, 6)))
def test_the_answer_is_that_of_enumeration(bounding, instance):
    with pytest.MonkeyPatch.context() as patch:
        use(patch, bounding)
        result = solve(instance, COLGEN)
    truth = optimum(instance)
    if truth is None:
        assert result.status is SolutionStatus.INFEASIBLE
        assert (result.lower_bound, result.gap, result.objective) == (None, None, None)
        assert result.infeasibility is not None
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == pytest.approx(truth, rel=1e-9, abs=1e-12)
    assert result.lower_bound <= truth * (1 + 1e-9) + 1e-12


# Seven points of which clusters may hold at most one of (0, 1), (2, 3), ... together: the pairs
# with an even sum. Two of three such points have it, so that three clusters are not enough.
SEVEN = np.random.default_rng(4).normal(size=(7, 2))


def parity(k: int, limit: int) -> Instance:
    pairs = [(i, j) for i in range(7) for j in range(i) if (i + j) % 2 == 0]
    return Instance(SEVEN, k, cluster_constraints=[SoftCannotLinks(pairs, limit)])


IMPOSSIBLE = parity(2, 1)
POSSIBLE = parity(3, 1)


@pytest.mark.parametrize("bounding", [Blind(), Seeing(0.5)])
def test_an_exhausted_tree_is_a_proof(monkeypatch, bounding):
    use(monkeypatch, bounding)
    limits = []

    def search(*arguments):
        limits.append(branch_and_bound(*arguments))
        return limits[-1]

    monkeypatch.setattr("sdpbb.run.solving.branch_and_bound", search)
    events = []
    result = solve(IMPOSSIBLE, COLGEN, events.append)
    assert limits == [None]
    assert result.status is SolutionStatus.INFEASIBLE
    assert result.termination is Termination.PROVEN_INFEASIBLE
    proof = result.infeasibility
    assert (proof.kind, proof.n_nodes) == (
        InfeasibilityKind.EXHAUSTED,
        result.statistics.n_nodes,
    )
    assert "proven by branching over" in str(proof)
    assert "proven infeasible: no clustering satisfies" in summary(result)
    if isinstance(bounding, Seeing):
        assert result.statistics.n_nodes == 1
        assert result.statistics.root_lower_bound is None
        assert "proven by branching over 1 node" in str(proof)
    told = [event for event in events if isinstance(event, Progress)]
    assert all(event.upper == event.gap == math.inf for event in told)


def test_a_limit_before_the_first_clustering(monkeypatch, tmp_path):
    use(monkeypatch, Blind())
    path = tmp_path / "run"
    with open(tmp_path / "log", "w") as log:
        limited = replace(COLGEN, node_limit=3)
        result = solve(IMPOSSIBLE, limited, ProgressTable(log, ""), checkpoint=path)
    assert (result.status, result.termination) == (
        SolutionStatus.UNKNOWN,
        Termination.NODE_LIMIT,
    )
    assert (result.partition, result.gap, result.lower_bound) == (None, None, 0.0)
    log_text = (tmp_path / "log").read_text()
    assert "stopped by the node limit" in log_text
    assert "nan" not in log_text
    assert "1 constraint on clusters" in log_text
    resumed = resume(path, node_limit=None)
    assert resumed.infeasibility == solve(IMPOSSIBLE, COLGEN).infeasibility
    again = resume(path)
    assert again.infeasibility == resumed.infeasibility


def test_where_a_clustering_comes_from_bounding(monkeypatch):
    use(monkeypatch, Seeing(0.99))
    monkeypatch.setattr("sdpbb.search.evaluate._Evaluation._run_heuristic", lambda self, run: None)
    events = []
    result = solve(POSSIBLE, COLGEN, events.append)
    assert result.objective == pytest.approx(optimum(POSSIBLE))
    sources = [event.source for event in events if isinstance(event, Progress) and event.source]
    assert sources[0] == "bounding"


def test_bounding_is_not_believed_about_clusterings():
    """Too few clusters, too many (which would cost nothing), and two that are not allowed."""

    class Wrong(BlindRun):
        def clustering(self):
            return self.labels

    class WrongBounding(Blind):
        def start(self, contraction, warm_start, known=None):
            return Wrong(contraction)

    for labels in ([0, 0, 0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 0, 0, 0]):
        Wrong.labels = np.array(labels)
        outcome = evaluate(Node(), math.inf, context_of(IMPOSSIBLE, WrongBounding(), LITTLE_SEARCH))
        assert outcome.status is NodeStatus.BRANCH
        assert (outcome.labels, outcome.cost) == (None, math.inf)


def test_an_infinite_bound_is_that_of_a_node_without_clusterings():
    context = context_of(IMPOSSIBLE, Seeing(0.5), LITTLE_SEARCH)
    assert evaluate(Node(), math.inf, context).status is NodeStatus.INFEASIBLE
    assert evaluate(Node(), 5.0, context).status is NodeStatus.INFEASIBLE
    tree = Tree(Node(fixings=Fixings(below=7.0)), context.tolerances)
    tree.select()
    tree.apply(0, NodeResult(NodeStatus.INFEASIBLE, ProvenBound(0.0)))
    # Only clusterings cheaper than that are excluded.
    assert (tree.lower, tree.is_exhausted) == (7.0, False)


def test_labels_known_are_offered_only_if_they_keep_the_constraints(monkeypatch):
    monkeypatch.setattr("sdpbb.search.evaluate._Evaluation._run_heuristic", lambda self, run: None)
    context = context_of(POSSIBLE, Blind(), LITTLE_SEARCH)
    for known, is_offered in (([0, 1, 0, 1, 0, 1, 2], False), ([0, 0, 0, 1, 1, 1, 2], True)):
        node = Node(known_labels=np.array(known))
        assert contract(POSSIBLE).keeps(node.known_labels) == is_offered
        outcome = pickle.loads(pickle.dumps(evaluate(node, math.inf, context)))
        assert outcome.known_labels.tolist() == known
        assert (outcome.labels is not None) == is_offered


def test_blocks_with_equal_means_are_not_all_the_same():
    """All clusterings cost nothing, but few are allowed."""
    instance = Instance(
        np.zeros((6, 1)), 2, cluster_constraints=[MaximumSize(4), SoftCannotLinks([(0, 5)], 0)]
    )
    context = context_of(instance, Blind(), LITTLE_SEARCH)
    best = evaluate(Node(), math.inf, context)
    assert best.status in (NodeStatus.BRANCH, NodeStatus.CLOSED)
    with pytest.MonkeyPatch.context() as patch:
        use(patch, Blind())
        result = solve(instance, COLGEN)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert ExactSquares(instance.points).of(result.partition.labels) == 0

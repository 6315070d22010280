"""What a run did, as an observer of it has it, and its file."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.problem import InfeasibilityKind, Instance, Origin
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import resume, solve
from sdpbb.search.events import (
    Branched,
    Finished,
    NodeEnd,
    NodeLeft,
    Progress,
    Started,
    SubsetsBounded,
    SubsetsChosen,
)
from sdpbb.search.result import Result, SolutionStatus, Termination
from sdpbb.search.trace import Trace, TracedNode
from tests.contracts.test_solve import EXAMPLES
from tests.test_result import INFEASIBLE, UNKNOWN
from tests.trees import HASTY, SMALL

# 33 nodes.
BRANCHING = replace(HASTY, bounding="sdp")

PAIR = (3, 5)
INF = math.inf
CLOSED, INFEASIBLE_NODE, OPEN = NodeEnd.CLOSED, NodeEnd.INFEASIBLE, NodeEnd.OPEN


@pytest.fixture(scope="module")
def run() -> tuple[Trace, Result]:
    trace = Trace()
    return trace, solve(SMALL, BRANCHING, observer=trace)


def traced(*events) -> Trace:
    trace = Trace()
    for event in events:
        trace(event)
    return trace


def progress(seconds: float, source: str = "") -> Progress:
    return Progress(seconds, 1, 1, 70.0, 80.0, 0.125, 0, source)


# -- what an observer makes of it ------------------------------------------------------------


def test_the_tree_of_a_run_is_whole(run):
    trace, _ = run
    ends = [node.end for node in trace.nodes]
    n_branched = ends.count(NodeEnd.BRANCHED)
    assert n_branched > 5
    assert len(trace.nodes) == 2 * n_branched + 1
    assert set(ends) == {NodeEnd.BRANCHED, CLOSED}
    assert trace.nodes[0].parent is None
    children: dict[int, list[TracedNode]] = {}
    for position, node in enumerate(trace.nodes[1:], start=1):
        assert node.parent is not None
        assert node.parent < position
        assert node.lower >= trace.nodes[node.parent].lower
        children.setdefault(node.parent, []).append(node)
    assert {p for p, node in enumerate(trace.nodes) if node.end is NodeEnd.BRANCHED} == set(
        children
    )
    for together, apart in children.values():
        assert (together.together, apart.together) == (True, False)
        assert together.rows == apart.rows
    assert trace.n_open == 0


def test_the_leaves_prove_what_the_result_says(run):
    trace, result = run
    least = min(node.lower for node in trace.nodes if node.end is not NodeEnd.BRANCHED)
    assert result.lower_bound == min(least, result.objective)


def test_bounds_only_get_better(run):
    trace, result = run
    lower = [point.lower for point in trace.points]
    upper = [point.upper for point in trace.points]
    seconds = [point.seconds for point in trace.points]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert seconds == sorted(seconds)
    last = trace.points[-1]
    assert (last.lower, last.upper) == (result.lower_bound, result.objective)
    assert (last.seconds, last.n_nodes, last.n_open) == (
        result.statistics.wall_seconds,
        result.statistics.n_nodes,
        0,
    )
    assert (trace.name, trace.status) == ("small", "optimal")


def test_a_limit_leaves_open_nodes_and_a_resumed_run_begins_with_them(tmp_path):
    first, second = Trace(), Trace()
    path = tmp_path / "run"
    left = solve(SMALL, replace(BRANCHING, node_limit=4), observer=first, checkpoint=path)
    assert left.termination is Termination.NODE_LIMIT
    assert first.n_open == first.points[-1].n_open > 1
    least = min(node.lower for node in first.nodes if node.end is OPEN)
    assert left.lower_bound == least
    resume(path, observer=second, node_limit=None)
    roots = [node for node in second.nodes if node.parent is None]
    assert len(roots) == first.n_open
    assert second.n_open == 0


def test_an_infeasible_instance_has_neither_bounds_nor_nodes():
    trace = Trace()
    result = solve(Instance([[0.0], [1.0]], 2, must_link=[(0, 1)]), observer=trace)
    assert result.status is SolutionStatus.INFEASIBLE
    assert (trace.points, trace.nodes, trace.status) == ([], [], "infeasible")


def test_a_search_that_looks_everywhere_leaves_infeasible_nodes():
    trace = Trace()
    result = solve(EXAMPLES["the Fano plane"], SolverParameters(bounding="colgen"), observer=trace)
    assert result.infeasibility.kind is InfeasibilityKind.EXHAUSTED
    ends = {node.end for node in trace.nodes}
    assert ends <= {NodeEnd.BRANCHED, INFEASIBLE_NODE}
    assert all(node.lower == INF for node in trace.nodes if node.end is INFEASIBLE_NODE)


def test_rows_have_the_names_of_their_user():
    started = Started(Instance(np.eye(6), 2, origin=Origin(row_names=tuple("abcdef"))), 6, 0)
    trace = traced(started, Branched(0, 1.0, PAIR, 1, 2), NodeLeft(2, INF, INFEASIBLE_NODE))
    assert trace.nodes == [
        TracedNode(None, None, None, 1.0, NodeEnd.BRANCHED),
        TracedNode(0, True, ("d", "f"), 1.0, OPEN),
        TracedNode(0, False, ("d", "f"), INF, INFEASIBLE_NODE),
    ]


LEVEL = SubsetsBounded(8, 7, 31, 0.5, 1.5, 64.0)


def test_levels_of_subsets_are_kept():
    assert traced(SubsetsChosen(0.5, 8, 31), LEVEL).levels == [LEVEL]


def test_a_run_without_a_clustering_ends_without_an_upper_bound():
    last = traced(Finished(Result(**UNKNOWN))).points[-1]
    assert (last.lower, last.upper) == (1.9999, INF)
    assert traced(Finished(Result(**INFEASIBLE))).points == []

"""Sweeps: bounds of more clusters as bounds of fewer, where the constraints allow it; folders."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.bound import ProvenBound
from sdpbb.errors import ArchiveError, InstanceError, ParameterError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.graph import connected_components
from sdpbb.questions import sweep as sweep_module
from sdpbb.questions.study import Outcome
from sdpbb.run.checkpoint import RunState
from sdpbb.run.solving import concluded
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.result import SolutionStatus, bound_below
from sdpbb.search.tree import Tolerances, Tree
from tests.any_instance import any_instance, drawn_instance
from tests.enumeration import optimum
from tests.examples import examples

EXACT = sdpbb.SolverParameters(gap=0.0)
TWO_GROUPS = [[0.0], [0.0], [0.0], [10.0], [10.0], [10.0]]


PARTS = (
    *("pairs", "constraints", "own constraints", "weights"),
    *("sizes", "weight limits", "soft pairs"),
)


def is_for_any_k(instance: Instance) -> bool:
    return instance.sizes is None


INSTANCES = any_instance(*PARTS).filter(is_for_any_k)


def least_costs(instance: Instance) -> dict[int, float | None]:
    ks = range(1, instance.n_points + 1)
    return {k: optimum(replace(instance, k=k)) for k in ks}


def not_above(one: float, other: float) -> bool:
    return one <= other * (1.0 + 1e-9) + 1e-300


def test_draws_are_of_both_kinds():
    """Else the property above says nothing."""
    counts = Counter()
    for instance in filter(is_for_any_k, (drawn_instance(Random(s), *PARTS) for s in range(80))):
        costs = [cost for cost in least_costs(instance).values() if cost is not None]
        rises = any(later > before * 1.001 for before, later in pairwise(costs))
        counts[instance.is_monotone, rises] += 1
    assert counts[True, False] > 20
    assert counts[False, True] > 2
    assert counts[True, True] == 0


@pytest.mark.long
@given(INSTANCES, st.sampled_from([0.0, 0.5]))
@examples(60)
def test_bounds_of_a_sweep_are_bounds(instance, gap):
    """With a wide gap, too, where the bounds of other k are often nearer.

    Where the constraints are monotone, more clusters cost no more, up to as many as components.
    """
    parameters = sdpbb.SolverParameters(gap=gap)
    report = sdpbb.sweep(instance, range(1, instance.n_points + 1), parameters)
    assert report.is_complete
    costs = least_costs(instance)
    n_components = int(connected_components(instance.n_points, instance.must_link).max()) + 1
    for k in range(1, n_components if instance.is_monotone else 0):
        assert costs[k] is None or not_above(costs[k + 1], costs[k])
    for k, least in costs.items():
        entry = report[k]
        assert (entry.status == "infeasible") == (least is None)
        if least is None:
            assert entry.objective is entry.lower_bound is entry.labels is None
            continue
        assert not_above(entry.lower_bound, least)
        assert not_above(least, entry.objective)
        assert entry.lower_bound <= entry.objective
        if entry.decrease is not None:
            (found, fewest, most), slack = entry.decrease, 1e-9 * costs[k - 1]
            assert fewest - slack <= costs[k - 1] - least <= most + slack
            assert fewest <= found <= most
        assert (sum(entry.sizes), len(entry.sizes)) == (instance.n_points, k)
        if gap == 0.0:
            assert not_above(entry.objective, least)


def test_a_bound_above_a_cost_is_an_internal_error(monkeypatch):
    """Were the constraints wrongly taken for monotone, a sweep would end, and print nothing."""
    monkeypatch.setattr(Instance, "is_monotone", True)
    with pytest.raises(AssertionError, match=r"lower bound .* above the cost 0.0"):
        sdpbb.sweep(Instance(TWO_GROUPS, 2, min_weight=2), [2, 3], EXACT)


def test_bounds_within_rounding_are_lowered_to_the_cost():
    assert bound_below(1.0 + 1e-12, 1.0) == 1.0
    assert bound_below(0.5, 1.0) == 0.5
    with pytest.raises(AssertionError):
        bound_below(1.0 + 1e-6, 1.0)


def test_a_search_whose_nodes_are_all_above_the_incumbent_has_no_result():
    instance = Instance(TWO_GROUPS, 2)
    labels = np.array([0, 0, 1, 1, 1, 1])
    tree = Tree(Node(), Tolerances(0.0))
    tree.offer(labels, Partition(labels).cost(instance), "start")
    bounded = NodeResult(NodeStatus.CLOSED, ProvenBound(100.0))
    tree.apply(tree.select().number, bounded)
    assert tree.is_closed
    with pytest.raises(AssertionError, match="above the cost"):
        concluded(RunState(instance, EXACT, tree=tree), None, 0.0, 6)


def groups(n_each: int = 6) -> Instance:
    """Three groups in the plane, two points of the first held together."""
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], n_each, axis=0)
    points = centres + rng.normal(size=(3 * n_each, 2))
    return Instance(points, 3, must_link=[(0, 1)], cannot_link=[(0, n_each)])


def test_bounds_of_more_clusters_are_bounds_of_fewer(monkeypatch):
    """Runs that a limit has ended have the bound of the next k, where it is nearer."""
    instance = groups()
    weak = {2: 0.0, 3: None, 4: None}

    def solve_weakly(instance, *arguments, **named):
        result = sdpbb.solve(instance, EXACT)
        bound = weak[instance.k]
        if bound is None:
            return Outcome(result)
        limited = replace(
            result,
            status=SolutionStatus.FEASIBLE,
            termination=sdpbb.Termination.TIME_LIMIT,
            lower_bound=bound,
            gap=1.0,
        )
        return Outcome(limited)

    monkeypatch.setattr(sweep_module, "solve_job", solve_weakly)
    report = sdpbb.sweep(instance, [2, 3, 4], EXACT)
    assert report[2].lower_bound == report[3].lower_bound > report[4].lower_bound
    assert report[2].result.lower_bound == 0.0
    assert 0.0 < report[2].gap < 1.0
    assert not report.is_complete
    sized = sdpbb.sweep(replace(instance, min_size=2), [2, 3, 4], EXACT)
    assert sized[2].lower_bound == 0.0  # a cluster that is split may be too small
    soft = replace(instance, soft_must_link=[(0, 2, 1.0)])
    assert sdpbb.sweep(soft, [2, 3], EXACT)[2].lower_bound == 0.0


@pytest.mark.long
def test_a_folder_is_gone_on_with(tmp_path):
    folder = tmp_path / "sweep"
    first = sdpbb.sweep(groups(), [2, 3], folder=folder, certificates=True)
    names = {"k2.cert", "k2.checkpoint", "k3.cert", "k3.checkpoint"}
    assert {path.name for path in folder.iterdir()} == names
    verdict = sdpbb.verify_certificate(folder / "k3.cert", replace(groups(), k=3))
    assert verdict.status == "optimal"
    with pytest.raises(InstanceError, match=r"holds results already; resume"):
        sdpbb.sweep(groups(), [2, 3], folder=folder)
    more = sdpbb.sweep(groups(), [2, 3, 4], folder=folder, certificates=True, resume=True)
    assert [entry.objective for entry in more.entries][:2] == [
        entry.objective for entry in first.entries
    ]
    assert (folder / "k4.cert").exists()
    for change in ({"cannot_link": []}, {"min_size": 2}):
        other = replace(groups(), **change)
        with pytest.raises(ParameterError, match=r"k2.checkpoint is of a run with other data, k, "):
            sdpbb.sweep(other, [2], folder=folder, certificates=True, resume=True)
    with pytest.raises(ParameterError, match=r"or parameters \(limits"):
        sdpbb.sweep(groups(), [2], sdpbb.SolverParameters(gap=0.1), folder=folder, resume=True)
    (folder / "k2.checkpoint").write_bytes(b"nothing")
    with pytest.raises(ArchiveError, match=r"k2.checkpoint"):
        sdpbb.sweep(groups(), [2], folder=folder, resume=True)


def test_a_limit_that_has_ended_a_run_is_no_longer_in_its_way(tmp_path):
    folder = tmp_path / "sweep"
    limited = sdpbb.SolverParameters(gap=0.0, node_limit=1, bounding="sdp")
    rng = np.random.default_rng(3)
    instance = Instance(rng.uniform(size=(24, 2)), 2)
    first = sdpbb.sweep(instance, [5], limited, folder=folder)
    again = sdpbb.sweep(
        instance, [5], replace(limited, node_limit=None), folder=folder, resume=True
    )
    assert again[5].status == "optimal"
    assert again[5].result.statistics.n_nodes >= first[5].result.statistics.n_nodes


@pytest.mark.alone
def test_several_at_a_time(tmp_path):
    alone = sdpbb.sweep(groups(), range(2, 6), EXACT)
    together = sdpbb.sweep(groups(), range(2, 6), replace(EXACT, workers=2), folder=tmp_path / "f")
    assert [entry.objective for entry in together.entries] == pytest.approx(
        [entry.objective for entry in alone.entries], rel=1e-9
    )
    assert together.is_complete


def test_rows_of_a_swept_frame_have_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 1.0, 9.0, 10.0]}, index=list("abcd"))
    asked = {"cannot_link": [("a", "b")], "folder": tmp_path / "sweep"}
    report = sdpbb.sweep(frame, [2, 3], **asked)
    assert report[2].sizes == (3, 1)
    again = sdpbb.sweep(frame, [2, 3], resume=True, **asked)
    for each in (report, again):
        assert each[2].labels.to_dict() == {"a": 0, "b": 1, "c": 1, "d": 1}
        assert each[2].labels.index.equals(frame.index)
        assert each.to_dict()["sweep"][0]["labels"] == [0, 1, 1, 1]

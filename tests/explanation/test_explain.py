import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import BackendFailure
from sdpbb.problem import (
    AllOf,
    InfeasibilityKind,
    Instance,
    MaximumDiameter,
    MaximumSize,
    MinimumDifference,
    colouring,
)
from sdpbb.run import explanation, solving
from sdpbb.run.explanation import (
    Diagnosis,
    diagnose,
    explain_infeasibility,
    minimal_subset,
)
from sdpbb.runtime.backends.programme import MilpSolution, MilpStatus
from sdpbb.runtime.time_left import no_limit
from tests.examples import examples
from tests.explanation.cases import can_hold, contradictory, only, points
from tests.graphs import cycle, mycielski


def test_a_clustering_is_mended_if_no_colouring_is_found(monkeypatch):
    octahedron = [(i, j) for i in range(6) for j in range(i) if i - j != 3]
    instance = Instance(points(6), 4, cannot_link=octahedron)
    monkeypatch.setattr(explanation, "find_feasible", lambda *_: None)
    monkeypatch.setattr(explanation, "MANY_ROWS", 0)
    assert diagnose(instance, time_limit=60.0).is_feasible
    assert diagnose(instance, time_limit=1e-9).is_feasible is None


def test_limits_on_sizes_beside_others_that_the_packing_does_not_know():
    """A packing must satisfy all constraints on clusters, not only the sizes."""
    constraints = (MaximumSize(3), MinimumDifference((), 2))
    instance = Instance(np.arange(8.0)[:, None], 4, cluster_constraints=constraints)
    assert diagnose(instance, time_limit=60.0).is_feasible


@given(st.integers(0, 2**32 - 1))
@examples(150)
def test_a_conflict_is_infeasible_and_each_of_its_members_is_needed(seed):
    instance = contradictory(seed)
    found = diagnose(instance, time_limit=60.0)
    if can_hold(instance):
        assert (found.is_feasible, found.conflict) == (True, None)
        return
    assert found.is_feasible is False
    members = found.conflict.members
    assert found.conflict.is_minimal
    assert found.conflict.is_exact or instance.rules.go_beyond_pairs
    assert not can_hold(only(instance, members))
    for left_out in range(len(members)):
        assert can_hold(only(instance, members[:left_out] + members[left_out + 1 :]))


def test_a_graph_without_large_cliques_comes_down_to_its_core():
    groetzsch = mycielski(cycle(5))
    pairs = np.argwhere(np.triu(groetzsch))
    more = [(i, 11 + i) for i in range(5)]
    conflict = explain_infeasibility(Instance(points(20), 3, None, [*pairs.tolist(), *more]))
    assert conflict.kind is InfeasibilityKind.NOT_COLOURABLE
    assert sorted(member.rows for member in conflict.members) == sorted(map(tuple, pairs.tolist()))
    assert conflict.is_minimal
    assert conflict.is_exact


def test_when_the_time_is_over_the_set_is_told_not_to_be_minimal():
    pairs = np.argwhere(np.triu(mycielski(cycle(7)))).tolist()
    instance = Instance(points(15), 3, None, [*pairs, (0, 3), (1, 5)])
    full = explain_infeasibility(instance)
    assert full.is_minimal
    hurried = explain_infeasibility(instance, time_limit=1e-9)
    assert not hurried.is_minimal
    assert "the time was too short to decide" in str(hurried)
    assert not hurried.to_dict()["is_minimal"]
    assert len(hurried.members) > len(full.members)


def test_a_text_shows_the_first_members_and_counts_the_others():
    n = 40
    conflict = explain_infeasibility(Instance(points(n), 2, [(i, i + 1) for i in range(n - 1)]))
    assert str(conflict).splitlines()[-1] == "  ... and 19 more"
    assert len(conflict.to_dict()["members"]) == n - 1


def test_the_integer_programming_solver_is_named_where_the_proof_is_its(monkeypatch):
    monkeypatch.setattr(explanation, "NODES", 10)
    monkeypatch.setattr(explanation, "FINAL_NODES", 10)
    instance = Instance(points(11), 3, None, np.argwhere(np.triu(mycielski(cycle(5)))))
    conflict = explain_infeasibility(instance)
    assert conflict.is_minimal
    assert not conflict.is_exact
    assert str(conflict).endswith("(by an integer programming solver in floating point)")


def apart(adjacency: np.ndarray, wanted: float) -> tuple[np.ndarray, float]:
    """Points, and a distance that exactly neighbours exceed."""
    least = 1.0 + abs(np.linalg.eigvalsh(adjacency.astype(float))).max()
    gram = least * np.eye(len(adjacency)) - adjacency
    return np.linalg.cholesky(gram), float(np.sqrt(2 * least + wanted))


@pytest.mark.parametrize(
    ("final_nodes", "is_exact"), [(explanation.FINAL_NODES, True), (10, False)]
)
def test_what_comes_to_cannot_links_is_confirmed_as_they_are(monkeypatch, final_nodes, is_exact):
    monkeypatch.setattr(explanation, "NODES", 10)
    monkeypatch.setattr(explanation, "FINAL_NODES", final_nodes)
    where, distance = apart(mycielski(cycle(5)), wanted=1.0)
    far = AllOf([MaximumDiameter(distance)])
    # The first constraint allows a cluster of all points, so the conflict does not need it.
    constraints = [MaximumSize(11), far]
    conflict = explain_infeasibility(Instance(where, 3, cluster_constraints=constraints))
    assert [(m.argument, m.position) for m in conflict.members] == [("cluster_constraints", 0)]
    assert (conflict.is_minimal, conflict.is_exact) == (True, is_exact)


def test_a_wrong_verdict_of_the_solver_is_found_out(monkeypatch):
    monkeypatch.setattr(explanation, "NODES", 0)

    wrong = MilpSolution(MilpStatus.INFEASIBLE)
    monkeypatch.setattr(colouring, "colour_exactly", lambda *_: (None, None))
    monkeypatch.setattr(colouring, "solve_binary_programme", lambda *_: wrong)
    bipartite = [(i, j) for i in range(3) for j in range(3, 6)]
    with pytest.raises(BackendFailure, match="a clustering satisfies them"):
        explain_infeasibility(Instance(points(6), 3, None, bipartite))


def test_minimise_keeps_what_it_cannot_decide():
    def verdict(items: list[int]) -> bool | None:
        return not {3, 7} <= set(items) if 5 in items else None

    found = minimal_subset(list(range(10)), verdict, no_limit)
    assert found == ([3, 5, 7], False)


def test_solve_says_why():
    instance = Instance(points(4), 3, [(0, 1)], [(0, 1)])
    result = sdpbb.solve(instance)
    assert result.status is sdpbb.SolutionStatus.INFEASIBLE
    assert [member.text for member in result.conflict.members] == ["ML 0 1", "CL 0 1"]
    assert result.to_dict()["conflict"] == result.conflict.to_dict()
    assert str(result.conflict) in str(result)


def test_solve_has_no_conflict_for_a_feasible_instance():
    assert sdpbb.solve(Instance(points(4), 2, [(0, 1)])).conflict is None


def test_a_refuted_proof_is_no_result(monkeypatch):
    monkeypatch.setattr("sdpbb.run.explanation.diagnose", lambda *arguments: Diagnosis(True))
    with pytest.raises(BackendFailure, match="contradicted by a clustering that has been found"):
        sdpbb.solve(Instance(points(4), 3, [(0, 1)], [(0, 1)]))


def test_little_time_is_left_for_saying_why(monkeypatch):
    asked = []

    def remember(instance: Instance, time_limit: float) -> Diagnosis:
        asked.append(time_limit)
        return Diagnosis(None)

    monkeypatch.setattr("sdpbb.run.explanation.diagnose", remember)
    instance = Instance(points(4), 3, [(0, 1)], [(0, 1)])
    assert sdpbb.solve(instance).conflict is None
    assert sdpbb.solve(instance, sdpbb.SolverParameters(time_limit=1e-3)).conflict is None
    assert asked == [solving.EXPLANATION, solving.LEAST_EXPLANATION]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import BackendFailure, ParameterError
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
from tests.explanation.cases import can_hold, contradictory, only
from tests.graphs import cycle, mycielski


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 2))


def test_a_clustering_is_mended_if_no_colouring_is_found(monkeypatch):
    octahedron = [(i, j) for i in range(6) for j in range(i) if i - j != 3]
    instance = Instance(points(6), 4, cannot_link=octahedron)
    monkeypatch.setattr(explanation, "find_feasible", lambda *_: None)
    monkeypatch.setattr(explanation, "MANY_ROWS", 0)
    assert diagnose(instance, time_limit=60.0).is_feasible
    assert diagnose(instance, time_limit=1e-9).is_feasible is None


def test_limits_on_sizes_beside_others_that_the_packing_does_not_know():
    """A packing that keeps the sizes and breaks another constraint on clusters is no answer."""
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


KINDS = InfeasibilityKind
CASES = {
    "the shortest path of must-links": (
        Instance(points(8), 3, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 4)], [(6, 7), (4, 0)]),
        KINDS.CANNOT_LINK_IN_BLOCK,
        {"ML 0 5", "ML 4 5", "CL 0 4"},
    ),
    "a pair stated both ways": (
        Instance(points(6), 3, [(0, 1), (1, 2), (3, 4)], [(0, 2), (3, 4)]),
        KINDS.CANNOT_LINK_IN_BLOCK,
        {"ML 0 1", "ML 1 2", "CL 0 2"},
    ),
    "an odd cycle through must-links": (
        Instance(points(8), 2, [(1, 2), (5, 6)], [(0, 1), (2, 3), (3, 0), (3, 5), (6, 7)]),
        KINDS.ODD_CYCLE,
        {"CL 0 1", "CL 0 3", "CL 2 3", "ML 1 2"},
    ),
    "too many must-links, no more than needed": (
        Instance(points(6), 3, [(0, 1), (1, 0), (1, 2), (0, 2), (3, 4), (4, 5)]),
        KINDS.TOO_FEW_BLOCKS,
        {"ML 0 1", "ML 1 2", "ML 3 4", "ML 4 5"},
    ),
    "one cluster": (
        Instance(points(3), 1, [(0, 1)], [(0, 1), (1, 2)]),
        KINDS.CLIQUE,
        {"CL 0 1"},
    ),
    "points too many for a cluster": (
        Instance(
            points(6),
            3,
            [(0, 1), (1, 2), (4, 5)],
            [(4, 0)],
            cluster_constraints=[MaximumSize(2), MaximumSize(5)],
        ),
        KINDS.BLOCK_NOT_ALLOWED,
        {"ML 0 1", "ML 1 2", "MAXSIZE 2"},
    ),
    "a point too heavy for a cluster": (
        Instance(points(4), 3, weights=[1.0, 1.0, 4.0, 3.0], max_weight=3.5),
        KINDS.BLOCK_NOT_ALLOWED,
        {"MAXWEIGHT 3.5"},
    ),
    "clusters too large": (
        Instance(points(10), 3, min_size=4),
        KINDS.SIZES,
        {"MINSIZE 4"},
    ),
    "clusters too small": (
        Instance(points(10), 3, max_size=3),
        KINDS.TOO_MUCH_FOR_K,
        {"MAXSIZE 3"},
    ),
    "points too far apart": (
        Instance([[0.0], [3.0], [7.0]], 2, cluster_constraints=[MaximumDiameter(2.5)]),
        KINDS.ODD_CYCLE,
        {
            "GAMMA 2.5: 0 and 1 are 3 apart",
            "GAMMA 2.5: 1 and 2 are 4 apart",
            "GAMMA 2.5: 0 and 2 are 7 apart",
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_contradicts_itself_is_named(name):
    instance, kind, members = CASES[name]
    conflict = explain_infeasibility(instance)
    assert (conflict.kind, conflict.heading) == (kind, kind.value)
    assert {member.text for member in conflict.members} == members


def test_the_text_names_arguments_and_positions():
    conflict = explain_infeasibility(CASES["the shortest path of must-links"][0])
    assert str(conflict).splitlines()[1:] == [
        "  must_link[4]    ML 0 5",
        "  must_link[5]    ML 4 5",
        "  cannot_link[1]  CL 0 4",
    ]


def test_groups_that_all_cannot_link_are_named_with_their_must_links():
    must_link = [(0, 4), (1, 5)]
    cannot_link = [(0, 1), (4, 2), (0, 3), (5, 2), (1, 3), (2, 3), (6, 7)]
    conflict = explain_infeasibility(Instance(points(8), 3, must_link, cannot_link))
    assert conflict.kind is InfeasibilityKind.CLIQUE
    assert len(conflict.members) == 8


def test_a_graph_without_large_cliques_comes_down_to_its_core():
    groetzsch = mycielski(cycle(5))
    pairs = np.argwhere(np.triu(groetzsch))
    more = [(i, 11 + i) for i in range(5)]
    conflict = explain_infeasibility(Instance(points(20), 3, None, [*pairs.tolist(), *more]))
    assert conflict.kind is InfeasibilityKind.NOT_COLOURABLE
    assert sorted(member.rows for member in conflict.members) == sorted(map(tuple, pairs.tolist()))
    assert conflict.is_minimal
    assert conflict.is_exact


def test_sizes_that_only_a_search_refutes():
    # Clusters of five points hold two groups of two, and there are five of these.
    must_link = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    instance = Instance(points(10), 2, must_link, cluster_constraints=[MaximumSize(5)])
    conflict = explain_infeasibility(instance)
    assert conflict.kind is InfeasibilityKind.SIZES
    assert conflict.is_minimal
    assert len(conflict.members) == 6


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
    """Points of which neighbours are more than the second number apart, and others less."""
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
    # Clusters of all points may be, so that the first one is left out.
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


@pytest.mark.parametrize("time_limit", [0, -1.0, np.nan, "1", None, True])
def test_a_time_limit_is_a_number_above_zero(time_limit):
    with pytest.raises(ParameterError, match=r"^time_limit = .*: expected seconds > 0$"):
        explain_infeasibility(Instance(points(3), 2), time_limit)


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

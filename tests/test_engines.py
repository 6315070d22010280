"""The three engines from end to end: each against all clusterings, and against each other."""

import tomllib
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb import SolverParameters, read_instance, solve
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import (
    Contraction,
    Infeasibility,
    InfeasibilityKind,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
    contract,
)
from sdpbb.run.solver import resume
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.constants import (
    ALL_COLUMNS,
    FEW_COLUMNS,
    HARD,
    NO_ENUMERATION,
    NODES_PER_SLICE,
    constants,
)
from tests.constrained import KINDS, ForbiddenSets, constrained_instance
from tests.enumeration import optimum, random_instance, sums_of_squares
from tests.examples import examples

ROOT = Path(__file__).resolve().parents[1]
INSTANCES = ROOT / "instances"
OPTIMA = tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]

SEEDS = st.integers(0, 10**9)
COLGEN, HYBRID = SolverParameters(bounding="colgen"), SolverParameters(bounding="hybrid")
HASTY = SdpParameters(max_iterations=20)
# What each instance is solved with, and constants that are changed; some branch where others
# enumerate or go on bounding.
ENGINES = {
    "colgen": (COLGEN, {}),
    "colgen, branching": (COLGEN, NO_ENUMERATION),
    "colgen, in short slices": (COLGEN, {NODES_PER_SLICE: 5}),
    "colgen, from the semidefinite bound": (replace(COLGEN, sdp=HASTY), HARD),
    "hybrid": (HYBRID, {}),
    "hybrid, branching": (
        replace(HYBRID, sdp=HASTY),
        {**NO_ENUMERATION, **HARD, **ALL_COLUMNS},
    ),
    "hybrid, enumeration": (replace(HYBRID, sdp=HASTY), {**HARD, **FEW_COLUMNS}),
}
NAMES = st.sampled_from(list(ENGINES))


def solved(instance: Instance, name: str, gap: float = 1e-9, **more) -> Result:
    """Of `solve` with a checkpoint and changed parameters."""
    parameters, changed = ENGINES[name]
    checkpoint = more.pop("checkpoint", None)
    with constants(changed):
        return solve(instance, replace(parameters, gap=gap, **more), checkpoint=checkpoint)


def assert_proven(instance: Instance, name: str, gap: float) -> Result:
    """The verdict and the optimum are those of full enumeration."""
    truth = optimum(instance)
    result = solved(instance, name, gap)
    if truth is None:
        assert result.status is SolutionStatus.INFEASIBLE
        return result
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    labels = result.partition.labels
    assert len(np.unique(labels)) == instance.k
    own = sums_of_squares(instance.points, labels[None])[0]
    rounding = 1e-12 * ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
    assert result.objective == pytest.approx(own, abs=rounding)
    assert truth - rounding <= result.objective <= truth * (1 + 1e-8) + rounding
    assert result.lower_bound <= truth + rounding
    return result


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_constraint_agrees_with_enumeration(kind):
    @given(SEEDS, NAMES, st.sampled_from([0.0, 1e-9]))
    @examples(20, derandomize=True)
    def agrees(seed, name, gap):
        instance = constrained_instance(np.random.default_rng(seed), [kind])
        assert_proven(instance, name, gap)

    agrees()


@given(SEEDS, NAMES, st.integers(2, 3))
@examples(30, derandomize=True)
def test_several_kinds_at_once_agree_with_enumeration(seed, name, count):
    rng = np.random.default_rng(seed)
    kinds = [KINDS[at] for at in rng.permutation(len(KINDS))[:count]]
    assert_proven(constrained_instance(rng, kinds, n_max=8), name, 1e-9)


@pytest.mark.long
@given(SEEDS, NAMES)
@examples(40, derandomize=True)
def test_pairs_alone_agree_with_enumeration_and_with_the_relaxation(seed, name):
    instance = random_instance(np.random.default_rng(seed), n_max=9, n_min=3)
    result = assert_proven(instance, name, 1e-9)
    relaxed = solve(instance, SolverParameters(gap=1e-9))
    assert relaxed.status is result.status
    if relaxed.objective is not None:
        rounding = 1e-12 * ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
        assert relaxed.objective == pytest.approx(result.objective, rel=1e-8, abs=rounding)


@pytest.mark.long
@given(SEEDS, NAMES)
@examples(15, derandomize=True)
def test_diameters_are_cannot_links_to_all_three(seed, name):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(8, 2))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    distance = float(np.quantile(distances, rng.choice([0.5, 0.7, 0.9])))
    k = int(rng.integers(2, 5))
    instance = Instance(points, k, cluster_constraints=[MaximumDiameter(distance)])
    result = assert_proven(instance, name, 1e-9)
    relaxed = solve(instance, SolverParameters(gap=1e-9))
    assert relaxed.status is result.status
    if relaxed.objective is not None:
        assert relaxed.objective == pytest.approx(result.objective, rel=1e-8)


@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e6]), st.sampled_from([0.0, 1e3]), NAMES)
@examples(20, derandomize=True)
def test_units_and_origin_do_not_matter(seed, factor, offset, name):
    instance = random_instance(np.random.default_rng(seed), n_max=8, n_min=4)
    k, n = instance.k, instance.n_points
    constraints = [MaximumSize(max(1, n - k))]
    moved = Instance(
        instance.points * factor + offset * factor,
        k,
        instance.must_link,
        instance.cannot_link,
        cluster_constraints=constraints,
    )
    truth = optimum(moved)
    result = solved(moved, name)
    if truth is None:
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    rounding = 1e-9 * ((moved.points - moved.points.mean(axis=0)) ** 2).sum()
    assert result.objective == pytest.approx(truth, rel=1e-8, abs=1e-3 * rounding)
    assert result.lower_bound <= truth * (1 + 1e-9) + 1e-3 * rounding


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["colgen, branching", "hybrid, branching"])
def test_trees_come_to_what_the_relaxation_proves(name, seed):
    points = np.random.default_rng(seed).normal(size=(22, 5))
    instance = Instance(points, 3)
    relaxed = solve(instance, SolverParameters(gap=1e-9))
    result = solved(instance, name)
    assert result.status is relaxed.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(relaxed.objective, rel=1e-8)


# Its master programme has a fractional solution, half a per cent below the optimum.
FRACTIONAL = Instance(
    np.random.default_rng(0).normal(size=(22, 5)), 4, cluster_constraints=[MaximumSize(6)]
)


def test_a_fractional_master_programme_is_branched_on():
    whole = solved(FRACTIONAL, "colgen")
    branched = solved(FRACTIONAL, "colgen, branching")
    assert branched.status is whole.status is SolutionStatus.OPTIMAL
    assert branched.objective == pytest.approx(whole.objective, rel=1e-8)
    assert branched.statistics.n_nodes > 1
    assert branched.statistics.root_lower_bound < (1 - 1e-6) * whole.objective


@pytest.mark.parametrize("name", ["colgen, branching", "hybrid, branching"])
def test_a_node_limit_leaves_a_valid_bound(name):
    best = solved(FRACTIONAL, "colgen").objective
    result = solved(FRACTIONAL, name, node_limit=1)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.termination is Termination.NODE_LIMIT
    assert result.lower_bound <= best <= result.objective * (1 + 1e-9)
    assert result.lower_bound > 0.5 * best
    assert result.partition.is_feasible(FRACTIONAL)


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
@pytest.mark.parametrize("seconds", [1e-9, 1.0])
def test_a_time_limit_leaves_a_valid_bound(name, seconds):
    points = np.random.default_rng(0).normal(size=(300, 6))
    result = solved(Instance(points, 10), name, time_limit=seconds)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.termination is Termination.TIME_LIMIT
    assert 0.0 <= result.lower_bound < result.objective
    assert result.statistics.wall_seconds < seconds + 20.0


@pytest.mark.parametrize("name", ["colgen, branching", "hybrid, branching", "hybrid"])
@pytest.mark.long
def test_runs_that_are_left_go_on_to_the_last_bit(name, tmp_path):
    whole = solved(FRACTIONAL, name)
    left = solved(FRACTIONAL, name, node_limit=1, checkpoint=tmp_path / "run")
    assert left.lower_bound <= whole.lower_bound
    with constants(ENGINES[name][1]):
        result = resume(tmp_path / "run", node_limit=None)
    assert result.status is whole.status is SolutionStatus.OPTIMAL
    assert result.lower_bound == whole.lower_bound
    assert result.statistics.n_nodes == whole.statistics.n_nodes
    assert np.array_equal(result.partition.labels, whole.partition.labels)


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
def test_runs_repeat_themselves(name):
    results = [solved(FRACTIONAL, name) for _ in range(2)]
    assert results[0].lower_bound == results[1].lower_bound
    assert np.array_equal(results[0].partition.labels, results[1].partition.labels)
    assert results[0].statistics.n_nodes == results[1].statistics.n_nodes


LINE = np.arange(9.0)[:, None]
CLIQUE = list(combinations(range(4), 2))
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
BLOCKS = [(i, j) for i in range(15) for j in (3 * (i // 3),) if i != j]
SEEN_AT_ONCE = {
    "clique": Instance(LINE, 3, cannot_link=CLIQUE),
    "contradiction": Instance(LINE, 3, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)]),
    "diameter": Instance(LINE, 3, cluster_constraints=[MaximumDiameter(1.0)]),
}
TOO_MUCH = {
    "size": Instance(LINE, 2, cluster_constraints=[MaximumSize(4)]),
    "overlap": Instance(LINE, 2, cluster_constraints=[MaximumOverlap(range(5), 2)]),
    "difference": Instance(LINE, 2, cluster_constraints=[MinimumDifference([0], 3)]),
    "block": Instance(
        LINE, 4, must_link=[(0, 1)], cluster_constraints=[SoftCannotLinks([(0, 1)], 0)]
    ),
}
# Nothing of these shows but to the master programme, or to branching: two clusters hold two of five
# blocks of three points each; the Fano plane has no two colours, while a fractional cover has.
HIDDEN = {
    "packing": Instance(
        np.arange(15.0)[:, None], 2, must_link=BLOCKS, cluster_constraints=[MaximumSize(8)]
    ),
    "fano": Instance(
        np.random.default_rng(0).normal(size=(7, 2)),
        2,
        cluster_constraints=[ForbiddenSets(tuple(map(frozenset, FANO)))],
    ),
}


@pytest.mark.parametrize("name", ["colgen", "hybrid", "sdp"])
@pytest.mark.parametrize("case", SEEN_AT_ONCE)
def test_infeasible_pairs_are_infeasible_to_all(name, case):
    parameters = SolverParameters(bounding=name)
    assert solve(SEEN_AT_ONCE[case], parameters).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", TOO_MUCH)
def test_too_much_for_k_clusters_is_infeasible(name, case):
    result = solved(TOO_MUCH[case], name)
    assert result.status is SolutionStatus.INFEASIBLE
    assert isinstance(contract(TOO_MUCH[case]), Infeasibility)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", HIDDEN)
@pytest.mark.long
def test_what_only_the_search_can_see_is_infeasible(name, case):
    instance = HIDDEN[case]
    assert isinstance(contract(instance), Contraction)
    result = solved(instance, name)
    assert result.status is SolutionStatus.INFEASIBLE
    # Where sizes are limited, an integer programme is asked before.
    by_packing = case == "packing"
    kind = InfeasibilityKind.SIZES if by_packing else InfeasibilityKind.EXHAUSTED
    assert result.infeasibility.kind is kind
    assert result.lower_bound is None


def test_the_fano_plane_with_one_line_less_has_two_colours():
    lines = tuple(map(frozenset, FANO[1:]))
    instance = Instance(HIDDEN["fano"].points, 2, cluster_constraints=[ForbiddenSets(lines)])
    for name in ENGINES:
        assert assert_proven(instance, name, 1e-9).status is SolutionStatus.OPTIMAL


def test_a_clustering_that_costs_nothing():
    points = np.repeat([[0.0, 1.0], [5.0, 2.0], [7.0, -3.0]], 3, axis=0)
    for name in ENGINES:
        for constraints in ((), (MaximumSize(3),), (MaximumSize(4),)):
            result = solved(Instance(points, 3, cluster_constraints=constraints), name)
            assert result.status is SolutionStatus.OPTIMAL
            assert result.objective == 0.0


def test_points_that_all_coincide():
    points = np.ones((6, 2))
    for name in ENGINES:
        for size in (2, 3):
            instance = Instance(points, 3, cluster_constraints=[MaximumSize(size)])
            result = solved(instance, name)
            assert result.status is SolutionStatus.OPTIMAL
            assert result.objective == 0.0
            assert result.partition.is_feasible(instance)


def test_as_many_clusters_as_points_and_one():
    points = np.random.default_rng(0).normal(size=(6, 2))
    for name in ENGINES:
        assert solved(Instance(points, 6, cluster_constraints=[MaximumSize(1)]), name).gap == 0.0
        result = solved(Instance(points, 1, cluster_constraints=[MaximumSize(6)]), name)
        expected = ((points - points.mean(axis=0)) ** 2).sum()
        assert result.objective == pytest.approx(expected, rel=1e-12)


# All but one: its two clusters are of 53 and 97 points, and pricing takes a minute or more.
PRICED = [case for case in OPTIMA if (case["constraints"], case["k"]) != ("", 2)]


def case_id(case: dict) -> str:
    return f"{case['constraints'] or case['data']}-{case['k']}"


def assert_the_bundled_optimum(case: dict, name: str) -> None:
    constraints = INSTANCES / case["constraints"] if case["constraints"] else None
    instance = read_instance(INSTANCES / case["data"], case["k"], constraints)
    result = solved(instance, name)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == pytest.approx(case["value"], rel=1e-8)
    assert case["lower_bound"] <= case["value"]
    assert case["value"] * (1 - 1e-8) <= result.lower_bound <= case["value"] * (1 + 1e-12)


@pytest.mark.parametrize("case", PRICED, ids=case_id)
@pytest.mark.long
def test_columns_prove_the_bundled_optima(case):
    assert_the_bundled_optimum(case, "colgen")


@pytest.mark.parametrize("case", OPTIMA, ids=case_id)
@pytest.mark.long
def test_both_bounds_prove_the_bundled_optima(case):
    assert_the_bundled_optimum(case, "hybrid")

"""The bound by conic solvers of CVXPY, alone and in trees."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics import MultiStart
from sdpbb import SolverParameters, solve
from sdpbb.app.cli.engine import solver_parameters
from sdpbb.bounds.hybrid.bounding import HybridBounding
from sdpbb.bounds.sdp import conic_run
from sdpbb.bounds.sdp.admm_run import Patience
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.conic_run import ConicRun
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.solver import resume
from sdpbb.runtime.archive.file import read_archive, write_archive
from sdpbb.runtime.backends import conic
from sdpbb.search.result import SolutionStatus, Termination
from tests.bounds.sdp.problems import small_problem, two_clusters
from tests.constants import ALL_COLUMNS, FEW_COLUMNS, HARD, NO_ENUMERATION, constants
from tests.enumeration import optimum, random_instance
from tests.examples import examples
from tests.soft.instances import least_cost, random_soft_instance

SOLVERS = ("clarabel", "scs")
SEEDS = st.integers(0, 10**6)


def constrained(seed: int, n: int, k: int) -> Instance:
    """Overlapping clouds with constraints drawn from nothing: a few are against the data."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3)) + 2.0 * rng.integers(0, 2, size=(n, 1))
    order = rng.permutation(n)
    must_link = [tuple(order[2 * p : 2 * p + 2]) for p in range(n // 10)]
    cannot_link = [tuple(order[-2 * p - 2 : n - 2 * p]) for p in range(n // 5)]
    instance = Instance(points, k, must_link, cannot_link)
    assert isinstance(contract(instance), Contraction)
    return instance


def bounded(contraction: Contraction, solver: str, cutoff: float = np.inf) -> tuple:
    """A run to its end, and how it ended."""
    run = SdpBounding(SdpParameters(solver=solver)).start(contraction, None)
    assert isinstance(run, ConicRun)
    progress = run.advance(cutoff)
    while not (progress.stalled or progress.bound.value >= cutoff):
        progress = run.advance(cutoff)
    return run, progress


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_bound_is_never_above_the_optimum(solver):
    @given(SEEDS)
    @examples(25, derandomize=True)
    def holds(seed):
        problem = small_problem(seed) if seed % 3 else two_clusters(seed)
        run, progress = bounded(problem.contraction, solver)
        assert progress.bound.value <= problem.optimum * (1 + 1e-12) + 1e-12
        # Most relaxations with cuts are tight at this size; all beat the scatter inside blocks.
        assert progress.bound.value >= problem.contraction.scatter.sum() - 1e-9
        again = safe_bound(run.relaxation, run.dual_point())
        assert again.value == pytest.approx(progress.bound.value) or progress.bound.value == (
            pytest.approx(problem.contraction.scatter.sum())
        )

    holds()


@pytest.mark.parametrize(
    ("solver", "options"), [("CLARABEL", {"max_iter": 3}), ("SCS", {"max_iters": 4})]
)
def test_dual_values_that_are_far_off_prove_what_they_prove(solver, options, monkeypatch):
    monkeypatch.setitem(conic.OPTIONS, solver, options)
    for seed in range(12):
        problem = small_problem(seed)
        _, progress = bounded(problem.contraction, solver.lower())
        assert 0.0 <= progress.bound.value <= problem.optimum * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_cuts_close_the_gap(solver):
    contraction = contract(constrained(3, 20, 3))
    upper = MultiStart().run(contraction, np.random.default_rng(0)).cost
    run = SdpBounding(SdpParameters(solver=solver)).start(contraction, None)
    first = run.advance(upper)
    assert (first.n_iterations, first.n_cuts) == (1, 0)
    second = run.advance(upper)
    assert 0 < second.n_cuts <= 2 * contraction.n_blocks
    assert first.bound < second.bound
    _, progress = bounded(contraction, solver, upper * (1 - 1e-6))
    assert upper * (1 - 1e-6) <= progress.bound.value <= upper * (1 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_affinity_and_fixings(solver):
    contraction = contract(constrained(4, 20, 3))
    upper = MultiStart().run(contraction, np.random.default_rng(0)).cost
    run, _ = bounded(contraction, solver, upper)
    Z = run.affinity()
    np.testing.assert_allclose(Z @ contraction.weights, 1, atol=1e-3)
    assert (Z >= 0).all()
    assert not Z[contraction.adjacency].any()
    assert run.clustering() is None
    apart = run.fixings(upper * 1.001).apart
    labels = MultiStart().run(contraction, np.random.default_rng(1)).labels
    assert len(apart)
    assert (labels[apart[:, 0]] != labels[apart[:, 1]]).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_child_begins_with_what_its_parent_has_proven(solver):
    instance = constrained(5, 20, 3)
    parameters = SdpParameters(solver=solver)
    run, progress = bounded(contract(instance), solver)
    warm_start = pickle.loads(pickle.dumps(run.warm_start()))
    pair = [tuple(map(int, np.argwhere(np.triu(run.affinity() > 0.01, 1))[0]))]
    first = contract(instance).representatives
    pair = [(int(first[pair[0][0]]), int(first[pair[0][1]]))]
    for decision in ({"must_link": pair}, {"cannot_link": pair}):
        child = contract(instance, **decision)
        inherited = SdpBounding(parameters).start(child, warm_start)
        bound = inherited.advance(np.inf).bound.value
        assert bound >= progress.bound.value * (1 - 1e-5)
        # The method can take over from a conic solver, and the other way round.
        ours = SdpBounding().start(child, warm_start).advance(np.inf).bound.value
        assert ours >= progress.bound.value * (1 - 1e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_run_goes_on_as_if_it_had_not_been_left(solver):
    contraction = contract(constrained(6, 20, 4))
    bounding = SdpBounding(SdpParameters(solver=solver))
    run = bounding.start(contraction, None)
    assert run.affinity().shape == (contraction.n_blocks,) * 2
    run.advance(np.inf)
    other = bounding.resume(contraction, pickle.loads(pickle.dumps(run.state)))
    for _ in range(2):
        one, two = run.advance(np.inf), other.advance(np.inf)
        assert (one.bound, one.n_cuts, one.stalled) == (two.bound, two.n_cuts, two.stalled)
    np.testing.assert_array_equal(run.affinity(), other.affinity())


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_relaxation_without_a_solution_closes_its_node(solver):
    """Where pairs that are fixed leave no clustering, the bound passes every cutoff."""
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(9, 2)), 3))
    run = SdpBounding(SdpParameters(solver=solver)).start(contraction, None)
    apart = np.zeros((9, 9), dtype=bool)
    apart[:4, :4] = ~np.eye(4, dtype=bool)
    run.relaxation = replace(run.relaxation, forbidden=apart)
    cutoff = 100.0 * contraction.total
    progress = run.advance(cutoff)
    assert progress.bound.value < contraction.total  # which clique cuts are needed for
    while not progress.stalled and progress.bound.value < cutoff:
        progress = run.advance(cutoff)
    assert progress.bound.value >= cutoff
    assert safe_bound(run.relaxation, progress.bound.evidence).value == progress.bound.value


@pytest.mark.parametrize(("name", "value"), [("MAX_ROUNDS", 2), ("ROOT", Patience(1, 0.999))])
def test_a_node_is_given_up(monkeypatch, name, value):
    contraction = contract(constrained(7, 20, 4))
    monkeypatch.setattr(conic_run, "CUTS_PER_BLOCK", 1)
    monkeypatch.setattr(conic_run, name, value)
    run = SdpBounding(SdpParameters(solver="scs")).start(contraction, None)
    assert [run.advance(1e9).stalled for _ in range(2)] == [False, True]


LINEAR = {**NO_ENUMERATION, **HARD}
SHORT = {solver: SdpParameters(solver=solver) for solver in SOLVERS}
# What each instance is solved with, and constants that are changed.
TREES = {
    "sdp": ({"bounding": "sdp"}, {}),
    "sdp, clarabel": ({"bounding": "sdp", "sdp": SdpParameters(solver="clarabel")}, {}),
    "sdp, scs": ({"bounding": "sdp", "sdp": SdpParameters(solver="scs")}, {}),
    "sdp, clarabel, branching": ({"bounding": "sdp", "sdp": SHORT["clarabel"]}, {}),
    "sdp, scs, branching": ({"bounding": "sdp", "sdp": SHORT["scs"]}, {}),
    "colgen": ({"bounding": "colgen"}, {}),
    "colgen, scs": ({"bounding": "colgen", "sdp": SHORT["scs"]}, LINEAR),
    "hybrid": ({}, {}),
    "hybrid, clarabel": ({"sdp": SHORT["clarabel"]}, {**HARD, **FEW_COLUMNS}),
    "hybrid, scs, branching": ({"sdp": SHORT["scs"]}, {**LINEAR, **ALL_COLUMNS}),
}


def solved(instance, name: str, gap: float):
    parameters, changed = TREES[name]
    with constants(changed):
        return solve(instance, SolverParameters(gap=gap, **parameters))


@pytest.mark.parametrize("name", TREES)
def test_trees_agree_with_enumeration(name, monkeypatch):
    if name not in ("sdp, clarabel", "sdp, scs"):
        monkeypatch.setattr(conic_run, "MAX_ROUNDS", 1)

    @given(SEEDS)
    @examples(8, derandomize=True)
    def agrees(seed):
        instance = random_instance(np.random.default_rng(seed), 9, n_min=4)
        truth = optimum(instance)
        result = solved(instance, name, 1e-6)
        if truth is None:
            assert result.status is SolutionStatus.INFEASIBLE
            return
        assert result.status is SolutionStatus.OPTIMAL
        assert result.partition.is_feasible(instance)
        total = ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
        assert result.objective == pytest.approx(truth, rel=1e-6, abs=1e-12 * total)
        assert result.lower_bound <= truth + 1e-12 * total

    agrees()


@pytest.mark.parametrize("solver", SOLVERS)
def test_trees_with_soft_pairs_agree_with_enumeration(solver):
    @given(SEEDS)
    @examples(8, derandomize=True)
    def agrees(seed):
        instance = random_soft_instance(np.random.default_rng(seed), 8)
        truth = least_cost(instance)
        result = solved(instance, f"sdp, {solver}", 1e-6)
        if truth is None:
            assert result.status is SolutionStatus.INFEASIBLE
            return
        assert result.objective == pytest.approx(truth, rel=1e-5, abs=1e-9)
        assert result.lower_bound <= truth * (1 + 1e-12) + 1e-12

    agrees()


SLOW_TREES = ((30, 3, 2), (20, 2, 4))


@pytest.mark.parametrize(
    ("n", "k", "seed"),
    [(24, 4, 1), (24, 8, 3), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_TREES)],
)
@pytest.mark.long
def test_trees_agree_with_each_other(n, k, seed, monkeypatch):
    instance, names = constrained(seed, n, k), ["sdp", "colgen", "hybrid", "sdp, scs"]
    results = [solved(instance, name, 1e-5) for name in names]
    monkeypatch.setattr(conic_run, "MAX_ROUNDS", 1)
    names = ["sdp, scs, branching", "hybrid, scs, branching"]
    results += [solved(instance, name, 1e-5) for name in names]
    assert {result.status for result in results} == {SolutionStatus.OPTIMAL}
    best = min(result.objective for result in results)
    for result in results:
        assert result.objective <= best * (1 + 1e-5)
        assert result.lower_bound <= best * (1 + 1e-12)


@pytest.mark.long
def test_a_tree_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(conic_run, "MAX_ROUNDS", 1)
    instance = constrained(8, 20, 5)
    asked = SolverParameters(bounding="sdp", sdp=SHORT["scs"], gap=1e-6)
    whole = solve(instance, asked)
    assert whole.statistics.n_nodes > 3
    left = solve(instance, replace(asked, node_limit=2), checkpoint=tmp_path / "run")
    assert left.termination is Termination.NODE_LIMIT
    assert read_checkpoint(tmp_path / "run").parameters == replace(asked, node_limit=2)
    result = resume(tmp_path / "run", node_limit=None)
    assert result.partition == whole.partition
    assert result.lower_bound == whole.lower_bound
    assert result.statistics.n_nodes == whole.statistics.n_nodes


@pytest.mark.parametrize("is_hybrid", [False, True])
@constants(LINEAR)
def test_a_node_in_the_middle_goes_into_a_checkpoint(is_hybrid, tmp_path):
    contraction = contract(constrained(9, 20, 4))
    scs = SdpParameters(solver="scs")
    made = HybridBounding(scs) if is_hybrid else SdpBounding(scs)
    run, path = made.start(contraction, None), tmp_path / "state"
    n_cuts = []
    for rounds in range(3):
        write_archive(path, (run.state, run.warm_start()))
        state, warm_start = read_archive(path)
        other = made.resume(contraction, state)
        assert other.n_iterations == run.n_iterations == rounds
        assert made.start(contraction, warm_start).n_iterations == 0
        one, two = run.advance(np.inf), other.advance(np.inf)
        assert (one.bound, one.n_cuts) == (two.bound, two.n_cuts)
        n_cuts.append(one.n_cuts)
    assert n_cuts[1] > n_cuts[0] == 0  # relaxations were solved


def test_too_many_blocks_are_refused_before_the_run(monkeypatch):
    events = []
    monkeypatch.setattr("sdpbb.run.checks.LARGEST_CONIC", 10)
    sdp = SdpParameters(solver="scs")
    for bounding in ("sdp", "colgen", "hybrid", "decomposition"):
        with pytest.raises(ParameterError, match=r"^sdp\.solver = 'scs': 18 blocks, expected at"):
            solve(
                constrained(1, 20, 3), SolverParameters(bounding=bounding, sdp=sdp), events.append
            )
    assert not events
    assert solve(constrained(1, 10, 3), SolverParameters(bounding="sdp", sdp=sdp)).objective


def test_parameters():
    with pytest.raises(
        ParameterError, match=r"^solver = 'osqp': CVXPY finds none; expected one of admm"
    ):
        SdpParameters(solver="osqp")
    assert solver_parameters(gap=1e-4, workers=1).sdp == SdpParameters()
    asked = solver_parameters(gap=1e-4, workers=1, sdp_solver="clarabel")
    assert asked.sdp == SdpParameters(solver="clarabel")

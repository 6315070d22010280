"""The bound by conic solvers of CVXPY; tests/contracts have what is true of all bounds."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from heuristics import MultiStart
from sdpbb import SolverParameters, solve
from sdpbb.app.cli.engine import solver_parameters
from sdpbb.bounds.sdp import conic_run
from sdpbb.bounds.sdp.admm_run import Patience
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.conic_run import ConicRun
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.runtime.backends import conic
from tests.bounds.sdp.problems import small_problem

SOLVERS = ("clarabel", "scs")


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


def test_too_many_blocks_are_refused_before_the_run(monkeypatch):
    events = []
    monkeypatch.setattr("sdpbb.run.arguments.LARGEST_CONIC", 10)
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

"""Runs of the semidefinite bound; tests/contracts have what is true of all bounds."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from heuristics import MultiStart
from sdpbb import SolverParameters, solve
from sdpbb.bounds.sdp.admm_run import Patience
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, contract
from sdpbb.runtime.backends import conic
from tests.bounds.nodes import contracted, drawn_node, ended, relaxed
from tests.constants import constants

CONIC = ("clarabel", "scs")
ADMM, ROUNDS = "bounds.sdp.admm_run.", "bounds.sdp.bounding."


def bounding_by(solver: str) -> SdpBounding:
    return SdpBounding(SdpParameters(solver=solver))


def advanced(run, steps: int, cutoff: float = np.inf):
    for _ in range(steps):
        progress = run.advance(cutoff)
    return progress


def clouds(seed: int, n: int, k: int) -> Instance:
    """Overlapping clouds with constraints drawn from nothing: a few are against the data."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3)) + 2.0 * rng.integers(0, 2, size=(n, 1))
    order = rng.permutation(n)
    must_link = [tuple(order[2 * p : 2 * p + 2]) for p in range(n // 10)]
    cannot_link = [tuple(order[-2 * p - 2 : n - 2 * p]) for p in range(n // 5)]
    return Instance(points, k, must_link, cannot_link)


SMALL = contract(clouds(3, 20, 3))
PLANE = contracted(np.random.default_rng(3).normal(size=(60, 2)), 4)
BEST = MultiStart().run(SMALL, np.random.default_rng(0))


@pytest.mark.parametrize("solver", ["admm", *CONIC])
def test_cuts_close_the_gap(solver):
    """Row sums of the affinity are one, and nothing is on cannot-links."""
    run, cost = bounding_by(solver).start(SMALL, None), BEST.cost
    first = run.advance(cost)
    progress = ended(run, cost * (1 - 1e-6))
    assert first.bound < progress.bound
    assert first.n_cuts == 0 < progress.n_cuts
    assert cost * (1 - 1e-6) <= progress.bound.value <= cost * (1 + 1e-9)
    Z = run.affinity()
    np.testing.assert_allclose(Z @ SMALL.weights, 1, atol=1e-2)
    assert (Z >= 0).all()
    assert not Z[SMALL.adjacency].any()


@pytest.mark.parametrize("solver", ["admm", *CONIC])
def test_a_child_begins_with_what_its_parent_has_proven(solver):
    """The parent may have another solver."""
    instance = clouds(5, 20, 3)
    parent = contract(instance)
    run = bounding_by(solver).start(parent, None)
    before = ended(run, 0.999 * MultiStart().run(parent, np.random.default_rng(0)).cost)
    warm_start = pickle.loads(pickle.dumps(run.warm_start()))
    i, j = parent.representatives[np.argwhere(np.triu(run.affinity() > 0.01, 1))[0]].tolist()
    for decision in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, **decision)
        Z = warm_start.for_child(child, Relaxation.of(child).scale)[1]
        np.testing.assert_allclose(Z @ child.weights, 1, atol=1e-2)
        for other in (solver, "admm"):
            warm = bounding_by(other).start(child, warm_start).advance(np.inf).bound.value
            assert warm >= before.bound.value * (1 - (1e-2 if other == "admm" else 1e-5))
        assert warm > SdpBounding().start(child, None).advance(np.inf).bound.value


@pytest.mark.parametrize("n_iterations", [1, 7, 10, 13])
def test_a_step_cut_short_proves_its_bound_and_goes_on_as_if_it_had_not_been(n_iterations):
    """Also through a state."""
    whole, cut = (SdpBounding().start(SMALL, None) for _ in range(2))
    asked = iter(range(10**6))
    left = lambda: math.inf if next(asked) < n_iterations - 1 else 0.0  # noqa: E731
    progress = cut.advance(BEST.cost, left)
    while not progress.is_cut:
        progress = cut.advance(BEST.cost, left)
    assert cut.n_iterations == n_iterations
    assert not progress.stalled
    assert 0.0 <= progress.bound.value <= BEST.cost
    cut = pickle.loads(pickle.dumps(cut)).attach(SMALL, SdpBounding())
    for run in (cut, whole):
        while run.n_iterations % 10 or run.n_iterations < 30:
            run.advance(BEST.cost)
    assert np.array_equal(whole.dual_point().N, cut.dual_point().N)
    assert np.array_equal(whole.dual_point().multipliers, cut.dual_point().multipliers)


def test_the_root_is_given_up_later_than_its_children():
    with constants(
        {f"{ADMM}AdmmRun.ROOT": Patience(80, 0.99), f"{ADMM}AdmmRun.CHILD": Patience(40, 0.99)}
    ):
        root = SdpBounding().start(SMALL, None)
        child = SdpBounding().start(SMALL, root.warm_start())
        assert [root.advance(1e9).stalled for _ in range(5)] == [False] * 4 + [True]
        assert [child.advance(1e9).stalled for _ in range(3)] == [False] * 2 + [True]


@pytest.mark.parametrize(
    ("name", "value"), [("MAX_ROUNDS", 2), ("ConicRun.ROOT", Patience(1, 0.999))]
)
def test_a_node_of_a_conic_solver_is_given_up(name, value):
    with constants({f"{ROUNDS}CUTS_PER_BLOCK": 1, f"{ROUNDS}{name}": value}):
        run = bounding_by("scs").start(contract(clouds(7, 20, 4)), None)
        assert [run.advance(1e9).stalled for _ in range(2)] == [False, True]


@constants({f"{ADMM}LARGE": 10})
def test_bounds_of_large_matrices_are_left_out_while_they_cannot_close_the_node():
    with constants({f"{ADMM}BOUND_GROWTH": 1}):
        always = SdpBounding().start(PLANE, None)
        values = [advanced(always, 1).bound.value for _ in range(11)]
    run = SdpBounding().start(PLANE, None)
    reached = [advanced(run, 1).bound.value for _ in range(11)]
    assert [iteration for iteration, _ in run.history] == [0, 20, 40, 60, 100, 160]
    assert all(value in values for value in reached)
    cutoff = values[5]  # which the bound after 100 iterations is the first to reach
    run = SdpBounding().start(PLANE, None)
    while run.advance(cutoff).bound.value < cutoff:
        assert run.n_iterations < 100
    assert run.history[-1][0] == run.n_iterations == 100
    with constants({f"{ADMM}BOUND_GROWTH": 100.0, f"{ADMM}AdmmRun.ROOT": Patience(60, 0.9)}):
        run = SdpBounding().start(PLANE, None)
        progress = ended(run, 1e6)
    assert run.history[-1] == (run.n_iterations, progress.bound.value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("solver", "options"), [("CLARABEL", {"max_iter": 3}), ("SCS", {"max_iters": 4})]
)
def test_dual_values_that_are_far_off_prove_what_they_prove(solver, options, monkeypatch):
    monkeypatch.setitem(conic.OPTIONS, solver, options)
    for seed in range(6):
        node = drawn_node(seed, "pairs", n=(3, 6), where=relaxed)
        progress = ended(bounding_by(solver.lower()).start(node.contraction, None))
        assert 0.0 <= progress.bound.value <= node.optimum * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("solver", CONIC)
def test_a_relaxation_without_a_solution_closes_its_node(solver):
    """If fixed pairs leave no clustering, the bound passes every cutoff."""
    contraction = contracted(np.random.default_rng(0).normal(size=(9, 2)), 3)
    run = bounding_by(solver).start(contraction, None)
    apart = np.zeros((9, 9), dtype=bool)
    apart[:4, :4] = ~np.eye(4, dtype=bool)
    run.relaxation = replace(run.relaxation, forbidden=apart)
    cutoff = 100.0 * contraction.total
    first = run.advance(cutoff)
    assert first.bound.value < contraction.total  # which clique cuts are needed for
    progress = ended(run, cutoff)
    assert progress.bound.value >= cutoff
    assert safe_bound(run.relaxation, progress.bound.evidence).value == progress.bound.value


@constants({"run.solving.LARGEST_CONIC": 10})
def test_too_many_blocks_are_refused_before_the_run():
    events, sdp = [], SdpParameters(solver="scs")
    for bounding in ("sdp", "colgen", "hybrid", "decomposition"):
        parameters = SolverParameters(bounding=bounding, sdp=sdp)
        with pytest.raises(ParameterError, match=r"^sdp\.solver = 'scs': 18 blocks, expected at"):
            solve(clouds(1, 20, 3), parameters, events.append)
    assert not events
    assert solve(clouds(1, 10, 3), SolverParameters(bounding="sdp", sdp=sdp)).objective

"""The relaxation as a CVXPY problem: what holds in it, what is proven by it, and by the method."""

import subprocess
import sys
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.admm_run import BALANCE_PERIOD
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.model import RelaxationModel
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.problem import Instance
from tests.any_instance import any_instance
from tests.bounds.sdp.test_runs import clouds
from tests.enumeration import Truth, clustering_matrix
from tests.examples import examples

SOLVERS = ("clarabel", "scs")


@st.composite
def models(draw):
    """The relaxation of an instance, with or without cuts; all its clusterings, their costs."""
    parts = ("equal points", "pairs", "weights", "sizes", "weight limits", "soft pairs")
    instance = draw(any_instance(*parts, n=(2, 8), k=(1, 5)))
    truth = Truth(instance)
    assume(truth.is_feasible and np.ptp(instance.points) > 0.0)
    return sdpbb.relaxation(instance, cuts=draw(st.booleans())), truth


def method_bound(model: RelaxationModel, target: float, most: int = 20_000) -> float:
    """The best bound of the first-order method with the cuts of a model alone, up to a target."""
    relaxation = model.relaxation
    admm = Admm.centre(relaxation)
    admm.replace_cuts(model.cuts)
    best = safe_bound(relaxation, admm.dual_point()).value
    while best < target and admm.n_iterations < most:
        admm.iterate()
        if admm.n_iterations % BALANCE_PERIOD == 0 and admm.n_iterations <= 1000:
            admm.balance()  # with a penalty that changes for ever, the method need not converge
        if admm.n_iterations % 50 == 0:
            best = max(best, safe_bound(relaxation, admm.dual_point()).value)
    return best


@given(models())
@examples(50)
def test_the_method_and_the_model_agree(case):
    model, truth = case
    value = model.solve("scs", eps_abs=1e-7, eps_rel=1e-7, max_iters=50_000)
    assume(model.status == "optimal")  # nearly always
    unit = model.relaxation.scale + model.relaxation.total + truth.optimum
    error, proven = 1e-6 * unit, model.proven_bound()
    assert value <= truth.optimum + error
    assert proven <= truth.optimum * (1 + 1e-12) + 1e-12 * unit
    assert proven == pytest.approx(value, abs=error)
    if model.relaxation.m > 1:
        # Of 300 instances with weights over up to six powers of ten, one is 1e-5 off.
        most = error if model.relaxation.node.has_whole_weights else 1e-4 * unit
        assert value - most <= method_bound(model, value - error) <= value + error


@pytest.mark.long
@given(models())
@examples(50)
def test_every_clustering_is_feasible_at_its_cost(case):
    model, truth = case
    relaxation, roots = model.relaxation, np.sqrt(model.weights)
    first = np.unique(model.block_of, return_index=True)[1]
    v = next(each for each in model.problem.variables() if each.name() == "v")
    norm = ScaledCuts.of(model.cuts, relaxation.inverse_roots, relaxation.forbidden).norm
    price = multiplier_caps(relaxation, model.cuts) * norm
    is_soft = np.isfinite(price)
    units = np.sqrt(np.maximum(price[is_soft], 1e-12))
    for row, cost in zip(truth.labels[:40], truth.costs, strict=False):
        Z = clustering_matrix(np.unique(row[first], return_inverse=True)[1], model.weights)
        model.Y.value = roots[:, None] * Z * roots
        np.testing.assert_allclose(model.Z.value, Z, rtol=1e-12, atol=1e-14 * Z.max())
        v.value = np.zeros(v.shape)
        v.value = model.constraints["cuts"].violation()[is_soft] * units
        for name, constraint in model.constraints.items():
            assert np.max(constraint.violation(), initial=0.0) < 1e-9, name
        value = model.value(float(model.problem.objective.value))
        error = 1e-9 * (relaxation.scale + relaxation.total + cost)
        assert value <= cost + error
        assert relaxation.soft is not None or value >= cost - error


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "k"), [(20, 3), (26, 4), (18, 2), pytest.param(60, 4, marks=pytest.mark.slow)]
)
def test_solvers_agree_with_the_method_on_larger_instances(n, k):
    """Their solutions are feasible, and dual values complement them."""
    for cuts in (False, True):
        model = sdpbb.relaxation(clouds(n, n, k), cuts)
        assert bool(len(model.cuts)) is cuts
        total, values, forbidden = model.relaxation.total, [], model.relaxation.forbidden
        for solver in SOLVERS:
            more = {"eps_abs": 1e-8, "eps_rel": 1e-8} if solver == "scs" and n < 30 else {}
            values.append(model.solve(solver, **more))
            # Some versions of Clarabel end short of their own tolerance, and within the error.
            assert model.status in ("optimal", "optimal_inaccurate")
            assert model.proven_bound() == pytest.approx(values[-1], abs=1e-5 * total)
            Z, dual = model.Z.value, model.dual_point()
            np.testing.assert_allclose(Z @ model.weights, 1, atol=1e-4)
            assert np.diag(Z) @ model.weights == pytest.approx(k, abs=1e-4)
            assert min(Z.min(), np.linalg.eigvalsh(Z).min()) > -1e-5
            assert abs(Z[forbidden]).max() < 1e-5
            assert dual.N[~forbidden].min() > -1e-4
            assert (dual.N * Z).sum() == pytest.approx(0, abs=1e-3)
            slack = model.cuts.values(Z) - model.cuts.rhs
            assert slack.min(initial=0.0) > -1e-4
            assert dual.multipliers @ slack == pytest.approx(0, abs=1e-3)
        assert values[0] == pytest.approx(values[1], abs=1e-5 * total)
        found = method_bound(model, values[0] - 1e-5 * total)
        assert found == pytest.approx(values[0], abs=1e-5 * total)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solution_comes_with_a_direction(solver):
    """Four blocks that are all apart, in three clusters: cannot-links and Z e = 1 leave
    Z = diag(1 / e), of trace 4."""
    instance, apart = Instance(np.arange(4.0)[:, None], 3), ~np.eye(4, dtype=bool)
    relaxation = replace(sdpbb.relaxation(instance).relaxation, forbidden=apart)
    model = RelaxationModel(relaxation, CutSet.empty())
    assert model.solve(solver) == np.inf
    assert model.status.startswith("infeasible")
    ray = model.dual_point()
    bounds = [safe_bound(relaxation, ray.scaled(step)).value for step in (1e3, 1e4, 1e5)]
    assert 0 < bounds[0] < bounds[1] < bounds[2]


def test_own_inequalities_raise_the_value():
    model = sdpbb.relaxation(clouds(20, 20, 3), cuts=False)
    first, proven = model.solve(), model.proven_bound()
    at_least_six = model.Z[0, 0] <= 1.0 / (6.0 * model.weights[0])
    smaller = cp.trace(model.Z) <= 2.5
    assert model.solve(constraints=[at_least_six, smaller]) > first * (1 + 1e-4)
    # Without the multipliers of the added inequalities, nothing more than before is proven.
    assert model.proven_bound() <= proven * (1 + 1e-4)
    assert model.solve() == pytest.approx(first, rel=1e-5)


def test_cuts_can_be_chosen_and_the_problem_exported():
    instance = clouds(20, 20, 3)
    model = sdpbb.relaxation(instance)
    half = sdpbb.relaxation(instance, model.cuts.select(np.arange(0, len(model.cuts), 2)))
    none = sdpbb.relaxation(instance, cuts=False)
    assert 0 == len(none.cuts) < len(half.cuts) < len(model.cuts)
    assert none.solve() < half.solve() * (1 + 1e-6) < model.solve() * (1 + 1e-5)
    data = model.problem.get_problem_data("SCS")[0]
    assert data["dims"].psd == [model.relaxation.m]
    assert data["A"].shape[0] > len(model.cuts)


def test_blocks_are_mapped_and_units_are_those_of_the_data():
    instance = clouds(20, 20, 3)
    model, larger = (
        sdpbb.relaxation(replace(instance, points=unit * instance.points), cuts=False)
        for unit in (1.0, 1e6)
    )
    assert model.block_of.shape == (20,)
    assert np.bincount(model.block_of).tolist() == model.weights.tolist()
    assert larger.solve() == pytest.approx(1e12 * model.solve(), rel=1e-9)


def test_what_has_no_relaxation():
    with pytest.raises(sdpbb.InstanceError, match="no clustering satisfies the constraints"):
        sdpbb.relaxation(Instance([[0.0], [1.0]], 1, cannot_link=[(0, 1)]))
    with pytest.raises(sdpbb.InstanceError, match=r"^instance: of type list"):
        sdpbb.relaxation([[0.0], [1.0]])
    with pytest.raises(sdpbb.ParameterError, match=r"^cuts: of type str; expected True, False or"):
        sdpbb.relaxation(Instance([[0.0], [1.0]], 1), cuts="triangles")
    larger = sdpbb.relaxation(clouds(20, 20, 3))
    with pytest.raises(sdpbb.ParameterError, match=r"^cuts: block 17; expected cuts over 1 block$"):
        sdpbb.relaxation(Instance([[0.0], [1.0]], 1), larger.cuts)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_dual_values_that_are_no_numbers_are_a_failure(wrong):
    model = sdpbb.relaxation(clouds(20, 20, 3))
    model.solve()
    found = model.constraints["cuts"].dual_variables[0]
    found.save_value(np.where(np.arange(len(model.cuts)) == 3, wrong, found.value))
    with pytest.raises(sdpbb.BackendFailure, match=r"no finite dual values \(status optimal\)$"):
        model.proven_bound()


def test_what_cannot_be_solved():
    model = sdpbb.relaxation(Instance([[0.0], [1.0], [3.0]], 2))
    assert repr(model) == f"RelaxationModel(3 blocks, {len(model.cuts)} cuts)"
    with pytest.raises(sdpbb.BackendFailure, match=r"no finite dual values \(not solved yet\)$"):
        model.proven_bound()
    with pytest.raises(sdpbb.ParameterError, match=r"^solver = 'mosek2': .* clarabel, scs"):
        model.solve("mosek2")
    half = model.Z[0, 0] <= 0.5
    with pytest.raises(sdpbb.ParameterError, match=r"^solver: of type list; expected a name"):
        model.solve([half])
    for wrong in (True, [half, True]):
        with pytest.raises(sdpbb.ParameterError, match=r"^constraints: one of type bool"):
            model.solve(constraints=wrong)
    with pytest.raises(sdpbb.BackendFailure, match=r"^scs: DCPError: [^\n]*$"):
        model.solve(constraints=model.Z[0, 0] >= cp.square(model.Z[0, 1]) + cp.sqrt(model.Z[1, 1]))
    assert model.solve(constraints=half) == pytest.approx(model.solve(constraints=[half]))


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 1)])
def test_the_smallest_instances(n, k):
    points = np.random.default_rng(n).normal(size=(n, 2))
    model = sdpbb.relaxation(Instance(points, k))
    scatter = 0.0 if n == k else ((points - points.mean(axis=0)) ** 2).sum()
    assert model.solve() == pytest.approx(scatter, abs=1e-5)
    assert model.proven_bound() == pytest.approx(scatter, abs=1e-5)


def test_runs_that_need_no_model_do_not_import_cvxpy():
    script = (
        "import sys, sdpbb\n"
        "from sdpbb.app.cli import main\n"
        "sdpbb.SolverParameters(bounding='sdp').updated({'sdp.max_iterations': 500})\n"
        "points = [[0.0], [0.1], [5.0], [5.1], [7.0]]\n"
        "for bounding in ('sdp', 'colgen', 'hybrid'):\n"
        "    sdpbb.solve(points, 2, cannot_link=[(0, 1)], bounding=bounding)\n"
        "print('cvxpy' in sys.modules)\n"
        "sdpbb.solve(points, 2, cannot_link=[(0, 1)], bounding='sdp',"
        " parameters=sdpbb.SolverParameters().updated({'sdp.solver': 'scs'}))\n"
        "print('cvxpy' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-2:] == ["False", "True"]

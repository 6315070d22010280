import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.errors import BackendFailure, BackendUnavailable
from sdpbb.problem.programme import assignment_rows
from sdpbb.runtime.backends.highs import LinearModel
from sdpbb.runtime.backends.milp import solve_binary_programme, using_integer_solver
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpSolution, MilpStatus
from tests.examples import examples
from tests.graphs import random_graph


def programme(c, rows, lower, upper) -> BinaryProgramme:
    matrix = csr_array(np.array(rows, dtype=float).reshape(-1, len(c)))
    sides = (np.array(side, dtype=float) for side in (lower, upper))
    return BinaryProgramme(np.array(c, dtype=float), matrix, *sides)


def random_programme(seed: int) -> BinaryProgramme:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (4, 6))
    lower = rng.integers(-4, 3, 4).astype(float)
    lower[0] = -np.inf
    upper = np.where(rng.random(4) < 0.3, np.inf, lower + 3)
    upper[0] = 2.0
    return programme(rng.normal(size=6), rows, lower, upper)


def minimum(given: BinaryProgramme) -> float:
    vectors = (np.array(x, dtype=float) for x in product((0, 1), repeat=given.n_variables))
    return min((given.objective @ x for x in vectors if given.satisfied_by(x)), default=np.inf)


def solved(given: BinaryProgramme, *more) -> float:
    """The minimum by a solver; inf if infeasible."""
    solution = solve_binary_programme(given, *more)
    if solution.x is None:
        assert solution.status is MilpStatus.INFEASIBLE
        return np.inf
    assert solution.status is MilpStatus.OPTIMAL
    assert given.satisfied_by(solution.x)
    return float(given.objective @ solution.x)


@given(st.integers(0, 2**32 - 1))
@examples(40)
def test_highs_attains_the_minimum(seed):
    given = random_programme(seed)
    assert solved(given) == pytest.approx(minimum(given), abs=1e-9)


def test_highs_prints_nothing(capfd):
    """Standard output is a user's result, or a worker's channel."""
    solve_binary_programme(random_programme(0))
    assert capfd.readouterr() == ("", "")


def test_warm_start_and_time_limit_are_taken():
    knapsack = programme([-3, -4, -5], [[2, 3, 4]], [-np.inf], [5])
    assert solved(knapsack, lambda: 60.0) == -7
    warm_start = np.array([1.0, 0, 0])
    assert solved(knapsack, lambda: 60.0, warm_start) == -7


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e-5, 1e6, 1e12, 1e200])
@given(st.integers(0, 2**32 - 1))
@examples(15)
def test_the_unit_of_the_objective_does_not_matter(scale, seed):
    """Tolerances of solvers are absolute."""
    given_ = random_programme(seed)
    scaled = replace(given_, objective=scale * given_.objective)
    with using_integer_solver("highs"):
        found = solved(scaled)
    assert found / scale == pytest.approx(minimum(given_), abs=1e-6)


def test_highs_beside_other_users_of_its_threads():
    # In a process of its own, as the pool of threads is one for each process.
    script = """
import highspy, numpy as np
from scipy.sparse import csr_array
from sdpbb.runtime.backends.highs import LinearModel
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import BinaryProgramme
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 2)
other.addVar(0, 1)
other.run()
row = csr_array(np.ones((1, 2)))
one = BinaryProgramme(-np.ones(2), row, np.ones(1), np.ones(1))
print(solve_binary_programme(one).x.sum(), LinearModel(one).minimise(np.ones(2)).x.sum())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout.split()[-2:] == ["1.0", "1.0"], run.stderr


def test_a_programme_without_rows():
    free = programme([1, -1], [], [], [])
    assert solve_binary_programme(free).x.tolist() == [0, 1]
    assert LinearModel(free).minimise(np.array([1.0, -1.0])).x.tolist() == [0, 1]


@pytest.mark.parametrize("values", [[1.0, 1.0], [-1.0, 1.0]])
def test_values_that_violate_the_programme_are_refused(monkeypatch, values):
    wrong = MilpSolution(MilpStatus.OPTIMAL, np.array(values))
    monkeypatch.setattr("sdpbb.runtime.backends.highs.solved_by_highs", lambda *_: wrong)
    with using_integer_solver("highs"), pytest.raises(BackendFailure, match="violate"):
        solve_binary_programme(programme([1, 1], [[1, 2]], [1], [1]))


def test_gurobi_attains_the_minimum():
    pytest.importorskip("gurobipy")
    try:
        for seed in range(10):
            given = random_programme(seed)
            expected = minimum(given)
            with using_integer_solver("gurobi"):
                assert solved(given) == pytest.approx(expected)
    except BackendUnavailable as error:
        pytest.skip(str(error))


def test_gurobi_says_that_it_is_missing():
    try:
        import gurobipy  # noqa: F401
    except ImportError:
        missing = pytest.raises(BackendUnavailable, match="gurobipy")
        with using_integer_solver("gurobi"), missing:
            solve_binary_programme(programme([1], [], [], []))
    else:
        pytest.skip("gurobipy is installed")


def test_highs_takes_over_where_a_licence_ends(monkeypatch, caplog):
    def refuse(*asked):
        raise BackendUnavailable("too large for the licence")

    monkeypatch.setattr("sdpbb.runtime.backends.milp._solved_by_gurobi", refuse)
    caplog.set_level("INFO", "sdpbb")
    for seed in range(5):
        given = random_programme(seed)
        assert solved(given) == pytest.approx(minimum(given))
    assert "HiGHS instead: too large for the licence" in caplog.text
    with using_integer_solver("gurobi"), pytest.raises(BackendUnavailable):
        solve_binary_programme(given)


@pytest.mark.long
def test_an_error_in_the_presolve_of_highs_costs_no_verdict():
    """HiGHS 1.15.1 ends this set partitioning programme with an error if it presolves it."""
    sets = ["4", "3", "2", "24", "23", "1", "134", "03", "034", "02", "024", "023", "0134"]
    costs = [93, 38, 40, 33, 32, 87, 27, 70, 24, 66, 16, 68, 91]
    rows = [[str(i) in chosen for chosen in sets] for i in range(5)] + [[1] * len(sets)]
    sides = [1, 1, 1, 1, 1, 3]
    given = programme(costs, rows, sides, sides)
    for asked in (given, replace(given, objective=-given.objective)):
        assert solved(asked) == pytest.approx(minimum(asked))


@pytest.mark.parametrize("allowed", [0, 1, 5])
def test_a_solve_is_given_up_when_it_is_asked_to_stop(allowed):
    # Eight colours for a random graph of 60 vertices take HiGHS minutes.
    adjacency = random_graph(np.random.default_rng(0), 60, 0.5)
    asked = 0

    def time_left():
        nonlocal asked
        asked += 1
        return 0.0 if asked > allowed + 1 else 60.0  # the first is for the time limit

    hard = assignment_rows(60, 8, np.argwhere(np.triu(adjacency)))
    with using_integer_solver("highs"):
        solution = solve_binary_programme(hard, time_left)
    assert solution.status is MilpStatus.TIME_LIMIT
    assert asked > allowed + 1

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sdpbb.runtime.backends.highs import LinearModel
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpStatus
from tests.examples import examples


def random_programme(rng: np.random.Generator) -> BinaryProgramme:
    rows = rng.integers(-3, 4, (5, 7)).astype(float)
    lower = rng.integers(-3, 4, 5).astype(float)
    lower[0] = -np.inf
    upper = np.where(rng.random(5) < 0.3, np.inf, lower + 2)
    upper[0] = 2.0
    return BinaryProgramme(np.zeros(7), csr_array(rows), lower, upper)


def reference(programme: BinaryProgramme, objective: np.ndarray) -> float:
    """The minimum over the cube by SciPy; inf if infeasible."""
    matrix = programme.matrix.toarray()
    has_upper, has_lower = np.isfinite(programme.upper), np.isfinite(programme.lower)
    result = linprog(
        objective,
        A_ub=np.concatenate([matrix[has_upper], -matrix[has_lower]]),
        b_ub=np.concatenate([programme.upper[has_upper], -programme.lower[has_lower]]),
        bounds=(0, 1),
        method="highs-ipm",
    )
    return np.inf if result.status == 2 else result.fun


@given(st.integers(0, 2**32 - 1))
@examples(40)
def test_the_minimum_of_one_objective_after_another(seed):
    rng = np.random.default_rng(seed)
    programme = random_programme(rng)
    model = LinearModel(programme)
    for objective in rng.normal(size=(4, 7)):
        solution = model.minimise(objective)
        expected = reference(programme, objective)
        if expected == np.inf:
            assert solution.status is MilpStatus.INFEASIBLE
            assert solution.x is None
            continue
        assert solution.status is MilpStatus.OPTIMAL
        assert objective @ solution.x == pytest.approx(expected, abs=1e-6)
        assert ((solution.x >= 0) & (solution.x <= 1)).all()
        activity = programme.matrix @ solution.x
        assert (activity >= programme.lower - 1e-6).all()
        assert (activity <= programme.upper + 1e-6).all()


def test_vertices_may_be_fractional():
    triangle = csr_array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    programme = BinaryProgramme(np.zeros(3), triangle, np.full(3, -np.inf), np.ones(3))
    assert LinearModel(programme).minimise(-np.ones(3)).x.tolist() == [0.5, 0.5, 0.5]


def test_a_programme_without_rows():
    programme = BinaryProgramme(np.zeros(2), csr_array((0, 2)), np.empty(0), np.empty(0))
    assert LinearModel(programme).minimise(np.array([1.0, -1.0])).x.tolist() == [0, 1]


def test_out_of_time():
    rng = np.random.default_rng(0)
    matrix = csr_array((rng.random((300, 400)) < 0.2) * rng.random((300, 400)))
    programme = BinaryProgramme(np.zeros(400), matrix, np.full(300, -np.inf), np.ones(300))
    model = LinearModel(programme)
    objective = -rng.random(400)
    assert model.minimise(objective, 1e-9).status is MilpStatus.TIME_LIMIT
    # Time is counted anew in each call.
    assert model.minimise(objective, 60.0).status is MilpStatus.OPTIMAL

import math
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.master import Master
from sdpbb.bounds.colgen.master_programme import MasterSolution, Penalty, Phase
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.brute_force import all_columns, master_value, random_contraction
from tests.constants import constants
from tests.examples import examples


def assert_optimal(solution: MasterSolution, columns: Columns, k: int) -> None:
    """Primal and dual are feasible and have one value, without a penalty."""
    scale = float(columns.costs.max()) or 1.0
    members = columns.members.astype(float)
    assert (solution.x @ members >= 1 - 1e-7).all()
    assert solution.x.sum() <= k + 1e-7
    assert min(solution.x.min(), solution.prices.min(), solution.sigma) >= 0.0
    reduced = columns.costs - members @ solution.prices + solution.sigma
    assert reduced.min() >= -1e-7 * scale
    dual = solution.prices.sum() - k * solution.sigma
    assert abs(solution.x @ columns.costs - dual) <= 1e-7 * scale
    assert abs(solution.value - dual) <= 1e-7 * scale


@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-40, 1e-5, 1.0, 1e12, 1e40]),
)
@examples(60)
def test_over_all_clusters_it_has_the_value_of_the_partitioning_form(seed, factor):
    contraction = random_contraction(seed, factor=factor)
    expected = master_value(contraction)
    columns = all_columns(contraction)
    solution = Master(columns, contraction.k).solve()
    if expected is None:
        assert solution.phase is Phase.FEASIBILITY
    else:
        assert solution.phase is Phase.COST
        assert_optimal(solution, columns, contraction.k)
        assert math.isclose(solution.value, expected, rel_tol=1e-8, abs_tol=1e-9 * factor**2)


@given(st.integers(0, 10**6))
@examples(40)
def test_columns_added_in_parts_come_to_the_same(seed):
    contraction = random_contraction(seed)
    if master_value(contraction) is None:
        return
    columns = all_columns(contraction)
    order = np.random.default_rng(seed).permutation(len(columns))
    master = Master(Columns.singletons(contraction), contraction.k)
    values = [math.inf]
    for part in np.array_split(order, 4):
        before = len(master.columns)
        assert master.add(columns.select(part)) == len(master.columns) - before
        solution = master.solve()
        if solution.phase is Phase.COST:
            assert solution.value <= values[-1] * (1 + 1e-9) + 1e-12
            values.append(solution.value)
    assert master.add(columns) == 0
    assert_optimal(solution, master.columns, contraction.k)


def test_costs_of_very_different_sizes_are_told_apart():
    """One far point must not leave the others no digits."""
    points = np.array([[0.0], [1.0], [2.5], [4.0], [1e9]])
    contraction = contract(Instance(points, 3))
    assert isinstance(contraction, Contraction)
    columns = all_columns(contraction)
    solution = Master(columns, 3).solve()
    assert math.isclose(solution.value, 0.5 + 1.125, rel_tol=1e-6)
    assert np.isclose(solution.prices[:4].sum() - 2 * solution.sigma, 0.5 + 1.125, rtol=1e-6)


def test_equal_points_cost_nothing():
    contraction = contract(Instance(np.ones((4, 2)), 2))
    assert isinstance(contraction, Contraction)
    solution = Master(all_columns(contraction), 2).solve()
    assert solution.phase is Phase.COST
    assert solution.value == 0.0


def test_without_a_cover_prices_are_a_certificate():
    """Three singletons cover three of five blocks; prices of phase one say so, penalty or not."""
    contraction = contract(Instance(np.arange(5.0)[:, None], 3))
    assert isinstance(contraction, Contraction)
    master = Master(Columns.singletons(contraction), 3)
    solution = master.solve(Penalty(np.ones(5), 0.0, 1.0))
    assert solution.phase is Phase.FEASIBILITY
    assert math.isclose(solution.value, 2.0)
    assert solution.prices.max() <= 1.0
    assert math.isclose(solution.prices.sum() - 3 * solution.sigma, 2.0)
    pair = np.array([[True, True, True, False, False]])
    master.add(Columns.of(contraction, pair))
    assert master.solve().phase is Phase.COST


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.sampled_from([0.05, 0.5, 2.0]))
@examples(40)
def test_a_penalty_costs_what_it_says(seed, width, slope):
    """The value of the dual less the penalty is the value of the perturbed programme, and no other
    prices have a larger one."""
    contraction = random_contraction(seed)
    columns = all_columns(contraction)
    master = Master(columns, contraction.k)
    best = master.solve()
    if best.phase is Phase.FEASIBILITY:
        return
    rng = np.random.default_rng(seed)
    penalty = Penalty(rng.exponential(size=contraction.n_blocks), width, slope)

    def value(prices: np.ndarray, sigma: float) -> float:
        far = np.maximum(np.abs(prices - penalty.centre) - width, 0.0).sum()
        return float(prices.sum() - contraction.k * sigma - slope * far)

    solution = master.solve(penalty)
    attained = value(solution.prices, solution.sigma)
    assert math.isclose(solution.value, attained, rel_tol=1e-7, abs_tol=1e-7)
    assert attained >= value(best.prices, best.sigma) - 1e-7
    assert attained <= best.value + 1e-7
    if solution.perturbation == 0.0:
        assert math.isclose(solution.value, best.value, rel_tol=1e-7, abs_tol=1e-7)
    for _ in range(20):
        prices = rng.exponential(size=contraction.n_blocks)
        sigma = max(0.0, float((columns.members @ prices - columns.costs).max()))
        assert value(prices, sigma) <= attained + 1e-7


def growing() -> tuple[Master, list[Columns]]:
    rng = np.random.default_rng(5)
    contraction = contract(Instance(rng.normal(size=(40, 2)), 8, cannot_link=[(0, 1), (2, 3)]))
    assert isinstance(contraction, Contraction)
    parts = []
    for _ in range(6):
        labels = rng.integers(0, 8, (6, 40))
        members = (labels[:, None, :] == np.arange(8)[:, None]).reshape(-1, 40)
        parts.append(Columns.of(contraction, members))
    with constants({"bounds.colgen.master.MAX_COLUMNS_PER_BLOCK": 4}):
        return Master(Columns.singletons(contraction), 8), parts


def test_left_and_restored_after_every_solve_it_comes_to_the_same_bits():
    straight, parts = growing()
    other, _ = growing()
    penalty = None
    for part in parts:
        solutions = []
        for master in (straight, other):
            master.add(part)
            solutions.append(master.solve(penalty))
            master.purge(solutions[-1])
        one, two = solutions
        assert one.x.tobytes() == two.x.tobytes()
        assert one.prices.tobytes() == two.prices.tobytes()
        assert (one.value, one.sigma) == (two.value, two.sigma)
        penalty = Penalty(one.prices, 0.01, 0.3)
        state = pickle.loads(pickle.dumps(other.state))
        assert np.array_equal(state.columns.members(), other.columns.members)
        other = Master(other.columns, 8, state)


def test_deleting_columns_leaves_the_value():
    master, parts = growing()
    deleted = 0
    for part in parts:
        master.add(part)
        before = master.solve()
        deleted += master.purge(before)
        after = master.solve()
        assert math.isclose(before.value, after.value, rel_tol=1e-9)
    assert deleted > 0

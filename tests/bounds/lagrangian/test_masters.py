"""Master programmes and column generation against the whole programme over all clusters."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdpbb.bounds.lagrangian.bounding import ColgenBounding
from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues, lagrangian_bound
from sdpbb.bounds.lagrangian.generation import Generation, Step
from sdpbb.bounds.lagrangian.generation_state import StepEvent
from sdpbb.bounds.lagrangian.masters.choice import first_prices
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster, covering_prefix, repaired
from sdpbb.bounds.lagrangian.masters.interior_method import CoverProgramme, solve_cover
from sdpbb.bounds.lagrangian.masters.programme import MasterSolution, Penalty, Phase
from sdpbb.bounds.lagrangian.masters.simplex import Master
from sdpbb.bounds.lagrangian.sets.pricer import PricingOutcome
from sdpbb.bounds.lagrangian.stabilisation import (
    ALPHA,
    ALPHA_STEP,
    BOX_DECREASE,
    BOX_PENALTY,
    BOX_WIDTH,
    LEAST_PENALTY,
    MOST_ALPHA,
    Observation,
    Stabilisation,
)
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.cluster_constraints import MaximumSize
from tests.bounds.lagrangian.brute_force import (
    BruteForcePricer,
    all_columns,
    drawn_node,
    master_value,
    optimum,
    random_contraction,
    whole_contraction,
)
from tests.constants import constants
from tests.enumeration import clusterings
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
SCHEMES = ("smoothing", "box")
INTERIOR_FROM = "bounds.lagrangian.masters.choice.INTERIOR_FROM"


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
    solution = Master.begin(columns, contraction.k).solve()
    if expected is None:
        assert solution.phase is Phase.FEASIBILITY
    else:
        assert solution.phase is Phase.COST
        assert_optimal(solution, columns, contraction.k)
        assert math.isclose(solution.value, expected, rel_tol=1e-8, abs_tol=1e-9 * factor**2)


@given(SEEDS)
def test_the_master_programme_is_the_partitioning_one(seed):
    contraction = whole_contraction(seed)
    columns = all_columns(contraction)
    master = Master.begin(columns, contraction.k, covers=False)
    solution = master.solve()
    if solution.phase is Phase.FEASIBILITY:
        assert optimum(contraction) == np.inf
        return
    assert columns.members.T @ solution.x == pytest.approx(np.ones(contraction.n_blocks))
    assert solution.x.sum() == pytest.approx(contraction.k)
    reduced = columns.costs - columns.members @ solution.prices + solution.sigma
    assert reduced.min() >= -1e-6 * (1.0 + columns.costs.max())
    bound = lagrangian_bound(contraction, solution.prices, float(reduced.min() - solution.sigma))
    assert bound.value <= optimum(contraction) * (1.0 + 1e-12)


def test_without_a_cover_prices_are_a_certificate():
    """Three singletons cover three of five blocks; prices of phase one say so, penalty or not."""
    contraction = contract(Instance(np.arange(5.0)[:, None], 3))
    assert isinstance(contraction, Contraction)
    master = Master.begin(Columns.singletons(contraction), 3)
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
    master = Master.begin(columns, contraction.k)
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


def growing() -> tuple[Contraction, Master, list[Columns]]:
    rng = np.random.default_rng(5)
    contraction = contract(Instance(rng.normal(size=(40, 2)), 8, cannot_link=[(0, 1), (2, 3)]))
    assert isinstance(contraction, Contraction)
    parts = []
    for _ in range(6):
        labels = rng.integers(0, 8, (6, 40))
        members = (labels[:, None, :] == np.arange(8)[:, None]).reshape(-1, 40)
        parts.append(Columns.of(contraction, members))
    with constants({"bounds.lagrangian.masters.simplex.MAX_COLUMNS_PER_BLOCK": 4}):
        return contraction, Master.begin(Columns.singletons(contraction), 8), parts


def test_left_and_restored_after_every_solve_it_comes_to_the_same_bits():
    contraction, straight, parts = growing()
    other = growing()[1]
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
        other = pickle.loads(pickle.dumps(other)).attach(contraction)


def test_deleting_columns_leaves_the_value():
    _, master, parts = growing()
    deleted = 0
    for part in parts:
        master.add(part)
        before = master.solve()
        deleted += master.purge(before)
        after = master.solve()
        assert math.isclose(before.value, after.value, rel_tol=1e-9)
    assert deleted > 0


def drawn_programme(seed: int) -> tuple[CoverProgramme, np.ndarray]:
    """A programme with a cover by its last k columns, and its matrix."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(3, 25)), int(rng.integers(1, 4))
    width = m if rng.random() < 0.3 else int(rng.integers(2, max(3, m // 3)))
    sets = []
    for _ in range(int(rng.integers(1, 40))):
        first = int(rng.integers(0, m))
        rows = np.arange(first, min(m, first + width))
        sets.append(rows[rng.random(len(rows)) < 0.6])
    k = min(k, m)
    sets += np.array_split(np.arange(m), k)
    sets = [rows for rows in sets if len(rows)]
    start = np.concatenate([[0], np.cumsum([len(rows) for rows in sets])]).astype(np.int64)
    costs = rng.uniform(0.0, 2.0, len(sets)) * np.array([len(rows) for rows in sets])
    costs *= float(rng.choice([1e-6, 1.0, 1e6]))
    matrix = np.zeros((m, len(sets)))
    for column, rows in enumerate(sets):
        matrix[rows, column] = 1.0
    rows = np.concatenate(sets).astype(np.int64)
    return CoverProgramme(start, rows, costs, m, k), matrix


@given(SEEDS)
@examples(60, derandomize=True)
def test_the_value_is_that_of_an_established_solver(seed):
    programme, matrix = drawn_programme(seed)
    m, count = matrix.shape
    exact = linprog(
        programme.costs,
        A_ub=np.vstack([-matrix, np.ones(count)]),
        b_ub=np.append(-np.ones(m), float(programme.k)),
    ).fun
    prices = np.full(m, programme.costs.sum() / count)
    found = solve_cover(programme, prices, float(prices[0]), 1e-7)
    scale = abs(exact) + 1e-6 * programme.costs.max()
    assert found.dual_value == pytest.approx(exact, rel=0, abs=1e-4 * scale)
    reduced = programme.reduced(np.append(found.prices, found.sigma))
    assert reduced.min() > -1e-5 * programme.costs.max()
    assert found.x.min() > 0.0


def planar(n: int, k: int) -> Contraction:
    contraction = contract(Instance(np.random.default_rng(n).normal(size=(n, 2)), k))
    assert isinstance(contraction, Contraction)
    return contraction


def test_a_partition_is_told_by_its_columns():
    contraction = planar(6, 3)
    members = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 0, 1]], bool)
    assert covering_prefix(Columns.of(contraction, members), 3) == 2
    assert covering_prefix(Columns.of(contraction, members), 1) == 0
    assert covering_prefix(Columns.of(contraction, members[[0, 2, 1]]), 3) == 0
    assert covering_prefix(Columns.of(contraction, members[:1]), 3) == 0


@given(SEEDS)
@examples(30, derandomize=True)
def test_first_prices_are_worth_no_more_than_the_clustering(seed):
    rng = np.random.default_rng(seed)
    contraction = planar(int(rng.integers(6, 20)), 3)
    labels = rng.permutation(contraction.n_blocks) % 3
    clusters = Columns.of(contraction, labels == np.arange(3)[:, None])
    prices, sigma = first_prices(contraction, clusters)
    assert (prices >= 0.0).all()
    assert sigma > 0.0
    worth = clusters.members @ prices
    assert (worth <= clusters.costs + sigma * (1.0 + 1e-9)).all()


@given(SEEDS, st.floats(0.1, 3.0))
@examples(40, derandomize=True)
def test_repaired_prices_are_lower_and_dear_for_no_known_cluster(seed, share):
    rng = np.random.default_rng(seed)
    contraction = planar(int(rng.integers(4, 11)), 2)
    columns = all_columns(contraction)
    m = contraction.n_blocks
    prices = share * contraction.total / m * rng.uniform(-0.2, 1.0, m)
    sigma = float(rng.uniform(0.0, 1.0)) * contraction.total
    lowered = repaired(prices, sigma, contraction.scatter, columns)
    assert (lowered <= prices).all()
    reduced = columns.costs - columns.members @ lowered + sigma
    assert reduced.min() > -1e-9 * contraction.total


def test_a_bound_is_proven_before_the_master_programme_is_solved():
    points = np.random.default_rng(3).normal(size=(300, 2))
    contraction = contract(Instance(points, 60))
    assert isinstance(contraction, Contraction)
    labels = np.argsort(np.argsort(points[:, 0])) * 60 // 300
    run = ColgenBounding().start(contraction, None, labels)
    bounds = [run.advance(np.inf).bound.value]
    while run.advance(np.inf).bound.value == 0.0:
        assert run.n_iterations < 60
    for _ in range(400):
        progress = run.advance(np.inf)
        bounds.append(progress.bound.value)
        if progress.stalled:
            break
    assert progress.stalled
    assert (np.diff(bounds) >= 0.0).all()
    assert len(np.unique(bounds)) > 3
    # What is proven at other prices by another search is the same.
    with constants({INTERIOR_FROM: 1000}):
        other = ColgenBounding().start(contraction, None, labels)
    for _ in range(400):
        progress = other.advance(np.inf)
        if progress.stalled:
            break
    assert progress.stalled
    assert bounds[-1] == pytest.approx(progress.bound.value, rel=1e-6)


def dual(*prices: float, sigma: float = 0.0) -> DualValues:
    return DualValues(np.array(prices), sigma)


def solution_at(own: DualValues, perturbation: float) -> MasterSolution:
    return MasterSolution(Phase.COST, 0.0, np.ones(1), own.prices, own.sigma, perturbation)


def seen(at: DualValues, *cluster: bool, first: bool = True, proven: bool = False) -> Observation:
    return Observation(at, np.array(cluster) if cluster else None, first, proven)


def smoothing(**state: object) -> Stabilisation:
    return replace(Stabilisation.begin(True), **state)


def test_without_stabilisation_prices_are_the_masters_own():
    scheme = Stabilisation.begin(False, dual(1.0, 2.0))
    own = dual(3.0, 4.0)
    assert scheme.penalty() is None
    assert list(scheme.points(own)) == [own]
    assert scheme.solved(solution_at(own, 0.0))


def test_the_box_follows_the_solutions_and_vanishes():
    scheme = Stabilisation.begin(True, dual(1.0, 3.0))
    first = scheme.penalty()
    assert first is not None
    assert (first.width, first.slope) == (2.0 * BOX_WIDTH, BOX_PENALTY)
    scheme.observe(dual(9.0, 9.0), seen(dual(9.0, 9.0)), 2)
    assert scheme.penalty().centre.tolist() == [1.0, 3.0]
    rounds = 0
    while (penalty := scheme.penalty()) is not None:
        slope, rounds = penalty.slope, rounds + 1
        assert rounds < 20
        assert not scheme.solved(solution_at(dual(6.0, 2.0), perturbation=0.1))
    assert slope >= LEAST_PENALTY > slope * BOX_DECREASE
    scheme.strength, scheme.n_solved = 0.04, 1
    assert scheme.penalty().centre.tolist() == [6.0, 2.0]
    assert np.isclose(scheme.penalty().width, 4.0 * BOX_WIDTH * BOX_DECREASE)


def test_smoothed_prices_lie_between_and_end_at_the_masters_own():
    scheme = smoothing(centre=dual(0.0, 10.0), strength=0.9)
    own = dual(10.0, 0.0, sigma=1.0)
    points = list(scheme.points(own))
    assert points[-1] is own
    weights = [at.prices[1] / 10.0 for at in points]
    assert np.allclose(weights, [0.9, 0.8, 0.6, 0.2, 0.0])
    assert np.allclose([at.prices[0] / 10.0 + w for at, w in zip(points, weights, strict=True)], 1)
    assert np.allclose([at.sigma for at in points], 1.0 - np.array(weights))


def test_the_centre_has_the_best_bound_and_is_corrected_by_a_proof():
    scheme = Stabilisation.begin(True)
    worse, better = dual(2.0, 2.0, sigma=1.5), dual(3.0, 3.0, sigma=1.5)
    own = dual(4.0, 4.0)
    for at, centre in ((worse, worse), (better, better), (worse, better)):
        scheme.observe(own, seen(at), 2)
        assert scheme.centre is centre
    proven = replace(better, sigma=2.9)
    scheme.observe(own, seen(proven, proven=True), 2)
    assert scheme.centre is proven
    scheme.observe(own, seen(worse), 2)
    assert scheme.centre is worse


def test_alpha_follows_the_subgradient():
    """At the smoothed prices the cluster met shows in which direction the bound rises."""
    centre, own = dual(0.0, 10.0), dual(10.0, 0.0)
    at = own.towards(centre, ALPHA)
    uphill, downhill = (False, True), (True, False)  # 1 - k a is (1, -1), or (-1, 1)
    for cluster, expected in (
        (uphill, ALPHA / (1.0 + ALPHA_STEP)),
        (downhill, ALPHA + (1.0 - ALPHA) * ALPHA_STEP),
    ):
        scheme = smoothing(centre=centre)
        scheme.observe(own, seen(at, *cluster), 2)
        assert np.isclose(scheme.strength, expected)
    scheme = smoothing(centre=centre)
    scheme.observe(own, seen(at, *uphill, first=False), 2)
    assert scheme.strength == ALPHA
    for _ in range(100):
        scheme.observe(own, seen(at, *downhill), 2)
    assert scheme.strength == MOST_ALPHA
    for _ in range(100):
        scheme.observe(own, seen(at, *uphill), 2)
    assert scheme.strength == 0.0
    assert [point is own for point in scheme.points(own)] == [True]


def begun(contraction: Contraction, pricer, scheme: str) -> Generation:
    """Column generation with a scheme, or with the interior method if a clustering is known."""
    price = contraction.total / contraction.n_blocks
    if scheme == "box":
        centre = DualValues(np.full(contraction.n_blocks, price), 0.5 * price)
        return Generation.begin(contraction, pricer, centre=centre)
    if scheme == "smoothing":
        return Generation.begin(contraction, pricer)
    rows = clusterings(contraction.n_blocks, contraction.k)
    labels = next((row for row in rows if contraction.keeps(row)), None)
    members = np.zeros((0, contraction.n_blocks), bool)
    if labels is not None:
        members = labels == np.arange(contraction.k)[:, None]
    with constants({INTERIOR_FROM: 1}):
        generation = Generation.begin(contraction, pricer, Columns.of(contraction, members))
    is_interior = isinstance(generation.master, InteriorMaster)
    assert is_interior == (labels is not None and contraction.is_monotone)
    return generation


def finished(generation: Generation, cutoff: float = math.inf) -> Step:
    """The last step: steps until none changes anything, or the cutoff is reached."""
    before = -math.inf
    for _ in range(3000):
        step = generation.step(cutoff)
        assert step.bound.value >= before
        before = step.bound.value
        if step.stalled or before >= cutoff:
            return step
    raise AssertionError("column generation does not end")


def assert_solves_the_master(contraction: Contraction, scheme: str, blind: int) -> None:
    pricer = BruteForcePricer(contraction, blind=blind)
    generation = begun(contraction, pricer, scheme)
    step = finished(generation)
    expected, best = master_value(contraction), optimum(contraction)
    scale = contraction.total
    assert step.bound.value <= best + 1e-12 * scale
    labels = generation.clustering()
    if expected is None:
        assert step.event is StepEvent.INFEASIBLE
        assert step.bound.value == math.inf
        assert labels is None
        return
    assert step.event is StepEvent.SOLVED
    expected += contraction.soft.constant
    precision = 1e-6 if scheme == "interior" else 1e-8
    assert math.isclose(step.bound.value, expected, rel_tol=precision, abs_tol=1e-11 * scale)
    assert (generation.affinity() @ contraction.weights >= 1 - 1e-3).all()
    columns, duals = all_columns(contraction), generation.duals
    assert duals is not None
    assert generation.least is not None
    assert (columns.costs - columns.members @ duals.prices >= generation.least).all()
    if labels is not None:
        members = labels == np.arange(contraction.k)[:, None]
        assert members.any(axis=1).all()
        assert allowed(contraction, members).all()
        assert contraction.cost(labels) >= best * (1 - 1e-12)


@pytest.mark.long
@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 1, 3]))
@examples(60)
def test_every_scheme_ends_at_the_value_of_the_whole_master(seed, scheme, blind):
    contraction = drawn_node(seed, m_max=7)[1] if seed % 2 else random_contraction(seed)
    assert_solves_the_master(contraction, scheme, blind)


@pytest.mark.parametrize(("n", "k", "blind"), [(8, 3, 2), (9, 4, 0), (10, 2, 3)])
def test_the_interior_method_ends_at_the_value_of_the_whole_master(n, k, blind):
    assert_solves_the_master(planar(n, k), "interior", blind)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scales(scheme):
    """Tolerances are relative to the data."""
    for seed in range(6):
        values = []
        for factor in (1.0, 1e-5, 1e12):
            contraction = random_contraction(seed, factor=factor)
            generation = begun(contraction, BruteForcePricer(contraction), scheme)
            step = finished(generation)
            if step.event is StepEvent.INFEASIBLE:
                values.append(math.inf)
                continue
            values.append(step.bound.value / factor**2)
            assert step.bound.value <= optimum(contraction)
        assert np.allclose(values, values[0], rtol=1e-8, atol=1e-10)


def unpropagated(pairs: list[tuple[int, int]], m: int, k: int, size: int) -> Contraction:
    """Points of a line with cannot-links and a maximum size, as if contracting had not looked."""
    constraints = (MaximumSize(size),) if size < m else ()
    points = np.arange(float(m))[:, None] ** 2
    contraction = contract(Instance(points, m, cluster_constraints=constraints))
    assert isinstance(contraction, Contraction)
    links = np.array(sorted(pairs), np.intp).reshape(-1, 2)
    return replace(contraction, k=k, cannot_link=links)


CLIQUE = [(i, j) for i in range(4) for j in range(i + 1, 4)]
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
WHEEL = CYCLE + [(i, 5) for i in range(5)]


@pytest.mark.parametrize("blind", [0, 1, 2])
@pytest.mark.parametrize(
    "contraction",
    [
        unpropagated(CLIQUE, m=6, k=3, size=6),
        unpropagated(CYCLE, m=5, k=2, size=5),
        unpropagated(WHEEL, m=7, k=3, size=7),
        unpropagated([], m=8, k=3, size=2),
        unpropagated([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)], m=4, k=2, size=2),
    ],
    ids=["clique", "odd cycle", "odd wheel", "size", "both"],
)
def test_infeasibility_is_proven_by_farkas_pricing(contraction, blind):
    assert master_value(contraction) is None
    assert_solves_the_master(contraction, "smoothing", blind)


@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 2]))
@examples(60)
def test_feasible_or_not_the_master_is_solved(seed, scheme, blind):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 8))
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if rng.random() < 0.5]
    contraction = unpropagated(pairs, m, int(rng.integers(1, m)), int(rng.integers(2, m + 1)))
    assert_solves_the_master(contraction, scheme, blind)


@given(SEEDS, st.sampled_from(SCHEMES))
@examples(60)
def test_a_cutoff_below_the_masters_value_is_reached_with_less_pricing(seed, scheme):
    contraction = random_contraction(seed)
    value = master_value(contraction)
    if value is None or value < 1e-6:
        return
    cutoff = 0.99 * value
    pricer = BruteForcePricer(contraction)
    step = finished(begun(contraction, pricer, scheme), cutoff)
    assert cutoff <= step.bound.value <= optimum(contraction)


def test_the_optimal_clustering_and_a_centre_save_steps():
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.normal(size=(10, 2)), 4))
    assert isinstance(contraction, Contraction)
    cold = Generation.begin(contraction, BruteForcePricer(contraction))
    step = finished(cold)
    assert cold.duals is not None
    warm = Generation.begin(
        contraction,
        BruteForcePricer(contraction),
        cold.columns,
        cold.duals,
    )
    again = finished(warm)
    assert math.isclose(again.bound.value, step.bound.value, rel_tol=1e-9)
    assert warm.n_steps < cold.n_steps / 2


def test_an_integral_master_gives_its_clustering():
    found = 0
    for seed in range(30):
        contraction = random_contraction(seed)
        value, best = master_value(contraction), optimum(contraction)
        if value is None or value < best - 1e-9:
            continue
        generation = Generation.begin(contraction, BruteForcePricer(contraction))
        finished(generation)
        labels = generation.clustering()
        assert labels is not None
        assert math.isclose(contraction.cost(labels), best, rel_tol=1e-9, abs_tol=1e-12)
        found += 1
    assert found > 10


@pytest.mark.long
@given(SEEDS)
@examples(40)
def test_a_child_begins_with_its_parents_clusters_and_prices(seed):
    rng = np.random.default_rng(seed)
    instance = Instance(rng.normal(size=(8, 2)), 3)
    parent = contract(instance)
    assert isinstance(parent, Contraction)
    generation = Generation.begin(parent, BruteForcePricer(parent))
    bound = finished(generation).bound
    warm = generation.warm_start()
    assert len(warm.columns) == min(len(generation.columns), 80)
    i, j = sorted(rng.permutation(8)[:2].tolist())
    for decision in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, blocks=parent.block_of, **decision)
        assert isinstance(child, Contraction)
        columns, duals = warm.for_child(child)
        assert isinstance(duals, DualValues)
        every = all_columns(child)
        # The prices prove for the child what they prove for the parent.
        assert (every.costs - every.members @ duals.prices).min() >= -duals.sigma - 1e-9
        assert math.isclose(duals.value(3), bound.value, rel_tol=1e-6)
        went_on = Generation.begin(child, BruteForcePricer(child), columns, duals)
        assert finished(went_on).bound.value >= bound.value * (1 - 1e-9)


def test_the_scatter_of_blocks_is_the_first_bound():
    contraction = contract(Instance(np.arange(5.0)[:, None], 2, must_link=[(0, 1)]))
    assert isinstance(contraction, Contraction)
    generation = Generation.begin(contraction, BruteForcePricer(contraction))
    assert 0.4999 < generation.bound.value <= 0.5
    assert generation.duals is None
    assert not generation.affinity().any()
    assert len(generation.columns) == len(Columns.singletons(contraction))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(10))
def test_points_that_coincide_do_not_upset_the_units_of_the_master(scheme, seed):
    """Their clusters cost nothing but rounding: that is no unit for perturbations."""
    points = np.random.default_rng(seed).normal(size=(5, 8))
    points[1] = points[0]
    contraction = contract(Instance(points, 3))
    assert isinstance(contraction, Contraction)
    least = optimum(contraction)
    generation = begun(contraction, BruteForcePricer(contraction), scheme)
    step = finished(generation)
    assert step.event is StepEvent.SOLVED
    assert step.bound.value <= least + 1e-9
    assert step.bound.value == pytest.approx(master_value(contraction), rel=1e-6)


class Unhurried(BruteForcePricer):
    """Needs several slices for each search, fewer for lower targets."""

    def __init__(self, contraction):
        super().__init__(contraction)
        self.asked = None
        self.slices_left = 0

    def exact(self, prices, target):
        if self.asked is None or self.asked[1] != target or (self.asked[0] != prices).any():
            outcome = super().exact(prices, target)
            depth = target / min(outcome.least, -1e-9)  # above 1: there is nothing so low
            self.asked, self.slices_left = (prices.copy(), target), 0 if depth > 1.3 else 40
        if self.slices_left:
            self.slices_left -= 1
            return PricingOutcome(np.zeros((0, len(prices)), bool), None)
        self.asked = None
        return super().exact(prices, target)


def test_something_is_proven_while_exact_pricing_takes_long():
    """By lower targets, before the first search has ended at its own."""
    points = np.random.default_rng(5).normal(size=(9, 2))
    contraction = contract(Instance(points, 3))
    assert isinstance(contraction, Contraction)
    generation = Generation.begin(contraction, Unhurried(contraction))
    proven = []
    while True:
        step = generation.step(math.inf)
        if step.stalled:
            break
        proven.append(step.bound.value)
    assert proven == sorted(proven)
    assert 0.0 < proven[-1] < step.bound.value <= optimum(contraction) + 1e-9
    assert step.bound.value == pytest.approx(master_value(contraction), rel=1e-6)

"""Interior point method against an established solver, and column generation with it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation import Generation
from sdpbb.bounds.colgen.interior.first_prices import first_prices
from sdpbb.bounds.colgen.interior.master import InteriorState, covering_prefix, repaired
from sdpbb.bounds.colgen.interior.method import CoverProgramme, solve_cover
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.brute_force import BruteForcePricer, all_columns, master_value
from tests.constants import constants
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
INTERIOR_FROM = "bounds.colgen.masters.INTERIOR_FROM"
MAX_COLUMNS_PER_BLOCK = "bounds.colgen.interior.master.MAX_COLUMNS_PER_BLOCK"


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


@pytest.mark.parametrize(("n", "k", "blind"), [(9, 3, 2), (10, 4, 0), (11, 2, 3)])
def test_generation_ends_at_the_value_of_the_master_programme(n, k, blind):
    contraction = planar(n, k)
    pricer = BruteForcePricer(contraction, blind=blind)
    known = np.arange(n) % k == np.arange(k)[:, None]
    columns = Columns.of(contraction, known)
    with constants({INTERIOR_FROM: 1}):
        generation = Generation(contraction, pricer, columns)
    assert isinstance(generation.state.master, InteriorState)
    for _ in range(300):
        if generation.step(np.inf).stalled:
            break
    else:
        raise AssertionError("no end")
    value = master_value(contraction)
    assert generation.bound.value <= value * (1.0 + 1e-9)
    assert generation.bound.value == pytest.approx(value, rel=1e-6)
    duals, least = generation.duals, generation.least
    assert duals is not None
    assert least is not None
    every = all_columns(contraction)
    assert (every.costs - every.members @ duals.prices >= least).all()


def test_a_resumed_programme_goes_on_to_the_last_bit():
    contraction = planar(10, 3)
    columns = Columns.of(contraction, np.arange(10) % 3 == np.arange(3)[:, None])
    pricer = BruteForcePricer(contraction)
    with constants({INTERIOR_FROM: 1, MAX_COLUMNS_PER_BLOCK: 4}):
        whole = Generation(contraction, pricer, columns)
        parts = Generation(contraction, BruteForcePricer(contraction), columns)
    for _ in range(40):
        assert whole.step(np.inf) == parts.step(np.inf)
        parts = Generation(contraction, BruteForcePricer(contraction), state=parts.state)


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

"""Master programmes and column generation against the whole programme over all clusters."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.bounds.bound import BoundProgress
from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.generation import Generation
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster, covering_prefix
from sdpbb.bounds.lagrangian.sets.pricer import PricingOutcome
from sdpbb.bounds.staged.methods import ColgenBounding
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.cluster_constraints import MaximumSize
from tests.bounds.lagrangian.brute_force import (
    BruteForcePricer,
    all_columns,
    drawn_node,
    master_value,
    optimum,
    random_contraction,
)
from tests.constants import constants
from tests.enumeration import clusterings
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
SCHEMES = ("smoothing", "box", "interior")
INTERIOR_FROM = "bounds.lagrangian.masters.INTERIOR_FROM"
# Columns are deleted from two per block on.
FEW = {
    f"bounds.lagrangian.masters.{name}.MAX_COLUMNS_PER_BLOCK": 2 for name in ("simplex", "interior")
}


def test_a_partition_is_told_by_its_columns():
    contraction = contract(Instance(np.arange(6.0)[:, None], 3))
    assert isinstance(contraction, Contraction)
    members = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 0, 1]], bool)
    assert covering_prefix(Columns.of(contraction, members), 3) == 2
    assert covering_prefix(Columns.of(contraction, members), 1) == 0
    assert covering_prefix(Columns.of(contraction, members[[0, 2, 1]]), 3) == 0
    assert covering_prefix(Columns.of(contraction, members[:1]), 3) == 0


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


def finished(generation: Generation, cutoff: float = math.inf) -> BoundProgress:
    """The last step: steps until none changes anything, or the cutoff is reached."""
    before = -math.inf
    for _ in range(3000):
        step = generation.advance(cutoff)
        assert step.bound.value >= before
        before = step.bound.value
        if step.stalled or before >= cutoff:
            return step
    raise AssertionError("column generation does not end")


def assert_solves_the_master(
    contraction: Contraction, scheme: str, blind: int, deletes: bool = False
) -> None:
    pricer = BruteForcePricer(contraction, blind=blind)
    with constants(FEW if deletes else {}):
        generation = begun(contraction, pricer, scheme)
    step = finished(generation)
    expected, best = master_value(contraction), optimum(contraction)
    scale = contraction.total
    assert step.bound.value <= best + 1e-12 * scale
    labels = generation.clustering()
    if expected is None:
        assert step.bound.value == math.inf
        assert labels is None
        return
    assert step.stalled
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
@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 1, 3]), st.booleans())
@examples(90)
def test_every_scheme_ends_at_the_value_of_the_whole_master(seed, scheme, blind, deletes):
    contraction = drawn_node(seed, m_max=7)[1] if seed % 2 else random_contraction(seed)
    # Relative gaps are gaps to a positive value: no run asks for more where clusterings are free.
    assume(scheme != "interior" or master_value(contraction) != 0.0)
    assert_solves_the_master(contraction, scheme, blind, deletes)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scales(scheme):
    """Tolerances are relative to the data."""
    for seed in range(6):
        values = []
        for factor in (1.0, 1e-5, 1e12):
            contraction = random_contraction(seed, factor=factor)
            generation = begun(contraction, BruteForcePricer(contraction), scheme)
            step = finished(generation)
            if step.bound.value == math.inf:
                values.append(math.inf)
                continue
            values.append(step.bound.value / factor**2)
            assert step.bound.value <= optimum(contraction)
        precision = 1e-6 if scheme == "interior" else 1e-8
        assert np.allclose(values, values[0], rtol=precision, atol=1e-10)


def unpropagated(pairs: list[tuple[int, int]], m: int, k: int, size: int) -> Contraction:
    """Points of a line with cannot-links and a maximum size, as if contracting had not looked."""
    constraints = (MaximumSize(size),) if size < m else ()
    points = np.arange(float(m))[:, None] ** 2
    contraction = contract(Instance(points, m, cluster_constraints=constraints))
    assert isinstance(contraction, Contraction)
    links = np.array(sorted(pairs), np.intp).reshape(-1, 2)
    return replace(contraction, k=k, cannot_link=links)


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
    assert warm.n_iterations < cold.n_iterations / 2


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
    assert step.stalled
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
        step = generation.advance(math.inf)
        if step.stalled:
            break
        proven.append(step.bound.value)
    assert proven == sorted(proven)
    assert 0.0 < proven[-1] < step.bound.value <= optimum(contraction) + 1e-9
    assert step.bound.value == pytest.approx(master_value(contraction), rel=1e-6)

import copy
import math
import pickle
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sdpbb.bounds.certified  # noqa: F401 - evidence can be stored
from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.generation import Generation, Step, StepEvent
from sdpbb.bounds.colgen.pricing.protocol import PricingOutcome
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.cluster_constraints import MaximumSize, SoftCannotLinks
from sdpbb.runtime.archive.file import read_archive, write_archive
from tests.bounds.colgen.brute_force import (
    BruteForcePricer,
    all_columns,
    master_value,
    optimum,
    random_contraction,
)
from tests.constants import constants
from tests.examples import examples

SCHEMES = ("smoothing", "box")
SEEDS = st.integers(0, 10**6)


@pytest.fixture(autouse=True, scope="module")
def few_columns() -> Iterator[None]:
    with constants({"bounds.colgen.master.MAX_COLUMNS_PER_BLOCK": 4}):
        yield


def centre_of(scheme: str, contraction: Contraction) -> DualValues | None:
    """Dual values to begin from, with which the scheme is chosen."""
    price = contraction.total / contraction.n_blocks
    equal = np.full(contraction.n_blocks, price)
    return None if scheme == "smoothing" else DualValues(equal, 0.5 * price)


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


def constrained(seed: int) -> Contraction:
    """The first contraction with a maximum size, and soft cannot-links now and then, that is not
    refused."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(4, 9))
        pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
        order = rng.permutation(len(pairs))
        soft = [tuple(pair) for pair in pairs[order[: n - 1]].tolist()]
        constraints = [MaximumSize(int(rng.integers(1, n)))]
        if rng.random() < 0.5:
            constraints.append(SoftCannotLinks(soft, int(rng.integers(0, 3))))
        instance = Instance(
            rng.normal(size=(n, 2)),
            int(rng.integers(1, n)),
            cannot_link=pairs[order[n : n + int(rng.integers(0, n))]],
            cluster_constraints=tuple(constraints),
        )
        contraction = contract(instance)
        if isinstance(contraction, Contraction):
            return contraction


def assert_solves_the_master(contraction: Contraction, scheme: str, blind: int) -> None:
    pricer = BruteForcePricer(contraction, blind=blind)
    generation = Generation(contraction, pricer, centre=centre_of(scheme, contraction))
    step = finished(generation)
    expected, best = master_value(contraction), optimum(contraction)
    assert step.bound.value <= best
    labels = generation.clustering()
    if expected is None:
        assert step.event is StepEvent.INFEASIBLE
        assert step.bound.value == math.inf
        assert labels is None
        return
    assert step.event is StepEvent.SOLVED
    scale = contraction.total
    assert math.isclose(step.bound.value, expected, rel_tol=1e-8, abs_tol=1e-11 * scale)
    Z = generation.affinity()
    assert (Z @ contraction.weights >= 1 - 1e-6).all()
    assert np.array_equal(Z, Z.T)
    if labels is not None:
        members = labels == np.arange(contraction.k)[:, None]
        assert members.any(axis=1).all()
        assert allowed(contraction, members).all()
        assert contraction.cost(labels) >= best * (1 - 1e-12)


@pytest.mark.long
@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 1, 3]))
@examples(100)
def test_every_scheme_ends_at_the_value_of_the_whole_master(seed, scheme, blind):
    assert_solves_the_master(random_contraction(seed), scheme, blind)


@pytest.mark.long
@given(SEEDS, st.sampled_from(SCHEMES), st.sampled_from([0, 3]))
@examples(60)
def test_constraints_on_clusters_are_priced_in(seed, scheme, blind):
    assert_solves_the_master(constrained(seed), scheme, blind)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scales(scheme):
    """Tolerances are relative to the data."""
    for seed in range(6):
        values = []
        for factor in (1.0, 1e-5, 1e12):
            contraction = random_contraction(seed, factor=factor)
            generation = Generation(
                contraction,
                BruteForcePricer(contraction),
                centre=centre_of(scheme, contraction),
            )
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
    step = finished(Generation(contraction, pricer, centre=centre_of(scheme, contraction)), cutoff)
    assert cutoff <= step.bound.value <= optimum(contraction)


@pytest.mark.long
@example(3972, "smoothing", True)  # where the columns that covered all blocks had been purged
@given(SEEDS, st.sampled_from(SCHEMES), st.booleans())
@examples(40)
def test_left_and_restored_after_every_step_it_goes_on_to_the_last_bit(seed, scheme, has_cutoff):
    contraction = constrained(seed) if seed % 2 else random_contraction(seed)
    best = optimum(contraction)
    cutoff = 0.98 * best if has_cutoff and math.isfinite(best) else math.inf
    centre = centre_of(scheme, contraction)
    pricers = [BruteForcePricer(contraction, 3) for _ in range(2)]
    straight, other = (Generation(contraction, pricer, centre=centre) for pricer in pricers)
    for _ in range(3000):
        step = straight.step(cutoff)
        assert step == other.step(cutoff)
        assert straight.affinity().tobytes() == other.affinity().tobytes()
        if step.stalled or step.bound.value >= cutoff:
            break
        state = pickle.loads(pickle.dumps(other.state))
        other = Generation(contraction, pricers[1], state=state)
    assert step.stalled or step.bound.value >= cutoff
    labels = [generation.clustering() for generation in (straight, other)]
    assert (labels[0] is None) == (labels[1] is None)
    assert labels[0] is None or np.array_equal(labels[0], labels[1])


@pytest.mark.parametrize("n_steps", [0, 1, 2, 3, 5, 50])
@pytest.mark.parametrize("k", [2, 3])
def test_an_archive_holds_every_state(tmp_path, n_steps, k):
    contraction = unpropagated(CYCLE, m=6, k=k, size=6)
    pricer = BruteForcePricer(contraction, 2)
    straight = Generation(contraction, pricer, centre=centre_of("box", contraction))
    for _ in range(n_steps):
        straight.step(math.inf)
    path = tmp_path / "state"
    write_archive(path, (straight.state, straight.warm_start()))
    state, warm = read_archive(path)
    other = Generation(contraction, copy.copy(pricer), state=state)
    assert len(warm.for_child(contraction)[0]) == len(straight.columns)
    for _ in range(50):
        assert straight.step(math.inf) == other.step(math.inf)
    assert straight.affinity().tobytes() == other.affinity().tobytes()


def test_the_optimal_clustering_and_a_centre_save_steps():
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.normal(size=(10, 2)), 4))
    assert isinstance(contraction, Contraction)
    cold = Generation(contraction, BruteForcePricer(contraction))
    step = finished(cold)
    assert cold.duals is not None
    warm = Generation(
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
        generation = Generation(contraction, BruteForcePricer(contraction))
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
    generation = Generation(parent, BruteForcePricer(parent))
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
        went_on = Generation(child, BruteForcePricer(child), columns, duals)
        assert finished(went_on).bound.value >= bound.value * (1 - 1e-9)


def test_children_of_a_node_without_a_cover_have_no_prices():
    generation = Generation(
        unpropagated(CYCLE, m=5, k=2, size=5),
        BruteForcePricer(unpropagated(CYCLE, m=5, k=2, size=5)),
    )
    generation.step(math.inf)
    assert generation.duals is None
    assert generation.warm_start().duals is None
    assert len(generation.warm_start().columns) == len(generation.columns)


def test_the_scatter_of_blocks_is_the_first_bound():
    contraction = contract(Instance(np.arange(5.0)[:, None], 2, must_link=[(0, 1)]))
    assert isinstance(contraction, Contraction)
    generation = Generation(contraction, BruteForcePricer(contraction))
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
    generation = Generation(
        contraction,
        BruteForcePricer(contraction),
        centre=centre_of(scheme, contraction),
    )
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
    generation = Generation(contraction, Unhurried(contraction))
    proven = []
    while True:
        step = generation.step(math.inf)
        if step.stalled:
            break
        proven.append(step.bound.value)
    assert proven == sorted(proven)
    assert 0.0 < proven[-1] < step.bound.value <= optimum(contraction) + 1e-9
    assert step.bound.value == pytest.approx(master_value(contraction), rel=1e-6)

"""The pricer against all clusters, with constraints that it has to learn."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.colgen.columns import cluster_costs
from sdpbb.bounds.colgen.generation import Generation, StepEvent
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.brute_force import master_value, optimum
from tests.bounds.colgen.test_pricing import SEEDS, drawn, random_prices
from tests.constants import GENEROUS, NODES_PER_SLICE, constants
from tests.constrained import (
    allowed_sets,
    any_of,
    custom,
    maximum_size,
    soft_cannot_links,
)
from tests.examples import examples

# Learned, mixed with budgets, and budgets alone.
KINDS = st.sampled_from([(custom,), (any_of,), (custom, soft_cannot_links), (maximum_size,), ()])
SLICES = st.sampled_from([1, 3, 4000])


def larger() -> tuple[Contraction, np.ndarray]:
    """Blocks and prices whose pricing takes many nodes."""
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(30, 3)), 4))
    assert isinstance(contraction, Contraction)
    return contraction, np.full(30, 0.5 * contraction.total / 30)


def restored(contraction: Contraction, pricer: BranchingPricer) -> BranchingPricer:
    """Another one that goes on where this one is."""
    state = pickle.loads(pickle.dumps(pricer.state))
    return BranchingPricer(contraction, state)


def assert_learned(contraction: Contraction, pricer: BranchingPricer, before: np.ndarray) -> None:
    """What is known to be forbidden is, none of it in vain, and nothing has been lost."""
    forbidden = pricer.state.forbidden
    for row in forbidden:
        assert not contraction.allows(np.flatnonzero(row))
        for block in np.flatnonzero(row):
            assert contraction.allows(np.setdiff1d(np.flatnonzero(row), [block]))
    assert {row.tobytes() for row in before} <= {row.tobytes() for row in forbidden}
    if not contraction.oracles:
        assert not len(forbidden)


@pytest.mark.long
@given(SEEDS, KINDS, SLICES)
@examples(70, derandomize=True)
def test_the_least_value_is_that_of_the_allowed_clusters(seed, kinds, nodes_per_slice):
    instance, contraction = drawn(seed, kinds, m_max=8)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    values = cluster_costs(contraction, sets) - sets @ prices
    known = {row.tobytes() for row in sets}
    with constants({NODES_PER_SLICE: nodes_per_slice}):
        pricer = BranchingPricer(contraction)
        margin = pricer.problem().margin(prices)
        for target in (0.0, 0.5 * min(0.0, values.min()), min(0.0, values.min())):
            least = None
            for _ in range(10_000):
                before = pricer.state.forbidden
                outcome = pricer.exact(prices, target)
                assert all(row.tobytes() in known for row in outcome.members)
                found = cluster_costs(contraction, outcome.members) - outcome.members @ prices
                assert (found < target + margin).all()
                assert_learned(contraction, pricer, before)
                least = outcome.least
                if least is not None:
                    break
            assert least is not None
            truth = min(target, values.min())
            assert least <= values.min()
            assert least == pytest.approx(truth, rel=0, abs=3 * margin)


@pytest.mark.long
@given(SEEDS, KINDS, SLICES)
@examples(60, derandomize=True)
def test_the_largest_weight_is_that_of_the_allowed_clusters(seed, kinds, nodes_per_slice):
    instance, contraction = drawn(seed, kinds, m_max=8)
    sets = allowed_sets(instance, contraction)
    weights = np.random.default_rng(seed).integers(0, 2**40, contraction.n_blocks)
    largest = int((sets.astype(np.int64) @ weights).max())
    known = {row.tobytes() for row in sets}
    with constants({NODES_PER_SLICE: nodes_per_slice}):
        pricer = BranchingPricer(contraction)
        for target in (0, largest // 2, largest - 1, largest, largest + 7):
            most = None
            for _ in range(10_000):
                outcome = pricer.farkas_exact(weights, target)
                assert all(row.tobytes() in known for row in outcome.members)
                assert (outcome.members.astype(np.int64) @ weights > target).all()
                most = outcome.most
                if most is not None:
                    break
            assert most == max(target, largest)


@given(SEEDS, KINDS)
@examples(60, derandomize=True)
def test_heuristics_return_allowed_clusters_of_negative_reduced_cost(seed, kinds):
    instance, contraction = drawn(seed, kinds, m_max=8)
    known = {row.tobytes() for row in allowed_sets(instance, contraction)}
    prices = random_prices(contraction, seed)
    pricer = BranchingPricer(contraction)
    rounding = pricer.problem().margin(prices)
    for sigma in (0.0, 0.1 * contraction.total, -math.inf):
        before = pricer.state.forbidden
        found = pricer.heuristic(prices, sigma)
        assert_learned(contraction, pricer, before)
        assert all(row.tobytes() in known for row in found)
        reduced = cluster_costs(contraction, found) - found @ prices + sigma
        assert (reduced < rounding).all()
    for sigma in (0.0, 0.5 * np.abs(prices).sum()):
        found = pricer.farkas_heuristic(np.abs(prices), sigma)
        assert all(row.tobytes() in known for row in found)
        assert (found @ np.abs(prices) > sigma * (1 - 1e-12)).all()


@pytest.mark.long
@given(SEEDS, KINDS, st.sampled_from([1, 2, 5]))
@examples(25, derandomize=True)
def test_a_restored_pricer_goes_on_to_the_last_bit(seed, kinds, nodes_per_slice):
    _, contraction = drawn(seed, kinds, m_max=8)
    rng = np.random.default_rng(seed)
    with constants({NODES_PER_SLICE: nodes_per_slice}):
        pricer = BranchingPricer(contraction)
        other = restored(contraction, pricer)
        weights = rng.integers(0, 2**40, contraction.n_blocks)
        prices = random_prices(contraction, seed)
        target = 0.0
        for _ in range(60):
            call = rng.integers(6)
            if call == 0:  # something else begins in the middle of a search
                prices = random_prices(contraction, int(rng.integers(10**6)))
                target = float(rng.choice([0.0, -0.1 * contraction.total]))
            if call == 1:
                outcomes = [p.heuristic(prices, 0.0) for p in (pricer, other)]
                assert np.array_equal(*outcomes)
            elif call == 2:
                outcomes = [p.farkas_exact(weights, 0) for p in (pricer, other)]
                assert outcomes[0].most == outcomes[1].most
                assert np.array_equal(outcomes[0].members, outcomes[1].members)
            else:
                outcomes = [p.exact(prices, target) for p in (pricer, other)]
                assert outcomes[0].least == outcomes[1].least
                assert np.array_equal(outcomes[0].members, outcomes[1].members)
            assert np.array_equal(pricer.state.forbidden, other.state.forbidden)
            other = restored(contraction, other)


@constants({NODES_PER_SLICE: 1})
def test_an_unfinished_slice_proves_nothing():
    contraction, prices = larger()
    pricer = BranchingPricer(contraction)
    n_slices = 0
    while pricer.exact(prices, 0.0).least is None:
        n_slices += 1
        assert pricer.state.search is not None
        assert not pricer.state.search.is_finished
    assert n_slices > 5
    assert pricer.state.search is None


@constants({NODES_PER_SLICE: 1})
def test_other_arguments_begin_anew():
    contraction, prices = larger()
    pricer = BranchingPricer(contraction)
    for _ in range(3):
        pricer.exact(prices, 0.0)
    assert pricer.state.search.counters[2] == 3
    pricer.exact(prices, -1e-3)
    assert pricer.state.search.counters[2] == 1
    pricer.exact(prices + 1e-3, -1e-3)
    assert pricer.state.search.counters[2] == 1


@constants({NODES_PER_SLICE: 1})
def test_prices_given_are_not_held_by_reference():
    contraction, prices = larger()
    pricer = BranchingPricer(contraction)
    pricer.exact(prices, 0.0)
    prices *= 0.5
    pricer.exact(prices, 0.0)
    assert pricer.state.search.counters[2] == 1


@pytest.mark.long
@given(SEEDS, KINDS, st.sampled_from([1, 7]))
@examples(50, derandomize=True)
def test_generation_with_interrupted_pricing_never_proves_too_much(seed, kinds, nodes_per_slice):
    _, contraction = drawn(seed, kinds, m_max=7)
    pricer = BranchingPricer(contraction)
    generation = Generation(contraction, pricer)
    best, value = optimum(contraction), master_value(contraction)
    rng = np.random.default_rng(seed)
    early = math.inf if value is None else 0.9 * value
    cutoff = float(rng.choice([math.inf, early]))
    rounding = 1e-11 * contraction.total
    for _ in range(20_000):
        with constants({NODES_PER_SLICE: nodes_per_slice}):
            step = generation.step(cutoff)
        assert step.bound.value <= best
        if value is not None:
            assert step.bound.value <= value * (1 + 1e-9) + rounding
        if step.stalled:
            break
        if step.event is StepEvent.PRICING and rng.random() < 0.98:
            continue
        states = pickle.loads(pickle.dumps((pricer.state, generation.state)))
        pricer = BranchingPricer(contraction, states[0])
        generation = Generation(contraction, pricer, state=states[1])
    assert step.stalled
    if value is None:
        assert step.event is StepEvent.INFEASIBLE
        assert step.bound.value == math.inf
    else:
        assert step.event is StepEvent.SOLVED
        assert step.bound.value == pytest.approx(value, rel=1e-8, abs=rounding)


@pytest.mark.long
@given(SEEDS, KINDS)
@examples(40, derandomize=True)
def test_a_node_bounded_in_short_slices_never_proves_too_much(seed, kinds):
    _, contraction = drawn(seed, kinds, m_max=7)
    best = optimum(contraction)
    run = ColgenBounding().start(contraction, None)
    cutoff = math.inf if math.isinf(best) else 1.1 * best + 1e-6
    for _ in range(20_000):
        with constants({**GENEROUS, NODES_PER_SLICE: 20}):
            progress = run.advance(cutoff)
        assert progress.bound.value <= best
        if progress.stalled or progress.bound.value >= cutoff:
            break
    assert progress.stalled or progress.bound.value >= cutoff
    assert math.isinf(progress.bound.value) == math.isinf(best)

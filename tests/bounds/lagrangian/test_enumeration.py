"""The proof from enumerated clusters, at any prices, against all clusterings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.enumeration import Enumeration
from sdpbb.bounds.lagrangian.sets.pricer import BranchingPricer
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.lagrangian.brute_force import all_columns, drawn_node, optimum, random_prices
from tests.constants import GENEROUS, NODES_PER_SLICE, constants
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
MAX_GAP, MAX_SLICES, MAX_PRICING_SLICES, MAX_CLUSTERS = GENEROUS


def begun(contraction, at, cutoff) -> Enumeration:
    return Enumeration.start(contraction, BranchingPricer.begin(contraction), at, cutoff)


def finished(enumeration: Enumeration) -> Enumeration:
    for _ in range(100_000):
        if enumeration.is_finished:
            return enumeration
        enumeration.advance()
    raise AssertionError("the enumeration does not end")


def random_duals(contraction: Contraction, seed: int) -> DualValues:
    """Prices of any quality, and the sigma that they need, more, or less."""
    prices = random_prices(contraction, seed)
    columns = all_columns(contraction)
    least = float((columns.costs - columns.members @ prices).min())
    share = float(np.random.default_rng([seed, 7]).choice([0.5, 1.0, 1.0, 1.1]))
    return DualValues(prices, max(0.0, -share * least))


def cutoffs(contraction: Contraction, best: float) -> list[float]:
    """Below the optimum, and above."""
    if math.isinf(best):
        return [0.5 * contraction.total + 1e-3, 2.0 * contraction.total + 1e-3]
    unit = 1e-3 * contraction.total
    below = [0.9 * best] if best > 1e-9 * contraction.total else []
    return [*below, best + unit, 1.5 * best + unit, 3.0 * contraction.total]


@pytest.mark.long
@given(SEEDS, st.sampled_from([3, 4000]))
@examples(60, derandomize=True)
def test_it_finds_the_optimum_or_proves_the_cutoff(seed, nodes_per_slice):
    _, contraction = drawn_node(seed, m_max=7)
    best, at = optimum(contraction), random_duals(contraction, seed)
    for cutoff in cutoffs(contraction, best):
        with constants({**GENEROUS, NODES_PER_SLICE: nodes_per_slice}):
            enumeration = begun(contraction, at, cutoff)
            while not enumeration.is_finished:
                enumeration.advance()
                assert enumeration.bound.value <= best
                assert enumeration.bound.value <= cutoff or math.isinf(best) or cutoff < best
        labels = enumeration.labels
        if best < cutoff:
            assert labels is not None
            assert len(np.unique(labels)) == contraction.k
            assert contraction.keeps(labels)
            rounding = 1e-11 * contraction.total
            assert contraction.cost(labels) == pytest.approx(best, rel=1e-11, abs=rounding)
            assert enumeration.bound.value == pytest.approx(best, rel=1e-9, abs=rounding)
        else:
            assert labels is None
            assert enumeration.bound.value >= cutoff


def value_at(contraction: Contraction, at: DualValues) -> float:
    """The Lagrangian bound of these dual values, with the least value above -sigma counted as
    that."""
    columns = all_columns(contraction)
    least = float((columns.costs - columns.members @ at.prices).min())
    paid = contraction.soft.constant
    return float(at.prices.sum()) + contraction.k * min(least, -at.sigma) + paid


@pytest.mark.long
@given(
    SEEDS,
    st.sampled_from(
        [
            {MAX_GAP: 1e12, MAX_CLUSTERS: 1},
            {MAX_GAP: 1e12, MAX_SLICES: 1, MAX_PRICING_SLICES: 1},
            {MAX_GAP: 1e12, MAX_SLICES: 3, MAX_PRICING_SLICES: 3},
            {MAX_GAP: 1e-9},
        ]
    ),
)
@examples(80, derandomize=True)
def test_given_up_it_proves_no_more_than_the_prices_do(seed, limits):
    _, contraction = drawn_node(seed, m_max=7)
    best, at = optimum(contraction), random_duals(contraction, seed)
    cutoff = 2.0 * (best if math.isfinite(best) else contraction.total) + 1e-3
    with constants({**limits, NODES_PER_SLICE: 2}):
        enumeration = finished(begun(contraction, at, cutoff))
    assert enumeration.bound.value <= best
    if enumeration.labels is None and enumeration.bound.value < cutoff:
        rounding = 1e-10 * (np.abs(at.prices).sum() + contraction.total)
        lagrangian = value_at(contraction, at)
        assert enumeration.bound.value <= max(0.0, lagrangian) + rounding
        if enumeration.bound.value != 0.0:  # the pricing has been done
            assert enumeration.bound.value == pytest.approx(lagrangian, rel=1e-9, abs=rounding)


def larger() -> tuple[Contraction, DualValues]:
    """Nine blocks at prices that leave a wide gap."""
    contraction = contract(Instance(np.random.default_rng(3).normal(size=(9, 2)), 3))
    assert isinstance(contraction, Contraction)
    return contraction, DualValues(np.full(9, 0.5 * contraction.total / 9), 0.0)


@pytest.mark.parametrize("cutoff", [0.0, -1e-3])
def test_a_cutoff_of_zero_and_less(cutoff):
    """No clustering costs less, and that is all there is to prove."""
    contraction, _ = larger()
    at = DualValues(np.zeros(9), 0.0)
    with constants(GENEROUS):
        enumeration = finished(begun(contraction, at, cutoff))
    assert enumeration.labels is None
    assert cutoff - 1e-12 <= enumeration.bound.value <= 1e-12

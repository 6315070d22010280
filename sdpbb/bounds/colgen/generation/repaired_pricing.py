"""Exact pricing at repaired prices, for bounds before the master programme is solved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.parts import GenerationParts
from sdpbb.bounds.colgen.generation.state import ExactPricing, StepEvent
from sdpbb.bounds.colgen.stabilisation import DualValues

# Repairs of prices in a row, and the share of what a bound lacks that makes a repair worth it.
_REPAIRS, _PROMISE = 3, 0.6


def begin_repaired_pricing(
    parts: GenerationParts, own: DualValues, found: Columns, cutoff: float
) -> bool:
    """Begin exact pricing at repaired prices if these promise a much better bound."""
    state, k = parts.state, parts.contraction.k
    prices = parts.master.repaired(own.prices, own.sigma, found)
    if prices is None:
        return False
    at = DualValues(prices, own.sigma)
    value, known = at.value(k), max(state.tried, state.bound.value)
    if not (value >= cutoff > known or value - known >= _PROMISE * abs(own.value(k) - known)):
        return False
    state.tried = value
    state.under_way = ExactPricing(at, -own.sigma, False, _REPAIRS)
    return True


def price_repaired(
    parts: GenerationParts, pricing: ExactPricing, repairs: int, cutoff: float
) -> StepEvent:
    """Work for a slice on exact pricing at repaired prices, and repair them once more."""
    state, at, k = parts.state, pricing.at, parts.contraction.k
    outcome = parts.pricer.exact(at.prices, pricing.target)
    assert state.own is not None
    parts.add(Columns.of(parts.contraction, outcome.members), state.own)
    if outcome.least is None:
        return StepEvent.PRICING
    state.under_way = None
    parts.prove(at.prices, outcome.least)
    if not repairs or state.bound.value >= cutoff:
        return StepEvent.BOUND
    prices = parts.master.repaired(at.prices, at.sigma)
    if prices is None or np.array_equal(prices, at.prices):
        return StepEvent.BOUND
    lower = DualValues(prices, at.sigma)
    if lower.value(k) <= state.bound.value:
        return StepEvent.BOUND
    state.under_way = replace(pricing, at=lower, repairs=repairs - 1)
    return StepEvent.PRICING

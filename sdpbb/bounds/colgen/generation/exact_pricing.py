"""Exact pricing in slices: at solved prices, and at repaired ones for early bounds."""

from __future__ import annotations

import math
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


# Where exact pricing exceeds its slice, the next target is this fraction of the remaining distance
# away, as long as the bound that it promises is better by the second share.
_RUNG, _WORTH = 0.2, 0.1


def price_in_slices(parts: GenerationParts, pricing: ExactPricing, cutoff: float) -> StepEvent:
    """Work for a slice on unfinished exact pricing, of whichever kind it is."""
    if pricing.rung is not None:
        return _price_to_rung(parts, pricing, pricing.rung)
    if pricing.repairs is not None:
        return price_repaired(parts, pricing, pricing.repairs, cutoff)
    return _price_to_target(parts, pricing, cutoff)


def _price_to_target(parts: GenerationParts, pricing: ExactPricing, cutoff: float) -> StepEvent:
    """Work for a slice towards the target itself."""
    outcome = parts.pricer.exact(pricing.at.prices, pricing.target)
    own, found = parts.state.own, Columns.of(parts.contraction, outcome.members)
    assert own is not None
    grown = parts.add(found, own)
    # A cluster below the target shows that these prices do not close the node.
    refuted = not pricing.settles and len(found) > 0
    if outcome.least is None and not grown and not refuted:
        parts.state.under_way = _with_rung(parts, pricing)
        return StepEvent.PRICING
    parts.state.under_way = None
    if outcome.least is not None:
        parts.prove(pricing.at.prices, outcome.least)
    shown = parts.observation(pricing.at, found, least=outcome.least)
    parts.stabilisation.observe(own, shown, parts.contraction.k)
    if grown:
        return StepEvent.COLUMNS
    if not pricing.settles:
        # Either the bound closes the node, or these prices will not while the pool is the same.
        parts.state.early = False
        return StepEvent.BOUND
    parts.state.least = outcome.least
    if parts.state.integer:
        parts.primal.search(parts.master.columns, own, cutoff)
    parts.state.finished = StepEvent.SOLVED
    return StepEvent.SOLVED


def _with_rung(parts: GenerationParts, pricing: ExactPricing) -> ExactPricing:
    """Return the same pricing with a lower target first, if that is new and worth it.

    A search that ends without a value below a target t proves the bound sum prices + k t, and
    the lower t, the sooner it ends: where the target itself takes long, something is proven.
    """
    k, total = parts.contraction.k, math.fsum(pricing.at.prices)
    bound = parts.state.bound.value - parts.paid_by_all
    begin = (bound - total) / k
    missing = total + k * pricing.target - bound
    is_little = missing <= _WORTH * abs(parts.state.bound.value)
    if parts.master.is_quick_to_price or pricing.has_climbed or is_little:
        return pricing
    rung = begin + _RUNG * (pricing.target - begin)
    return replace(pricing, rung=rung, has_climbed=True)


def _price_to_rung(parts: GenerationParts, pricing: ExactPricing, rung: float) -> StepEvent:
    """Work for a slice towards a lower target; move to the next one if it has ended there."""
    outcome = parts.pricer.exact(pricing.at.prices, rung)
    if outcome.least is not None:
        parts.prove(pricing.at.prices, outcome.least)
    assert parts.state.own is not None
    if parts.add(Columns.of(parts.contraction, outcome.members), parts.state.own):
        parts.state.under_way = None
        return StepEvent.COLUMNS
    higher = None
    if outcome.least is not None and not len(outcome.members):
        next_rung = rung + _RUNG * (pricing.target - rung)
        worth = parts.contraction.k * (next_rung - rung) > _WORTH * _RUNG * parts.state.bound.value
        higher = next_rung if worth else None
    parts.state.under_way = replace(pricing, rung=higher)
    return StepEvent.PRICING

"""Exact pricing in slices: at the prices of the master programme, and up to lower targets first."""

from __future__ import annotations

import math
from dataclasses import replace

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.parts import GenerationParts
from sdpbb.bounds.colgen.generation.repaired_pricing import price_repaired
from sdpbb.bounds.colgen.generation.state import ExactPricing, StepEvent

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

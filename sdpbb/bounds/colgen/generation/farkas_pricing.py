"""Farkas pricing: columns for blocks that the pool does not cover, or proof that there are none.

Source: Babaki, Guns and Nijssen (2014), equation 21.
"""

from __future__ import annotations

import math

import numpy as np

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.parts import GenerationParts
from sdpbb.bounds.colgen.generation.state import FarkasPricing, StepEvent
from sdpbb.bounds.colgen.safe_bound import integer_prices, is_proof_of_infeasibility
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.bounds.evidence import Lagrangian

# Of the exact prices of a cluster, as prices are at most about 1 here.
_FARKAS_TOLERANCE = 1e-8


def begin_farkas_pricing(parts: GenerationParts, own: DualValues) -> StepEvent:
    """Price heuristically in the phase FEASIBILITY; where nothing is found, begin exactly."""
    found = Columns.of(parts.contraction, parts.pricer.farkas_heuristic(own.prices, own.sigma))
    if _add_covering(parts, found, own):
        return StepEvent.COLUMNS
    prices = integer_prices(own.prices)
    largest = float(np.abs(own.prices).max())
    scale = float(np.abs(prices).max()) / largest
    target = math.floor((own.sigma + _FARKAS_TOLERANCE) * scale)
    parts.state.under_way = FarkasPricing(prices, target)
    return StepEvent.PRICING


def price_farkas_exactly(parts: GenerationParts, pricing: FarkasPricing) -> StepEvent:
    """Work for a slice on exact Farkas pricing."""
    outcome = parts.pricer.farkas_exact(pricing.prices, pricing.target)
    assert parts.state.own is not None
    grown = _add_covering(parts, Columns.of(parts.contraction, outcome.members), parts.state.own)
    if outcome.most is None and not grown:
        return StepEvent.PRICING
    parts.state.under_way = None
    if outcome.most is not None and is_proof_of_infeasibility(
        pricing.prices, outcome.most, parts.contraction.k
    ):
        prices, least = pricing.prices.astype(np.float64), -float(outcome.most)
        parts.state.bound = ProvenBound(math.inf, Lagrangian(prices, least))
        parts.state.finished = StepEvent.INFEASIBLE
    elif not grown:
        parts.state.finished = StepEvent.SOLVED
    return parts.state.finished or StepEvent.COLUMNS


def _add_covering(parts: GenerationParts, found: Columns, own: DualValues) -> bool:
    """Add the columns that cover more of the blocks; return whether there are any."""
    return parts.add_best(found, own.sigma - found.collected(own.prices), -_FARKAS_TOLERANCE)

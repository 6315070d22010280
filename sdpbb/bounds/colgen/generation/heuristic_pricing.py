"""Heuristic pricing at the solution of a master programme, and what follows where it ends."""

from __future__ import annotations

import math

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.generation.exact_pricing import begin_repaired_pricing
from sdpbb.bounds.colgen.generation.parts import GenerationParts
from sdpbb.bounds.colgen.generation.state import ExactPricing, StepEvent
from sdpbb.bounds.colgen.master_programme import MasterSolution
from sdpbb.bounds.colgen.stabilisation import DualValues


def price(
    parts: GenerationParts, own: DualValues, solution: MasterSolution, cutoff: float
) -> StepEvent:
    """Price heuristically at the points of the stabilisation.

    Where nothing is found, begin exact pricing.

    own : the dual values of the solution
    """
    state, k = parts.state, parts.contraction.k
    for position, at in enumerate(parts.stabilisation.points(own)):
        # Which clusters of smoothed prices are of use, the master's own prices say.
        sigma = own.sigma if at is own else -math.inf
        found = Columns.of(parts.contraction, parts.pricer.heuristic(at.prices, sigma))
        observation = parts.observation(at, found, first=position == 0)
        parts.stabilisation.observe(own, observation, k)
        parts.master.observe(solution, observation.at.value(k))
        grown = parts.add(found, own)
        if begin_repaired_pricing(parts, own, found, cutoff):
            return StepEvent.PRICING
        if state.early and parts.value(observation.at) >= cutoff:
            state.under_way = ExactPricing(at, parts.closing_value(at, cutoff), settles=False)
            return StepEvent.PRICING
        if grown:
            return StepEvent.COLUMNS
    if not parts.stabilisation.solved(solution):
        return StepEvent.PENALTY
    return _begin_exact_pricing(parts, own, cutoff)


def _begin_exact_pricing(parts: GenerationParts, own: DualValues, cutoff: float) -> StepEvent:
    """Begin exact pricing at the master's own prices, unless these are to be more precise first."""
    state, master = parts.state, parts.master
    master.tighten()
    if not master.is_worth_pricing:
        return StepEvent.TOLERANCE
    optimal, needed = -own.sigma - parts.tolerance(own), parts.closing_value(own, cutoff)
    closing = state.early and needed < optimal
    settles = not closing and master.is_final
    state.under_way = ExactPricing(own, needed if closing else optimal, settles)
    return StepEvent.PRICING

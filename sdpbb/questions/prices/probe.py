"""Short look at a constraint: a proof that it costs nothing, if one is near."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sdpbb.bounds.registry import bounding_method
from sdpbb.problem import Contraction, Infeasibility, Instance, SoftPairs, contract
from sdpbb.problem.statements import Catalogue, Statement
from sdpbb.questions.prices.report import PriceProof
from sdpbb.questions.study import Outcome
from sdpbb.search.result import PRECISION

# Evaluations of the semidefinite bound in a probe. Nearly all constraints that cost nothing need
# one or two.
PROBE_STEPS = 5


@dataclass(frozen=True)
class PriceProbe:
    """Outcome of a short look: the proof that a constraint costs nothing; None if there is none."""

    proof: PriceProof | None
    seconds: float


def without(instance: Instance, statement: Statement) -> Instance:
    """Return the instance without a must-link or a cannot-link, hard or soft.

    A hard pair stays if it is stated twice, or if a distance (GAMMA, DELTA) stands for it as well.
    """
    argument, catalogue = statement.argument, Catalogue(instance)
    others: Any
    if statement.weight is not None:
        soft: SoftPairs = getattr(instance, argument)
        pairs = np.delete(soft.pairs, statement.position, axis=0)
        others = SoftPairs(pairs, np.delete(soft.weights, statement.position))
        return replace(instance, **{argument: others})
    offset = 0 if argument == "must_link" else len(instance.must_link)
    if offset + statement.position in catalogue.stated_and_implied:
        return instance
    others = np.delete(getattr(instance, argument), statement.position, axis=0)
    return replace(instance, **{argument: others})


def probe(
    instance: Instance, statement: Statement, upper: float, seconds: float, is_bounded: bool
) -> Outcome:
    """Look for a proof that a constraint costs nothing.

    With OPT_v the least cost of the clusterings that keep the other constraints and violate this
    one, the optimum without it is the lesser of OPT and OPT_v, if some optimal clustering keeps it.
    It is OPT if there are none of them, or if a bound proves OPT_v >= upper. The weight of a soft
    one is not part of OPT_v.

    upper : the cost of a clustering that keeps all constraints, and this one if it is soft
    seconds : after which nothing more is tried
    is_bounded : whether a bound is tried, too, with matrices of all blocks

    Returns
    -------
    The outcome of a job of a study, whose value is a `PriceProbe`.
    """
    started = time.perf_counter()
    others, pair = without(instance, statement), [(statement.rows[0], statement.rows[1])]
    # A violated must-link is a cannot-link, and the other way round.
    if statement.argument in ("must_link", "soft_must_link"):
        violated = contract(others, cannot_link=pair)
    else:
        violated = contract(others, must_link=pair)
    proof = None
    if isinstance(violated, Infeasibility):
        proof = PriceProof.IMPLIED
    elif is_bounded and _costs_at_least(violated, upper, started + seconds):
        proof = PriceProof.IDLE
    return Outcome(PriceProbe(proof, time.perf_counter() - started))


def _costs_at_least(contraction: Contraction, upper: float, deadline: float) -> bool:
    """Return whether a few iterations prove that all clusterings cost at least upper."""
    if contraction.n_blocks <= contraction.k:  # too small for the bound; the engine counts
        return False
    # Above upper by more than its own rounding.
    wanted = upper * (1.0 + PRECISION)
    with threadpool_limits(1):
        run = bounding_method("sdp").start(contraction, None)
        for _ in range(PROBE_STEPS):
            progress = run.advance(wanted, lambda: deadline - time.perf_counter())
            if progress.bound.value >= wanted:
                return True
            if progress.stalled or time.perf_counter() > deadline:
                break
    return False

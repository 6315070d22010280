"""Heuristic pricing: local search from every block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Membership
from sdpbb.bounds.colgen.pricing.climbing_kernels import climb
from sdpbb.bounds.colgen.pricing.problem import PricingProblem


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Membership:
    """Return clusters (t, m) of low value that no exchange of single blocks improves.

    They have c(X) - prices(X) < below, the lowest first; there may be none. The searches start from
    every block, or from about n_seeds of them.
    """
    m = problem.m
    within = (problem.data.linear <= problem.data.limits[:, None]).all(axis=0)
    seeds = np.flatnonzero(within).astype(np.int64)
    if n_seeds is not None and n_seeds < len(seeds):
        seeds = np.ascontiguousarray(seeds[:: -(-len(seeds) // n_seeds)])
    found, values = np.zeros((len(seeds), m), bool), np.zeros(len(seeds))
    climb(problem.data, problem.profits(prices), seeds, found, values)
    best = np.argsort(values, kind="stable")
    best = best[values[best] < below]
    return problem.members(found[best])

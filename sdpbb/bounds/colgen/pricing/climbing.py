"""Heuristic pricing: local search from every block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Membership
from sdpbb.bounds.colgen.pricing.climbing_kernels import climb
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.whole_climbing_kernels import climb_whole

# Sets that each local search of a region hands over: its end, and those on the way there. Without
# them master programmes over thousands of blocks have twice as many rounds.
_SETS_OF_REGION = 6


def local_minima(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, n_seeds: int | None = None
) -> Membership:
    """Return clusters (t, m) of low value that no exchange of single blocks improves.

    They have c(X) - prices(X) < below, the lowest first; there may be none. The searches start from
    every block, or from about n_seeds of them. In a problem with regions they look at the blocks
    near these only, and sets on the way to the minima are returned, too, each once.
    """
    within = (problem.data.linear <= problem.data.limits[:, None]).all(axis=0)
    seeds = np.flatnonzero(within).astype(np.int64)
    if n_seeds is not None and n_seeds < len(seeds):
        seeds = np.ascontiguousarray(seeds[:: -(-len(seeds) // n_seeds)])
    if len(problem.data.ranges) or len(problem.data.soft_other):
        found, values = np.zeros((len(seeds), problem.m), bool), np.zeros(len(seeds))
        climb_whole(problem.data, problem.profits(prices), seeds, found, values)
        members = problem.members(found)
    elif problem.regions is None:
        found, values = np.zeros((len(seeds), problem.m), bool), np.zeros(len(seeds))
        climb(problem.data, problem.profits(prices), seeds, found, values)
        members = problem.members(found)
    else:
        members, values = _by_regions(problem, prices, below, seeds)
    best = np.argsort(values, kind="stable")
    best = best[values[best] < below]
    return members[best]


def _by_regions(
    problem: PricingProblem, prices: NDArray[np.float64], below: float, seeds: NDArray[np.int64]
) -> tuple[Membership, NDArray[np.float64]]:
    """Return clusters (t, m) below a value met by searches inside each region, with values."""
    regions, points = problem.regions, problem.data.points
    assert regions is not None
    reach = problem.reaches(prices)
    members: list[Membership] = [np.zeros((0, problem.m), bool)]
    values: list[NDArray[np.float64]] = [np.zeros(0)]
    owner = regions.owner[seeds]
    for region in np.unique(owner).tolist():
        own = seeds[owner == region]
        near = np.union1d(regions.near(region, points, reach), own)
        part = problem.restricted(near)
        count = len(own) * _SETS_OF_REGION
        found, met = np.zeros((count, part.m), bool), np.zeros(count)
        climb(part.data, part.profits(prices), np.searchsorted(near, own), found, met)
        good = np.flatnonzero(met < below)
        if len(good):
            keys = np.packbits(found[good], axis=1)
            once = list(
                {key.tobytes(): row for row, key in zip(good.tolist(), keys, strict=True)}.values()
            )
            members.append(part.members(found[once]))
            values.append(met[once])
    return np.concatenate(members), np.concatenate(values)

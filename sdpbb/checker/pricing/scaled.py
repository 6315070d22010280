"""Pricing problem of a node, in units in which nothing overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..kernel.arithmetic import gamma, up
from ..kernel.geometry import Contracted
from ..kernel.rules import Rules, selected
from .place_bounds import PlacedBlocks
from .problem import CheckedPricing, Indices, Marks, Reals
from .rules import Whole

_LEAST_PROFIT = 1e-250


@dataclass(frozen=True, eq=False)
class ScaledPricing:
    """Pricing problem of some blocks of a node, in units of 4^-exponent.

    problem : None if there is no set to look for
    kept : (c,) its blocks
    total : at least the sum of all positive profits, about, in units of the data
    whole : what sets are looked at for as a whole, in units of the data
    """

    contracted: Contracted
    problem: CheckedPricing | None
    kept: Indices
    exponent: int
    total: float
    whole: Whole | None

    @classmethod
    def of(
        cls,
        contracted: Contracted,
        adjacency: Marks,
        prices: Reals,
        rules: Rules,
        slack: float = 0.0,
    ) -> ScaledPricing:
        """Return the problem of a node, at prices (m,) of its blocks.

        slack : how far above the least value sets may be, in units of the data

        Profits are the next numbers above p_i - w_i, twice where they are rounded twice.
        """
        m, tied, shares = contracted.m, None, np.zeros(contracted.m)
        if contracted.soft is not None:
            soft = contracted.soft.prices(adjacency | contracted.across, 0)
            tied = soft.cannot - soft.must
            shares = 0.5 * soft.must.sum(axis=1) * (1.0 - gamma(m + 8.0))
        whole, kept = Whole.of(tied, rules, m), np.arange(m)
        profits = prices - contracted.scatter  # rounded once: of the right sign
        if whole is None:
            profits = np.where(profits == 0.0, 0.0, np.nextafter(profits, np.inf))
            kept = np.flatnonzero(profits > -slack)
            total = math.fsum(np.abs(profits[kept])) + len(kept) * slack
        else:
            profits = np.nextafter(np.nextafter(profits, np.inf) - shares, np.inf)
            total, slack = math.fsum(np.abs(profits)) + math.fsum(np.abs(whole.tied).ravel()), 0.0
        if not len(kept):
            return cls(contracted, None, kept, 0, total, whole)
        exponent = -(math.frexp(total or 1.0)[1] // 2)
        scaled = np.ldexp(profits[kept], 2 * exponent)
        if whole is None:
            scaled = np.where(scaled > 0.0, np.maximum(scaled, _LEAST_PROFIT), scaled)
        problem = CheckedPricing.of(
            contracted.weights[kept],
            contracted.means[kept],
            scaled,
            adjacency[np.ix_(kept, kept)],
            exponent,
            up(math.ldexp(slack, 2 * exponent) + m * _LEAST_PROFIT) if slack else 0.0,
            rules if whole is not None else selected(rules, kept),
            None if whole is None else replace(whole, tied=np.ldexp(whole.tied, 2 * exponent)),
        )
        return cls(contracted, problem, kept, exponent, total, whole)

    def placed(self) -> PlacedBlocks | None:
        """Return the blocks as places have them; None where soft pairs tie them."""
        if self.problem is None or (self.whole is not None and self.whole.tied.any()):
            return None
        return PlacedBlocks.of(
            self.problem.weights,
            self.problem.profits,
            self.contracted.means[self.kept],
            self.problem.linked,
            self.exponent,
            self.problem.rules,
            self.problem.whole,
        )

    def rescaled(self, value: float) -> float:
        """Return a value of the data in the units of the problem."""
        return math.ldexp(value, 2 * self.exponent)

    def in_units(self, value: float) -> float:
        """Return a value of the problem in units of the data."""
        return math.ldexp(value, -2 * self.exponent)

"""Verdict on a certificate, and the comparison of costs and bounds behind it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN = "optimal", "feasible", "infeasible", "unknown"
STATUSES = (OPTIMAL, FEASIBLE, INFEASIBLE, UNKNOWN)

_THREE_DIGITS = Context(prec=3, rounding=ROUND_CEILING)
_LEAST_PERCENT = Decimal("0.00000001")

# Relative difference that a stated cost may have from the cost computed here.
COST_WITHIN = 1e-9
# Gaps below this count as 0, and the computation of a gap may lose as much.
PRECISION = 1e-12
_EPS = 2.0**-52


@dataclass(frozen=True)
class CertificateVerdict:
    """Verdict on a certificate: what is proven of the instance.

    Attributes
    ----------
    status : "optimal" (within tolerance), "feasible", "infeasible" or "unknown"
    n, d, k : points, coordinates, clusters
    tolerance : the gap up to which a clustering counts as optimal
    cost : of the certificate's clustering, rounded up; None without one
    lower_bound : on the cost of every clustering, in squared units of the data; None if the
        instance is infeasible
    gap : (cost - lower_bound) / cost, rounded up and at most 1; 0 only if both are equal; None
        without a clustering
    n_nodes, n_leaves : nodes of the tree, and nodes that are not split
    n_bounds, n_fixings : lower bounds checked, and pairs of points proven to be apart
    seconds : duration of the check
    n_subsets : number of subsets whose bounds are added up; 0 for the tree of a search
    rules : names of the rules that the proof used (docs/proof_rules.md), each once
    """

    status: str
    n: int
    d: int
    k: int
    tolerance: float
    cost: float | None
    lower_bound: float | None
    gap: float | None
    n_nodes: int
    n_leaves: int
    n_bounds: int
    n_fixings: int
    seconds: float
    n_subsets: int = 0
    rules: tuple[str, ...] = ()

    def judged(self, tolerance: float) -> CertificateVerdict:
        """Return the verdict for another tolerance.

        A clustering is "optimal" if its gap is at most the tolerance, otherwise "feasible".
        """
        if self.gap is None:
            return self
        status = OPTIMAL if self.gap <= tolerance else FEASIBLE
        return replace(self, status=status, tolerance=tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"verified": True, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"Verified: {self._claim()}"]
        if self.cost is not None:
            lines.append(f"  cost         {_rounded(self.cost, ROUND_CEILING)}")
        if self.lower_bound is not None:
            lines.append(f"  lower bound  {_rounded(self.lower_bound, ROUND_FLOOR)}")
        if self.gap is not None:
            lines.append(f"  gap          {_percent_up(Decimal(self.gap))}")
        lines.append(f"  instance     {self.n} points, {self.d} coordinates, k = {self.k}")
        subsets = f"{_count(self.n_subsets, 'subset')}, " if self.n_subsets else ""
        lines.append(
            f"  checked      {subsets}"
            f"{_count(self.n_nodes, 'node')} ({_count(self.n_leaves, 'leaf')}), "
            f"{_count(self.n_bounds, 'bound')}, {_count(self.n_fixings, 'fixed pair')}, "
            f"in {self.seconds:.1f} s"
        )
        if self.rules:
            lines.append(f"  rules        {', '.join(self.rules)}")
        return "\n".join(lines)

    def _claim(self) -> str:
        match self.status:
            case "optimal":
                return f"the clustering is optimal, within a gap of {self._within()}"
            case "feasible":
                return (
                    "the clustering satisfies the constraints, and no clustering costs less than "
                    "the lower bound"
                )
            case "infeasible":
                return "no clustering satisfies the constraints"
            case _:
                return "every clustering costs at least the lower bound"

    def _within(self) -> str:
        """Return the larger of the tolerance, in its own digits, and the gap."""
        return _percent_up(max(Decimal(repr(self.tolerance)), Decimal(self.gap or 0.0)))


def _rounded(value: float, rounding: str) -> str:
    """Return a value at 12 significant digits, rounded to the side where it stays proven."""
    if not math.isfinite(value):
        return str(value)
    return f"{Context(prec=12, rounding=rounding).plus(Decimal(value)).normalize():.12g}"


def _percent_up(share: Decimal) -> str:
    """Return a share of 1 in per cent, rounded up to three significant digits; 0% is exact.

    Tiny shares are shown as "<" the least share that is shown.
    """
    in_percent = _THREE_DIGITS.multiply(share, Decimal(100))
    if 0 < in_percent < _LEAST_PERCENT:
        return f"<{_LEAST_PERCENT:f}%"
    # "f" alone would leave zeros behind, and normalize() alone would make 1E+2 of 100.
    return f"{in_percent.normalize():f}%"


def _count(number: int, name: str) -> str:
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{number} {name if number == 1 else plural}"


def is_cost(stated: float, upper: float) -> bool:
    """Return whether a stated cost may stand for the computed one: relatively within 1e-9."""
    return abs(stated - upper) <= COST_WITHIN * upper


def is_optimal(upper: float, lower: float, tolerance: float) -> bool:
    """Return whether upper - lower <= tolerance * upper, but for rounding.

    upper, lower : bounds on the cost of a clustering, and of all clusterings. A cost of 0 is
        optimal
    """
    return upper - lower <= (max(tolerance, PRECISION) + PRECISION) * upper


def gap_rounded_up(lower: float, upper: float) -> float:
    """Return (upper - lower) / upper, rounded up, at most 1; 0 only where upper <= lower."""
    if upper <= lower:
        return 0.0
    # The difference and the quotient each round by half a unit at most.
    gap = math.nextafter((upper - lower) / upper * (1.0 + _EPS), math.inf)
    return min(gap, 1.0)

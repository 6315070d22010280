"""What a certificate has proven."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """What is proven of an instance.

    Attributes
    ----------
    status : "optimal" (within tolerance), "feasible", "infeasible" or "unknown"
    n, d, k : points, coordinates, clusters
    tolerance : the gap up to which a clustering counts as optimal
    cost : of the certificate's clustering, rounded up; None without one
    lower_bound : on the cost of every clustering, in squared units of the data; None where there is
        none
    gap : (cost - lower_bound) / cost, rounded up, 0 where the difference is the rounding of the
        coordinates; None without a clustering
    n_nodes, n_leaves : of the tree, and those of them that are not split
    n_bounds, n_fixings : lower bounds checked, and pairs of points proven to be linked one way
    seconds : that the check took
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"verified": True, **asdict(self)}

    def __str__(self) -> str:
        lines = [f"Verified: {self._claim()}"]
        if self.cost is not None:
            lines.append(f"  cost         {_rounded(self.cost, ROUND_CEILING)}")
        if self.lower_bound is not None:
            lines.append(f"  lower bound  {_rounded(self.lower_bound, ROUND_FLOOR)}")
        if self.gap is not None:
            lines.append(f"  gap          {_rounded(self.gap, ROUND_CEILING, 3, 100)}%")
        lines.append(f"  instance     {self.n} points, {self.d} coordinates, k = {self.k}")
        lines.append(
            f"  checked      {_count(self.n_nodes, 'node')} ({_count(self.n_leaves, 'leaf')}), "
            f"{_count(self.n_bounds, 'bound')}, {_count(self.n_fixings, 'fixed pair')}, "
            f"in {self.seconds:.1f} s"
        )
        return "\n".join(lines)

    def _claim(self) -> str:
        match self.status:
            case "optimal":
                return f"the clustering is optimal, within a gap of {100 * self.tolerance:.12g}%"
            case "feasible":
                return "the clustering keeps the constraints, and no better one is below the bound"
            case "infeasible":
                return "no clustering keeps the constraints"
            case _:
                return "every clustering costs at least the lower bound"


def _rounded(value: float, rounding: str, digits: int = 12, scale: int = 1) -> str:
    """value * scale at so many significant digits, on the side where what is proven still holds."""
    if not math.isfinite(value):
        return str(value)
    product = Context(prec=digits, rounding=rounding).multiply(Decimal(value), Decimal(scale))
    return f"{product.normalize():.{digits}g}"


def _count(number: int, name: str) -> str:
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{number} {name if number == 1 else plural}"

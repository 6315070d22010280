"""A result against the truth. The tolerances are those that docs/limits.md and the docstrings of
`Result` and `Tolerances` state, and no others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from attacks.exhaustive import cost_of
from attacks.outcome import Found, Kind
from attacks.shapes import Case

if TYPE_CHECKING:
    from sdpbb import Result

# Of costs and of bounds, relative: rounding.
COST, BOUND = 1e-9, 1e-12
PRECISION = 1e-12


def judge(
    case: Case,
    result: Result,
    least: float | Fraction | None,
    cost: float | Fraction | None = None,
) -> Kind:
    """What the result says, if that is right.

    least : the cost of the best clustering, or None if none keeps the links
    cost : of the result's labels, if that is known better than to a few units in the last place
    """
    kind = Kind(result.status.value)
    if least is None:
        if kind in (Kind.OPTIMAL, Kind.FEASIBLE):
            raise Found("a clustering of an instance that has none")
        return kind
    if kind is Kind.INFEASIBLE:
        raise Found("infeasible, but a clustering keeps the links")
    if result.lower_bound is None or math.isnan(result.lower_bound):
        raise Found("no lower bound")
    if Fraction(result.lower_bound) > Fraction(least) * (1 + Fraction(BOUND)):
        raise Found(
            "a lower bound above the optimum", f"# {result.lower_bound!r} > {float(least)!r}"
        )
    if result.partition is None or result.objective is None:
        return kind
    check_labels(case, result)
    true = cost_of(case.points, result.partition.labels) if cost is None else cost
    wrong = abs(Fraction(result.objective) - Fraction(true))
    if wrong > Fraction(COST) * Fraction(true):
        raise Found(
            "the sum of squares is not that of the labels",
            f"# {result.objective!r}, in truth {float(true)!r}",
        )
    gap = Fraction(max(result.gap_asked, PRECISION) + BOUND)
    if kind is Kind.OPTIMAL and Fraction(true) - Fraction(least) > Fraction(true) * gap:
        raise Found("not optimal", f"# {float(true)!r}, the optimum is {float(least)!r}")
    return kind


def check_labels(case: Case, result: Result) -> None:
    """Whether the labels of a result keep all that they have to."""
    assert result.partition is not None
    labels = result.partition.labels
    if len(labels) != case.n or len(np.unique(labels)) != case.k:
        raise Found("the labels are not of n points in k clusters")
    ml, cl = case.must_link, case.cannot_link
    broken = (labels[ml[:, 0]] != labels[ml[:, 1]]).any()
    if broken or (labels[cl[:, 0]] == labels[cl[:, 1]]).any():
        raise Found("the labels violate a link")

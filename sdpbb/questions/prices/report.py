"""Prices of constraints as values and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sdpbb.problem.statements import Statement
from sdpbb.runtime.markup import card
from sdpbb.runtime.values import (
    counted,
    csv_text,
    finite_or_none,
    json_text,
    pandas_module,
    percent_up,
    rounded_down,
)
from sdpbb.search.result import Result, SolutionStatus

if TYPE_CHECKING:
    import pandas as pd

# Rows that `str` shows.
SHOWN = 20
# Significant digits of prices in the table.
DIGITS = 6

LEGEND = (
    "The cost of a constraint is the decrease of the optimum without it. Proven: at least, at "
    "most.",
    "Found: the difference of the best clusterings found with it and without it.",
)

COLUMNS = (
    "place",
    "kind",
    "row_i",
    "row_j",
    "weight",
    "violated",
    "price_lower",
    "price_upper",
    "difference",
    "objective_without",
    "lower_bound_without",
    "proven",
    "proof",
    "seconds",
)


class PriceProof(Enum):
    """Proof of the price of a constraint."""

    IMPLIED = "implied"
    """Nothing: no clustering keeps the others and violates it."""
    IDLE = "idle"
    """Nothing: clusterings that keep the others and violate it are proven to be no better than the
    best one known that keeps all."""
    VIOLATED = "violated"
    """The weight of a soft constraint: the best clustering known violates it, so that leaving it
    out saves the weight, and nothing saves more."""
    SOLVED = "solved"
    """The instance has been solved without it."""


FREE = {
    PriceProof.IMPLIED: "the other constraints imply it",
    PriceProof.IDLE: "no clustering that violates it is better",
}
"""Reasons, in words, why a constraint costs nothing."""


@dataclass(frozen=True, repr=False)
class Price:
    """Price of a constraint: the decrease of the optimum when it is left out.

    Attributes
    ----------
    statement : the constraint, with its weight if it is soft
    lower, upper : the price lies between them, which is proven
    difference : of the best clusterings found, with the constraint and without
    objective_without, lower_bound_without : the cost of the best clustering found without the
        constraint, and what is proven to be at most the optimum
    proven : whether the price is exactly 0, or both optima are known to the gap asked for
    proof : how it is known
    seconds : that it took
    violated : whether the best clustering known violates the constraint, a soft one
    """

    statement: Statement
    lower: float
    upper: float
    difference: float
    objective_without: float
    lower_bound_without: float
    proven: bool
    proof: PriceProof
    seconds: float
    violated: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table, by `COLUMNS`; rows of points are named as the user does."""
        statement = self.statement
        values = (
            statement.place,
            statement.kind.name.lower(),
            *statement.names,
            statement.weight,
            self.violated,
            self.lower,
            self.upper,
            self.difference,
            self.objective_without,
            self.lower_bound_without,
            self.proven,
            self.proof.value,
            self.seconds,
        )
        return dict(zip(COLUMNS, values, strict=True))

    def __str__(self) -> str:
        if self.proof in FREE:
            return f"{self.statement}: costs nothing, as {FREE[self.proof]}"
        least, most = _at_least(self.lower), _at_most(self.upper)
        return f"{self.statement}: costs {_interval(least, most)}"

    def __repr__(self) -> str:
        return f"<Price of {self}>"


@dataclass(frozen=True, repr=False)
class PriceReport:
    """Report on the prices of constraints.

    Attributes
    ----------
    result : of the instance with all of its constraints, with what the other runs have found and
        proven for it. If it has no clustering, nothing has a price; if it is infeasible,
        `result.conflict` says why
    prices : the dearest first: by what is proven, then by the difference found
    unpriced : constraints that the time was not enough for, or whose run failed
    interrupted : whether an interrupt ended the run
    seconds : of the whole run
    problems : a line for each constraint whose run failed
    """

    result: Result
    prices: tuple[Price, ...]
    unpriced: tuple[Statement, ...]
    interrupted: bool
    seconds: float
    problems: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True if every price is known to the gap asked for."""
        is_solved = self.result.status is SolutionStatus.OPTIMAL
        return is_solved and not self.unpriced and all(price.proven for price in self.prices)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each price."""
        return [price.to_row() for price in self.prices]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        result = self.result
        return {
            "status": result.status.value,
            "termination": result.termination.value,
            "objective": result.objective,
            "lower_bound": result.lower_bound,
            "gap": finite_or_none(result.gap),
            "labels": None if result.partition is None else result.partition.labels.tolist(),
            "is_complete": self.is_complete,
            "interrupted": self.interrupted,
            "prices": self.to_rows(),
            "unpriced": [statement.to_dict() for statement in self.unpriced],
            "problems": list(self.problems),
            "conflict": None if result.conflict is None else result.conflict.to_dict(),
            "seconds": self.seconds,
            "parameters": result.to_dict()["parameters"],
            "version": result.version,
        }

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key."""
        return json_text(self.to_dict())

    def to_csv(self) -> str:
        """Return the rows with a heading, separated by commas."""
        return csv_text(COLUMNS, self.to_rows())

    def table(self, top: int = SHOWN) -> str:
        """Return a summary, and the dearest so many of the prices that may not be zero."""
        dear = [price for price in self.prices if price.upper > 0]
        return "\n".join([*_summary(self), *_table(dear[:top], len(dear))])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        dearest = ""
        if self.prices and self.prices[0].lower > 0:
            dearest = f", dearest {self.prices[0]}"
        left = f", {len(self.unpriced)} not priced" if self.unpriced else ""
        return f"<PriceReport: {counted(len(self.prices), 'constraint')} priced{left}{dearest}>"

    def _repr_html_(self) -> str:
        """Return what `str` does, as notebooks show it."""
        return card("Prices of constraints", [], str(self))

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_rows()` as a data frame: a row for each price, the dearest first.

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        return pandas_module("to_rows(), dictionaries").DataFrame(self.to_rows(), columns=COLUMNS)


def _at_least(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never above it."""
    return f"{float(rounded_down(value, DIGITS)):.{DIGITS}g}"


def _at_most(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never below it."""
    return f"{abs(float(rounded_down(-value, DIGITS))):.{DIGITS}g}"


def _interval(least: str, most: str) -> str:
    return least if least == most else f"at least {least}, at most {most}"


def _summary(report: PriceReport) -> list[str]:
    result = report.result
    if result.conflict is not None:
        nothing = "No clustering satisfies the constraints, so constraints have no price."
        return [nothing, "", str(result.conflict)]
    if result.objective is None:
        return [f"No clustering was found, so constraints have no price: {result}"]
    counts = Counter(price.proof for price in report.prices)
    lines = [
        (result.cost_name.capitalize(), f"{result.objective:.12g}, {_how_certain(result)}"),
        ("Priced", counted(len(report.prices), "constraint")),
    ]
    for proof, reason in FREE.items():
        if counts[proof]:
            lines.append(("Cost nothing", f"{counts[proof]}, as {reason}"))
    if n_left := len(report.unpriced) - len(report.problems):
        not_priced = counted(n_left, "constraint")
        reason = "the run was interrupted" if report.interrupted else "the time was over"
        lines.append(("Not priced", f"{not_priced}, as {reason}"))
    lines += [("Failed", problem) for problem in report.problems]
    lines.append(("Time", f"{report.seconds:.2f} s"))
    return [f"{name:<15} {text}" for name, text in lines]


def _how_certain(result: Result) -> str:
    optimal = result.status is SolutionStatus.OPTIMAL
    return f"{'proven optimal' if optimal else 'not proven optimal'}, gap {percent_up(result.gap)}"


def _table(prices: Sequence[Price], total: int) -> list[str]:
    if not prices:
        return []
    width = max(len(price.statement.place) for price in prices)
    heading = f"{'costs at least':>14} {'at most':>12} {'found':>12}  constraint"
    lines = ["", *LEGEND, heading]
    for price in prices:
        least, most = _at_least(price.lower), _at_most(price.upper)
        statement = price.statement
        remark = ("  (violated)" if price.violated else "") + (
            "" if price.proven else "  (not solved to the end)"
        )
        lines.append(
            f"{least:>14} {most:>12} {price.difference:>12.{DIGITS}g}  "
            f"{statement.place:<{width}}  {statement.text}{remark}"
        )
    if total > len(prices):
        lines.append(f"... and {total - len(prices)} more")
    return lines

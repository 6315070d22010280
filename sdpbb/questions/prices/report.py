"""Prices of constraints as values and as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sdpbb.problem.statements import Statement
from sdpbb.runtime.document import Document, Facts, Part, Table, Text, Tone, Verdict
from sdpbb.runtime.rendering import plain_text
from sdpbb.runtime.results import Reported, Tabular, values_of
from sdpbb.runtime.values import counted, percent_up, rounded_down, seconds_text
from sdpbb.search.result import Result, SolutionStatus

# Rows that `str` shows.
SHOWN = 20
# Significant digits of prices in the table.
DIGITS = 6

TITLE = "Prices of constraints"
LEGEND = (
    "The cost of a constraint is the decrease of the optimum without it. Proven: at least, at "
    "most.\nFound: the difference of the best clusterings found with it and without it."
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
        first = (statement.place, statement.kind.name.lower(), *statement.names, statement.weight)
        others = (self.violated, self.lower, self.upper, *values_of(self, *COLUMNS[8:]).values())
        return dict(zip(COLUMNS, (*first, *others), strict=True))

    def __str__(self) -> str:
        if self.proof in FREE:
            return f"{self.statement}: costs nothing, as {FREE[self.proof]}"
        least, most = _at_least(self.lower), _at_most(self.upper)
        return f"{self.statement}: costs {_interval(least, most)}"

    def __repr__(self) -> str:
        return f"<Price of {self}>"


@dataclass(frozen=True, repr=False)
class PriceReport(Reported, Tabular):
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

    columns = COLUMNS

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each price."""
        return [price.to_row() for price in self.prices]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        result = self.result
        return (
            values_of(result, "status", "termination", "objective", "lower_bound", "gap")
            | {"labels": None if result.partition is None else result.partition.labels.tolist()}
            | values_of(self, "is_complete", "interrupted")
            | {"prices": self.to_rows()}
            | values_of(self, "unpriced", "problems")
            | values_of(result, "conflict")
            | {"seconds": self.seconds}
            | values_of(result, "parameters", "version")
        )

    def document(self, top: int = SHOWN) -> Document:
        """Return a summary, and the most expensive constraints.

        top : number of prices in the table; those that are 0 for sure are not in it
        """
        result = self.result
        if result.conflict is not None:
            text = "No clustering satisfies the constraints, so constraints have no price."
            verdict = Verdict("Status", Tone("Proven infeasible", "bad"), text)
            return Document(TITLE, [verdict, Text(str(result.conflict), "verbatim")])
        if result.objective is None:
            text = f"No clustering was found, so constraints have no price: {result}"
            return Document(TITLE, [Verdict("Status", Tone("No clustering found", "fair"), text)])
        tone = Tone("Some prices are not known within the gap", "fair")
        if self.is_complete:
            tone = Tone("Every price is known within the gap", "good")
        parts: list[Part] = [Verdict("Status", tone, ""), Facts(self._facts())]
        dear = [price for price in self.prices if price.upper > 0]
        if dear[:top]:
            columns = ["stated at", "constraint", "costs at least", "at most", "found"]
            rows = [_row(price) for price in dear[:top]]
            more = len(dear) - len(rows)
            parts += [Text(LEGEND, "list"), Table(columns, rows, "Prices", more)]
        return Document(TITLE, parts)

    def _facts(self) -> list[tuple[str, str]]:
        result = self.result
        optimal = result.status is SolutionStatus.OPTIMAL
        certain = f"{'' if optimal else 'not '}proven optimal, gap {percent_up(result.gap)}"
        facts = [
            (result.cost_name.capitalize(), f"{result.objective:.12g}, {certain}"),
            ("Priced", counted(len(self.prices), "constraint")),
        ]
        counts = Counter(price.proof for price in self.prices)
        for proof, reason in FREE.items():
            if counts[proof]:
                facts.append(("Cost nothing", f"{counts[proof]}, as {reason}"))
        if n_left := len(self.unpriced) - len(self.problems):
            reason = "the run was interrupted" if self.interrupted else "the time was over"
            facts.append(("Not priced", f"{counted(n_left, 'constraint')}, as {reason}"))
        facts += [("Failed", problem) for problem in self.problems]
        return [*facts, ("Time", seconds_text(self.seconds))]

    def table(self, top: int = SHOWN) -> str:
        """Return the document as plain text, with at most `top` prices."""
        return plain_text(self.document(top))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        dearest = ""
        if self.prices and self.prices[0].lower > 0:
            dearest = f", dearest {self.prices[0]}"
        left = f", {len(self.unpriced)} not priced" if self.unpriced else ""
        return f"<PriceReport: {counted(len(self.prices), 'constraint')} priced{left}{dearest}>"


def _at_least(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never above it."""
    return f"{float(rounded_down(value, DIGITS)):.{DIGITS}g}"


def _at_most(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never below it."""
    return f"{abs(float(rounded_down(-value, DIGITS))):.{DIGITS}g}"


def _interval(least: str, most: str) -> str:
    return least if least == most else f"at least {least}, at most {most}"


def _row(price: Price) -> list[str]:
    """Return the cells of a price in the table."""
    statement = price.statement
    remark = (" (violated)" if price.violated else "") + (
        "" if price.proven else " (not solved to the end)"
    )
    figures = [_at_least(price.lower), _at_most(price.upper), f"{price.difference:.{DIGITS}g}"]
    return [statement.place, f"{statement.text}{remark}", *figures]

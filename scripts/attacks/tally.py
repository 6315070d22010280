"""Counts of what came of the cases of a part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from attacks.outcome import Kind, Outcome

KINDS = tuple(kind.value for kind in Kind)
FIELDS = ("part", "seed", "seconds", "tried", *KINDS)


@dataclass
class Finding:
    """number : of the case that is shown; text : its reproduction"""

    number: int
    text: str
    times: int = 1


@dataclass
class Tally:
    """What came of the cases of a part so far."""

    part: str
    seed: int
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    found: dict[str, Finding] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        return self.counts.total()

    def add(self, number: int, outcome: Outcome) -> None:
        """Count case `number`."""
        self.counts[outcome.kind.value] += 1
        if outcome.kind is not Kind.FOUND:
            return
        known = self.found.get(outcome.signature)
        if known is None:
            self.found[outcome.signature] = Finding(number, outcome.text)
            return
        known.times += 1
        if len(outcome.text) < len(known.text):
            known.number, known.text = number, outcome.text

    def line(self) -> str:
        """The counts so far."""
        counts = ", ".join(f"{self.counts[kind]} {kind}" for kind in KINDS if self.counts[kind])
        return f"{self.part}: {self.tried} tried in {self.seconds:.0f} s: {counts or 'none'}"


def row_of(tally: Tally) -> dict[str, Any]:
    """A row of the table of counts."""
    values = {"part": tally.part, "seed": tally.seed, "seconds": round(tally.seconds)}
    return values | {"tried": tally.tried} | {kind: tally.counts[kind] for kind in KINDS}

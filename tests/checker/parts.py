"""A certificate taken apart: its claim, its steps with their arrays, and its labels."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sdpbb.checker.kernel import archive
from sdpbb.checker.kernel.certificate import LOG, Certificate, lines

ENDS = ("open", "split", "infeasible")


@dataclass
class Step:
    """A line of the log: its words, the first of which names it, and its arrays."""

    words: list[Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.words[0]

    @property
    def evidence(self) -> list[Any] | None:
        """The evidence of a bound, of fixed pairs, or the prices that leave no clustering."""
        if self.name in ("bound", "fix"):
            return self.words[2]
        return self.words[1:] if self.words[:2] == ["infeasible", "prices"] else None


@dataclass
class Parts:
    claim: dict[str, Any]
    steps: list[Step]
    labels: np.ndarray | None

    @classmethod
    def of(cls, data: bytes | Path) -> Parts:
        """The parts of a certificate, from its bytes or its file."""
        content = data if isinstance(data, bytes) else data.read_bytes()
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        claim, *others = arrays.pop(LOG).tobytes().decode().splitlines()
        labels = arrays.pop("labels", None)
        steps = [Step(json.loads(line)) for line in others]
        for name, array in arrays.items():
            number, _, own = name.partition(".")
            steps[int(number) - 1].arrays[own] = array.copy()
        return cls(json.loads(claim), steps, labels)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        file = io.BytesIO()
        archive.write(file, self.named())
        return file.getvalue()

    def named(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays of the file, with their names."""
        yield LOG, lines(self.claim, [step.words for step in self.steps])
        if self.labels is not None:
            yield "labels", self.labels
        for number, step in enumerate(self.steps, start=1):
            yield from ((f"{number}.{name}", array) for name, array in step.arrays.items())

    def copy(self) -> Parts:
        return copy.deepcopy(self)

    def unclaimed(self) -> Parts:
        """These parts, which claim a lower bound alone; changed in place."""
        self.claim |= {"status": "unknown", "cost": None}
        self.labels = None
        return self

    def named_steps(self, name: str) -> list[Step]:
        return [step for step in self.steps if step.name == name]

    def evidences(self, word: str | None = None) -> list[Step]:
        """Steps with evidence, of a kind."""
        found = [step for step in self.steps if step.evidence is not None]
        return [step for step in found if word in (None, step.evidence[0])]

    def end_of_node(self, at: int) -> int:
        """The place of the last line of the node that a step is in, with all that is below it."""
        open_nodes = 1
        for place in range(at, len(self.steps)):
            name = self.steps[place].name
            if name in ENDS:
                open_nodes += 1 if name == "split" else -1
            if not open_nodes:
                return place
        return len(self.steps) - 1


def loaded(data: bytes) -> Certificate:
    """The certificate in the bytes of a file."""
    return Certificate.load(io.BytesIO(data))

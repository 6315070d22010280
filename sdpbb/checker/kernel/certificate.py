"""Certificate: a claim on an instance, and the log of its proof; nothing is proven yet.

The log is a text: a line of JSON for each step, with the arrays that belong to it. The first line
is the claim. Line 1, 2, ... is a step, in the order in which they are checked: a list that begins
with a word. An array `N` of line 7 is `7.N` in the archive.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .archive import FORMAT, NUMBERS, TEXT, Archive
from .rejection import Rejected
from .verdict import FEASIBLE, INFEASIBLE, OPTIMAL, STATUSES

LOG = "log"
"""Name of the array of the text."""

# Bytes of the text; digits of a whole number.
_LONGEST, _MAX_DIGITS = 2**32, 20
# Points, coordinates and clusters are fewer than this.
_MOST = 2**31
DIGESTS = {
    "points": "points",
    "must_link": "must-links",
    "cannot_link": "cannot-links",
    "rules": "constraints on clusters",
    "weights": "weights of points",
    "soft_must_link": "soft must-links",
    "soft_cannot_link": "soft cannot-links",
}
"""What a rejection calls the things that a claim has digests of, by their names.

From the weights on, they are there only if the instance has such things.
"""
_CLAIM = (
    *("certificate", "written_by", "n", "d", "k", *list(DIGESTS)[:4]),
    *("tolerance", "status", "cost", "lower_bound"),
)


@dataclass(frozen=True)
class Certificate:
    """Claim on an instance, and its proof.

    Attributes
    ----------
    digests : of the instance, by their names, as `StatedInstance` has them
    cost : of the labels, where status is "optimal" or "feasible"
    lower_bound : on the cost of every clustering; None where status is "infeasible"
    log : of the proof, a line for the claim and for each step
    """

    n: int
    d: int
    k: int
    digests: dict[str, Any]
    tolerance: float
    status: str
    cost: float | None
    lower_bound: float | None
    archive: Archive
    log: list[bytes]

    @classmethod
    def read(cls, data: bytes) -> Certificate:
        """Read a certificate from the bytes of a file; see `load`."""
        return cls.load(BytesIO(data))

    @classmethod
    def load(cls, file: BinaryIO) -> Certificate:
        """Read a certificate from a file, which stays open while its arrays are taken from it.

        Raises
        ------
        Rejected
            If it is not a certificate, saying which value is none that it may have there.
        """
        archive = Archive(file)
        log = archive.take(LOG, TEXT, range(1, _LONGEST)).tobytes().split(b"\n")
        if log.pop():
            raise Rejected("the log ends within a line")
        claim = _parsed(log[0])
        if not isinstance(claim, dict):
            raise Rejected(f"the claim is {shown(claim)}; expected an object")
        for name in claim:
            if name not in (*_CLAIM, *DIGESTS):
                raise Rejected(f"unknown key {name[:40]!r}; expected {', '.join(_CLAIM)}")
        for name in _CLAIM:
            if name not in claim:
                raise Rejected(f"{name!r} is missing; expected it in the claim")
        if claim["certificate"] != FORMAT:
            raise Rejected(f"is in format {shown(claim['certificate'])}; expected format {FORMAT}")
        if type(claim["written_by"]) is not str:
            raise Rejected("written_by: expected text")
        n, d = (whole(claim[name], name, 1, _MOST) for name in ("n", "d"))
        status = word(claim["status"], "status", *STATUSES)
        return cls(
            n=n,
            d=d,
            k=whole(claim["k"], "k", 1, n + 1),
            digests={name: claim[name] for name in DIGESTS if name in claim},
            tolerance=number(claim["tolerance"], "tolerance", 0.0, 1.0),
            status=status,
            cost=_stated(claim, "cost", status, status in (OPTIMAL, FEASIBLE)),
            lower_bound=_stated(claim, "lower_bound", status, status != INFEASIBLE),
            archive=archive,
            log=log,
        )

    def step(self, number: int) -> list[Any]:
        """Return the line of a step, a list that begins with a word."""
        step = _parsed(self.log[number])
        if not isinstance(step, list) or not step or type(step[0]) is not str:
            raise Rejected(f"{shown(step)}; expected a list that begins with a word")
        return step

    def labels(self) -> NDArray[np.int64]:
        """Return the cluster of each point, (n,)."""
        return self.archive.take("labels", NUMBERS, self.n).astype(np.int64)


def _stated(claim: dict[str, Any], name: str, status: str, is_expected: bool) -> float | None:
    """Return a number that is there if it is expected, and else null."""
    if (claim[name] is not None) != is_expected:
        what = "a value" if is_expected else "null"
        raise Rejected(f"{name}: expected {what} where the status is {status!r}")
    return number(claim[name], name) if is_expected else None


def lines(claim: dict[str, Any], steps: list[list[Any]]) -> NDArray[np.uint8]:
    """Return the text of a claim and its steps, as the archive has it."""
    text = "".join(
        json.dumps(line, separators=(",", ":"), allow_nan=False, ensure_ascii=False) + "\n"
        for line in (claim, *steps)
    )
    return np.frombuffer(text.encode(), np.uint8)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(
            line.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_whole,
        )
    except (ValueError, RecursionError) as error:
        raise Rejected(f"a line is not JSON ({error}); expected JSON") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Rejected("a line names a key twice; expected each key once")
    return values


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Rejected(f"{digits[:20]}; expected finite numbers")
    return value


def _whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise Rejected(f"a whole number of {len(digits)} digits; expected at most {_MAX_DIGITS}")
    return int(digits)


def fields(values: list[Any], *names: str) -> list[Any]:
    """Return values, one for each name."""
    if len(values) != len(names):
        raise Rejected(f"{len(values)} values; expected {', '.join(names) or 'none'}")
    return values


def items(value: Any, what: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise Rejected(f"{what}: {shown(value)}; expected a list")
    return value


def whole(value: Any, what: str, least: int, below: int) -> int:
    """Return an integer in least..below - 1; true and false are none."""
    if type(value) is not int or not least <= value < below:
        raise Rejected(f"{what}: {shown(value)}; expected a whole number in {least}..{below - 1}")
    return value


def number(value: Any, what: str, least: float = -math.inf, below: float = math.inf) -> float:
    """Return a finite number, at least `least` and below `below`."""
    if type(value) is int and abs(value) < 2**53:
        value = float(value)
    if type(value) is not float or not least <= value < below:
        limits = "" if least == -math.inf else f" >= {least} and < {below}"
        raise Rejected(f"{what}: {shown(value)}; expected a finite number{limits}")
    return value


def word(value: Any, what: str, *allowed: str) -> str:
    """Return one of the allowed words."""
    if type(value) is not str or value not in allowed:
        raise Rejected(f"{what}: {shown(value)}; expected {' or '.join(allowed)}")
    return value


def shown(value: Any) -> str:
    """Return a value as a message quotes it."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of lists in lists
        return "a value that is too long to be shown"
    return text if len(text) <= 40 else f"{text[:37]}..."

"""Certificate as read: a claim on an instance, and the log of its proof. Nothing is proven here.

The log is a text of lines of JSON. Line 0 is the claim. Lines 1, 2, ... are the steps in the order
of the check: lists that begin with a word, with arrays. Array `N` of line 7 is `7.N` in the file.
"""

from __future__ import annotations

import json
import math
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .archive import FORMAT, NUMBERS, TEXT, Archive, Length
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
"""Names of the digests in a claim, and what a rejection calls the things they are about.

A claim has the last three only if the instance has weights or such soft pairs.
"""
_CLAIM = (
    *("certificate", "written_by", "n", "d", "k", *list(DIGESTS)[:4]),
    *("tolerance", "status", "cost", "lower_bound"),
)


Reader = Callable[[Any, str], Any]
"""Reader of a field from its value and name; it raises `Rejected`."""
Shape = tuple[tuple[str, ...], *tuple[Length, ...]]
"""Types and lengths that an array may have."""
Take = Callable[..., NDArray[Any]]
"""Reader of an array from its name and its `Shape`, as `Archive.take`."""
Written = tuple[list[Any], dict[str, NDArray[Any]]]
"""Record in a file: its list, and its arrays by their names."""


class Record(ABC):
    """Record in a step: a list of a word and fields, and arrays.

    Each kind is a dataclass whose attributes are the fields and the arrays.
    """

    WORD: ClassVar[str]
    """First entry of the list."""
    PROOF: ClassVar[str]
    """The rule of docs/proof_rules.md that says what it proves."""
    READS: ClassVar[dict[str, Reader]] = {}
    """Readers of the fields, by their names."""

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        """Return the shapes of the arrays by their names, for the fields and m blocks."""
        return {}

    @classmethod
    def read(cls, values: list[Any], take: Take, m: int) -> Self:
        """Return the record of a step about m blocks.

        values : entries of the list after the word

        Raises
        ------
        Rejected
            If a field or an array is not what the record has. The shape of an array is checked
            before it is read.
        """
        stated = zip(cls.READS.items(), fields(values, *cls.READS), strict=True)
        read = {name: reader(value, name) for (name, reader), value in stated}
        arrays = {name: take(name, *shape) for name, shape in cls.shapes(read, m).items()}
        return cls(**read, **arrays)

    def written(self) -> Written:
        """Return the record as a file has it."""
        values = {name: getattr(self, name) for name in self.READS}
        arrays = {name: getattr(self, name) for name in self.shapes(values, 0)}
        return [self.WORD, *values.values()], arrays


@dataclass(frozen=True)
class Certificate:
    """Claim on an instance, and its proof.

    Attributes
    ----------
    digests : of the instance, by name, as in `StatedInstance.digests`
    cost : of the labels if status is "optimal" or "feasible", else None
    lower_bound : on the cost of every clustering; None if status is "infeasible"
    log : lines of the claim and the steps
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
    def load(cls, file: BinaryIO) -> Certificate:
        """Read a certificate from a file, which stays open while its arrays are taken from it.

        Raises
        ------
        Rejected
            If it is not a certificate; the message names the wrong value.
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
    """Return a number of the claim, None for null; `Rejected` unless it is as expected."""
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
    """Return the value of a line of JSON, of finite numbers and distinct keys."""
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
    """Return the values; `Rejected` unless there is one for each name."""
    if len(values) != len(names):
        raise Rejected(f"{len(values)} values; expected {', '.join(names) or 'none'}")
    return values


def items(value: Any, what: str) -> list[Any]:
    """Return the value; `Rejected` unless it is a list."""
    if not isinstance(value, list):
        raise Rejected(f"{what}: {shown(value)}; expected a list")
    return value


def whole(value: Any, what: str, least: int, below: int) -> int:
    """Return the value; `Rejected` unless it is an integer in least..below - 1."""
    if type(value) is not int or not least <= value < below:
        raise Rejected(f"{what}: {shown(value)}; expected a whole number in {least}..{below - 1}")
    return value


def number(value: Any, what: str, least: float = -math.inf, below: float = math.inf) -> float:
    """Return the value as a float; `Rejected` unless it is finite, >= least and < below."""
    if type(value) is int and abs(value) < 2**53:
        value = float(value)
    if type(value) is not float or not least <= value < below:
        limits = "" if least == -math.inf else f" >= {least} and < {below}"
        raise Rejected(f"{what}: {shown(value)}; expected a finite number{limits}")
    return value


def word(value: Any, what: str, *allowed: str) -> str:
    """Return the value; `Rejected` unless it is one of the allowed words."""
    if type(value) is not str or value not in allowed:
        raise Rejected(f"{what}: {shown(value)}; expected {' or '.join(allowed)}")
    return value


def one_of(*words: str) -> Reader:
    """Return a reader of one of these words."""
    return lambda value, name: word(value, name, *words)


def shown(value: Any) -> str:
    """Return a value as a message quotes it."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # of lists in lists
        return "a value that is too long to be shown"
    return text if len(text) <= 40 else f"{text[:37]}..."

"""Certificates that are slightly wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.problem import Instance
from tests.checker.parts import Parts
from tests.enumeration import optimum

DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")

_WORDS = (
    *("optimal", "feasible", "infeasible", "unknown", "conflict", "clique", "colouring", "packing"),
    *("scatter", "dual", "prices", "clusters", "open", "split", "bound", "merge", "fix", "equal"),
    *("vectors", "cliques", "templates", "pentagons"),
)


def mutations(data: bytes, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Descriptions and contents of corrupted files, without end: a third each of damaged bytes, of
    a changed line of the log, and of changed arrays.

    data : the bytes of a certificate
    """
    kinds: tuple[Callable[[bytes, np.random.Generator], tuple[str, bytes]], ...] = (
        damaged,
        with_changed_line,
        with_changed_array,
    )
    while True:
        for kind in kinds:
            description, corrupted = kind(data, rng)
            if corrupted != data:
                yield description, corrupted


def assert_rejected_or_true(
    data: bytes,
    instance: Instance,
    verify: Callable[[bytes], CertificateVerdict],
    rng: np.random.Generator,
    n: int,
    least: int,
) -> None:
    """Whatever n changed certificates claim and is verified is what enumeration says.

    verify : returns the verdict on a changed one, or raises Rejected
    least : so many are rejected at least; what is left changed a name, or claims less
    """
    truth, rejected = optimum(instance), 0
    for description, corrupted in islice(mutations(data, rng), n):
        try:
            verdict = verify(corrupted)
        except Rejected:
            rejected += 1
            continue
        assert (verdict.n, verdict.d) == instance.points.shape, description
        assert verdict.k == instance.k, description
        if truth is None:
            assert verdict.status in ("infeasible", "unknown"), description
            continue
        assert verdict.status != "infeasible", description
        rounding = 1e-12 * truth + 1e-28
        assert verdict.lower_bound <= truth + rounding, description
        if verdict.cost is not None:
            assert verdict.cost >= truth - rounding, description
        if verdict.status == "optimal":
            slack = (max(verdict.tolerance, 1e-12) + 1e-12) * verdict.cost
            assert verdict.cost - truth <= slack + rounding, description
    assert rejected >= least


def damaged(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """With a wrong byte, a byte too few or too many, or cut off."""
    at = int(rng.integers(len(data)))
    match rng.integers(4):
        case 0:
            byte = (data[at] + int(rng.integers(1, 256))) % 256
            return f"byte {at} is {byte}", data[:at] + bytes([byte]) + data[at + 1 :]
        case 1:
            return f"byte {at} is missing", data[:at] + data[at + 1 :]
        case 2:
            return f"a byte more at {at}", data[:at] + bytes([int(rng.integers(256))]) + data[at:]
        case _:
            return f"cut off at {at}", data[:at]


def with_changed_line(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """With another value somewhere in the claim or in a step, or a step fewer or more."""
    parts = Parts.of(data)
    if rng.random() < 0.2:
        at = int(rng.integers(len(parts.steps)))
        if rng.random() < 0.5:
            del parts.steps[at]
            return f"line {at + 1} is missing", parts.data
        parts.steps.insert(at, copy.deepcopy(parts.steps[at]))
        return f"line {at + 1} is there twice", parts.data
    lines: list[Any] = [parts.claim, *(step.words for step in parts.steps)]
    places = [place for line in lines for place in _places(line)]
    place, container, key = places[int(rng.integers(len(places)))]
    before = container[key]
    description = _changed(container, key, rng)
    if description is None:
        container[key] = _other(before, rng)
        description = f"{_short(before)} -> {_short(container[key])}"
    return f"{place}: {description}", parts.data


def with_changed_array(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """With another entry of an array, a row fewer or more, or another dtype."""
    parts = Parts.of(data)
    holders: list[tuple[Any, str]] = [
        (step.arrays, name) for step in parts.steps for name in step.arrays
    ]
    if parts.labels is not None:
        holders.append((vars(parts), "labels"))
    if not holders:
        return "no arrays", data
    holder, name = holders[int(rng.integers(len(holders)))]
    array = holder[name].copy()
    match rng.integers(6):
        case 0 if len(array):
            array = np.delete(array, int(rng.integers(len(array))), axis=0)
            what = "a row fewer"
        case 1 if len(array):
            array = np.concatenate([array, array[:1]])
            what = "a row more"
        case 2:
            with np.errstate(all="ignore"):
                array = array.astype(DTYPES[int(rng.integers(len(DTYPES)))])
            what = f"as {array.dtype}"
        case _ if array.size:
            at = int(rng.integers(array.size))
            before = array.flat[at].item()
            others = [*_numbers(before), array.flat[rng.integers(array.size)]]
            with np.errstate(all="ignore"):
                array.flat[at] = np.array(others[rng.integers(len(others))]).astype(array.dtype)
            what = f"[{at}]: {before!r} -> {array.flat[at]!r}"
        case _:
            array = array.reshape(-1)
            what = "one dimension"
    holder[name] = array
    return f"array {name} {what}", parts.data


def changed_claim(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """With the claim changed in place."""
    parts = Parts.of(data)
    change(parts.claim)
    return parts.data


def _places(value: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in keys:
        place = f"{name}.{key}"
        yield place, value, key
        if isinstance(item, (dict, list)):
            yield from _places(item, place)


def _changed(container: Any, key: Any, rng: np.random.Generator) -> str | None:
    """Changes what holds a value, now and then."""
    match rng.integers(12):
        case 0:
            del container[key]
            return "is missing"
        case 1 if isinstance(container, dict):
            container[f"{key}_"] = container.pop(key)
            return "is called otherwise"
        case 2 if isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
            return "is there twice"
        case 3 if isinstance(container, list) and len(container) > 1:
            container[key], container[key - 1] = container[key - 1], container[key]
            return "changed its place"
    return None


def _other(value: Any, rng: np.random.Generator) -> Any:
    choices: list[Any]
    if rng.integers(10) == 0:
        choices = [None, True, "x", [], {}, 10**30]
    elif isinstance(value, bool):
        choices = [not value, int(value)]
    elif isinstance(value, (int, float)):
        choices = [*_numbers(value), value == 1]
    elif isinstance(value, str):
        choices = [*_WORDS, value[::-1], ""]
    elif value is None:
        choices = [0, 0.0, False, []]
    else:
        choices = [None, [], {}]
    return choices[int(rng.integers(len(choices)))]


def _numbers(value: float) -> list[float]:
    """Others, of the same type or not."""
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 0, 2 * value + 1, value + 0.5]
    near = [value * (1.0 + 1e-6), value * (1.0 - 1e-6), float(np.nextafter(value, np.inf))]
    return [*near, -value, value + 1.0, value * 1.5, value / 2.0, 0.0]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 30 else f"{text[:27]}..."

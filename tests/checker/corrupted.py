"""Certificates that are slightly wrong."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from sdpbb.checker.container import CERTIFICATE, pack, unpack
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.verdict import CertificateVerdict
from sdpbb.problem import Instance
from tests.enumeration import optimum

MAGIC, DTYPES = CERTIFICATE.first_line, CERTIFICATE.dtypes

_WORDS = (
    *("optimal", "feasible", "infeasible", "unknown", "together", "apart", "conflict", "clique"),
    *("colouring", "scatter", "semidefinite", "lagrangian", "prices", "enumerated", "open"),
    *("split", "bound", "merge"),
)


def mutations(data: bytes, rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Descriptions and contents of corrupted files, without end: a third each of damaged bytes, of
    a changed document, and of changed arrays, the latter two with the digest that belongs to them.

    data : the bytes of a certificate
    """
    kinds: tuple[Callable[[bytes, np.random.Generator], tuple[str, bytes]], ...] = (
        damaged,
        with_changed_document,
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
    """With a wrong byte, a byte too few or too many, or cut off; the digest is the old one."""
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


def with_changed_document(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """With another value somewhere in the document, the table of arrays included."""
    document, payload = _parts(data)
    changed = copy.deepcopy(document)
    places = list(_places(changed))
    place, container, key = places[int(rng.integers(len(places)))]
    before = container[key]
    description = _changed(container, key, rng)
    if description is None:
        container[key] = _other(before, rng)
        description = f"{_short(before)} -> {_short(container[key])}"
    return f"{place}: {description}", _sealed(changed, payload)


def with_changed_array(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """With another entry of an array, a row fewer or more, or another dtype."""
    document, stored = unpack(data)
    arrays = list(stored)
    if not arrays:
        return "no arrays", data
    position = int(rng.integers(len(arrays)))
    array = arrays[position].copy()
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
    arrays[position] = array
    return f"array {position} {what}", pack(document, arrays)


def resealed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """With the document, the table of arrays included, changed in place, and its digest."""
    document, payload = _parts(data)
    change(document)
    return _sealed(document, payload)


def _parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    length, rest = data[len(MAGIC) :].split(b"\n", 1)
    size = int(length)
    return json.loads(rest[:size]), rest[size:-32]


def _sealed(document: dict[str, Any], payload: bytes) -> bytes:
    text = json.dumps(document, separators=(",", ":")).encode()
    content = MAGIC + b"%d\n" % len(text) + text + payload
    return content + hashlib.sha256(content).digest()


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

"""Constraints in JSON, as the program PCCC reads them.

They are lists of pairs under `ml`, `cl`, `sml` and `scl`, and the confidences in the soft ones
under `sml_proba` and `scl_proba`.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.constraints import (
    PAIRS,
    ConstraintFormat,
    Constraints,
    Statements,
    check_pairs_only,
)
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.textfile import CHUNK, open_text, shown
from sdpbb.runtime.files import FilePath, shown_path

_PAIRS = ("ml", "cl", "sml", "scl")
_CONFIDENCES = ("sml_proba", "scl_proba")
KEYS = (*_PAIRS, *_CONFIDENCES)


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line begins like JSON."""
    return fields[0][0] in "{["


def read(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does."""
    lists = _lists(path, encoding)
    name = shown_path(path)
    stated = Statements()
    for key in _PAIRS:
        pairs = _pairs(lists[key], f"{name}: {key}", rows)
        weights = _weights(lists, key, len(pairs), name)
        stated.add_lines([key.upper()] * len(pairs), pairs, weights, 0)
    return stated.constraints(keys=dict(zip(PAIRS.values(), _PAIRS, strict=True)))


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints.

    Raises
    ------
    InstanceError
        For what is not a constraint on a pair, and for weights that are no confidences.
    """
    check_pairs_only(constraints, "pccc", soft=True)
    must_link, cannot_link = constraints.soft_must_link, constraints.soft_cannot_link
    for argument, soft in (("soft_must_link", must_link), ("soft_cannot_link", cannot_link)):
        wrong = np.flatnonzero(~((soft.weights > 0) & (soft.weights <= 1)))
        if len(wrong):
            raise InstanceError(
                f"{argument}[{wrong[0]}]: weight {soft.weights[wrong[0]]:g}; a file of the format "
                "pccc holds confidences 0 < w <= 1"
            )
    values = {
        "ml": constraints.must_link.tolist(),
        "cl": constraints.cannot_link.tolist(),
        "sml": must_link.pairs.tolist(),
        "scl": cannot_link.pairs.tolist(),
        "sml_proba": must_link.weights.tolist(),
        "scl_proba": cannot_link.weights.tolist(),
    }
    entries = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    return ["{", *(f"{entry}," for entry in entries[:-1]), entries[-1], "}"]


def _lists(path: FilePath, encoding: str | None) -> dict[str, list[Any]]:
    """Return the lists of the file; an empty one for a key that is not there."""
    name = shown_path(path)
    with open_text(path, encoding) as file:
        text = file.read()
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); expected an "
            f"object with lists {', '.join(KEYS)}"
        ) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InstanceError(
            f"{name}: {shown(reason)}; expected an object with lists {', '.join(KEYS)}"
        ) from None
    if not isinstance(content, dict):
        raise InstanceError(
            f"{name}: the JSON is not an object; expected one with lists {', '.join(KEYS)}"
        )
    for key, value in content.items():
        if key not in KEYS:
            raise InstanceError(f"{name}: unknown key {shown(key)}; expected {', '.join(KEYS)}")
        if not isinstance(value, list):
            raise InstanceError(f"{name}: {key} is {_shown(value)}; expected a list")
    return {key: content.get(key, []) for key in KEYS}


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) < len(items):
        keys = [key for key, _ in items]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!a} appears twice")
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _pairs(values: list[Any], where: str, rows: Rows) -> NDArray[np.intp]:
    numbers = array("q")
    for start in range(0, len(values), CHUNK):
        some = values[start : start + CHUNK]
        found = _plain_pairs(some, rows)
        if found is not None:
            numbers.frombytes(found.astype(np.int64).tobytes())
            continue
        for position, value in enumerate(some, start):
            names = _names(value, rows)
            pair = rows.pair(*names) if len(names) == 2 else None
            if pair is None:
                raise _wrong(f"{where}[{position}] is {_shown(value)}", names, rows)
            numbers.extend(pair)
    return np.array(numbers, np.intp).reshape(-1, 2)


def _plain_pairs(values: list[Any], rows: Rows) -> NDArray[np.intp] | None:
    """Return the pairs (p, 2) of lists of two integers each, or None if these are other values."""
    if set(map(type, values)) != {list} or set(map(len, values)) != {2}:
        return None
    first, second = zip(*values, strict=True)
    if not {int}.issuperset(map(type, first + second)):
        return None
    return rows.pairs(list(map(str, first)), list(map(str, second)))


def _wrong(says: str, names: list[str], rows: Rows) -> InstanceError:
    if len(names) == 2 and rows.are_names(names):
        return rows.pair_error(names[0], names[1], f"{says}, which")
    return InstanceError(f"{says}; expected two {rows.expected}")


def _names(value: Any, rows: Rows) -> list[str]:
    """Return the entries of a list as texts; [] unless it is a list of names or numbers."""
    kinds = (int,) if rows.names is None else (int, str)
    if isinstance(value, list) and all(type(entry) in kinds for entry in value):
        return [str(entry) for entry in value]
    return []


def _weights(lists: dict[str, list[Any]], key: str, n_pairs: int, name: str) -> NDArray[np.float64]:
    """Return the confidences in the pairs under a key; 1 if the file states none, or none can."""
    confidences = f"{key}_proba"
    values = lists.get(confidences)
    if not values:
        return np.ones(n_pairs)
    if len(values) != n_pairs:
        raise InstanceError(
            f"{name}: {confidences} has {len(values)} entries; expected one per pair of {key}, "
            f"{n_pairs}"
        )
    for position, value in enumerate(values):
        if type(value) not in (int, float) or not 0 < value <= 1:
            raise InstanceError(
                f"{name}: {confidences}[{position}] is {_shown(value)}; expected a confidence "
                "0 < w <= 1"
            )
    return np.array(values, np.float64)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


FORMAT = ConstraintFormat("pccc", "JSON", begins, read, lines, has_soft=True, has_comments=False)

"""Random parameters of the engine: valid ones around the defaults, and anything at all."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

# Beyond any domain, or at its end.
ODD_NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 10**30, -(10**30), 2**63, 2**31, 2.5, 0.5, 0.0, -0.0, 1.0, -1.5),
    *(math.nan, math.inf, -math.inf, 1e308, 5e-324, 1e-17, np.float32(0.1), np.int64(3)),
    *(np.float64("nan"), True, False),
)
# Numbers that say how long something is tried: large ones are valid, and take long.
EFFORT_LIMIT = 1000
# Of a whole run or what other parts attack.
NOT_VARIED = ("time_limit", "memory_limit", "workers", "dask", "simplex")


def random_valid(rng: np.random.Generator, defaults: Any, share: float = 0.3) -> Any:
    """Values of the kind of defaults, a share of whose numbers are changed by a factor up to
    thirty, or set to one of their few values. Not all of them are in their domains: what is refused
    keeps its default."""
    value = defaults
    for field in fields(defaults):
        old = getattr(defaults, field.name)
        if field.name in NOT_VARIED:
            continue
        if is_dataclass(old):
            new = random_valid(rng, old, share)
        elif rng.random() < share:
            new = _changed(rng, defaults, field.name, old)
        else:
            continue
        value = _with(value, field.name, new)
    return value


def _with(value: Any, name: str, new: Any) -> Any:
    from dataclasses import replace

    from sdpbb import ParameterError

    try:
        return replace(value, **{name: new})
    except ParameterError:
        return value


def _changed(rng: np.random.Generator, owner: Any, name: str, old: Any) -> Any:
    choices = _choices(owner, name)
    if choices:
        return choices[rng.integers(len(choices))]
    if isinstance(old, bool):
        return not old
    if name == "seed":
        return int(rng.integers(1000))
    if name == "gap":
        return float(10.0 ** -rng.integers(1, 14))
    factor = float(np.exp(rng.normal()))
    if isinstance(old, int):
        return min(max(round(old * factor), int(rng.integers(0, 3))), max(old, EFFORT_LIMIT))
    if isinstance(old, float):
        return old * factor
    if isinstance(old, tuple):
        return tuple(sorted(int(x) for x in rng.integers(1, 400, rng.integers(0, 4))))
    return old


def _choices(owner: Any, name: str) -> tuple[Any, ...]:
    """The values of a field that has few."""
    if name == "bounding":
        return ("sdp", "colgen", "hybrid")
    if name == "node_limit":
        return (None, None, 1, 2, 5)
    annotation = get_type_hints(type(owner))[name]
    arguments = get_args(annotation)
    return arguments if arguments and all(isinstance(a, str) for a in arguments) else ()


def number_paths(defaults: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where, in nested parameters, the numbers are."""
    found = []
    for field in fields(defaults):
        old = getattr(defaults, field.name)
        if is_dataclass(old):
            found += number_paths(old, (*path, field.name))
        elif (isinstance(old, (int, float)) or field.name == "node_limit") and not isinstance(
            old, bool
        ):
            found.append((*path, field.name))
    return found


def replaced(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """The nested values with the one at path replaced."""
    from dataclasses import replace

    name, *rest = path
    if rest:
        new = replaced(getattr(value, name), tuple(rest), new)
    return replace(value, **{name: new})


def code_of(value: Any) -> str:
    """Python, after `from sdpbb... import *`, for what differs from the defaults."""
    if not is_dataclass(value):
        return repr(value)
    default = type(value)() if _has_defaults(value) else None
    parts = [
        f"{field.name}={code_of(getattr(value, field.name))}"
        for field in fields(value)
        if default is None or repr(getattr(default, field.name)) != repr(getattr(value, field.name))
    ]
    return f"{type(value).__name__}({', '.join(parts)})"


def _has_defaults(value: Any) -> bool:
    try:
        type(value)()
    except TypeError:
        return False
    return True

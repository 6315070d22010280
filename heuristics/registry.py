"""All methods by name. Light: the module of a method is imported when the method is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sdpbb.errors import ParameterError

if TYPE_CHECKING:
    from heuristics.method import Heuristic


@dataclass(frozen=True)
class Entry:
    """Where a method is, and in one line which constraints it takes and what it does."""

    module: str
    class_name: str
    summary: str


METHODS: Mapping[str, Entry] = {
    "kmeans": Entry("heuristics.kmeans", "KMeans", "no constraints: k-means, for comparison"),
    "cop-kmeans": Entry(
        "heuristics.cop_kmeans",
        "COPKMeans",
        "hard: point by point to the nearest cluster; may find none",
    ),
    "ipc-kmeans": Entry(
        "heuristics.ipc_kmeans",
        "IPCKMeans",
        "hard: k-means with exact assignments, also from the relaxation",
    ),
    "blpkm": Entry(
        "heuristics.blpkm", "BLPKM", "hard: k-means with assignments by binary programmes"
    ),
    "bh-kmeans": Entry(
        "heuristics.bh_kmeans",
        "BHKMeans",
        "soft: k-means that pays for violated constraints, hard ones too",
    ),
    "pccc": Entry(
        "heuristics.pccc", "PCCC", "hard and soft: k-means that weighs confidence; for large data"
    ),
    "bckm": Entry(
        "heuristics.bckm", "BCKM", "hard, and cluster sizes: linear programmes with penalties"
    ),
    "post-processing": Entry(
        "heuristics.post_processing",
        "PostProcessing",
        "hard: the assignment that agrees most with a given one",
    ),
    "best-of": Entry(
        "heuristics.best_of",
        "BestOf",
        "hard: many runs, local search, relocations; the best counts",
    ),
}


def check_method(name: str) -> None:
    """ParameterError unless there is a method of that name. Imports nothing."""
    if name not in METHODS:
        raise ParameterError(f"no method {name!r}; expected one of {', '.join(METHODS)}")


def method_class(name: str) -> type[Heuristic]:
    """The class of a method.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    check_method(name)
    entry = METHODS[name]
    found: type[Heuristic] = getattr(import_module(entry.module), entry.class_name)
    return found


def method_parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """The parameters of a method, their annotations evaluated.

    Raises
    ------
    ParameterError
        If there is no method of that name.
    """
    return inspect.signature(method_class(name), eval_str=True).parameters


def method(name: str, **parameters: Any) -> Heuristic:
    """A method with the given parameters, the others as they are by default.

    Raises
    ------
    ParameterError
        If there is no such method or parameter (the message lists those there are), or a parameter
        is outside of its domain.
    """
    check_parameters(name, *parameters)
    return method_class(name)(**parameters)


def check_parameters(name: str, *given: str) -> None:
    """ParameterError unless all given are names of parameters of a method."""
    known = method_parameters(name)
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"{name} has no parameter {parameter!r}; expected one of {', '.join(known)}"
            )

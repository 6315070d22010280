"""All methods by name. Light: the module of a method is imported on first use."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sdpbb.errors import ParameterError
from sdpbb.runtime.declaration import Declaration, own_declarations

if TYPE_CHECKING:
    from heuristics.method import Heuristic

Class = TypeVar("Class", bound="type[Heuristic]")

METHODS: dict[str, str | type[Heuristic]] = {
    "kmeans": "heuristics.kmeans:KMeans",
    "cop-kmeans": "heuristics.kmeans:COPKMeans",
    "ipc-kmeans": "heuristics.ipc_kmeans:IPCKMeans",
    "blpkm": "heuristics.penalised:BLPKM",
    "bh-kmeans": "heuristics.penalised:BHKMeans",
    "pccc": "heuristics.penalised:PCCC",
    "bckm": "heuristics.bckm:BCKM",
    "post-processing": "heuristics.post_processing:PostProcessing",
    "best-of": "heuristics.best_of:BestOf",
}
"""The class of each method, or its place: "module:class"."""


def register(method: Class) -> Class:
    """Make a class known by its `name`, to `sdpbb.heuristic` and the command; a class decorator.

    Raises
    ------
    ParameterError
        If another method has this name.
    """
    if METHODS.setdefault(method.name, method) is not method:
        raise ParameterError(
            f"name = {method.name!r}: another method has this name; expected a new one"
        )
    return method


def summary(name: str) -> str:
    """Return the first line of a method's documentation, from its source.

    Its module, which may compile, is not imported.

    Raises
    ------
    ParameterError
        If no method has this name.
    """
    check_method(name)
    found = METHODS[name]
    if not isinstance(found, str):
        text = inspect.getdoc(found)
    else:
        module, _, class_name = found.partition(":")
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        statements = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
        classes = {each.name: each for each in statements if isinstance(each, ast.ClassDef)}
        text = ast.get_docstring(classes[class_name])
    return (text or "").partition("\n")[0].removesuffix(".")


def check_method(name: str) -> None:
    """Raise ParameterError unless a method has this name. Imports nothing."""
    if name not in METHODS:
        raise ParameterError(f"no method {name!r}; expected one of {', '.join(METHODS)}")


def method_class(name: str) -> type[Heuristic]:
    """Return the class of a method.

    Raises
    ------
    ParameterError
        If no method has this name.
    """
    check_method(name)
    found = METHODS[name]
    if isinstance(found, str):
        module, _, class_name = found.partition(":")
        imported: type[Heuristic] = getattr(import_module(module), class_name)
        return imported
    return found


def method_parameters(name: str) -> Mapping[str, Declaration]:
    """Return the declarations of a method's parameters by name.

    Raises
    ------
    ParameterError
        If no method has this name.
    """
    return own_declarations(method_class(name))


def method(name: str, **parameters: Any) -> Heuristic:
    """Return a method with the given parameters, and defaults for the others.

    Raises
    ------
    ParameterError
        If the method or a parameter does not exist (the message lists all), or a parameter is
        outside of its domain.
    """
    check_parameters(name, *parameters)
    return method_class(name)(**parameters)


def check_parameters(name: str, *given: str) -> None:
    """Raise ParameterError unless all given are names of parameters of a method."""
    known = method_parameters(name)
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"{name} has no parameter {parameter!r}; expected one of {', '.join(known)}"
            )

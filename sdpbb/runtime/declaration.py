"""Declarations of parameters: type, domain, default, help and reason of each, in one place.

    @dataclass(frozen=True)
    class SdpParameters(Parameters):
        max_iterations: int = parameter(3000, "Maximum iterations of a node.", ge=1)

Checks of values, command-line options, TOML files of parameters and the reference page follow from
the declarations. This module imports nothing that is slow to load.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import json
import math
import numbers
import operator
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from sdpbb.errors import ParameterError
from sdpbb.runtime.files import FilePath

LARGEST_INTEGER = 2**31 - 1
"""Default of the largest absolute value of an integer. Multiplied by the number of blocks, it still
fits the integers of compiled code."""

ELSEWHERE = {
    "labels": ("known_classes", "start"),
    "n_clusters": ("k",),
    "n_jobs": ("workers",),
    "random_state": ("seed",),
    "sample_weight": ("weights",),
    "scale": ("standardize",),
    "size_max": ("max_size",),
    "size_min": ("min_size",),
    "y": ("known_classes",),
}
"""Names of arguments in other packages, each with possible names here."""

MOST_LISTED = 12
"""Number of known names that a message lists."""

_SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


def parameter(default: Any = MISSING, help: str = "", **domain: Any) -> Any:
    """Declare a field of a `Parameters` class.

    default : the default value, or a function that makes it; omit it if there is none
    help, domain : fields of `Declaration`: reason, ge, gt, le, lt, infinite, unit, largest
    """
    made = {"default_factory" if callable(default) else "default": default}
    return dataclasses.field(**made, metadata={"help": help, **domain})


@dataclass(frozen=True, eq=False)
class Parameters:
    """Base class of frozen dataclasses whose fields are declared by `parameter`.

    The constructor checks values, and stores plain numbers and tuples instead of NumPy scalars and
    lists. True is not a number.

    Raises
    ------
    ParameterError
        One line that begins with the name of the field and " = ".
    """

    def __post_init__(self) -> None:
        for name, declaration in own_declarations(type(self)).items():
            object.__setattr__(self, name, declaration.checked(getattr(self, name)))
        self.check_combination()

    def check_combination(self) -> None:
        """Raise a ParameterError if the values of several fields conflict."""

    def updated(self, values: Mapping[str, Any]) -> Self:
        """Return the same parameters with other values.

        Parameters
        ----------
        values : by name; of components nested, or by path, as in {"sdp.max_iterations": 9}

        Raises
        ------
        ParameterError
            One line that begins with the path of an unknown parameter, or of a parameter whose
            value is outside of its domain.
        """
        own = own_declarations(type(self))
        changes: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for path, value in values.items():
            name, _, rest = path.partition(".")
            is_component = isinstance(getattr(self, name, None), Parameters)
            if name not in own or (rest and not is_component):
                raise ParameterError(f"{path}: unknown parameter; {did_you_mean(name, own)}")
            if rest or (is_component and isinstance(value, Mapping)):
                nested.setdefault(name, {}).update({rest: value} if rest else value)
            else:
                changes[name] = value
        for name, part in nested.items():
            try:
                changes[name] = getattr(self, name).updated(part)
            except ParameterError as error:
                raise ParameterError(f"{name}.{error}") from None
        return dataclasses.replace(self, **changes)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read parameters from a TOML file; other parameters keep their defaults.

        Raises
        ------
        ParameterError
            One line that begins with the name of the file.
        """
        return cls.load_stated(path)[0]

    @classmethod
    def load_stated(cls, path: FilePath) -> tuple[Self, frozenset[str]]:
        """Read parameters like `load`; return them, and the names of parameters in the file."""
        import tomllib

        from sdpbb.runtime.files import shown_path

        try:
            with open(path, "rb") as file:
                values = tomllib.load(file)
            return cls().updated(values), frozenset(values)
        except OSError as error:
            problem = error.strerror or str(error)
        except ParameterError as error:
            problem = str(error)
        except (ValueError, RecursionError) as error:  # also of thousands of digits or brackets
            problem = f"{error}; expected TOML"
        raise ParameterError(f"{shown_path(path)}: {problem}")

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain values."""
        return dataclasses.asdict(self)

    def to_toml(self) -> str:
        """Return a TOML file that `load` reads, with the help texts as comments."""
        lines = []
        for declaration, value in declared_values(self):
            wrapped = textwrap.wrap(declaration.help, 90)
            comment = [f"# {line}" for line in wrapped]
            name = declaration.name
            if isinstance(value, Parameters):
                lines += ["", *comment, f"[{declaration.path}]"]
            elif value is None:
                lines += [*comment, f"# {name} = None: leave it out"]
            else:
                lines += [*comment, f"{name} = {_toml(value)}"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Declaration:
    """Declaration of one parameter.

    path : its name, with the names of its components before: "sdp.max_iterations"
    default : MISSING: there is no default
    help : what the parameter is, for help texts and the reference page
    reason : of the default and the domain
    ge, gt, le, lt : bounds of a number: >=, >, <=, <
    infinite : whether a number may be inf
    unit : of a number, for messages ("seconds > 0"); of other values, a description of them
    largest : largest absolute value of an integer that fits its storage
    """

    path: str
    annotation: Any
    default: Any
    help: str = ""
    reason: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    infinite: bool = False
    unit: str = ""
    largest: int = LARGEST_INTEGER

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of values, without None."""
        if get_origin(self.annotation) not in (Union, UnionType):
            return (self.annotation,)
        return tuple(kind for kind in get_args(self.annotation) if kind is not NoneType)

    @property
    def is_optional(self) -> bool:
        return NoneType in get_args(self.annotation)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of a Literal; empty for other types."""
        literals = (kind for kind in self.kinds if get_origin(kind) is Literal)
        return tuple(word for kind in literals for word in get_args(kind))

    @property
    def expected(self) -> str:
        """The domain in words: "an integer >= 1, or None"."""
        phrases = dict.fromkeys(map(self._phrase, self.kinds))
        return " or ".join(phrases) + (", or None" if self.is_optional else "")

    def checked(self, value: Any) -> Any:
        """Return the value in its declared type.

        Raises
        ------
        ParameterError
            If it is outside of the domain.
        """
        if value is None and (self.is_optional or self.annotation is Any):
            return None
        found = (self._read(kind, value) for kind in self.kinds)
        plain = next((each for each in found if each is not None), None)
        if plain is None:
            raise wrong(self.name, value, self.expected)
        if isinstance(plain, int) and abs(plain) > self.largest:
            width = f"an integer below 2^{self.largest.bit_length()} in absolute value"
            raise wrong(self.name, value, width)
        return plain

    def _read(self, kind: Any, value: Any) -> Any:
        """Return the value in the type; None if it is outside of the domain."""
        if kind is int or kind is float:
            number = as_integer(value) if kind is int else as_number(value)
            return number if number is not None and self._holds(number) else None
        if get_origin(kind) is tuple:
            items = value.tolist() if isinstance(value, np.ndarray) else value
            is_right = isinstance(items, (tuple, list)) and all(isinstance(x, str) for x in items)
            return tuple(items) if is_right else None
        if get_origin(kind) is Literal:
            is_right = isinstance(value, str) and value in get_args(kind)
        else:
            value = bool(value) if kind is bool and isinstance(value, np.bool_) else value
            is_right = isinstance(value, _class_of(kind)) and not (kind is str and not value)
        return value if is_right else None

    def _holds(self, number: float) -> bool:
        return (
            number == number  # not nan
            and (self.infinite or abs(number) != math.inf)
            and all(_SIGNS[sign](number, bound) for sign, bound in self._bounds.items())
        )

    @property
    def _bounds(self) -> dict[str, float]:
        named = zip(_SIGNS, (self.ge, self.gt, self.le, self.lt), strict=True)
        return {sign: bound for sign, bound in named if bound is not None}

    def _phrase(self, kind: Any) -> str:
        """Return the values of a type in words, for messages."""
        if kind is int or kind is float:
            return self._number_phrase(kind)
        if kind is bool:
            return "True or False"
        if get_origin(kind) is Literal:
            return self.unit or f"one of {', '.join(get_args(kind))}"
        if get_origin(kind) is tuple:
            return self.unit or "a tuple of texts"
        return self.unit or ("a text" if kind is str else f"a {_class_of(kind).__name__}")

    def _number_phrase(self, kind: type) -> str:
        noun = self.unit or ("an integer" if kind is int else "a number")
        signs, bounds = [*self._bounds], [*map(_short, self._bounds.values())]
        if len(bounds) == 2:
            ends = "[" if signs[0] == ">=" else "(", "]" if signs[1] == "<=" else ")"
            return f"{noun} in {ends[0]}{', '.join(bounds)}{ends[1]}"
        if kind is float and not self.infinite and not self.unit:
            noun = "a finite number"
        return " ".join([noun, *signs, *bounds])


def own_declarations(kind: type[Parameters]) -> dict[str, Declaration]:
    """Return the declarations of a class by name, in order, without those inside its components."""
    key: Any = kind  # mypy does not know that classes are hashable
    return _own_declarations(key)


@functools.cache
def _own_declarations(kind: type[Parameters]) -> dict[str, Declaration]:
    types = get_type_hints(kind)
    return {
        field.name: Declaration(
            field.name,
            types[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
            **field.metadata,
        )
        for field in dataclasses.fields(kind)
    }


def declared_values(
    parameters: Parameters, defaults: Parameters | None = None, prefix: str = ""
) -> Iterator[tuple[Declaration, Any]]:
    """Yield every declaration with its value in parameters, components included.

    Parameters come before components, and each component before its own parameters. Paths are full.

    defaults : values for the declarations; None: the defaults of the class
    prefix : of the paths
    """
    defaults = type(parameters)() if defaults is None else defaults
    pairs = [
        (each, getattr(parameters, name))
        for name, each in own_declarations(type(parameters)).items()
    ]
    for each, value in sorted(pairs, key=lambda pair: isinstance(pair[1], Parameters)):
        path, default = prefix + each.name, getattr(defaults, each.name)
        yield dataclasses.replace(each, path=path, default=default), value
        if isinstance(value, Parameters):
            yield from declared_values(value, default, f"{path}.")


def declarations(kind: type[Parameters]) -> Iterator[Declaration]:
    """Yield the declarations of a class in the order of `declared_values`."""
    return (declaration for declaration, _ in declared_values(kind()))


def did_you_mean(name: str, known: Iterable[str], listed_by: str = "") -> str:
    """Return the end of a message on an unknown name: a similar name, or all known names.

    listed_by : command that lists all known names; used if there are many
    """
    known = list(known)
    meant = [other for other in ELSEWHERE.get(name, ()) if other in known]
    meant = meant or difflib.get_close_matches(name, known, n=1)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    if listed_by and len(known) > MOST_LISTED:
        return f"expected one of {', '.join(known[:MOST_LISTED])}, ...; see {listed_by}"
    return f"expected {', '.join(known)}"


def check_names(arguments: Iterable[str], known: Iterable[str], function: str) -> None:
    """Raise a TypeError for the first unknown keyword argument of a function.

    The message suggests the most similar name.
    """
    expected = [*known]
    for name in arguments:
        if name not in expected:
            hint = did_you_mean(name, expected, f"help(sdpbb.{function})")
            raise TypeError(f"{function}() has no argument {name!r}; {hint}")


def check_keywords(
    arguments: Iterable[str], known: Iterable[str], function: Callable[..., Any]
) -> None:
    """Raise the TypeError of `check_names` for a function that ends with **arguments.

    known : allowed names, in addition to the function's own parameters
    """
    own = [*inspect.signature(function).parameters][1:-1]
    check_names(arguments, [*own, *known], function.__name__)


def as_number(value: object) -> float | None:
    """Return a real number, also of NumPy, as a float; None for other values."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return None


def as_integer(value: object) -> int | None:
    """Return an integer, also of NumPy, as an int; None for other values."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return None
    return int(value)


def wrong(parameter: str, value: object, expected: str) -> ParameterError:
    """Return an error with the value of a parameter and the expected values, in one line."""
    try:
        shown = repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        shown = f"{type(value).__name__} with thousands of digits"
    shown = " ".join((shown if len(shown) <= 60 else f"{shown[:57]}...").split())
    return ParameterError(f"{parameter} = {shown}: expected {expected}")


def _class_of(kind: Any) -> type:
    """Return the class of the values of a type.

    For Callable[..., Any] it is Callable, for Any object.
    """
    return object if kind is Any else get_origin(kind) or kind


def _short(number: float) -> str:
    """Return a bound as people write it: 1e-6, not 1e-06."""
    return re.sub(r"e([+-])0*", lambda found: f"e{found[1].strip('+')}", f"{number:.10g}")


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()

"""Arguments and options of the commands; None: the option is not given."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform, get_type_hints

from cyclopts import Group, Parameter, convert

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.run.parameters import LIMITS as OF_LIMITS
from sdpbb.run.parameters import SHORT_NAMES, WORKERS, SolverParameters
from sdpbb.runtime.declaration import Declaration, Parameters, declarations, own_declarations
from sdpbb.runtime.reading import Reading

if TYPE_CHECKING:
    from cyclopts import Token

METAVARS = {
    "gap": "G",
    "dask": "ADDRESS",
    "grace": "S",
    "time_limit": "S",
    "memory_limit": "MIB",
    "index_column": "NAME",
    "drop": "NAME",
    "weight_column": "NAME",
    "separator": "CHAR",
    "encoding": "NAME",
    "table": "NAME",
    "known_classes": "NAME",
    "one_hot": "NAME",
    "sdp_solver": "NAME",
}
"""Placeholders for the values of options; N for others."""

ARGUMENTS = Group.create_default_arguments()
OPTIONS = Group("Options", sort_key=0)
READING = Group("Reading the data", sort_key=1)
LIMITS = Group("Limits", sort_key=2)
ENGINE = Group("Engine", sort_key=3)
OUTPUT = Group("Files to write", sort_key=4)
GROUPS = {
    **dict.fromkeys(own_declarations(Reading), READING),
    **dict.fromkeys(OF_LIMITS, LIMITS),
    **dict.fromkeys(("seed", "bounding", "sdp_solver", "milp_solver", "fixing"), ENGINE),
    **dict.fromkeys(("dask", "mpi"), ENGINE),
}
"""Groups of options in help texts, by parameter; all others are common options."""

MOST_LISTED = 1_000_000
"""Maximum items of a range in a list."""

T = TypeVar("T")


def argument(name: str, *, help: str) -> Parameter:
    """Return the annotation of an argument, a name in capital letters."""
    return Parameter(name=name, help=help, show_default=False)


def option(
    *names: str,
    metavar: str | None = None,
    help: str,
    default: str | None = None,
    group: Group = OPTIONS,
) -> Parameter:
    """Return the annotation of an option with a value.

    names : default: the name of the function's parameter
    default : for the help text, where None stands for it
    group : in the help text
    """
    return Parameter(
        name=names or None,
        metavar=metavar,
        group=group,
        help=help,
        show_default=None if default is None else (lambda _: default),
        converter=_read_value,
        allow_leading_hyphen=True,
    )


def output(*names: str, metavar: str = "OUT", help: str) -> Parameter:
    """Return the annotation of an option that names a file to write."""
    return option(*names, metavar=metavar, help=help, group=OUTPUT)


def repeated(*names: str, metavar: str, help: str, group: Group = OPTIONS) -> Parameter:
    """Return the annotation of an option that may be repeated, once for each value."""
    look: dict[str, Any] = {"name": names or None, "negative": (), "allow_leading_hyphen": True}
    return Parameter(metavar=metavar, group=group, help=f"{help} May be repeated.", **look)


def flag(
    *names: str,
    negative: str | None = None,
    help: str,
    default: str | None = None,
    group: Group = OPTIONS,
) -> Parameter:
    """Return the annotation of an option without a value, which may be repeated.

    negative : option with the opposite meaning, or None
    """
    return Parameter(
        name=names or None,
        negative=negative or (),
        group=group,
        help=help,
        show_default=False if default is None else (lambda _: default),
        allow_repeating=True,
    )


@dataclass_transform(frozen_default=True, kw_only_default=True)
def grouped(options: type[T]) -> type[T]:
    """Return a class as a frozen dataclass whose fields are options of a command."""
    # Resolve names of types here, also for derived classes of other modules.
    types = get_type_hints(options, include_extras=True)
    options.__annotations__ = {name: types[name] for name in options.__annotations__}
    made: type[T] = Parameter(name="*")(dataclasses.dataclass(frozen=True, kw_only=True)(options))
    return made


@dataclass_transform(frozen_default=True, kw_only_default=True)
def declared_options(
    kind: type[Parameters],
    *names: str,
    with_defaults: bool = True,
) -> Callable[[type[T]], type[T]]:
    """Return a decorator that gives a class an option for each parameter.

    Type, choices, default and help come from the declaration of the parameter. Making an object of
    the kind checks the values.

    names : names of parameters, short names inside components
    with_defaults : whether help texts state the defaults
    """
    # --no-NAME resets a flag that a file of parameters has set.
    has_negatives = kind is SolverParameters
    known = {declaration.path: declaration for declaration in declarations(kind)}

    def decorate(options: type[T]) -> type[T]:
        own = options.__annotations__ = dict(options.__annotations__)
        for name in names:
            declaration = known[SHORT_NAMES.get(name, name)]
            is_list = declaration.kinds == (tuple[str, ...],)
            own[name] = Annotated[
                (list[str] if is_list else declaration.annotation) | None,
                _declared(name, declaration, with_defaults, has_negatives),
            ]
            setattr(options, name, None)
        return grouped(options)

    return decorate


class StatedOptions:
    """Base of classes with `declared_options`: options that set parameters."""

    def stated(self) -> dict[str, Any]:
        """Return the values of the options that are given, by name."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return given(**{field.name: getattr(self, field.name) for field in fields})


def given(**options: object) -> dict[str, object]:
    """Return the options that are not None, by name."""
    return {name: value for name, value in options.items() if value is not None}


def listed(name: str, text: str) -> list[str]:
    """Return the items of a list such as 4,9,12-15; ranges are expanded.

    name : of the option

    Raises
    ------
    ParameterError
        If a range ends before it begins, or has too many items.
    """
    items = []
    for part in map(str.strip, text.split(",")):
        ends = re.fullmatch(r"(\d{1,9})\s*-\s*(\d{1,9})", part)
        if ends is None:
            items.append(part)
            continue
        first, last = int(ends[1]), int(ends[2])
        if not first <= last < first + MOST_LISTED:
            raise ParameterError(f"{name} = {part}: expected a first number and a later one")
        items += map(str, range(first, last + 1))
    return items


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _declared(
    name: str, declaration: Declaration, with_default: bool, has_negative: bool = True
) -> Parameter:
    """Return the annotation of the option of a parameter."""
    word, group, default = name.replace("_", "-"), GROUPS.get(name, OPTIONS), declaration.default
    is_flag = bool in declaration.kinds
    metavar = METAVARS.get(name, "NAME" if declaration.choices else "N")
    if tuple[str, ...] in declaration.kinds:
        return repeated(metavar=metavar, help=declaration.help, group=group)
    if name == "workers":
        default = "number of cores"
    elif is_flag:
        default = (word if default else f"no-{word}") if has_negative else None
    shown = str(default) if with_default and default not in (None, math.inf) else None
    if is_flag:
        negative = f"--no-{word}" if has_negative else None
        return flag(negative=negative, help=declaration.help, default=shown, group=group)
    return option(metavar=metavar, help=declaration.help, default=shown, group=group)


def _read_value(kind: Any, tokens: Sequence[Token]) -> Any:
    """Return the value of an option; `ParameterError` for an integer that cyclopts would round."""
    (token,) = tokens
    if kind is int and not re.fullmatch(r"[+-]?\d+(\.0*)?", token.value, re.ASCII):
        raise ParameterError(f"{token.keyword} {token.value!r}: expected an integer")
    return convert(kind, tokens)


Data = Annotated[
    str,
    argument(
        "DATA",
        help="Points: text ('n d k' or 'n d', then n rows) or CSV, also gzipped; Excel (.xlsx), "
        "Parquet, Feather, NumPy (.npy, .npz).",
    ),
]
Encoding = Annotated[
    str | None, _declared("encoding", own_declarations(Reading)["encoding"], with_default=False)
]
IndexColumn = Annotated[
    str | None,
    _declared("index_column", own_declarations(Reading)["index_column"], with_default=False),
]
LabelsColumn = Annotated[
    str | None,
    option(
        "--column",
        metavar="NAME",
        help="Column with the labels; without headings, its number from 1.",
        default="the only column of labels",
    ),
]
Clusters = Annotated[
    int | None,
    option("-k", metavar="K", help="Number of clusters.", default="as stated in the files"),
]
Constraints = Annotated[
    str | None,
    option(
        metavar="FILE",
        help="CSV with columns type, i, j; or lines 'ML i j' (together), 'CL i j' (apart), soft "
        "'SML i j w', 'SCL i j w', 'MINSIZE n', 'MAXSIZE n', GAMMA (diameter), DELTA (separation), "
        "SIZES, MINWEIGHT, MAXWEIGHT, OVERLAP, DIFFERENCE, SOFTCL. i, j: names, or rows from 0.",
    ),
]
Seed = Annotated[int, option(metavar="N", help="Seed of the random choices.", group=ENGINE)]
ParametersFile = Annotated[
    str | None,
    option(
        "--parameters",
        metavar="FILE",
        help="TOML file with parameters of the engine, as 'sdpbb parameters --toml' prints. "
        "Options take precedence.",
        group=ENGINE,
    ),
]
Checkpoint = Annotated[
    str | None,
    output(metavar="FILE", help="Save the state every few seconds, for 'sdpbb resume'."),
]
Top = Annotated[
    int,
    option(metavar="N", help="Show N rows of the table; --json and --csv hold all."),
]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print errors and warnings only.")]

engine_options = partial(declared_options, SolverParameters)
"""Decorator of a class of options that set parameters of the engine, by name."""

OF_EVERY_RUN = ("gap", *OF_LIMITS, "seed", "bounding", "sdp_solver", "milp_solver")
"""Parameters that are options of a single run, of a study, and of a batch."""
OWN = ("file", "time_limit_each")
"""Options that are not parameters of a run."""


@grouped
class EngineFile(StatedOptions):
    """A file of parameters of the engine."""

    file: ParametersFile = None

    def parameters(self) -> SolverParameters:
        """Return the parameters of a run. Options take precedence over the file.

        If workers, dask and mpi are not given, all cores are used.

        Raises
        ------
        InstanceError
            If the file cannot be read, or is wrong.
        ParameterError
            If the value of an option is outside of its domain.
        """
        parameters, named = SolverParameters(), frozenset[str]()
        if self.file is not None:
            parameters, named = read_parameters(self.file)
        stated = self.stated().items()
        changes = {SHORT_NAMES.get(name, name): value for name, value in stated if name not in OWN}
        if "dask" in changes or changes.get("mpi"):
            changes.setdefault("workers", 1)
        elif "workers" in changes:
            changes |= {"dask": None, "mpi": False}
        elif named.isdisjoint(WORKERS):
            changes["workers"] = usable_cores()
        return parameters.updated(changes)


@engine_options(*OF_EVERY_RUN, "fixing", *WORKERS)
class EngineOptions(EngineFile):
    """Parameters of a run of the engine."""


@engine_options(*OF_EVERY_RUN)
class StudyOptions(EngineFile):
    """Parameters of the runs of a study, such as one for each k."""

    time_limit_each: Annotated[
        float | None,
        option(
            metavar="S",
            help="Spend at most S seconds on each k, constraint or point.",
            group=LIMITS,
        ),
    ] = None
    workers: Annotated[
        int | None,
        option(
            metavar="N",
            default="number of cores",
            help="Number of k, constraints or points to work on at the same time.",
        ),
    ] = None

    @property
    def seconds_each(self) -> float:
        """Seconds for each job; inf without a limit."""
        return math.inf if self.time_limit_each is None else self.time_limit_each


def read_parameters(file: str) -> tuple[SolverParameters, frozenset[str]]:
    """Return the parameters in a TOML file, and the names of the stated ones.

    Raises InstanceError if it cannot be read, or is wrong.
    """
    try:
        return SolverParameters.load_stated(file)
    except ParameterError as error:
        raise InstanceError(str(error)) from None

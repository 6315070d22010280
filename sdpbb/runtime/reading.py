"""Options of reading the files of an instance, each declared once.

The command line, the keys of manifests and the keywords of Python derive from them. Help texts need
this module, so its imports must be fast.
"""

from __future__ import annotations

import codecs
import math
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.declaration import Parameters, check_names, own_declarations, parameter, wrong

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " ", "\\t": "\t"}
"""Words for separators that are hard to type in a shell."""

ConstraintsFileFormat = Literal["pc-sos-sdp", "cccg", "pccc", "matrix", "csv"]
"""Formats of files of constraints: the names of `CONSTRAINT_FORMATS`."""

ClassesMay = Literal["share", "split"]
"""Whether known classes may share a cluster, or be split over several clusters."""

OF_CONSTRAINTS = ("constraints_format", "one_based")
"""Options that require a file of constraints."""

# Python allows more values than declared: names of columns in data frames need not be texts, and
# `CONSTRAINT_FORMATS` can be extended. Readers check these values.
_WIDER = ("constraints_format", "index_column", "drop", "weight_column", "known_classes")
_TEXT = "a text that is not empty"
_ONE_CHARACTER = (
    "one character that does not appear in numbers, or one of the words "
    f"{', '.join(word for word in SEPARATORS if word.isalpha())}"
)


class TableArguments(TypedDict, total=False):
    """Keywords of reading points in memory; see `Reading`."""

    index_column: str | None
    drop: Sequence[str]
    weight_column: str | None
    missing: str | None
    standardize: bool
    one_hot: Sequence[str]
    metric: str
    known_classes: Any
    known_weight: float | None
    classes_may: ClassesMay | None
    as_points: bool


class PointsArguments(TableArguments, total=False):
    """Keywords of reading a file of points; see `Reading`."""

    separator: str | None
    decimal: str | None
    encoding: str | None
    table: str | None


class ReadingArguments(PointsArguments, total=False):
    """Keywords of reading the files of an instance: all of `Reading`."""

    constraints_format: str | None
    one_based: bool


@dataclass(frozen=True)
class Reading(Parameters):
    """Options of reading the files of an instance; None: detected from the file, or not used.

    Raises
    ------
    InstanceError
        If drop is not a list.
    ParameterError
        For another wrong value of an option.
    """

    constraints_format: ConstraintsFileFormat | None = parameter(
        None,
        "Format of the file of constraints. Detected if not given.",
    )
    one_based: bool = parameter(False, "Row numbers in files count from 1, not 0.")
    index_column: str | None = parameter(
        None,
        "Column with the names of the rows.",
        unit=_TEXT,
    )
    drop: tuple[str, ...] = parameter(
        (),
        "Column to ignore; without headings, its number from 1.",
        unit="a list of names",
    )
    weight_column: str | None = parameter(
        None,
        "Column with the positive weights of the points.",
        unit=_TEXT,
    )
    separator: str | None = parameter(
        None,
        "CSV separator: comma, semicolon, tab, bar, blank or any character. Detected if not given.",
        unit=_ONE_CHARACTER,
    )
    decimal: Literal[".", ","] | None = parameter(
        None, "Decimal separator of CSV. Detected if not given.", unit="'.' or ','"
    )
    encoding: str | None = parameter(
        None,
        "Text encoding, such as cp1252; default utf-8.",
        unit=_TEXT,
    )
    table: str | None = parameter(
        None,
        "Excel sheet (default: the first), or .npz array.",
        unit=_TEXT,
    )
    missing: Literal["drop-rows", "mean", "median"] | None = parameter(
        None,
        "Drop or fill missing values; else an error.",
        reason="Constraints on rows that are dropped are refused.",
        unit="'drop-rows', 'mean', 'median'",
    )
    standardize: bool = parameter(
        False,
        "Scale columns to mean 0 and variance 1. Costs are in scaled units.",
        reason="Distances (GAMMA, DELTA) and weights of soft constraints are in scaled units, too.",
    )
    one_hot: tuple[str, ...] = parameter(
        (),
        "Column of categories. Different ones are 1 farther apart in squared distance; W: NAME=W.",
        unit="a list of names",
    )
    metric: Literal["euclidean", "cosine", "kernel", "squared-distances"] = parameter(
        "euclidean",
        "cosine: divide rows by their length. kernel, squared-distances: the data are a matrix of "
        "inner products, or of squared distances.",
        reason="Costs are sums of squared Euclidean distances in each of them.",
    )
    known_classes: str | None = parameter(
        None,
        "File or column with known classes (-1, empty: unknown). Each class is one cluster.",
        unit=_TEXT,
    )
    known_weight: float | None = parameter(
        None,
        "Cost of each pair of rows that contradicts the known classes. Without it, no pair may.",
        gt=0,
        unit="a squared distance",
        reason="In the units of the sum of squares; the result names the rows that contradict it.",
    )
    classes_may: ClassesMay | None = parameter(
        None,
        "Let known classes share a cluster, or split into several.",
        unit="'share' or 'split'",
    )
    as_points: bool = parameter(
        False,
        "Cluster rows that look like distances.",
        reason="A square symmetric table with a zero diagonal is refused otherwise.",
    )

    def __post_init__(self) -> None:
        for name, declaration in own_declarations(Reading).items():
            if name not in _WIDER:
                object.__setattr__(self, name, declaration.checked(getattr(self, name)))
        character = self.delimiter
        if character is not None and (
            len(character) != 1 or character in "\n\r\"'#.+-" or character.isalnum()
        ):
            raise wrong("separator", self.separator, _ONE_CHARACTER)
        check_encoding(self.encoding)
        if isinstance(self.drop, str):
            raise InstanceError(f"drop = {self.drop!r}: expected a list of columns")

    @classmethod
    def of(
        cls,
        arguments: Mapping[str, Any],
        known: Iterable[str] = ReadingArguments.__annotations__,
        function: str = "Reading",
    ) -> Self:
        """Return the options given to a function by keyword.

        known : names of the options that the function supports
        function : its name, for messages

        Raises
        ------
        TypeError
            If the function does not support an option.
        InstanceError, ParameterError
            For a wrong value of an option.
        """
        check_names(arguments, known, function)
        return cls(**arguments)

    @property
    def delimiter(self) -> str | None:
        """The character between the fields of CSV; None: detected from the file."""
        return None if self.separator is None else SEPARATORS.get(self.separator, self.separator)

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The columns that are not features, as (option, column)."""
        named = [("index_column", self.index_column), ("known_classes", self.class_column)]
        chosen = [(option, column) for option, column in named if column is not None]
        chosen += [("one_hot", column) for column in self.category_weights]
        return chosen + [("drop", column) for column in self.drop]

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """All columns that options name, as (option, column)."""
        weights = [] if self.weight_column is None else [("weight_column", self.weight_column)]
        return [*self.left_out, *weights]

    @property
    def category_weights(self) -> dict[str, float]:
        """The squared distance between two categories, by column of categories."""
        return dict(map(_category_column, self.one_hot))

    @property
    def class_column(self) -> str | None:
        """The column of known classes; None: no such column."""
        return None if self.class_file is not None else self.known_classes

    @property
    def class_file(self) -> str | None:
        """The file of known classes; None: no such file."""
        classes = self.known_classes
        return classes if classes is not None and os.path.exists(classes) else None


def _category_column(stated: str) -> tuple[str, float]:
    """Return the column and the weight of NAME or NAME=W."""
    name, equals, text = stated.rpartition("=")
    try:
        weight = float(text) if equals and name else -1.0
    except ValueError:
        weight = -1.0
    return (name, weight) if 0.0 < weight < math.inf else (stated, 1.0)


def _listed(name: str, text: str) -> str:
    return textwrap.fill(f"{name} : {text}", initial_indent=" " * 4, subsequent_indent=" " * 8)


Reading.__doc__ = "\n".join(
    [
        f"{Reading.__doc__}",
        "    Parameters",
        "    ----------",
        *(_listed(each.name, each.help) for each in own_declarations(Reading).values()),
    ]
)


def check_encoding(encoding: str | None) -> None:
    """Raise the ParameterError if an encoding of text is unknown; None is UTF-8."""
    if encoding is None:
        return
    try:
        is_text = bool(codecs.lookup(encoding).name) and isinstance("".encode(encoding), bytes)
    except (LookupError, TypeError, ValueError):
        is_text = False
    if not is_text:
        raise ParameterError(
            f"encoding = {encoding!r}: expected one that Python knows, such as utf-8, utf-16, "
            "latin-1 or cp1252 (of Excel)"
        )

"""Options of reading a file of points: its columns, how it is written, what is done with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.missing import check_missing
from sdpbb.problem.textfile import check_encoding

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " ", "\\t": "\t"}
"""Words for separators, for shells in which the characters are a nuisance."""


@dataclass(frozen=True)
class Reading:
    """Options of reading a file of points; None where the file itself has to tell.

    Parameters
    ----------
    index_column : the column that names the rows
    drop : columns that are no features, such as a class
    weight_column : the column that holds the weights of the points, positive numbers
    separator : between the fields of CSV: one character, or one of the words of `SEPARATORS`
    decimal : what decimals begin with, "." or ","
    encoding : of text, as Python calls it
    table : the sheet of a workbook, or the array of an `.npz` file, that holds the points
    missing : what is done about missing values, one of `sdpbb.problem.missing.MISSING`; None
        refuses them
    standardize : whether columns are scaled to mean zero and variance one
    known_classes : a file of known classes of the rows or, where there is no such file, the column
        that holds them; None where no classes are known
    as_points : whether a square symmetric table with a zero diagonal holds points all the same

    Raises
    ------
    InstanceError
        If drop is no list.
    ParameterError
        For another value that none of them can have.
    """

    index_column: str | None = None
    drop: Sequence[str] = ()
    weight_column: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    table: str | None = None
    missing: str | None = None
    standardize: bool = False
    known_classes: str | None = None
    as_points: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None:
            meant = SEPARATORS.get(self.separator, self.separator)
            if len(meant) != 1 or meant in "\n\r\"'#.+-" or meant.isalnum():
                words = ", ".join(word for word in SEPARATORS if word.isalpha())
                raise ParameterError(
                    f"separator = {self.separator!r}: expected one character that does not appear "
                    f"in numbers, or one of the words {words}"
                )
            object.__setattr__(self, "separator", meant)
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal = {self.decimal!r}: expected '.' or ','")
        check_encoding(self.encoding)
        check_missing(self.missing)
        for name in ("standardize", "as_points"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} = {getattr(self, name)!r}: expected True or False")
        if isinstance(self.drop, str):
            raise InstanceError(f"drop = {self.drop!r}: expected a list of columns")

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The columns that are no features, each with the option that names it."""
        named = [("index_column", self.index_column), ("known_classes", self.class_column)]
        return [(option, column) for option, column in named if column is not None] + [
            ("drop", column) for column in self.drop
        ]

    @property
    def class_column(self) -> str | None:
        """The column that holds known classes; None without one."""
        return None if self.class_file is not None else self.known_classes

    @property
    def class_file(self) -> str | None:
        """The file that holds known classes; None without one."""
        classes = self.known_classes
        return classes if classes is not None and os.path.exists(classes) else None

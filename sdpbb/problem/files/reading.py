"""Options of reading a file of points: its columns, how it is written, what is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.missing import check_missing
from sdpbb.problem.scaling import check_scale
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
    scale : how columns are scaled, one of `sdpbb.problem.scaling.SCALES`; None for not at all

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
    scale: str | None = None

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
        check_scale(self.scale)
        if isinstance(self.drop, str):
            raise InstanceError(f"drop = {self.drop!r}: expected a list of columns")

    @property
    def chooses_columns(self) -> bool:
        """True if columns are named that are no features."""
        return self.index_column is not None or len(self.drop) > 0

"""Base classes of results: a document for people, plain values and rows for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sdpbb.runtime.document import Document, notebook_html, plain_text
from sdpbb.runtime.values import csv_text, json_text, pandas_module

if TYPE_CHECKING:
    import pandas as pd


def values_of(owner: Any, *names: str) -> dict[str, Any]:
    """Return attributes of an object as plain values; without names, all fields of a dataclass.

    names : attributes, or paths such as "result.gap" and "names.0". The key of a path is its last
        name, or the text before a colon, as in "cost:result.objective". A path ends at a None
    """
    chosen = names or tuple(field.name for field in fields(owner))
    paths = (name.rpartition(":")[2] for name in chosen)
    return {key: plain(_at(owner, path)) for key, path in zip(keys_of(chosen), paths, strict=True)}


def keys_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of names and paths in `values_of`."""
    return tuple(name.partition(":")[0].rpartition(".")[2] for name in names)


def _at(owner: Any, path: str) -> Any:
    """Return the value at the end of a path."""
    for step in path.split("."):
        if owner is None:
            return None
        owner = owner[int(step)] if step.isdecimal() else getattr(owner, step)
    return owner


def plain(value: Any) -> Any:
    """Return a value that is ready for JSON.

    Numbers that are not finite become None. Objects with `to_dict` or `to_row` become its values.
    """
    if value is None or (isinstance(value, (str, bool, int)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (np.ndarray, np.generic)):
        # Integers, such as labels, are ready at once.
        return plain(value.tolist()) if value.dtype.kind == "f" else value.tolist()
    for method in ("to_dict", "to_row"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    assert is_dataclass(value), type(value)
    return values_of(value)


class Shown:
    """Base class of objects that notebooks show."""

    def document(self) -> Document:
        """Return a document, which terminals, notebooks and pages show."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return notebook_html(self.document())


class Reported(Shown):
    """Base class of results: shown as a document, written as JSON.

    values : names and paths of the keys of JSON, separated by spaces (`values_of`); "": all fields
    """

    values: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; numbers that are not finite become None."""
        return values_of(self, *self.values.split())

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key, as `--json` writes it."""
        return json_text(self.to_dict())

    def __str__(self) -> str:
        return plain_text(self.document())


class Tabular:
    """Base class of reports that are tables of results.

    columns : of the table
    items : name of the attribute with the results; each has a flat row (`to_row`)
    """

    columns: ClassVar[tuple[str, ...]]
    items: ClassVar[str]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each result, with a value for each column."""
        return [item.to_row() for item in getattr(self, self.items)]

    def to_csv(self) -> str:
        """Return the rows with a heading, separated by commas."""
        return csv_text(self.columns, self.to_rows())

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_rows()` as a data frame.

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        rows = self.to_rows()
        return pandas_module("to_rows(), dictionaries").DataFrame(rows, columns=self.columns)

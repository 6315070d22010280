"""Bases of results: a document for people, plain values and rows for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sdpbb.runtime.document import Document
from sdpbb.runtime.rendering import notebook_html
from sdpbb.runtime.values import csv_text, json_text, pandas_module

if TYPE_CHECKING:
    import pandas as pd


def values_of(owner: Any, *names: str) -> dict[str, Any]:
    """Return attributes of an object as plain values; all fields of a dataclass without names."""
    chosen = names or tuple(field.name for field in fields(owner))
    return {name: plain(getattr(owner, name)) for name in chosen}


def plain(value: Any) -> Any:
    """Return a value that is ready for JSON.

    Numbers that are not finite become None. Objects with `to_dict` become what it returns.
    """
    if value is None or (isinstance(value, (str, bool, int)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (np.ndarray, np.generic)):
        # Whole numbers, such as labels, are ready at once.
        return plain(value.tolist()) if value.dtype.kind == "f" else value.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    assert is_dataclass(value), type(value)
    return values_of(value)


class Shown:
    """Base of what notebooks show."""

    def document(self) -> Document:
        """Return a document for people, which terminals, notebooks and pages show."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return notebook_html(self.document())


class Reported(Shown):
    """Base of results: shown as a document, written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; numbers that are not finite become None."""
        return values_of(self)

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key: what `--json` writes."""
        return json_text(self.to_dict())


class Tabular:
    """Base of reports that are tables of results."""

    columns: ClassVar[tuple[str, ...]]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each result, by `columns`."""
        raise NotImplementedError

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

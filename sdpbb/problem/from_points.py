"""Constructor of an instance from points in memory and a file of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import stated_in_file
from sdpbb.runtime.files import FilePath


class FromPoints:
    """Constructor from points in memory, of a class that takes the arguments of an `Instance`."""

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        k: int,
        constraints: FilePath | None = None,
        *,
        constraints_format: str | None = None,
        one_based: bool = False,
        index_column: str | None = None,
        drop: Sequence[str] = (),
        weight_column: str | None = None,
        weights: ArrayLike | None = None,
        encoding: str | None = None,
        missing: str | None = None,
        standardize: bool = False,
        known_classes: Any = None,
        as_points: bool = False,
        name: str = "",
    ) -> Self:
        """Take the points from memory, and read the constraints from a file.

        Points are an array (n, d) or a data frame of pandas or polars, weights (n,) their weights,
        and known_classes (n,) their classes, or the column or file that holds these. Other
        parameters and errors are as for `from_files`.

        The index of a frame names the rows for the file too, unless it merely counts from 0.
        """
        reading = Reading(
            index_column,
            drop,
            weight_column,
            missing=missing,
            standardize=standardize,
            as_points=as_points,
        )
        table = table_in_memory(points, reading, weights, known_classes)
        if constraints is not None and table.name_problem:
            raise InstanceError(table.name_problem)
        arguments = stated_in_file(
            table,
            k,
            constraints,
            constraints_format=constraints_format,
            one_based=one_based,
            encoding=encoding,
        )
        return cls(**{**arguments, "name": name})

"""Constructor of an instance from a data frame, whose rows constraints call by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.frames import is_frame
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import stated_in_memory


class FromFrame:
    """Constructor from data frames, of a class that takes the arguments of an `Instance`."""

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        k: int,
        must_link: Iterable[Any] | None = None,
        cannot_link: Iterable[Any] | None = None,
        *,
        soft_must_link: Iterable[Any] | None = None,
        soft_cannot_link: Iterable[Any] | None = None,
        cluster_constraints: Iterable[ClusterConstraint] | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        sizes: Iterable[int] | None = None,
        min_weight: float | None = None,
        max_weight: float | None = None,
        index_column: str | None = None,
        drop: Sequence[str] = (),
        weight_column: str | None = None,
        weights: ArrayLike | None = None,
        missing: str | None = None,
        standardize: bool = False,
        known_classes: Any = None,
        as_points: bool = False,
        name: str = "",
    ) -> Self:
        """Take the points, and the names of the rows, from a data frame.

        Parameters
        ----------
        frame : of pandas or polars; a column per feature
        must_link, cannot_link : pairs of names of rows: of values of index_column; without it of
            the index of a pandas frame; and of row numbers from 0 where that merely counts
        soft_must_link, soft_cannot_link : triples (name, name, weight), weight >= 0
        cluster_constraints : as for an `Instance`, by row numbers of the frame
        min_size, max_size, sizes, min_weight, max_weight : as for an `Instance`
        index_column : the column that names the rows; it is no feature
        drop : more columns that are no features
        weights, weight_column : (n,) weights of the points, or the column that holds them
        known_classes : (n,) classes of the rows, or the column or the file that holds them, as for
            an `Instance`; a series goes by its index, and may lack rows
        missing, standardize, as_points : as for `from_files`

        Raises
        ------
        InstanceError
            Naming the column and row, or the argument, its position and the unknown name.
        ParameterError
            For a value that an option cannot have.
        """
        if not is_frame(frame):
            raise InstanceError(
                f"frame: is of type {type(frame).__name__}; expected a data frame of pandas or "
                "polars"
            )
        reading = Reading(
            index_column,
            drop,
            weight_column,
            missing=missing,
            standardize=standardize,
            as_points=as_points,
        )
        table = table_in_memory(frame, reading, weights, known_classes)
        arguments = {
            "must_link": must_link,
            "cannot_link": cannot_link,
            "soft_must_link": soft_must_link,
            "soft_cannot_link": soft_cannot_link,
            "cluster_constraints": cluster_constraints,
            "min_size": min_size,
            "max_size": max_size,
            "sizes": sizes,
            "min_weight": min_weight,
            "max_weight": max_weight,
            "name": name,
        }
        return cls(**stated_in_memory(table, k, arguments))

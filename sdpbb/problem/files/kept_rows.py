"""Constraints on data of which some rows are left out, as values are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import AllOf, AnyOf, ClusterConstraint
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.files.constraints_lines import line_of
from sdpbb.problem.rules import check_rows
from sdpbb.problem.table import PointTable, quoted

Place = Callable[[int], str]
"""Of the position of a pair: where it is stated, as messages begin."""


class KeptRows:
    """Numbers, among the rows that are left, of rows of the data.

    Parameters
    ----------
    table : of the rows that are left
    """

    def __init__(self, table: PointTable) -> None:
        assert table.kept_rows is not None
        self._table = table
        self._number = np.full(table.n_data_rows, -1, np.intp)
        self._number[table.kept_rows] = np.arange(len(table.kept_rows))
        self._dropped = np.flatnonzero(self._number < 0).tolist()

    def constraints(self, stated: Constraints, path: str) -> Constraints:
        """Return constraints of a file on the rows that are left.

        Raises
        ------
        InstanceError
            For the first one on a dropped row.
        """

        def place(argument: str) -> Place:
            lines, key = stated.lines.get(argument, ()), stated.keys.get(argument)
            return lambda at: f"{path}: {key}[{lines[at]}]" if key else f"{path}:{lines[at]}"

        def soft(argument: str) -> SoftPairs:
            given: SoftPairs = getattr(stated, argument)
            return SoftPairs(self.pairs(given.pairs, place(argument)), given.weights)

        return replace(
            stated,
            must_link=self.pairs(stated.must_link, place("must_link")),
            cannot_link=self.pairs(stated.cannot_link, place("cannot_link")),
            soft_must_link=soft("soft_must_link"),
            soft_cannot_link=soft("soft_cannot_link"),
            cluster_constraints=self.on_clusters(stated.cluster_constraints, f"{path}: "),
        )

    def pairs(self, pairs: NDArray[np.intp], place: Place) -> NDArray[np.intp]:
        """Return pairs (p, 2) of rows that are left, or raise the InstanceError for another."""
        numbers = self._number[pairs].reshape(-1, 2)
        wrong = np.flatnonzero((numbers < 0).any(axis=1))
        if len(wrong):
            at = int(wrong[0])
            row = next(int(row) for row in pairs[at] if self._number[row] < 0)
            raise self._refusal(row, place(at))
        return numbers

    def on_clusters(
        self, constraints: Sequence[ClusterConstraint], where: str
    ) -> tuple[ClusterConstraint, ...]:
        """Return constraints on clusters whose rows are left.

        Of those of a user's own, which may name no rows, nothing is changed.
        """
        for position, constraint in enumerate(constraints):
            check_rows(constraint, len(self._number), f"cluster_constraints[{position}]")
        return tuple(self._renumbered(constraint, where) for constraint in constraints)

    def _renumbered(self, constraint: Any, where: str) -> ClusterConstraint:
        if isinstance(constraint, AllOf | AnyOf):
            parts = (self._renumbered(part, where) for part in constraint.constraints)
            return type(constraint)(tuple(parts))
        line = line_of(constraint)
        rows = [] if line is None else line.rows(constraint)
        if line is None or not rows:
            return cast(ClusterConstraint, constraint)
        for row in rows:
            if self._number[row] < 0:
                raise self._refusal(row, f"{where}{line.keyword}")
        return line.constraint(constraint.limit, self._number[rows].tolist())

    def _refusal(self, row: int, where: str) -> InstanceError:
        called = quoted(self._table.dropped_names[self._dropped.index(row)])
        return InstanceError(
            f"{where}: names row {called}, which is dropped, as a value is missing; expected "
            "constraints on the other rows only, or --missing mean or median"
        )

"""Constraints on data of which some rows are left out, as values are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import AllOf, AnyOf, ClusterConstraint
from sdpbb.problem.files.constraints import PAIRS, Constraints
from sdpbb.problem.files.constraints_lines import line_of
from sdpbb.problem.rules import check_rows
from sdpbb.problem.table import PointTable, quoted


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

    def constraints(self, stated: Constraints, path: str = "") -> Constraints:
        """Return constraints on the rows that are left.

        path : of the file that states them, for messages; "": they are arguments

        Raises
        ------
        InstanceError
            For the first one on a dropped row.
        """
        pairs: dict[str, Any] = {}
        for argument in PAIRS.values():
            given = getattr(stated, argument)
            if isinstance(given, SoftPairs):
                numbers = self._pairs(stated, argument, given.pairs, path)
                pairs[argument] = SoftPairs(numbers, given.weights)
            else:
                pairs[argument] = self._pairs(stated, argument, given, path)
        for position, constraint in enumerate(stated.cluster_constraints):
            check_rows(constraint, len(self._number), f"cluster_constraints[{position}]")
        where = f"{path or 'cluster_constraints'}: "
        on_clusters = (self._renumbered(each, where) for each in stated.cluster_constraints)
        return replace(stated, **pairs, cluster_constraints=tuple(on_clusters))

    def _pairs(
        self, stated: Constraints, argument: str, pairs: NDArray[np.intp], path: str
    ) -> NDArray[np.intp]:
        """Return pairs (p, 2) of rows that are left, or raise the InstanceError for another."""
        numbers = self._number[pairs].reshape(-1, 2)
        wrong = np.flatnonzero((numbers < 0).any(axis=1))
        if len(wrong):
            at = int(wrong[0])
            row = next(int(row) for row in pairs[at] if self._number[row] < 0)
            raise self._refusal(row, f"{path}{stated.place(argument, at)}".removeprefix(": "))
        return numbers

    def _renumbered(self, constraint: Any, where: str) -> ClusterConstraint:
        """Return a constraint on clusters; a user's own, which may name no rows, as it is."""
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

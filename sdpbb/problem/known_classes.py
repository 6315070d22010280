"""Known classes of some rows, and the must-links and cannot-links that they amount to."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.textfile import is_missing_word, is_number, shown
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.values import is_missing

# Classes that a message names.
SHOWN = 6


@stored
@dataclass(frozen=True, eq=False)
class KnownClasses:
    """Known classes of some rows: equal classes share a cluster, different classes do not.

    numbers : (n,) the class of each row, 0, 1, ... by the first row of each; -1 where unknown
    names : what the user calls the classes
    argument : what messages call the classes as a whole
    """

    numbers: NDArray[np.intp]
    names: tuple[str, ...]
    argument: str = "known_classes"

    @classmethod
    def of(cls, values: Any, n: int, argument: str = "known_classes") -> Self:
        """Return the known classes that a sequence states.

        Parameters
        ----------
        values : (n,) numbers or texts; -1, None, nan, "" or a word for a missing value (NA) where
            the class is unknown. Texts of the same number are the same class. `KnownClasses` are
            returned as they are
        argument : what messages call them

        Raises
        ------
        InstanceError
            If there is not one value for each row, or a value is neither a number nor a text.
        """
        if isinstance(values, cls):
            return values
        given = np.asarray(values, dtype=object)
        if given.ndim == 2 and given.shape[1] == 1:  # one column of a frame
            given = given[:, 0]
        if given.ndim != 1 or len(given) != n:
            raise InstanceError(
                f"{argument}: shape {given.shape}; expected ({n},), a class for each row, -1 where "
                "it is unknown"
            )
        numbers = np.full(n, -1, np.intp)
        number_of: dict[Hashable, int] = {}
        names: list[str] = []
        for row, value in enumerate(given.tolist()):
            if not isinstance(value, Hashable):
                raise InstanceError(
                    f"{argument}[{row}] is of type {type(value).__name__}; expected a number or a "
                    "text"
                )
            if is_unknown(value):
                continue
            key = _key(value)
            if key not in number_of:
                number_of[key] = len(names)
                names.append(str(value))
            numbers[row] = number_of[key]
        numbers.flags.writeable = False
        return cls(numbers, tuple(names), argument)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def n_known(self) -> int:
        """Number of rows whose class is known."""
        return int((self.numbers >= 0).sum())

    def check(self, k: int) -> None:
        """Raise the InstanceError if there are more classes than clusters."""
        if len(self.names) > k:
            more = ", ..." if len(self.names) > SHOWN else ""
            raise InstanceError(
                f"{self.argument} names {len(self.names)} classes "
                f"({', '.join(map(shown, self.names[:SHOWN]))}{more}), but k = {k}; expected at "
                "least as many clusters as classes"
            )

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return must-links (p, 2) and cannot-links (q, 2) of rows.

        The rows of a class are linked with its first row; the first rows of any two classes cannot
        link.
        """
        rows = [np.flatnonzero(self.numbers == number) for number in range(len(self.names))]
        must_link = [(each[0], other) for each in rows for other in each[1:].tolist()]
        first = np.array([each[0] for each in rows], np.intp)
        i, j = np.triu_indices(len(first), 1)
        cannot_link = np.column_stack([first[i], first[j]])
        return np.array(must_link, np.intp).reshape(-1, 2), cannot_link

    def place(self, kind: str, i: int, j: int) -> str:
        """Return what states the pair: the classes of its rows; "" if they do not.

        Example: "known_classes: setosa, virginica".

        kind : "must_link" or "cannot_link"
        """
        classes = self.numbers[[i, j]].tolist()
        if -1 in classes or (classes[0] == classes[1]) != (kind == "must_link"):
            return ""
        return f"{self.argument}: {', '.join(dict.fromkeys(self.names[one] for one in classes))}"


def is_unknown(value: Any) -> bool:
    """Return whether a value stands for an unknown class: -1, None, nan, a missing value's word."""
    if is_missing(value):
        return True
    if isinstance(value, str):
        text = value.strip()
        return is_missing_word(text) or _key(text) == -1
    return bool(value == -1 or value != value)


def _key(value: Hashable) -> Hashable:
    """Return what is equal for values that are the same class."""
    if isinstance(value, str):
        text = value.strip()
        try:
            return Decimal(text) if is_number(text) else text
        except InvalidOperation:  # of an exponent of twenty digits
            return text
    return value

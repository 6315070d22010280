"""Known classes of some rows, and the pairs that they imply."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import StatedMeasure, as_range
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import ClassSizes
from sdpbb.problem.textfile import first_of, is_missing_word, number_or_text, shown
from sdpbb.runtime.archive import stored
from sdpbb.runtime.reading import ClassesMay
from sdpbb.runtime.values import is_missing

# Number of classes that a message names.
SHOWN_CLASSES = 6
# Maximum number of pairs of soft known classes: some 1,400 rows, far more than bounds can handle.
MOST_SOFT_PAIRS = 10**6


@stored
@dataclass(frozen=True, eq=False)
class KnownClasses:
    """Known classes of some rows: equal classes share a cluster, different classes do not.

    numbers : (n,) the class of each row, 0, 1, ... by the first row of each; -1 where unknown
    names : the user's names of the classes
    argument : name of the argument in messages
    weight : cost > 0 of each pair of rows that contradicts the classes; None: none may
    may : "share": different classes may share a cluster; "split": rows of one class may be in
        several clusters; None: neither
    """

    numbers: NDArray[np.intp]
    names: tuple[str, ...]
    argument: str = "known_classes"
    weight: float | None = None
    may: ClassesMay | None = None

    @classmethod
    def of(cls, values: Any, n: int, argument: str = "known_classes") -> Self:
        """Return the known classes that a sequence states.

        Parameters
        ----------
        values : (n,) numbers or texts. -1, None, nan, "" or a word for a missing value (NA) mean an
            unknown class. Texts of the same number are the same class. `KnownClasses` are returned
            unchanged
        argument : name of the argument in messages

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

    @property
    def together(self) -> NDArray[np.intp]:
        """Pairs (p, 2) of rows, i < j, that share a cluster as they share a class.

        Hard pairs link the rows of a class with its first row.
        """
        if self.may == "split":
            return np.empty((0, 2), np.intp)
        if self.weight is not None:
            return self._pairs(are_equal=True)
        rows = [np.flatnonzero(self.numbers == number) for number in range(len(self.names))]
        pairs = [(each[0], other) for each in rows for other in each[1:].tolist()]
        return np.array(pairs, np.intp).reshape(-1, 2)

    @property
    def apart(self) -> NDArray[np.intp]:
        """Pairs (q, 2) of rows, i < j, that do not share a cluster, as their classes differ.

        Hard pairs link the first rows of two classes, unless classes may be split.
        """
        if self.may == "share":
            return np.empty((0, 2), np.intp)
        if self.weight is not None or self.may == "split":
            return self._pairs(are_equal=False)
        _, first = np.unique(self.numbers[self.numbers >= 0], return_index=True)
        i, j = np.triu_indices(len(first), 1)
        rows = np.flatnonzero(self.numbers >= 0)[first]
        return np.column_stack([rows[i], rows[j]])

    def _pairs(self, are_equal: bool) -> NDArray[np.intp]:
        """Return all pairs of rows whose classes are equal, or all whose classes differ."""
        rows = np.flatnonzero(self.numbers >= 0)
        i, j = np.triu_indices(len(rows), 1)
        chosen = (self.numbers[rows[i]] == self.numbers[rows[j]]) == are_equal
        return np.column_stack([rows[i[chosen]], rows[j[chosen]]])

    @property
    def certain_names(self) -> tuple[str, ...] | None:
        """Names of the classes if each has its own cluster; None if it may not."""
        return self.names if self.weight is None and self.may is None else None

    def measures(self, sizes: ClassSizes) -> Iterator[StatedMeasure]:
        """Yield the measures that sizes of these classes imply, besides sizes in any order.

        Points i = 1, ..., k, one of each class, are in different clusters, which have a_i to b_i
        points. If point i counts 1 + max a - a_i and every other point 1, each cluster measures at
        least max a. If point i counts 1 + max b - b_i, each cluster measures at most max b.

        Point i is the first row of its class.
        """
        range_of = dict(zip(sizes.names, map(as_range, sizes.sizes), strict=True))
        ends = np.array([range_of[name] for name in self.names], np.int64)
        least, most = ends.max(axis=0).tolist()
        units = np.ones((2, len(self.numbers)), np.int64)
        known, first = np.unique(self.numbers, return_index=True)
        units[:, first[known >= 0]] += (ends.max(axis=0) - ends).T
        if np.array_equal(*units):
            yield StatedMeasure(least, most, units=units[0])
            return
        yield StatedMeasure(least, units=units[0])
        yield StatedMeasure(most=most, units=units[1])

    def check(self, k: int) -> None:
        """Raise the InstanceError for too many classes for k clusters, or too many soft pairs."""
        n_pairs = self.n_known * (self.n_known - 1) // 2
        if self.weight is not None and n_pairs > MOST_SOFT_PAIRS:
            raise InstanceError(
                f"known_weight: {self.n_known} known classes are {n_pairs} soft pairs; expected at "
                f"most {MOST_SOFT_PAIRS}, or classes without a weight"
            )
        if self.weight is None and self.may != "share" and len(self.names) > k:
            raise InstanceError(
                f"{self.argument} names {len(self.names)} classes "
                f"({first_of(map(shown, self.names), SHOWN_CLASSES)}), but k = {k}; expected at "
                "least as many clusters as classes"
            )

    def names_of_clusters(self, labels: NDArray[np.intp], k: int) -> tuple[str, ...]:
        """Return the most frequent class of each cluster; "": no class in it is known.

        If classes may share clusters, return all classes of a cluster, the most frequent first.

        labels : (n,) 0..k-1
        """
        most = None if self.may == "share" else 1
        falling = ((np.argsort(-of, kind="stable"), of) for of in self._counts(labels, k).T)
        found = (numbers[: np.count_nonzero(of)][:most] for numbers, of in falling)
        return tuple(", ".join(self.names[number] for number in numbers) for numbers in found)

    def contradicted(self, labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return the rows whose clusters contradict their classes, ascending.

        A row contradicts its class if most rows of the class are in another cluster, unless classes
        may be split. It also does if most rows of its cluster are of another class, unless classes
        may share clusters.

        labels : (n,) 0..k-1
        """
        counts, rows = self._counts(labels, k), np.flatnonzero(self.numbers >= 0)
        if not len(rows):
            return rows
        classes, clusters = self.numbers[rows], labels[rows]
        is_elsewhere = (counts.argmax(axis=1)[classes] != clusters) & (self.may != "split")
        is_other = (counts.argmax(axis=0)[clusters] != classes) & (self.may != "share")
        return np.asarray(rows[is_elsewhere | is_other])

    def _counts(self, labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return the numbers (c, k) of rows of each of the c classes in each cluster."""
        known = self.numbers >= 0
        counts = np.zeros((len(self.names), k), np.intp)
        np.add.at(counts, (self.numbers[known], labels[known]), 1)
        return counts

    def place(self, kind: str, i: int, j: int) -> str:
        """Return the place that states a pair: the classes of its rows; "" if they do not.

        Example: "known_classes: setosa, virginica".

        kind : "must_link" or "cannot_link", "soft_must_link" or "soft_cannot_link"
        """
        classes = self.numbers[[i, j]].tolist()
        is_stated = (self.weight is not None) == kind.startswith("soft")
        is_stated &= (classes[0] == classes[1]) == kind.endswith("must_link")
        if -1 in classes or not is_stated:
            return ""
        return f"{self.argument}: {', '.join(dict.fromkeys(self.names[one] for one in classes))}"


def is_unknown(value: Any) -> bool:
    """Return whether a value means an unknown class: -1, None, nan, or a word such as NA."""
    if is_missing(value):
        return True
    if isinstance(value, str):
        text = value.strip()
        return is_missing_word(text) or _key(text) == -1
    return bool(value == -1 or value != value)


def _key(value: Hashable) -> Hashable:
    """Return a key that is equal for values of the same class."""
    return number_or_text(value.strip()) if isinstance(value, str) else value

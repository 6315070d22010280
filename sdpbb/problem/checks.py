"""Validation of the arguments of an `Instance`, and their conversion to arrays."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.checker.kernel.sizes import Range, as_range, as_size
from sdpbb.errors import InstanceError
from sdpbb.problem.geometry import is_sparse
from sdpbb.problem.textfile import name_in_file, shown
from sdpbb.runtime.archive import stored
from sdpbb.runtime.declaration import as_integer, as_number

# Largest coordinate, and smallest difference of two, whose squares neither overflow nor underflow.
LARGEST, SMALLEST = 1e100, 1e-100
# Largest weight of a soft pair, in units of squared distances.
LARGEST_WEIGHT = 1e200
# Largest ratio of two weights of points.
MOST_SPREAD = 1e9

OF_ONE_K = (
    "sizes: they are for one number of clusters; expected min_size and max_size in a sweep (lines "
    "MINSIZE and MAXSIZE)"
)
"""Message on listed sizes for several numbers of clusters."""

# Kinds of NumPy arrays that do not hold numbers, for messages.
_NOT_NUMBERS = {
    "c": "complex numbers",
    "M": "dates",
    "m": "time differences",
    "S": "bytes",
    "T": "text",
    "U": "text",
    "V": "records",
}


@stored
@dataclass(frozen=True)
class ClassSizes:
    """Sizes, or ranges of sizes, of the clusters of known classes, one cluster for each class.

    names : (k,) names of the classes, in ascending order
    sizes : (k,) sizes of their clusters
    """

    names: tuple[str, ...]
    sizes: tuple[int | Range, ...]

    def __str__(self) -> str:
        pairs = zip(self.names, self.sizes, strict=True)
        return " ".join(name_in_file(f"{name}={sizes_text((size,))}") for name, size in pairs)


Sizes = tuple[int | Range, ...] | ClassSizes
"""Sizes of clusters, or ranges of these, in any order or for known classes."""

StatedSizes = Iterable[int | Range] | Mapping[str, int | Range] | ClassSizes | None
"""Sizes as users give them; None: no sizes."""


@stored
@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Soft constraints: pairs that may be violated at the price of their weights.

    Parameters
    ----------
    pairs : (p, 2) row numbers, i < j
    weights : (p,) > 0 and finite, in units of the cost (squared distances); some heuristics
        interpret them as multiples of another price

    `Instance` makes and checks it, from triples (i, j, weight) or from another `SoftPairs`.
    """

    pairs: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.pairs)


# Message on a matrix of distances.
_DISTANCES = (
    "a square symmetric table with a zero diagonal, as a matrix of distances is; expected a row of "
    "features for each point. If these are squared distances: metric='squared-distances' "
    "(--metric squared-distances; square distances before). If the rows are points: "
    "as_points=True (--as-points)"
)
# Advice on missing values of an array.
_WITHOUT_NAN = (
    "missing values: use Instance.from_points(..., missing=...), or scikit-learn's imputers"
)


def as_points(values: ArrayLike) -> NDArray[np.float64]:
    """Return an array (n, d) of floats, finite or not, or raise an InstanceError."""
    points = _float_array(values, "points", "expected a rectangular table of real numbers")
    if points.ndim != 2 or 0 in points.shape:
        raise InstanceError(
            f"points: an array of shape {points.shape}; expected (n, d) with n >= 1 and d >= 1"
        )
    return points


def checked_points(values: ArrayLike) -> NDArray[np.float64]:
    """Return the points of an `Instance` as a read-only array, or raise an InstanceError."""
    points = as_points(values)
    bad = np.argwhere(~np.isfinite(points))
    if len(bad):
        i, j = bad[0]
        remedy = f" ({_WITHOUT_NAN})" if np.isnan(points[i, j]) else ""
        raise InstanceError(
            f"points[{i}, {j}] is {points[i, j]}; every coordinate must be finite{remedy}"
        )
    low, high = points.min(axis=0), points.max(axis=0)
    largest = max(-low.min(), high.max())
    if largest > LARGEST:
        raise InstanceError(
            f"points: a coordinate is as large as {largest:.1e}, and its square may overflow; "
            f"rescale the data (to less than {LARGEST:g})"
        )
    extent = (high - low).max()
    if 0 < extent < SMALLEST:
        raise InstanceError(
            f"points: no two coordinates differ by more than {extent:.1e}, and squares underflow; "
            f"rescale the data (to differences above {SMALLEST:g})"
        )
    return frozen(points)


def check_no_distances(points: NDArray[np.float64], as_points: bool) -> None:
    """Raise the InstanceError if points (n, d) look like a matrix of distances.

    Such a matrix is square and symmetric, with a zero diagonal and no negative entry. Users hardly
    mean to cluster its rows as points.

    as_points : whether the user says that the rows are points
    """
    n, d = points.shape
    if as_points or n != d or n < 3 or np.abs(points.diagonal()).max() > 1e-9 * points.max():
        return
    if points.any() and not (points < 0.0).any() and np.allclose(points, points.T, 1e-6, 0.0):
        raise InstanceError(f"points: {_DISTANCES}")


def checked_weights(values: Any, points: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the weights of the points of an `Instance`, read-only; None: no weights.

    Raises
    ------
    InstanceError
        Naming the first weight that is not positive and finite, or too large or too small.
    """
    if values is None:
        return None
    n, expected = len(points), "expected a positive number for each point"
    weights = _float_array(values, "weights", expected)
    if weights.shape != (n,):
        raise InstanceError(f"weights: an array of shape {weights.shape}; expected ({n},)")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0.0)))
    if len(wrong):
        i = int(wrong[0])
        raise InstanceError(f"weights[{i}] is {weights[i]}; every weight must be positive, finite")
    for i in (int(weights.argmax()), int(weights.argmin())):
        if not SMALLEST <= weights[i] <= LARGEST:
            raise InstanceError(
                f"weights[{i}] is {weights[i]:.1e}, and sums of squares may overflow or underflow; "
                f"rescale the weights (to {SMALLEST:g} .. {LARGEST:g})"
            )
    if weights.max() > MOST_SPREAD * weights.min():
        raise InstanceError(
            f"weights: from {weights.min():g} to {weights.max():g}; expected a ratio of at most "
            f"{MOST_SPREAD:g}, as larger sums lose the light ones"
        )
    # In units in which the mean weight is about 1.
    length = math.sqrt(math.fsum(weights.tolist()) / n)
    low, high = points.min(axis=0), points.max(axis=0)
    largest, extent = max(-low.min(), high.max()) * length, (high - low).max() * length
    if largest > LARGEST or 0.0 < extent < SMALLEST:
        raise InstanceError(
            f"weights: sums of squares with weights of {length**2:.1e} on average "
            f"{'overflow' if largest > LARGEST else 'underflow'}; rescale the weights or the points"
        )
    return frozen(weights)


def number_of_clusters(k: Any, n: int) -> int:
    """Return the k of an `Instance` of n points as an int, or raise an InstanceError."""
    number = as_integer(k)
    if number is None:
        raise InstanceError(f"k = {k!r}: the number of clusters must be an integer")
    if not 1 <= number <= n:
        raise InstanceError(f"k = {k}: expected 1 <= k <= n = {n}, as no cluster may be empty")
    return number


def sizes_alone(sizes: Sizes) -> tuple[int | Range, ...]:
    """Return sizes without the classes that they belong to."""
    return sizes.sizes if isinstance(sizes, ClassSizes) else sizes


def checked_sizes(
    values: StatedSizes, n: int, k: int, classes: tuple[str, ...] | None = None
) -> Sizes | None:
    """Return the sizes of k clusters of n points, or ranges, ascending; or None.

    classes : names of the known classes, the keys of a mapping; None: no known classes

    Raises
    ------
    InstanceError
        If there are not k sizes, they cannot add up to n, or classes differ from the known ones.
    """
    if values is None:
        return None
    if isinstance(values, ClassSizes):
        values = dict(zip(values.names, values.sizes, strict=True))
    if isinstance(values, Mapping):
        return _sizes_of_classes(values, n, k, classes)
    expected = (
        f"expected k = {k} integers >= 1 that add up to n = {n}, or ranges (least, most) that can"
    )
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InstanceError(f"sizes = {values!r}; {expected}")
    ranges = [_checked_range(each, f"sizes[{at}]", expected) for at, each in enumerate(values)]
    if len(ranges) != k:
        raise InstanceError(f"sizes: {len(ranges)} of them; {expected}")
    least, most = (sum(ends) for ends in zip(*ranges, strict=True))
    if not least <= n <= most:
        sums = str(least) if least == most else f"{least} to {most}"
        raise InstanceError(f"sizes: they add up to {sums}; {expected}")
    return tuple(map(as_size, sorted(ranges)))


def _sizes_of_classes(
    stated: Mapping[Any, Any], n: int, k: int, classes: tuple[str, ...] | None
) -> ClassSizes:
    """Return the sizes of the clusters of known classes, or raise an InstanceError."""
    names = ", ".join(shown(str(name)) for name in stated) or "(none)"
    prefix = f"sizes: of classes {names}; expected"
    if not classes:
        raise InstanceError(f"{prefix} known_classes, without known_weight and classes_may")
    if set(map(str, stated)) != set(classes):
        of_classes = ", ".join(map(shown, classes))
        raise InstanceError(f"{prefix} a size for each of the known classes {of_classes}")
    expected = "expected a size, or a range (least, most)"
    ranges = sorted(
        (str(name), _checked_range(size, f"sizes[{name!r}]", expected))
        for name, size in stated.items()
    )
    of_sizes, ends = zip(*ranges, strict=True)
    checked_sizes(ends, n, k)
    return ClassSizes(of_sizes, tuple(map(as_size, ends)))


def _checked_range(value: Any, argument: str, expected: str) -> Range:
    """Return the range given by one size or by two, or raise an InstanceError."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    ends = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    found = [number for end in ends if (number := as_integer(end)) is not None and number >= 1]
    if not 1 <= len(ends) == len(found) <= 2 or found[0] > found[-1]:
        raise InstanceError(f"{argument} = {value!r}; {expected}")
    return found[0], found[-1]


def sizes_text(sizes: Sizes) -> str:
    """Return sizes as in a line of a file: "10-20 30", or "red=10-20 blue=30"."""
    if isinstance(sizes, ClassSizes):
        return str(sizes)
    ranges = map(as_range, sizes)
    return " ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)


def checked_integer(value: Any, argument: str, least: int) -> int:
    """Return an integer >= `least`, or raise an InstanceError."""
    number = as_integer(value)
    if number is None or number < least:
        raise InstanceError(f"{argument} = {value!r}; expected an integer >= {least}")
    return number


def checked_number(value: Any, argument: str, least: float) -> float:
    """Return a finite number >= `least`, or raise an InstanceError; messages say >= 0 or > 0."""
    number = as_number(value)
    if number is None or not (math.isfinite(number) and number >= least):
        above = ">= 0" if least == 0.0 else "> 0"
        raise InstanceError(f"{argument} = {value!r}; expected a finite number {above}")
    return number


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _array(values: Any, argument: str, expected: str) -> NDArray[Any]:
    """Return values as an array of numbers, or of objects that may be numbers.

    Other values raise an InstanceError.
    """
    try:
        is_masked, array = np.ma.is_masked(values), np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InstanceError(
            _uneven(values, argument, expected) or f"{argument}: {expected} ({_one_line(error)})"
        ) from None
    if is_masked:
        raise InstanceError(f"{argument}: entries are masked; {expected}")
    if array.dtype.kind in _NOT_NUMBERS:
        raise InstanceError(f"{argument}: {_NOT_NUMBERS[array.dtype.kind]}; {expected}")
    return array


def _uneven(values: Any, argument: str, expected: str) -> str | None:
    """Return the message on the first row whose length differs from the others, or None."""
    rows = values if isinstance(values, (list, tuple)) else ()
    lengths = [len(row) if isinstance(row, (list, tuple, str)) else np.size(row) for row in rows]
    other = next((at for at, length in enumerate(lengths) if length != lengths[0]), None)
    if other is None:
        return None
    return f"{argument}[{other}] = {rows[other]!r:.60}: of another length; {expected}"


def _float_array(values: ArrayLike, argument: str, expected: str) -> NDArray[np.float64]:
    """Return a new array of floats."""
    if is_sparse(values):
        raise InstanceError(f"{argument}: a sparse matrix; expected a dense array (.toarray())")
    array = _array(values, argument, expected)
    if array.dtype == object:
        for index, value in np.ndenumerate(array):
            if not isinstance(value, (numbers.Real, Decimal)):
                where = f"{argument}[{', '.join(map(str, index))}]" if index else argument
                raise InstanceError(f"{where} is of type {type(value).__name__}; {expected}")
    try:
        with np.errstate(over="ignore"):  # an overflow to infinity is refused later
            floats = np.array(array, dtype=np.float64, order="C")
    except (OverflowError, TypeError, ValueError) as error:
        raise InstanceError(f"{argument}: {expected} ({_one_line(error)})") from None
    return floats


def checked_pairs(values: Any, n: int | None, argument: str) -> NDArray[np.intp]:
    """Return pairs of different row numbers (p, 2), i < j, or raise an InstanceError.

    n : number of rows; None: any
    """
    expected = "expected pairs of row numbers"
    if values is None:
        values = ()
    is_table = hasattr(values, "__array__") or isinstance(values, (list, tuple, str, bytes))
    if isinstance(values, Iterable) and not is_table:
        values = list(values)
    given = _array(values, argument, f"{expected}, or of names with a data frame")
    if given.shape in ((0,), (0, 2)):  # an empty list, or an empty array of whatever type
        given = np.empty((0, 2), np.intp)
    if given.ndim != 2 or given.shape[1] != 2:
        raise InstanceError(f"{argument}: {expected}, got shape {given.shape}")
    if not _are_integers(given):
        raise InstanceError(f"{argument}: row numbers must be integers, got {given.dtype}")
    # By columns: reductions along an axis of length two are slow, and there may be millions.
    first, second = given.T
    last = np.iinfo(np.intp).max if n is None else n - 1
    outside = (first < 0) | (first > last) | (second < 0) | (second > last)
    for wrong, reason in (
        (outside, "row numbers are >= 0" if n is None else f"rows are 0 to {last}"),
        (first == second, "a point paired with itself"),
    ):
        if wrong.any():
            position = int(np.argmax(wrong))
            i, j = given[position]
            raise InstanceError(f"{argument}[{position}] = ({i}, {j}): {reason}")
    pairs = np.empty(given.shape, np.intp)
    np.minimum(first, second, out=pairs[:, 0], casting="unsafe")
    np.maximum(first, second, out=pairs[:, 1], casting="unsafe")
    return frozen(pairs)


def checked_soft_pairs(values: Any, n: int, argument: str) -> SoftPairs:
    """Return soft pairs of n rows from triples (i, j, weight) or from `SoftPairs`.

    Raises
    ------
    InstanceError
        Naming the first pair with wrong rows or a wrong weight.
    """
    expected = "expected triples (i, j, weight) with weight >= 0"
    if values is None:
        return SoftPairs()
    if not isinstance(values, SoftPairs):
        is_list = isinstance(values, Iterable) and not isinstance(values, (np.ndarray, str))
        values = list(values) if is_list else values
        for position, triple in enumerate(values if is_list else ()):
            if isinstance(triple, (list, tuple)) and len(triple) != 3:
                raise InstanceError(f"{argument}[{position}]: {len(triple)} entries; {expected}")
            if isinstance(triple, (list, tuple)) and any(map(_is_bool, triple[:2])):
                raise InstanceError(f"{argument}[{position}] = {triple!r}; {expected}")
        triples = _float_array(values, argument, expected)
        if triples.shape == (0,):
            triples = np.empty((0, 3))
        if triples.ndim != 2 or triples.shape[1] != 3:
            raise InstanceError(f"{argument}: {expected}, got shape {triples.shape}")
        rows: Any = triples[:, :2]
        are_whole = bool(((rows == np.rint(rows)) & (np.abs(rows) < 2.0**53)).all())
        values = SoftPairs(rows.astype(np.intp) if are_whole else rows, triples[:, 2])
    pairs = checked_pairs(values.pairs, n, argument)
    weight = _float_array(values.weights, argument, expected)
    if weight.shape != (len(pairs),):
        raise InstanceError(f"{argument}: {weight.size} weights for {len(pairs)} pairs")
    wrong = ~(weight >= 0)
    if wrong.any():
        position = int(np.argmax(wrong))
        raise InstanceError(f"{argument}[{position}]: weight {weight[position]}; {expected}")
    largest = float(weight[np.isfinite(weight)].max(initial=0.0))
    if largest > LARGEST_WEIGHT:
        raise InstanceError(
            f"{argument}: a weight is as large as {largest:.1e}, and sums of weights may overflow; "
            f"expected at most {LARGEST_WEIGHT:g}, or inf for a hard constraint"
        )
    return SoftPairs(pairs, frozen(weight))


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _are_integers(array: NDArray[Any]) -> bool:
    if array.dtype != object:
        return np.issubdtype(array.dtype, np.integer)
    return all(as_integer(each) is not None for each in array.flat)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

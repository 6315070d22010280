"""Sizes of the clusters of known classes, and the quantities that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdpbb.checker.kernel.sizes import Range, StatedMeasure, as_range, as_size
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import checked_size
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.problem.textfile import name_in_file, shown
from sdpbb.runtime.archive import stored


@stored
@dataclass(frozen=True)
class ClassSizes:
    """Sizes of the clusters of known classes, or ranges of these, a class for each cluster.

    names : (k,) of the classes, in ascending order
    sizes : (k,) of their clusters
    """

    names: tuple[str, ...]
    sizes: tuple[int | Range, ...]

    @classmethod
    def of(cls, stated: Mapping[str, int | Range]) -> ClassSizes:
        """Return the sizes of classes by name."""
        names = sorted(stated)
        return cls(tuple(names), tuple(stated[name] for name in names))

    def __str__(self) -> str:
        pairs = zip(self.names, self.sizes, strict=True)
        return " ".join(name_in_file(f"{name}={size_text(size)}") for name, size in pairs)


Sizes = tuple[int | Range, ...] | ClassSizes
"""Sizes of clusters, or ranges of these, in any order or for known classes."""


StatedSizes = Iterable[int | Range] | Mapping[str, int | Range] | ClassSizes | None
"""Sizes as users give them; None where they give none."""


def listed(sizes: Sizes) -> tuple[int | Range, ...]:
    """Return sizes in any order."""
    return sizes.sizes if isinstance(sizes, ClassSizes) else sizes


def sizes_text(sizes: Sizes) -> str:
    """Return sizes as a line of a file has them: "10-20 30", or "red=10-20 blue=30"."""
    return str(sizes) if isinstance(sizes, ClassSizes) else " ".join(map(size_text, sizes))


def size_text(size: int | Range) -> str:
    """Return a size of a cluster, or a range of sizes, as a line of a file has it: "10-20"."""
    least, most = as_range(size)
    return str(least) if least == most else f"{least}-{most}"


def checked_sizes(
    stated: StatedSizes, n: int, k: int, classes: KnownClasses | None
) -> Sizes | None:
    """Return the sizes of k clusters of n points, or None, or raise an InstanceError.

    classes : known ones, which a mapping states the sizes of
    """
    if stated is None:
        return None
    if isinstance(stated, Mapping | ClassSizes):
        return _checked_of_classes(stated, n, k, classes)
    return _checked_list(stated, n, k)


def _checked_list(values: Any, n: int, k: int) -> tuple[int | Range, ...]:
    """Return listed sizes and ranges in ascending order, or raise an InstanceError."""
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


def _checked_range(value: Any, argument: str, expected: str) -> Range:
    """Return the range that a size or two sizes state, or raise an InstanceError."""
    ends = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    found = [checked_size(end, argument) for end in ends]
    if not 1 <= len(found) <= 2 or None in found or found[0] > found[-1]:  # type: ignore[operator]
        raise InstanceError(f"{argument} = {value!r}; {expected}")
    return found[0], found[-1]  # type: ignore[return-value]


def _checked_of_classes(
    stated: Mapping[Any, Any] | ClassSizes, n: int, k: int, classes: KnownClasses | None
) -> ClassSizes:
    """Return the sizes of known classes, one of a cluster each, or raise an InstanceError."""
    if isinstance(stated, ClassSizes):
        stated = dict(zip(stated.names, stated.sizes, strict=True))
    names = ", ".join(shown(str(name)) for name in stated)
    if classes is None or classes.weight is not None or classes.may is not None:
        raise InstanceError(
            f"sizes: of classes {names}; expected known_classes, without known_weight and "
            "classes_may"
        )
    if {str(name) for name in stated} != set(classes.names):
        raise InstanceError(
            f"sizes: of classes {names}; expected a size for each of the known classes "
            f"{', '.join(map(shown, classes.names))}"
        )
    expected = "expected a size, or a range (least, most)"
    ranges = {
        str(name): _checked_range(size, f"sizes[{name!r}]", expected)
        for name, size in stated.items()
    }
    _checked_list(ranges.values(), n, k)
    return ClassSizes.of({name: as_size(ends) for name, ends in ranges.items()})


def class_measures(sizes: Sizes | None, classes: KnownClasses | None) -> Iterator[StatedMeasure]:
    """Yield statements that sizes of classes amount to, besides those in any order.

    Let the cluster of point i, one of k that are known to be apart, have a_i to b_i points. Where i
    counts 1 + max a - a_i, and every other point 1, clusters measure max a at least. Where i counts
    1 + max b - b_i, they measure max b at most.

    The first row of a class, which the others are linked with, stands for it.
    """
    if not isinstance(sizes, ClassSizes) or classes is None:
        return
    range_of = dict(zip(sizes.names, map(as_range, sizes.sizes), strict=True))
    first = [int(np.argmax(classes.numbers == number)) for number in range(len(classes.names))]
    ends = np.array([range_of[name] for name in classes.names], np.int64)
    least, most = ends.max(axis=0).tolist()
    of_least, of_most = (np.ones(len(classes.numbers), np.int64) for _ in range(2))
    of_least[first] += least - ends[:, 0]
    of_most[first] += most - ends[:, 1]
    if np.array_equal(of_least, of_most):
        yield StatedMeasure(least, most, units=of_least)
        return
    yield StatedMeasure(least, units=of_least)
    yield StatedMeasure(most=most, units=of_most)

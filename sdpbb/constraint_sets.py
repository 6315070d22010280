"""Constraint sets drawn from true labels, by the published procedures; repeatable by seed.

by_number      a number of pairs, must-links if the labels are the same, otherwise cannot-links:
               K. Wagstaff and C. Cardie, Clustering with instance-level constraints (2000), as in
               B. Babaki, T. Guns and S. Nijssen (2014, section 6)
by_percentage  the number of pairs among a percentage of the points: G. González-Almagro et al.,
               DILS: constrained clustering through dual iterative local search (2020), as in
               P. Baumann and D. S. Hochbaum, PCCC (section 5.3)
by_kinds       numbers of must-links and of cannot-links: V. Piccialli, A. Russo Russo and
               A. M. Sudoso, An exact algorithm for semi-supervised minimum sum-of-squares
               clustering (2022, section 4.2)
with_noise     pairs of which a share has the wrong kind: P. Baumann and D. S. Hochbaum, A k-means
               algorithm for clustering with soft must-link and cannot-link constraints (2022,
               section 5.1)
with_confidence
               soft constraints whose weights depend on their probabilities of being right: the
               noisy constraint sets of PCCC (section 5.3)

All sets of pairs of the requested size and kind are equally likely. Rows of unknown label (-1,
None, nan, "") are not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import ParameterError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.coordinates import MAX_PAIRS
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.runtime.values import counted

__all__ = [
    "LinkedPairs",
    "by_kinds",
    "by_number",
    "by_percentage",
    "number_by_percentage",
    "with_confidence",
    "with_noise",
]

# Maximum number of pairs that are listed for drawing.
_LISTED = 10_000_000


class LinkedPairs(NamedTuple):
    """Pairs i < j of row numbers from 0: must_link (p, 2) and cannot_link (q, 2)."""

    must_link: NDArray[np.intp]
    cannot_link: NDArray[np.intp]

    @property
    def hard(self) -> Constraints:
        return Constraints(self.must_link, self.cannot_link)

    @property
    def soft(self) -> Constraints:
        """The pairs as soft constraints of weight 1."""
        return Constraints(
            soft_must_link=SoftPairs(self.must_link, np.ones(len(self.must_link))),
            soft_cannot_link=SoftPairs(self.cannot_link, np.ones(len(self.cannot_link))),
        )


def by_number(labels: ArrayLike, pairs: int, rng: np.random.Generator) -> LinkedPairs:
    """Draw a number of different pairs of points, linked according to the labels (n,).

    Raises
    ------
    ParameterError
        If there are fewer pairs.
    """
    rows, labels = _of_known_class(labels)
    n = len(labels)
    total = n * (n - 1) // 2
    _check_number("pairs", pairs, total, f"{n} points have {total} pairs")
    if total > _LISTED:
        return _linked(rows, labels, _drawn(n, pairs, rng))
    i, j = np.triu_indices(n, 1)
    drawn = np.sort(rng.choice(total, pairs, replace=False))
    return _linked(rows, labels, np.column_stack([i[drawn], j[drawn]]))


def number_by_percentage(n: int, percentage: float) -> int:
    """Return the number c (c - 1) / 2 of pairs, with c = ceil(n percentage / 100).

    Raises
    ------
    ParameterError
        Unless percentage is 0 to 100.
    """
    if not 0 <= percentage <= 100:
        raise ParameterError(f"percentage = {percentage:g}: expected a number from 0 to 100")
    c = math.ceil(n * percentage / 100 - 1e-9)  # 0.07 * 100 is above 7
    return c * (c - 1) // 2


def by_percentage(labels: ArrayLike, percentage: float, rng: np.random.Generator) -> LinkedPairs:
    """Draw `number_by_percentage` different pairs of points, linked according to the labels (n,).

    The percentage determines the number of pairs only: pairs are drawn among all points.

    Raises
    ------
    ParameterError
        Unless percentage is 0 to 100.
    """
    rows, labels = _of_known_class(labels)
    number = number_by_percentage(len(labels), percentage)
    _check_size("percentage", f"{percentage:g}", number)
    return _linked(rows, labels, _drawn(len(labels), number, rng))


def by_kinds(
    labels: ArrayLike, must_links: int, cannot_links: int, rng: np.random.Generator
) -> LinkedPairs:
    """Draw numbers of different pairs of points with the same label and with different labels.

    Raises
    ------
    ParameterError
        If there are fewer pairs of either kind.
    """
    rows, labels = _of_known_class(labels)
    n, sizes = len(labels), np.bincount(labels)
    same = int((sizes * (sizes - 1) // 2).sum())
    different = n * (n - 1) // 2 - same
    _check_number("must_links", must_links, same, f"{n} points have {same} pairs of the same label")
    reason = f"{n} points have {different} pairs of different labels"
    _check_number("cannot_links", cannot_links, different, reason)
    return LinkedPairs(
        rows[_drawn_of_kind(labels, True, must_links, same, rng)],
        rows[_drawn_of_kind(labels, False, cannot_links, different, rng)],
    )


def with_noise(pairs: LinkedPairs, noise: float, rng: np.random.Generator) -> LinkedPairs:
    """Return the same pairs with noise: a share of each kind is turned into the other kind.

    The number of turned pairs of each kind is rounded.

    Raises
    ------
    ParameterError
        Unless noise is 0 to 1.
    """
    if not 0 <= noise <= 1:
        raise ParameterError(f"noise = {noise:g}: expected a share from 0 to 1")
    wrong = []
    for given in pairs:
        chosen = np.zeros(len(given), dtype=bool)
        chosen[rng.choice(len(given), round(noise * len(given)), replace=False)] = True
        wrong.append(chosen)
    ml, cl = pairs
    return LinkedPairs(
        _sorted(np.concatenate([ml[~wrong[0]], cl[wrong[1]]])),
        _sorted(np.concatenate([cl[~wrong[1]], ml[wrong[0]]])),
    )


def with_confidence(pairs: LinkedPairs, least: float, rng: np.random.Generator) -> Constraints:
    """Return the same pairs as soft constraints.

    The kind of a pair is right with probability o, and its weight is w = 2 (o - 1/2). o is drawn
    for each pair, uniformly between `least` and 1.

    least : 0.5 to 1; with 1 all pairs are right and have weight 1

    Raises
    ------
    ParameterError
        Unless least is 0.5 to 1.
    """
    if not 0.5 <= least <= 1:
        raise ParameterError(f"confidence = {least:g}: expected a probability from 0.5 to 1")
    both = np.concatenate(pairs)
    is_ml = np.arange(len(both)) < len(pairs.must_link)
    weights = 1 - 2 * (1 - least) * rng.random(len(both))  # above 0, also for least = 0.5
    is_wrong = rng.random(len(both)) > (1 + weights) / 2
    is_ml = is_ml != is_wrong
    return Constraints(
        soft_must_link=_sorted_soft(both[is_ml], weights[is_ml]),
        soft_cannot_link=_sorted_soft(both[~is_ml], weights[~is_ml]),
    )


@dataclass(frozen=True)
class Drawing:
    """Parameters of a constraint set to draw.

    Exactly one of `pairs`, `percentage`, and `must_links` or `cannot_links` must be given.

    Parameters
    ----------
    pairs : number of pairs (`by_number`)
    percentage : percentage of the points; the number of pairs among them is drawn (`by_percentage`)
    must_links, cannot_links : number of pairs of each kind (`by_kinds`); 0 if only one is given
    noise : share of either kind that is turned into the other kind (`with_noise`)
    confidence : least probability that a soft constraint is right (`with_confidence`); None:
        constraints have no confidence
    soft : whether constraints are soft with weight 1
    seed : seed of the random choices, >= 0

    Raises
    ------
    ParameterError
        If parameters contradict each other.
    """

    pairs: int | None = None
    percentage: float | None = None
    must_links: int | None = None
    cannot_links: int | None = None
    noise: float = 0.0
    confidence: float | None = None
    soft: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        kinds = self.must_links if self.must_links is not None else self.cannot_links
        asked = [self.pairs, self.percentage, kinds]
        if sum(number is not None for number in asked) != 1:
            raise ParameterError(
                "expected one of --pairs, --percentage, or --must-links and --cannot-links"
            )
        if self.confidence is not None and self.noise:
            raise ParameterError(
                f"noise = {self.noise:g}: not allowed with --confidence, which draws wrong "
                "constraints itself"
            )
        if self.seed < 0:
            raise ParameterError(f"seed = {self.seed}: expected an integer >= 0")

    @property
    def is_soft(self) -> bool:
        """True if soft constraints are drawn."""
        return self.soft or self.confidence is not None

    def of(self, classes: Any) -> Constraints:
        """Draw the constraints from classes of rows; each call returns the same constraints.

        classes : (n,) numbers or texts

        Raises
        ------
        ParameterError
            If there are fewer pairs than requested, or a share or probability is out of its range.
        InstanceError
            If the classes are not (n,) numbers or texts.
        """
        rng = np.random.default_rng(self.seed)
        if self.pairs is not None:
            drawn = by_number(classes, self.pairs, rng)
        elif self.percentage is not None:
            drawn = by_percentage(classes, self.percentage, rng)
        else:
            kinds = (self.must_links or 0, self.cannot_links or 0)
            drawn = by_kinds(classes, *kinds, rng)
        if self.confidence is not None:
            return with_confidence(drawn, self.confidence, rng)
        if self.noise:
            drawn = with_noise(drawn, self.noise, rng)
        return drawn.soft if self.soft else drawn.hard

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the parameters in words."""
        if self.pairs is not None:
            what = f"{counted(self.pairs, 'pair')} (Wagstaff and Cardie, 2000)"
        elif self.percentage is not None:
            what = f"pairs by {self.percentage:g} % (Gonzalez-Almagro et al., 2020)"
        else:
            must_links = counted(self.must_links or 0, "must-link")
            kinds = f"{must_links} and {counted(self.cannot_links or 0, 'cannot-link')}"
            what = f"{kinds} (Piccialli et al., 2022)"
        if self.confidence is not None:
            what += f", right with probabilities from {self.confidence:g} (PCCC)"
        elif self.noise:
            what += f", a share of {self.noise:g} turned into the other kind (BH-k-means)"
        return f"{what}{', soft' if self.soft else ''}, seed {self.seed}"


def _of_known_class(labels: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows (m,) with known labels, and these labels (m,) as 0, 1, ..."""
    numbers = KnownClasses.of(labels, len(labels), "labels").numbers
    rows = np.flatnonzero(numbers >= 0)
    values = numbers if isinstance(labels, KnownClasses) else np.asarray(labels)
    return rows, np.unique(values[rows], return_inverse=True)[1]


def _linked(
    rows: NDArray[np.intp], labels: NDArray[np.intp], pairs: NDArray[np.intp]
) -> LinkedPairs:
    """Return must-links and cannot-links of rows, from pairs of positions among these rows."""
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return LinkedPairs(rows[pairs[same]], rows[pairs[~same]])


def _check_number(name: str, number: int, there_are: int, reason: str) -> None:
    if number < 0:
        raise ParameterError(f"{name} = {number}: expected an integer >= 0")
    if number > there_are:
        raise ParameterError(f"{name} = {number}: {reason}; expected at most {there_are}")
    _check_size(name, str(number), number)


def _check_size(name: str, value: str, number: int) -> None:
    if number > MAX_PAIRS:
        raise ParameterError(
            f"{name} = {value}: {number:,} pairs; expected at most {MAX_PAIRS:,}, as all of them "
            "are held in memory"
        )


def _drawn(n: int, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw different pairs i < j of 0..n-1, (number, 2), sorted."""
    total = n * (n - 1) // 2
    if 2 * number > total:  # draw the pairs to exclude instead
        i, j = np.triu_indices(n, 1)
        kept = np.ones(total, dtype=bool)
        kept[rng.choice(total, total - number, replace=False)] = False
        return np.column_stack([i[kept], j[kept]])

    def draw(size: int) -> NDArray[np.int64]:
        first, second = rng.integers(n, size=size), rng.integers(n - 1, size=size)
        second += second >= first
        return np.minimum(first, second) * n + np.maximum(first, second)

    return _pairs_of(_distinct(draw, number), number, n, rng)


def _drawn_of_kind(
    labels: NDArray[np.intp], same: bool, number: int, total: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw different pairs i < j with the same label, or with different labels, sorted.

    labels : (n,) 0, 1, ...
    total : number of all such pairs
    """
    codes_of = _pairs_of_kind(labels, same)
    if 2 * number > total:
        codes = np.unique(codes_of(np.arange(2 * total)))
    else:
        codes = _distinct(lambda size: codes_of(rng.integers(2 * total, size=size)), number)
    return _pairs_of(codes, number, max(len(labels), 1), rng)


def _distinct(draw: Callable[[int], NDArray[np.int64]], number: int) -> NDArray[np.int64]:
    """Draw until there are enough different codes of pairs; return the codes in order."""
    codes = np.empty(0, np.int64)
    while len(codes) < number:
        missing = number - len(codes)
        codes = np.unique(np.concatenate([codes, draw(missing + missing // 8 + 8)]))
    return codes


def _pairs_of(
    codes: NDArray[np.int64], number: int, n: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw a number of pairs from their codes i n + j; return them (number, 2), sorted."""
    kept = np.sort(rng.choice(codes, number, replace=False))
    return np.column_stack(np.divmod(kept, n))


def _pairs_of_kind(
    labels: NDArray[np.intp], same: bool
) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return a function from numbers to codes i n + j of pairs i < j of a kind.

    It numbers the ordered pairs with the same label, or with different labels, class by class,
    without a list of all pairs.
    """
    order = np.argsort(labels, kind="stable")
    size = np.bincount(labels)[labels[order]]  # of the class of each point in this order
    start = np.searchsorted(labels[order], labels[order])
    partners = size - 1 if same else len(labels) - size
    ends = np.cumsum(partners)

    def codes(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        first = np.searchsorted(ends, numbers, side="right")
        second = numbers - (ends - partners)[first]
        if same:
            second += start[first]
            second += second >= first
        else:
            second += np.where(second >= start[first], size[first], 0)
        i, j = order[first], order[second]
        return np.minimum(i, j) * len(order) + np.maximum(i, j)

    return codes


def _sorted(pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    return pairs[np.lexsort(pairs.T[::-1])]


def _sorted_soft(pairs: NDArray[np.intp], weights: NDArray[np.float64]) -> SoftPairs:
    order = np.lexsort(pairs.T[::-1])
    return SoftPairs(pairs[order], weights[order])

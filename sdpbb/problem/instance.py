"""Instance: points, a number of clusters, constraints on pairs and on clusters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.checker.kernel.sizes import SizeLimits, StatedMeasure
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.checks import (
    Sizes,
    SoftPairs,
    StatedSizes,
    check_no_distances,
    checked_integer,
    checked_number,
    checked_pairs,
    checked_points,
    checked_sizes,
    checked_soft_pairs,
    checked_weights,
    frozen,
    number_of_clusters,
    sizes_text,
)
from sdpbb.problem.cluster_constraints import ClusterConstraint, checked_constraints
from sdpbb.problem.coordinates import centred, in_mean_units
from sdpbb.problem.frames import in_row_order, is_frame
from sdpbb.problem.geometry import is_sparse
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.problem.origin import Origin
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.quantities import LEAST, POINTS, WEIGHT
from sdpbb.problem.rules import (
    LIMITS,
    Rules,
    check_rows,
    is_built_in,
    split_maxima,
    stated_measures,
    within,
)
from sdpbb.problem.sources import Constructors, InstanceArguments
from sdpbb.problem.textfile import first_of
from sdpbb.runtime.archive import stored
from sdpbb.runtime.declaration import check_keywords
from sdpbb.runtime.document import Document, Facts
from sdpbb.runtime.results import Shown
from sdpbb.runtime.values import counted

# Number of features whose names a notebook shows.
SHOWN_FEATURES = 8


@stored
@dataclass(frozen=True, eq=False)
class Instance(Constructors, Shown):
    """Instance of constrained minimum sum-of-squares clustering.

        minimise    sum_{i=1}^n w_i || p_i - m_{l(i)} ||^2,   m_c the mean of { p_i : l(i) = c }
                    with the weights w_i,
                    + the weights of the soft must-links with l(i) != l(j)
                    + the weights of the soft cannot-links with l(i) = l(j)
        subject to  l : {0..n-1} -> {0..k-1} onto (no empty cluster),
                    l(i) = l(j) for must-link pairs, l(i) != l(j) for cannot-link pairs,
                    { i : l(i) = c } allowed by every constraint on clusters, for each c,
                    min_size <= | { i : l(i) = c } | <= max_size for each c, or these k numbers are
                    `sizes` in some order,
                    min_weight <= sum of w_i over { i : l(i) = c } <= max_weight for each c.

    Parameters
    ----------
    points : array (n, d), or anything that NumPy converts to one, finite, n >= 1, d >= 1; a sparse
        matrix; or a data frame, whose names of rows and columns are in the origin. No coordinate
        exceeds 1e100. The points coincide, or differ by at least 1e-100 in some coordinate
    k : number of clusters, 1 <= k <= n
    must_link, cannot_link : an array (p, 2) or any iterable of pairs (i, j) of different row
        numbers from 0, also for a data frame (`from_points` supports names); None: no pairs
    name : what reports call the instance
    soft_must_link, soft_cannot_link : pairs that may be violated at a price: triples (i, j,
        weight) with weight >= 0 in units of the cost, or a `SoftPairs`; None: no pairs. A pair of
        weight 0 is ignored, one of weight inf is a must-link or a cannot-link. Pairs may contradict
        each other and the hard ones
    cluster_constraints : any iterable of `ClusterConstraint` objects
        (`sdpbb.problem.cluster_constraints`); every cluster satisfies all of them. None: no
        constraints
    origin : names of rows and constraints for messages
    weights : (n,) positive numbers w, of any scale. A point of weight 3 costs the same as three
        equal points that are must-linked. None: 1 each. Constraints on clusters, and limits on
        sizes, count points regardless of weights
    min_size, max_size : integers >= 1, limits on the number of points of every cluster; None: no
        limit. A `MaximumSize` among the constraints on clusters becomes max_size
    sizes : k integers >= 1 that add up to n, the numbers of points of the clusters in any order,
        or ranges (least, most) of these; None: no sizes. They are stored in ascending order. A
        mapping from known classes to sizes states the size of each class's cluster
    min_weight, max_weight : positive numbers, limits on the weight of every cluster in the units of
        `weights`, or on its number of points if these are None; None: no limit. The tolerance is
        one part in 10^9, or the rounding of weights to whole units if that is more
        (`sdpbb.checker.kernel.sizes`)
    known_classes : (n,) classes of the rows, numbers or texts; -1, None, nan or "" where the class
        is unknown. Rows of the same class are must-linked, rows of different classes
        cannot-linked; `KnownClasses` may say less. The pairs become part of must_link and
        cannot_link, or of the soft lists. The classes are in the origin
    as_points : whether the points may be a square symmetric table with a zero diagonal. Otherwise
        it is refused, as it looks like a matrix of distances

    Raises
    ------
    InstanceError
        Naming the argument and index at fault.

    Validated once, here; the arrays are read-only copies afterwards. Constraints that contradict
    each other are a valid (infeasible) instance: `sdpbb.problem.contract` says so.
    """

    points: NDArray[np.float64]
    k: int
    must_link: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    cannot_link: NDArray[np.intp] = field(default_factory=lambda: np.empty((0, 2), np.intp))
    name: str = ""
    soft_must_link: SoftPairs = field(default_factory=SoftPairs)
    soft_cannot_link: SoftPairs = field(default_factory=SoftPairs)
    cluster_constraints: tuple[ClusterConstraint, ...] = ()
    origin: Origin = field(default_factory=Origin)
    weights: NDArray[np.float64] | None = None
    min_size: int | None = None
    max_size: int | None = None
    sizes: Sizes | None = None
    min_weight: float | None = None
    max_weight: float | None = None
    known_classes: InitVar[Any] = None
    as_points: bool = False

    if TYPE_CHECKING:  # types that callers may pass; the attributes have the types above

        def __init__(
            self,
            points: ArrayLike,
            k: int,
            must_link: ArrayLike | Iterable[Any] | None = None,
            cannot_link: ArrayLike | Iterable[Any] | None = None,
            name: str = "",
            soft_must_link: SoftPairs | Iterable[Any] | None = None,
            soft_cannot_link: SoftPairs | Iterable[Any] | None = None,
            cluster_constraints: Iterable[ClusterConstraint] | None = (),
            origin: Origin = ...,
            weights: ArrayLike | None = None,
            min_size: int | None = None,
            max_size: int | None = None,
            sizes: StatedSizes = None,
            min_weight: float | None = None,
            max_weight: float | None = None,
            known_classes: Any = None,
            as_points: bool = False,
        ) -> None: ...

    def __post_init__(self, known_classes: Any) -> None:
        if is_frame(self.points) or is_sparse(self.points):
            table = table_in_memory(
                self.points, {"as_points": self.as_points, "weights": self.weights}
            )
            _set(self, "points", table.points)
            _set(self, "weights", table.weights)
            if self.origin.row_names is None and not self.origin.feature_names:
                _set(self, "origin", table.origin)
        points = checked_points(self.points)
        check_no_distances(points, self.as_points)
        n = len(points)
        _set(self, "points", points)
        _set(self, "weights", checked_weights(self.weights, points))
        _set(self, "k", number_of_clusters(self.k, n))
        _set(self, "must_link", checked_pairs(self.must_link, n, "must_link"))
        _set(self, "cannot_link", checked_pairs(self.cannot_link, n, "cannot_link"))
        for argument in ("soft_must_link", "soft_cannot_link"):
            soft = checked_soft_pairs(getattr(self, argument), n, argument)
            hard = argument.removeprefix("soft_")
            is_hard = np.isinf(soft.weights)
            is_soft = (soft.weights > 0) & ~is_hard
            if is_hard.any():
                pairs = np.concatenate([getattr(self, hard), soft.pairs[is_hard]])
                _set(self, hard, frozen(pairs))
            if not is_soft.all():
                soft = SoftPairs(frozen(soft.pairs[is_soft]), frozen(soft.weights[is_soft]))
            _set(self, argument, soft)
        constraints = checked_constraints(self.cluster_constraints, "cluster_constraints")
        for position, constraint in enumerate(constraints):
            check_rows(constraint, n, f"cluster_constraints[{position}]")
        maxima, others = split_maxima(constraints)
        _set(self, "cluster_constraints", others)
        for argument in ("min_size", "max_size"):
            if (value := getattr(self, argument)) is not None:
                _set(self, argument, checked_integer(value, argument, 1))
        if maxima:
            _set(self, "max_size", min([*maxima, self.max_size or n]))
        for argument in ("min_weight", "max_weight"):
            if (value := getattr(self, argument)) is not None:
                _set(self, argument, checked_number(value, argument, math.ulp(0.0)))
        names = self.origin.row_names
        if names is not None and len(names) != n:
            raise InstanceError(f"origin: {len(names)} names of rows; expected {n}, one per point")
        if known_classes is not None:
            self._link(
                KnownClasses.of(
                    in_row_order(known_classes, n, self.origin, "known_classes", partial=True), n
                )
            )
        classes = self.origin.known_classes
        names = None if classes is None else classes.certain_names
        _set(self, "sizes", checked_sizes(self.sizes, n, self.k, names))

    def _link(self, classes: KnownClasses) -> None:
        """Add the pairs, hard or soft, that known classes of rows imply."""
        classes.check(self.k)
        for argument, pairs in (("must_link", classes.together), ("cannot_link", classes.apart)):
            if classes.weight is None:
                _set(self, argument, frozen(np.concatenate([getattr(self, argument), pairs])))
                continue
            soft: SoftPairs = getattr(self, f"soft_{argument}")
            weights = np.append(soft.weights, np.full(len(pairs), classes.weight))
            joined = frozen(np.concatenate([soft.pairs, pairs]))
            _set(self, f"soft_{argument}", SoftPairs(joined, frozen(weights)))
        _set(self, "origin", replace(self.origin, known_classes=classes))

    @property
    def n_points(self) -> int:
        return len(self.points)

    @property
    def n_features(self) -> int:
        return int(self.points.shape[1])

    @cached_property
    def centred(self) -> NDArray[np.float64]:
        """Scaled points minus their mean, (n, r): see `sdpbb.problem.coordinates`."""
        points, weights = self.scaled
        return frozen(centred(points, weights=weights))

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Points (n, d) and weights (n,) in the units of a contraction; weights None: 1 each.

        All sums of squares are the same. The mean weight is in [1/2, 2).
        """
        if self.weights is None:
            return self.points, None
        points, weights = in_mean_units(self.points, self.weights)
        return frozen(points), frozen(weights)

    @property
    def has_constraints(self) -> bool:
        """True if the user states more than points and k."""
        hard = len(self.must_link) or len(self.cannot_link) or len(self.cluster_constraints)
        return bool(hard or self.limits or self.has_soft_constraints)

    @property
    def limits(self) -> dict[str, int | float | Sizes]:
        """Limits on clusters as given, by argument."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}

    @property
    def has_soft_constraints(self) -> bool:
        return bool(len(self.soft_must_link) or len(self.soft_cannot_link))

    @property
    def is_monotone(self) -> bool:
        """True if the optimum never rises with k, as long as must-links leave k components.

        Proof: divide a cluster of several components into two clusters. Both satisfy the
        constraints, and the cost does not rise. So a lower bound for k + 1 clusters is valid for k.

        False in these cases. Least sizes, weights and amounts may forbid a part, unless a single
        point satisfies them. Listed sizes are for one k. A part may violate a soft must-link. A
        constraint that the user has programmed may depend on k.
        """
        n = self.n_points
        is_limited = any(each.least > each.values(n).min() for _, each in self.stated_measures)
        if is_limited or any(each.name == LEAST for each in self.rules.quantities):
            return False
        is_known = all(map(is_built_in, self.cluster_constraints))
        return is_known and self.sizes is None and not len(self.soft_must_link)

    @cached_property
    def stated_measures(self) -> list[tuple[str, StatedMeasure]]:
        """Limits on sizes and weights as (argument, measure); sizes are sums of ones."""
        return stated_measures(self)

    @cached_property
    def rules(self) -> Rules:
        """Rules on clusters that follow from all constraints but must-links and cannot-links."""
        return Rules.of_instance(self)

    @property
    def size_limits(self) -> SizeLimits | None:
        """Limits on the sizes of clusters that follow from all constraints; None: no limits.

        Limits on weights are limits on sizes if all points weigh 1.
        """
        quantities = self.rules.quantities
        return next((each.limits for each in quantities if each.name == POINTS), None)

    @property
    def stated_limits(self) -> list[str]:
        """Limits on sizes and weights of clusters as given, in words.

        The list is empty if every clustering satisfies them.
        """
        if not any(quantity.is_size_or_weight for quantity in self.rules.quantities):
            return []
        most = self.max_size
        sizes = f"sizes {sizes_text(self.sizes).replace(' ', ', ')}" if self.sizes else ""
        points = "point" if (self.min_size if most is None else most) == 1 else "points"
        texts = (
            sizes,
            within(self.min_size, most, f"{{}} {points} each"),
            within(self.min_weight, self.max_weight, "weight {} each"),
        )
        return [text for text in texts if text]

    @property
    def has_constraints_beyond_sizes(self) -> bool:
        """True if constraints say more than pairs and limits on sizes and weights could."""
        rules = self.rules
        return bool(rules.oracles) or not all(each.is_size_or_weight for each in rules.quantities)

    @property
    def limits_weight(self) -> bool:
        """True if the weights of clusters are limited, and not as numbers of points."""
        return any(quantity.name == WEIGHT for quantity in self.rules.quantities)

    def in_pairs_and_sizes(self) -> Instance:
        """Return the instance with cannot-links instead of constraints on clusters.

        Precondition: `has_constraints_beyond_sizes` is false.
        """
        if not self.cluster_constraints:
            return self
        links = distinct_edges(np.concatenate([self.cannot_link, self.rules.apart]))
        return replace(self, cannot_link=links, cluster_constraints=())

    @property
    def constraints_in_words(self) -> list[str]:
        """Number of constraints of each kind, as texts."""
        soft = len(self.soft_must_link) + len(self.soft_cannot_link)
        constraints = [
            counted(len(self.must_link), "must-link"),
            counted(len(self.cannot_link), "cannot-link"),
        ]
        if soft:
            constraints.append(counted(soft, "soft constraint"))
        if (classes := self.origin.known_classes) is not None:
            constraints.append(f"known classes of {counted(classes.n_known, 'row')}")
        if on_clusters := len(self.cluster_constraints):
            constraints.append(f"{counted(on_clusters, 'constraint')} on clusters")
        return [*constraints, *self.stated_limits]

    def __repr__(self) -> str:
        weights = "" if self.weights is None else " with weights"
        return (
            f"Instance({self.name or 'unnamed'}: n={self.n_points}{weights}, d={self.n_features}, "
            f"k={self.k}, {', '.join(self.constraints_in_words)})"
        )

    def document(self) -> Document:
        """Return the size of the instance and the numbers of its constraints, for display."""
        weights = "" if self.weights is None else " with weights"
        facts = [
            ("Points", f"{self.n_points}{weights}"),
            ("Features", str(self.n_features)),
            ("Clusters", f"k = {self.k}"),
            ("Constraints", ", ".join(self.constraints_in_words)),
        ]
        named = self.origin.feature_names
        if named:
            facts[1] = ("Features", f"{len(named)}: {first_of(named, SHOWN_FEATURES)}")
        return Document("Instance", [Facts(facts)], self.name or "unnamed")


def _set(instance: Instance, attribute: str, value: object) -> None:
    object.__setattr__(instance, attribute, value)


def check_instance(value: object) -> None:
    """Raise an InstanceError unless the value is an `Instance`; points alone are refused."""
    if not isinstance(value, Instance):
        kind = type(value).__name__
        raise InstanceError(f"instance: of type {kind}; expected an sdpbb.Instance(points, k)")


def instance_of(
    given: Any,
    k: int | None,
    arguments: Mapping[str, Any],
    function: Callable[..., Any] | None = None,
) -> Instance:
    """Return the given instance, or an instance made of the given points.

    Parameters
    ----------
    given : an instance, an array of points (n, d), or a data frame
    k : number of clusters, if points are given
    arguments : other arguments by keyword, if points are given (`InstanceArguments`)
    function : the function that received the arguments; check their names. None: already checked

    Raises
    ------
    TypeError
        If the function does not have an argument of a name.
    InstanceError
        For wrong points, k or constraints, or if the points are a path.
    ParameterError
        If an argument is given that the given instance states itself.
    """
    if function is not None:
        check_keywords(arguments, InstanceArguments.__annotations__, function)
    if isinstance(given, Instance):
        for name, value in ({"k": k} | dict(arguments)).items():
            if value is not None:
                raise ParameterError(f"{name}: expected None, as the Instance states it")
        return given
    return Instance.from_points(given, k, **arguments)

"""Check of a certificate against the instance that it is about."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import digests
from .arithmetic import sum_down
from .blocks import Blocks
from .certificate import Certificate
from .geometry import Geometry
from .nodes import Bound, Fix, Split, Subset, rules_used
from .rejection import Rejected, at
from .rules import Either, Limit, Rules, broken_clusters
from .size_rules import with_limits
from .sizes import StatedMeasure
from .soft import CheckedSoftPairs
from .subsets import Subsets
from .tree import tree_value
from .verdict import OPTIMAL, CertificateVerdict, gap_rounded_up, is_cost, is_optimal


def verify(
    certificate: Certificate,
    points: ArrayLike,
    k: int,
    must_link: ArrayLike,
    cannot_link: ArrayLike,
    rules: Rules = (),
    workers: int = 1,
    weights: ArrayLike | None = None,
    soft: CheckedSoftPairs | None = None,
) -> CertificateVerdict:
    """Prove what a certificate says of an instance.

    Parameters
    ----------
    points : (n, d), finite
    k : number of clusters
    must_link, cannot_link : (p, 2) numbers of different points, from 0; () for none
    rules : that every cluster has to keep besides
    workers : threads, each of which checks one subset at a time
    weights : (n,) > 0 of the points, by which squares are weighted; None for 1 each
    soft : pairs of these points that cost their weights where they are violated, or None

    Raises
    ------
    Rejected
        If the certificate is about another instance, or does not prove what it says.
    ValueError
        If these are no instance.
    """
    started = time.monotonic()
    coordinates = np.ascontiguousarray(points, dtype=np.float64)
    if coordinates.ndim != 2 or not coordinates.size or not np.isfinite(coordinates).all():
        raise ValueError("points: expected finite numbers (n, d), n >= 1, d >= 1")
    masses = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if masses is not None and not (masses.shape == (len(coordinates),) and (masses > 0.0).all()):
        raise ValueError(f"weights: expected {len(coordinates)} positive numbers, one per point")
    together = _checked_pairs(must_link, len(coordinates), "must_link")
    apart = _checked_pairs(cannot_link, len(coordinates), "cannot_link")
    _check_rules(rules, len(coordinates))
    soft = CheckedSoftPairs() if soft is None else soft
    _check_instance(certificate, coordinates, k, together, apart, rules, masses, soft)
    # What is not finite because a certificate makes no sense is refused where it is used.
    with np.errstate(all="ignore"):
        geometry = Geometry.of(coordinates, masses, soft)
        cost = _checked_cost(certificate, geometry, together, apart, rules)
        if certificate.subsets is None:
            root = Blocks.of(len(coordinates), k, together, apart, rules)
            value = tree_value(certificate, root, geometry)
        else:
            value = _sum_over_subsets(
                certificate.subsets, geometry, k, together, apart, rules, workers
            )
    _check_claim(certificate, value, cost)
    return _verdict(certificate, cost, time.monotonic() - started)


def _checked_pairs(pairs: ArrayLike, n: int, what: str) -> NDArray[np.int64]:
    numbers = np.asarray(pairs)
    if numbers.size == 0:
        return np.empty((0, 2), np.int64)
    fits = numbers.ndim == 2 and numbers.shape[1] == 2 and numbers.dtype.kind in "iu"
    if not fits or numbers.min() < 0 or numbers.max() >= n:
        raise ValueError(f"{what}: expected pairs (p, 2) of whole numbers in 0..{n - 1}")
    normalised = digests.normalised(numbers)
    if (normalised[:, 0] == normalised[:, 1]).any():
        raise ValueError(f"{what}: expected pairs of different points")
    return normalised


def _check_rules(rules: Rules, n: int) -> None:
    for rule in rules:
        if isinstance(rule, Either):
            for part in rule.alternatives:
                _check_rules(part, n)
        elif isinstance(rule, Limit) and len(rule.weights) != n:
            raise ValueError(f"rules: a limit on {len(rule.weights)} points; expected {n}")
        elif isinstance(rule, StatedMeasure) and len(rule.values(n)) != n:
            raise ValueError(f"rules: weights of {len(rule.values(n))} points; expected {n}")


def _check_instance(
    certificate: Certificate,
    points: NDArray[np.float64],
    k: int,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
    weights: NDArray[np.float64] | None,
    soft: CheckedSoftPairs,
) -> None:
    shape = (certificate.n, certificate.d)
    if points.shape != shape:
        raise Rejected(f"is about {shape} points and coordinates; the data have {points.shape}")
    if certificate.k != k:
        raise Rejected(f"is about k = {certificate.k}; k is {k}")
    for what, stated, found in (
        ("points", certificate.points, digests.of_points(points)),
        ("must-links", certificate.must_link, digests.of_pairs(must_link)),
        ("cannot-links", certificate.cannot_link, digests.of_pairs(cannot_link)),
        ("constraints on clusters", certificate.rules, digests.of_rules(rules)),
        ("weights of points", certificate.weights, digests.of_weights(weights)),
        *_soft_digests(certificate, soft),
    ):
        if stated != found:
            raise Rejected(
                f"is about other {what}; expected a file that holds exactly the same numbers"
            )


def _soft_digests(
    certificate: Certificate, soft: CheckedSoftPairs
) -> list[tuple[str, str | None, str | None]]:
    must_link, cannot_link = (
        digests.of_soft_pairs(soft.must_link),
        digests.of_soft_pairs(soft.cannot_link),
    )
    return [
        ("soft must-links", certificate.soft_must_link, must_link),
        ("soft cannot-links", certificate.soft_cannot_link, cannot_link),
    ]


def _sum_over_subsets(
    subsets: Sequence[Subset],
    geometry: Geometry,
    k: int,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
    workers: int,
) -> float:
    """Return the sum of what is proven of disjoint subsets, rounded down.

    It is infinity if one of them has no clustering.
    """
    rows = [subset.rows.load() for subset in subsets]
    n = len(geometry.points)
    limited = with_limits(rules, n, k)
    restricted = Subsets(rows, n, must_link, cannot_link, limited, geometry.soft)

    def value(number: int) -> float:
        with at(f"subset {number}"), np.errstate(all="ignore"):
            root = restricted.root(number, k)
            soft = restricted.soft(number, k)
            own = geometry.restricted(restricted.rows[number], soft)
            return tree_value(subsets[number], root, own)

    numbers = range(len(subsets))
    if workers == 1:
        values = list(map(value, numbers))
    else:
        with ThreadPoolExecutor(workers) as pool:
            try:
                values = list(pool.map(value, numbers))
            except Rejected:
                pool.shutdown(cancel_futures=True)
                raise
    return math.inf if math.inf in values else sum_down(values)


def _checked_cost(
    certificate: Certificate,
    geometry: Geometry,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
) -> float | None:
    """Return the cost of the labels, rounded up, after checking that they keep the constraints."""
    if certificate.labels is None or certificate.cost is None:
        return None
    with at("labels"):
        labels = certificate.labels.load().astype(np.int64)
        _check_labels(labels, certificate.k, must_link, cannot_link, rules)
    cost = geometry.cost_at_most(labels)
    if not is_cost(certificate.cost, cost):
        raise Rejected(f"cost: states {certificate.cost!r}, the labels cost {cost!r}")
    return cost


def _check_labels(
    labels: NDArray[np.int64],
    k: int,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
) -> None:
    seen = np.maximum.accumulate(labels)
    if labels[0] != 0 or labels.min() < 0 or (np.diff(seen) > 1).any():
        raise Rejected("expected clusters 0, 1, ... in the order of their first points")
    if seen[-1] != k - 1:
        raise Rejected(f"{seen[-1] + 1} clusters; expected {k}")
    if (labels[must_link[:, 0]] != labels[must_link[:, 1]]).any():
        raise Rejected("two points are apart that must link")
    if (labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]]).any():
        raise Rejected("two points share a cluster that cannot link")
    broken = np.flatnonzero(broken_clusters(rules, labels, k))
    if len(broken):
        raise Rejected(f"cluster {broken[0]} does not keep the constraints on clusters")


def _check_claim(certificate: Certificate, value: float, cost: float | None) -> None:
    stated = math.inf if certificate.lower_bound is None else certificate.lower_bound
    if stated != value:
        raise Rejected(f"lower_bound: states {stated!r}, the root proves {value!r}")
    if cost is None:
        return
    if value > cost:
        raise Rejected(f"the lower bound {value!r} is above the cost {cost!r} of the labels")
    if certificate.status == OPTIMAL and not is_optimal(cost, value, certificate.tolerance):
        raise Rejected(
            f"status: optimal to {certificate.tolerance!r}; the cost is {cost!r}, the lower "
            f"bound {value!r}"
        )


def _verdict(certificate: Certificate, cost: float | None, seconds: float) -> CertificateVerdict:
    lower, gap = certificate.lower_bound, None
    if cost is not None and lower is not None:
        gap = gap_rounded_up(lower, cost)
    nodes = [node for tree in certificate.trees for node in tree.nodes]
    steps = [step for node in nodes for step in node.steps]
    of_subsets = [] if certificate.subsets is None else ["sums over subsets"]
    return CertificateVerdict(
        status=certificate.status,
        n=certificate.n,
        d=certificate.d,
        k=certificate.k,
        tolerance=certificate.tolerance,
        cost=cost,
        lower_bound=lower,
        gap=gap,
        n_nodes=len(nodes),
        n_leaves=sum(not isinstance(node.end, Split) for node in nodes),
        n_bounds=sum(isinstance(step, Bound) for step in steps),
        n_fixings=sum(_n_fixed(step) for step in steps if isinstance(step, Fix)),
        seconds=seconds,
        n_subsets=0 if certificate.subsets is None else len(certificate.subsets),
        rules=tuple(dict.fromkeys([*of_subsets, *chain.from_iterable(map(rules_used, nodes))])),
    )


def _n_fixed(step: Fix) -> int:
    excluded = 0 if step.excluded is None else step.excluded[0].shape[0]
    return len(step.refuted) + excluded + (0 if step.far is None else step.far.shape[0])

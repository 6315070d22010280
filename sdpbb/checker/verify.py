"""Check of a certificate against the instance that it is about."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .kernel import digests
from .kernel.archive import NUMBERS
from .kernel.blocks import Blocks
from .kernel.certificate import Certificate
from .kernel.exact import ExactJudge
from .kernel.geometry import Geometry
from .kernel.judge import Judge
from .kernel.log import Log, fields
from .kernel.proof import ProofCounts, proven_value
from .kernel.rejection import Rejected, at
from .kernel.rules import Either, Limit, Rules, broken_clusters, with_limits
from .kernel.sizes import StatedMeasure
from .kernel.soft import CheckedSoftPairs
from .kernel.subsets import Subsets
from .kernel.verdict import (
    OPTIMAL,
    CertificateVerdict,
    gap_rounded_up,
    is_cost,
    is_optimal,
)

SUBSET = "subset"
"""Word of the step that a proof about a subset begins with."""


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
    exact: bool = False,
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
    exact : whether bounds are proven in balls, by python-flint (`kernel.exact`)

    Raises
    ------
    Rejected
        If the certificate is about another instance, or does not prove what it says.
    ValueError
        If these are no instance.
    ImportError
        If python-flint is needed, and not installed.
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
        judge = ExactJudge(geometry) if exact else Judge(geometry)
        cost = _checked_cost(certificate, judge, together, apart, rules)
        proven = _proven(certificate, judge, k, together, apart, rules, workers)
    certificate.archive.require_all_taken()
    _check_claim(certificate, proven.value, cost)
    return _verdict(certificate, proven, cost, time.monotonic() - started)


class _Proven(NamedTuple):
    """Value that a log proves, with counts; n_subsets is None if it is one tree."""

    value: float
    counts: ProofCounts
    n_subsets: int | None


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
        elif isinstance(rule, Limit):
            rule.require_stated(n)
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


def _proven(
    certificate: Certificate,
    judge: Judge,
    k: int,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
    workers: int,
) -> _Proven:
    """Return what is proven: by a tree, or the sum of what is proven of disjoint subsets.

    The sum is infinity if one of them has no clustering.
    """
    log, n = certificate.log, certificate.n
    lines = range(1, len(log))
    begins = [line for line in lines if log.begins_with(line, SUBSET)]
    if lines and not begins:
        root, counts = Blocks.of(n, k, must_link, cannot_link, rules), ProofCounts()
        return _Proven(proven_value(log, lines, root, judge, counts), counts, None)
    if lines and begins[0] != 1:
        raise Rejected("a step before the first subset; expected none")
    rows = [_rows(log, line, n, k) for line in begins]
    limited = with_limits(rules, n, k)
    restricted = Subsets(rows, n, must_link, cannot_link, limited, judge.geometry.soft)
    ends = [*begins[1:], len(log)]

    def proven(number: int) -> tuple[float, ProofCounts]:
        with at(f"subset {number}"), np.errstate(all="ignore"):
            root, soft = restricted.root(number, k), restricted.soft(number, k)
            own, counts = judge.restricted(restricted.rows[number], soft), ProofCounts()
            steps = range(begins[number] + 1, ends[number])
            return proven_value(log, steps, root, own, counts), counts

    with ThreadPoolExecutor(workers) as pool:
        try:
            found = list(pool.map(proven, range(len(begins))))
        except Rejected:
            pool.shutdown(cancel_futures=True)
            raise
    total = ProofCounts(rules={"sums over subsets": None})
    for _, counts in found:
        total.add(counts)
    values = [value for value, _ in found]
    value = math.inf if math.inf in values else judge.sum_at_most(values)
    return _Proven(value, total, len(begins))


def _rows(log: Log, line: int, n: int, k: int) -> NDArray[np.int32]:
    with at(f"line {line}"):
        fields(log.step(line)[1:])
        return log.arrays(line).take("rows", NUMBERS, range(k, n + 1))


def _checked_cost(
    certificate: Certificate,
    judge: Judge,
    must_link: NDArray[np.int64],
    cannot_link: NDArray[np.int64],
    rules: Rules,
) -> float | None:
    """Return the cost of the labels, rounded up, after checking that they keep the constraints."""
    if certificate.cost is None:
        return None
    with at("labels"):
        labels = certificate.labels()
        _check_labels(labels, certificate.k, must_link, cannot_link, rules)
    cost = judge.cost_at_most(labels)
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


def _verdict(
    certificate: Certificate, proven: _Proven, cost: float | None, seconds: float
) -> CertificateVerdict:
    lower, gap = certificate.lower_bound, None
    if cost is not None and lower is not None:
        gap = gap_rounded_up(lower, cost)
    counts = proven.counts
    return CertificateVerdict(
        status=certificate.status,
        n=certificate.n,
        d=certificate.d,
        k=certificate.k,
        tolerance=certificate.tolerance,
        cost=cost,
        lower_bound=lower,
        gap=gap,
        n_nodes=counts.nodes,
        n_leaves=counts.leaves,
        n_bounds=counts.bounds,
        n_fixings=counts.fixings,
        seconds=seconds,
        n_subsets=proven.n_subsets or 0,
        rules=tuple(counts.rules),
    )

"""Check of a certificate against an instance."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from .kernel.archive import NUMBERS
from .kernel.arithmetic import sum_down
from .kernel.certificate import DIGESTS, Certificate, fields
from .kernel.exact import ExactJudge
from .kernel.judge import Judge
from .kernel.proof import ProofCounts, proof_of
from .kernel.rejection import Rejected, at
from .kernel.rules import broken_clusters
from .kernel.stated import StatedInstance
from .kernel.verdict import (
    OPTIMAL,
    CertificateVerdict,
    gap_rounded_up,
    is_cost,
    is_optimal,
)

# Beginning of the line of a step that starts the proof about a subset.
_SUBSET = b'["subset"'


def verify(
    certificate: Certificate, stated: StatedInstance, workers: int = 1, exact: bool = False
) -> CertificateVerdict:
    """Prove the claim of a certificate about an instance.

    Parameters
    ----------
    workers : threads, each of which checks one subset at a time
    exact : whether bounds are proven in balls, by python-flint (`kernel.exact`)

    Raises
    ------
    Rejected
        If the certificate is about another instance, or does not prove its claim.
    ImportError
        If python-flint is needed, and not installed.
    """
    started = time.monotonic()
    _require_same_instance(certificate, stated)
    # Infinities and nan of a senseless certificate are rejected where they matter.
    with np.errstate(all="ignore"):
        judge = ExactJudge(stated.geometry) if exact else Judge(stated.geometry)
        cost = _checked_cost(certificate, stated, judge)
        value, n_subsets, counts = _proven(certificate, stated, judge, workers)
    certificate.archive.require_all_taken()
    _require_claim(certificate, value, cost)
    lower = certificate.lower_bound
    return CertificateVerdict(
        status=certificate.status,
        n=certificate.n,
        d=certificate.d,
        k=certificate.k,
        tolerance=certificate.tolerance,
        cost=cost,
        lower_bound=lower,
        gap=None if cost is None or lower is None else gap_rounded_up(lower, cost),
        n_nodes=counts.trees + 2 * counts.splits,
        n_leaves=counts.trees + counts.splits,
        n_bounds=counts.bounds,
        n_fixings=counts.fixings,
        seconds=time.monotonic() - started,
        n_subsets=n_subsets,
        rules=tuple(counts.rules),
    )


def _require_same_instance(certificate: Certificate, stated: StatedInstance) -> None:
    """Raise `Rejected` unless n, d, k and all digests of the claim agree with the instance."""
    shape = (certificate.n, certificate.d)
    if stated.points.shape != shape:
        raise Rejected(
            f"is about {shape} points and coordinates; the data have {stated.points.shape}"
        )
    if certificate.k != stated.k:
        raise Rejected(f"is about k = {certificate.k}; k is {stated.k}")
    for name, what in DIGESTS.items():
        if certificate.digests.get(name) != stated.digests.get(name):
            raise Rejected(
                f"is about other {what}; expected a file that holds exactly the same numbers"
            )


def _proven(
    certificate: Certificate, stated: StatedInstance, judge: Judge, workers: int
) -> tuple[float, int, ProofCounts]:
    """Return the proven bound, the number of subsets, and the counts of the proof.

    The proof is one tree, or a tree for each of disjoint subsets. Then the bound is the sum over
    them, rounded down; infinity if a subset has no clustering.
    """
    log = certificate.log
    begins = [line for line in range(1, len(log)) if log[line].startswith(_SUBSET)]
    if len(log) > 1 and not begins:
        tree = proof_of(certificate, range(1, len(log)), stated.root, judge)
        return tree.value(), 0, tree.counts
    if begins and begins[0] != 1:
        raise Rejected("a step before the first subset; expected none")
    parts = stated.parts([_rows(certificate, line, stated) for line in begins])
    ends = [*begins[1:], len(log)]

    def proven(number: int) -> tuple[float, ProofCounts]:
        with at(f"subset {number}"), np.errstate(all="ignore"):
            part, lines = parts[number], range(begins[number] + 1, ends[number])
            tree = proof_of(certificate, lines, part.root, type(judge)(part.geometry))
            return tree.value(), tree.counts

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
    return math.inf if math.inf in values else sum_down(values), len(begins), total


def _rows(certificate: Certificate, line: int, stated: StatedInstance) -> NDArray[np.int64]:
    """Return the points of the subset whose proof starts at a line."""
    with at(f"line {line}"):
        fields(certificate.step(line)[1:])
        lengths = range(stated.k, stated.n + 1)
        rows = certificate.archive.of_step(line).take("rows", NUMBERS, lengths)
        return rows.astype(np.int64)


def _checked_cost(certificate: Certificate, stated: StatedInstance, judge: Judge) -> float | None:
    """Return the cost of the labels, rounded up; `Rejected` unless they satisfy the claim."""
    if certificate.cost is None:
        return None
    with at("labels"):
        labels = certificate.labels()
        _require_kept(labels, stated)
    cost = judge.cost_at_most(labels)
    if not is_cost(certificate.cost, cost):
        raise Rejected(f"cost: states {certificate.cost!r}, the labels cost {cost!r}")
    return cost


def _require_kept(labels: NDArray[np.int64], stated: StatedInstance) -> None:
    """Raise `Rejected` unless labels (n,) satisfy the constraints, with clusters in order."""
    seen, k = np.maximum.accumulate(labels), stated.k
    if labels[0] != 0 or labels.min() < 0 or (np.diff(seen) > 1).any():
        raise Rejected("expected clusters 0, 1, ... in the order of their first points")
    if seen[-1] != k - 1:
        raise Rejected(f"{seen[-1] + 1} clusters; expected {k}")
    i, j = labels[stated.must_link].T
    if (i != j).any():
        raise Rejected("two points are apart that must link")
    i, j = labels[stated.cannot_link].T
    if (i == j).any():
        raise Rejected("two points share a cluster that cannot link")
    broken = np.flatnonzero(broken_clusters(stated.rules, labels, k))
    if len(broken):
        raise Rejected(f"cluster {broken[0]} does not keep the constraints on clusters")


def _require_claim(certificate: Certificate, value: float, cost: float | None) -> None:
    """Raise `Rejected` unless the claim states the proven value, and status and cost agree."""
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

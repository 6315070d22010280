"""Certificates of results: their bytes, and their files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel import archive, digests, log
from sdpbb.checker.kernel.arithmetic import sum_down
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.size_rules import with_limits
from sdpbb.checker.kernel.subsets import Subsets
from sdpbb.checker.kernel.verdict import FEASIBLE, OPTIMAL, is_optimal
from sdpbb.errors import CertificateError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import CheckedConstraints, checked_soft_pairs
from sdpbb.problem.equal_points import equal_points
from sdpbb.run.certificates.document import LogBuilder, values
from sdpbb.run.certificates.recorder import Proof, SubsetProof
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import CertificateWritten
from sdpbb.search.result import Result, SolutionStatus


@dataclass(frozen=True)
class CertificateOrder:
    """Order of a certificate, to be written at the end of a run.

    path : of the file
    about : a clustering that keeps the constraints, instead of the best one found
    only : the status without which no certificate is written; None for any
    """

    path: FilePath
    about: Partition | None = None
    only: SolutionStatus | None = None

    def applies_to(self, result: Result) -> bool:
        """Return whether a certificate is to be written of a result."""
        return self.only in (None, result.status)


def write_certificate(
    order: CertificateOrder,
    instance: Instance,
    gap: float,
    result: Result,
    proof: Proof,
    subsets: Sequence[SubsetProof] | None = None,
) -> CertificateWritten:
    """Write the certificate of a run that has ended, and return the event that tells of it.

    gap : the relative gap asked for
    subsets : of a run that has started with subsets

    Raises
    ------
    CertificateError
        With the result, if the file cannot be written.
    """
    path = order.path
    try:
        arrays = certificate_arrays(instance, result, proof, gap, order.about, subsets)
        with replacement(path) as file:
            archive.write(file, arrays)
            size = file.tell()
    except Exception as error:  # whatever it is, the result must not go with it
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"{shown_path(path)}: could not be written ({reason})"
        raise CertificateError(message, result) from error
    return CertificateWritten(os.fspath(path), size)


def certificate_arrays(
    instance: Instance,
    result: Result,
    proof: Proof,
    tolerance: float,
    about: Partition | None = None,
    subsets: Sequence[SubsetProof] | None = None,
) -> list[tuple[str, NDArray[Any]]]:
    """Return the certificate of a result, in the format of docs/certificate_format.md.

    It is the proof by subsets unless the tree proves a higher bound. One of the two is enough, as
    the sum over subsets bounds all nodes.

    tolerance : the relative gap asked for
    instance : without constraints that the checker does not know
    about : a clustering that keeps the constraints, instead of the best one
    subsets : disjoint ones, each with its proof
    """
    n, d = instance.points.shape
    constraints, steps = CheckedConstraints.of(instance), LogBuilder()
    target = values(proof.nodes)[0]
    of_subsets = None if subsets is None else _value(subsets)
    if subsets is not None and of_subsets is not None and of_subsets >= target:
        target = of_subsets
        _add_subsets(steps, subsets, n, instance.k, constraints)
    else:
        root = Blocks.of(
            n, instance.k, constraints.must_link, constraints.cannot_link, constraints.rules
        )
        steps.add_tree(proof, root, equal_points(instance))
    status, cost, arrays = result.status.value, result.objective, []
    partition = about or result.partition
    if partition is not None:
        arrays.append(("labels", _by_first_point(partition.labels).astype(np.int32)))
    if about is not None:
        cost = about.cost(instance)
        status = _status(instance, about.labels, target, tolerance)
    claim = {
        "certificate": archive.FORMAT,
        "written_by": f"sdpbb {installed_version()}",
        "n": n,
        "d": d,
        "k": instance.k,
        "points": digests.of_points(instance.points),
        "must_link": digests.of_pairs(constraints.must_link),
        "cannot_link": digests.of_pairs(constraints.cannot_link),
        "rules": digests.of_rules(constraints.rules),
        "tolerance": tolerance,
        "status": status,
        "cost": cost,
        "lower_bound": target if math.isfinite(target) else None,
    }
    if instance.weights is not None:
        claim["weights"] = digests.of_weights(instance.weights)
    soft = constraints.soft
    if len(soft.must_link):
        claim["soft_must_link"] = digests.of_soft_pairs(soft.must_link)
    if len(soft.cannot_link):
        claim["soft_cannot_link"] = digests.of_soft_pairs(soft.cannot_link)
    return [(log.LOG, log.lines(claim, steps.steps)), *arrays, *steps.arrays]


def _value(subsets: Sequence[SubsetProof]) -> float:
    """Return the sum of what is proven of subsets, as the checker adds it up."""
    proven = [values(subset.proof.nodes)[0] for subset in subsets]
    return math.inf if math.inf in proven else sum_down(proven)


def _add_subsets(
    steps: LogBuilder,
    subsets: Sequence[SubsetProof],
    n: int,
    k: int,
    constraints: CheckedConstraints,
) -> None:
    restricted = Subsets(
        [subset.rows for subset in subsets],
        n,
        constraints.must_link,
        constraints.cannot_link,
        with_limits(constraints.rules, n, k),
    )
    for number, subset in enumerate(subsets):
        steps.add_subset(subset.rows)
        steps.add_tree(subset.proof, restricted.root(number, k), subset.equal)


def _status(instance: Instance, labels: NDArray[np.intp], lower: float, tolerance: float) -> str:
    """Return what the checker will say of labels that keep the constraints."""
    geometry = Geometry.of(instance.points, instance.weights, checked_soft_pairs(instance))
    upper = geometry.cost_at_most(labels)
    return OPTIMAL if is_optimal(upper, lower, tolerance) else FEASIBLE


def _by_first_point(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the same clusters, numbered in the order of their first points."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])

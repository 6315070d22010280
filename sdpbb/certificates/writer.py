"""Certificates of results: their bytes, and their files."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.certificates.document import ArrayTable, NodeTable
from sdpbb.certificates.recorder import Proof
from sdpbb.checker import container, digests
from sdpbb.checker.blocks import Blocks
from sdpbb.checker.geometry import Geometry
from sdpbb.checker.verdict import FEASIBLE, OPTIMAL, is_optimal
from sdpbb.errors import CertificateError
from sdpbb.files import FilePath, replacement, shown_path
from sdpbb.problem import Instance, Partition
from sdpbb.problem.cluster_rules import CheckedConstraints
from sdpbb.problem.equal_points import equal_points
from sdpbb.result import Result, SolutionStatus
from sdpbb.search.events import CertificateWritten
from sdpbb.version import installed_version


@dataclass(frozen=True)
class CertificateOrder:
    """Order of a certificate, to be written at the end of a run.

    path : of the file
    about : a clustering that keeps the constraints, in the place of the best one found
    only : the status without which no certificate is written; None for any
    """

    path: FilePath
    about: Partition | None = None
    only: SolutionStatus | None = None

    def applies_to(self, result: Result) -> bool:
        """Return whether a certificate is to be written of a result."""
        return self.only in (None, result.status)


def write_certificate(
    order: CertificateOrder, instance: Instance, gap: float, result: Result, proof: Proof
) -> CertificateWritten:
    """Write the certificate of a run that has ended, and return the event that tells of it.

    gap : the relative gap asked for

    Raises
    ------
    CertificateError
        With the result, if the file cannot be written.
    """
    path = order.path
    try:
        content = certificate_bytes(instance, result, proof, gap, order.about)
        with replacement(path) as file:
            file.write(content)
    except Exception as error:  # whatever it is, the result must not go with it
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"{shown_path(path)}: could not be written ({reason})"
        raise CertificateError(message, result) from error
    return CertificateWritten(os.fspath(path), len(content))


def certificate_bytes(
    instance: Instance,
    result: Result,
    proof: Proof,
    tolerance: float,
    about: Partition | None = None,
) -> bytes:
    """Return the certificate of a result, in the format of docs/certificates.md.

    tolerance : the relative gap asked for
    instance : without constraints that the checker does not know
    about : a clustering that keeps the constraints, in the place of the best one
    """
    n, d = instance.points.shape
    constraints = CheckedConstraints.of(instance)
    arrays = ArrayTable()
    root = Blocks.of(
        n, instance.k, constraints.must_link, constraints.cannot_link, constraints.rules
    )
    table = NodeTable(proof, root, equal_points(instance), arrays)
    labels, status, cost = None, result.status.value, result.objective
    partition = about or result.partition
    if partition is not None:
        labels = arrays.add(_by_first_point(partition.labels).astype(np.int32))
    if about is not None:
        cost = about.sum_of_squares(instance.points)
        status = _status(instance.points, about.labels, table.target, tolerance)
    document = {
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
        "labels": labels,
        "cost": cost,
        "lower_bound": table.target if math.isfinite(table.target) else None,
        "nodes": table.nodes,
    }
    return container.pack(document, arrays.stored)


def _status(
    points: NDArray[np.float64], labels: NDArray[np.intp], lower: float, tolerance: float
) -> str:
    """Return what the checker will say of labels that keep the constraints."""
    upper = Geometry.of(points).cost_at_most(labels)
    return OPTIMAL if is_optimal(upper, lower, tolerance) else FEASIBLE


def _by_first_point(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the same clusters, numbered in the order of their first points."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])

"""The file of a certificate, from what a run leaves behind."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.certificates.document import Arrays, NodeTable
from sdpbb.checker import container, digests
from sdpbb.checker.blocks import Blocks
from sdpbb.problem import Instance
from sdpbb.problem.cluster_rules import CheckedConstraints
from sdpbb.result import Result
from sdpbb.search.proof import SearchProof
from sdpbb.version import installed_version


def certificate_bytes(
    instance: Instance, result: Result, proof: SearchProof, tolerance: float
) -> bytes:
    """The certificate of a result, as docs/certificates.md says what it looks like.

    tolerance : the relative gap asked for
    instance : without constraints that the checker does not know
    """
    n, d = instance.points.shape
    constraints = CheckedConstraints.of(instance)
    arrays = Arrays()
    root = Blocks.of(
        n, instance.k, constraints.must_link, constraints.cannot_link, constraints.rules
    )
    table = NodeTable(proof, root, arrays)
    labels = None
    if result.partition is not None:
        labels = arrays.add(_by_first_point(result.partition.labels).astype(np.int32))
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
        "status": result.status.value,
        "labels": labels,
        "cost": result.objective,
        "lower_bound": table.target if math.isfinite(table.target) else None,
        "nodes": table.nodes,
    }
    return container.pack(document, arrays.stored)


def _by_first_point(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same clusters, numbered in the order of their first points."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])

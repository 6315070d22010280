"""The file of a certificate, from what a run leaves behind."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.certificates.document import Arrays, NodeTable
from sdpbb.checker import container, digests
from sdpbb.checker.blocks import Blocks
from sdpbb.problem import Instance
from sdpbb.result import Result
from sdpbb.search.proof import SearchProof
from sdpbb.version import installed_version


def certificate_bytes(
    instance: Instance, result: Result, proof: SearchProof, tolerance: float
) -> bytes:
    """The certificate of a result, as docs/certificates.md says what it looks like.

    tolerance : the relative gap asked for
    instance : its constraints say no more than must-links and cannot-links do
    """
    instance = instance.in_pairs()
    n, d = instance.points.shape
    must_link, cannot_link = (
        digests.normalised(pairs) for pairs in (instance.must_link, instance.cannot_link)
    )
    arrays = Arrays()
    root = Blocks.of(n, instance.k, must_link, cannot_link)
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
        "must_link": digests.of_pairs(must_link),
        "cannot_link": digests.of_pairs(cannot_link),
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

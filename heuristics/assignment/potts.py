"""The programme of one assignment step over numbered labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.graph import Neighbours, adjacency_lists


@dataclass(frozen=True, eq=False)
class Potts:
    """minimise  sum_i costs[i, l(i)] + sum_{p = ij} weights[p] [ i and j share a cluster ]

    over labels l(i) in 0..q-1 of finite cost; the label a of block i stands for the cluster
    candidates[i, a]. A soft must-link of weight w is the pair of weight -w, less the constant w.

    Attributes
    ----------
    costs : (n, q), inf for a label that is not allowed
    candidates : (n, q) clusters, each at most once in a row, negative for a label that is not
        allowed; None where label c is cluster c
    pairs : (p, 2) i < j
    weights : (p,) inf for a hard cannot-link
    """

    costs: NDArray[np.float64]
    candidates: NDArray[np.int64] | None
    pairs: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def n(self) -> int:
        return self.costs.shape[0]

    @property
    def q(self) -> int:
        return self.costs.shape[1]

    @cached_property
    def neighbours(self) -> Neighbours:
        return adjacency_lists(self.n, self.pairs)

    @property
    def must_link_weight(self) -> float:
        """The sum of the weights of the soft must-links, which the objective leaves out."""
        return float(-self.weights[self.weights < 0].sum())

    def clusters(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.candidates is None:
            return labels
        return self.candidates[np.arange(self.n), labels]

    def value(self, labels: NDArray[np.int64]) -> float:
        """The objective of labels (n,); inf if a hard pair is broken or a label not allowed."""
        cluster = self.clusters(labels)
        same = cluster[self.pairs[:, 0]] == cluster[self.pairs[:, 1]]
        return float(self.costs[np.arange(self.n), labels].sum() + self.weights[same].sum())

    def matches(self) -> NDArray[np.int64]:
        """(p, q) for pair ij and each label of i the label of j that stands for the same cluster,
        -1 for none."""
        if self.candidates is None:
            return np.broadcast_to(np.arange(self.q), (len(self.pairs), self.q))
        own, theirs = self.candidates[self.pairs[:, 0]], self.candidates[self.pairs[:, 1]]
        matching = np.full(own.shape, -1, np.int64)
        for label in range(self.q):
            same = (own == theirs[:, label, None]) & (own >= 0)
            matching[same] = label
        return matching

    def restricted(self, blocks: NDArray[np.int64], pairs: NDArray[np.int64]) -> Potts:
        """The programme of some blocks and of the pairs of these numbers, which lie within."""
        position = np.empty(self.n, np.int64)
        position[blocks] = np.arange(len(blocks))
        candidates = None if self.candidates is None else self.candidates[blocks]
        return Potts(
            self.costs[blocks], candidates, position[self.pairs[pairs]], self.weights[pairs]
        )

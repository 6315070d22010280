"""Pairs of blocks with signed weights, and the Potts model of an assignment step over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.neighbours import neighbour_lists
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import NONE, Integers, Reals
from sdpbb.runtime.jit import njit


class Links(NamedTuple):
    """Pairs and candidates of a Potts model, as compiled loops take them.

    starts, neighbour, weight : block i has the pairs starts[i] to starts[i + 1] - 1, each with its
        other end and its weight
    candidates : as of `Potts`; (0, 0) for none, so that loops are compiled once for both
    """

    starts: Integers
    neighbour: Integers
    weight: Reals
    candidates: Integers


@njit(cache=True, nogil=True)
def place(candidates: Integers, i: int, cluster: int) -> int:
    """Return the label of block i for a cluster, -1 for none."""
    if len(candidates) == 0:
        return cluster
    for a in range(candidates.shape[1]):
        if candidates[i, a] == cluster:
            return a
    return NONE


@njit(cache=True, nogil=True)
def cluster_of(candidates: Integers, i: int, label: int) -> int:
    """Return the cluster that a label of block i stands for."""
    if len(candidates) == 0:
        return label
    cluster: int = candidates[i, label]
    return cluster


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Pairs of blocks with signed weights (PCCC, section 4.1).

    Attributes
    ----------
    n_blocks : m
    pairs : (q, 2) blocks i < j, sorted, each once
    weights : (q,) inf for a hard cannot-link, > 0 for a soft cannot-link, < 0 for a soft must-link
        of weight -w; never 0
    constant : weight that every labelling violates, >= 0: soft cannot-links inside a block, soft
        must-links across a hard cannot-link, and the smaller one of opposing soft pairs

    Raises
    ------
    ParameterError
        If the arrays are not of this form.
    """

    n_blocks: int
    pairs: NDArray[np.intp]
    weights: NDArray[np.float64]
    constant: float = 0.0

    def __post_init__(self) -> None:
        pairs, weights = self.pairs, self.weights
        if pairs.ndim != 2 or pairs.shape[1] != 2 or weights.shape != (len(pairs),):
            raise ParameterError(
                f"pairs, weights: shapes {pairs.shape} and {weights.shape}; expected (q, 2), (q,)"
            )
        i, j = pairs.T
        if len(pairs) and not (i.min() >= 0 and (i < j).all() and j.max() < self.n_blocks):
            raise ParameterError(f"pairs: expected 0 <= i < j < {self.n_blocks} in every row")
        if (np.diff(i * self.n_blocks + j) <= 0).any():
            raise ParameterError("pairs: expected sorted rows, each once")
        if not (np.isfinite(weights) | (weights == np.inf)).all() or (weights == 0).any():
            raise ParameterError("weights: expected inf or finite numbers other than 0")

    @cached_property
    def is_hard(self) -> NDArray[np.bool_]:
        """Marks of the pairs that are hard cannot-links, (q,)."""
        return np.isinf(self.weights)


def pair_graph(contraction: Contraction) -> PairGraph:
    """Return the cannot-links and the soft pairs of the blocks of a contraction.

    Source: PCCC, sections 4.1 and 4.2.
    """
    hard, soft = contraction.cannot_link, contraction.soft
    pairs = np.concatenate([hard, soft.pairs])
    weights = np.concatenate([np.full(len(hard), np.inf), soft.weights])
    order = np.argsort(pairs[:, 0] * contraction.n_blocks + pairs[:, 1], kind="stable")
    return PairGraph(contraction.n_blocks, pairs[order], weights[order], soft.constant)


@dataclass(frozen=True, eq=False)
class Potts:
    """Potts model of an assignment step:

    minimise  sum_i costs[i, l(i)] + sum_{p = ij} weights[p] [ i and j share a cluster ]

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
        return len(self.costs)

    @property
    def q(self) -> int:
        return int(self.costs.shape[1])

    @cached_property
    def links(self) -> Links:
        candidates = np.empty((0, 0), np.int64) if self.candidates is None else self.candidates
        return Links(*neighbour_lists(self.n, self.pairs, self.weights), candidates)

    @property
    def must_link_weight(self) -> float:
        """Sum of the weights of the soft must-links, which the objective leaves out."""
        return float(-self.weights[self.weights < 0].sum())

    def clusters(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.candidates is None:
            return labels
        return self.candidates[np.arange(self.n), labels]

    def value(self, labels: NDArray[np.int64]) -> float:
        """Return the objective of labels (n,).

        It is inf if a hard pair is broken or a label not allowed.
        """
        cluster = self.clusters(labels)
        same = cluster[self.pairs[:, 0]] == cluster[self.pairs[:, 1]]
        return float(self.costs[np.arange(self.n), labels].sum() + self.weights[same].sum())

    def matches(self) -> NDArray[np.int64]:
        """Return the matching labels (p, q) of block j for the labels of i, for pairs ij.

        They stand for the same cluster, -1 for none.
        """
        if self.candidates is None:
            return np.broadcast_to(np.arange(self.q), (len(self.pairs), self.q))
        own, theirs = self.candidates[self.pairs[:, 0]], self.candidates[self.pairs[:, 1]]
        matching = np.full(own.shape, -1, np.int64)
        for label in range(self.q):
            same = (own == theirs[:, label, None]) & (own >= 0)
            matching[same] = label
        return matching

    def restricted(self, blocks: NDArray[np.int64], pairs: NDArray[np.int64]) -> Potts:
        """Return the programme of some blocks and of the pairs of these numbers, all within."""
        position = np.empty(self.n, np.int64)
        position[blocks] = np.arange(len(blocks))
        candidates = None if self.candidates is None else self.candidates[blocks]
        return Potts(
            self.costs[blocks], candidates, position[self.pairs[pairs]], self.weights[pairs]
        )

"""Potts model of an assignment step: labels of blocks, and pairs with signed weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.cluster_state import Neighbours, neighbour_lists
from sdpbb.problem import Contraction


@dataclass(frozen=True, eq=False)
class Potts:
    """Potts model of an assignment step:

    minimise  sum_i costs[i, l(i)] + sum_{p = ij} weights[p] [ l(i) = l(j) ]

    over labels l(i) of finite cost, the clusters. A soft must-link of weight w becomes a pair of
    weight -w; the constant w is omitted.

    Attributes
    ----------
    costs : (n, k), inf for forbidden labels
    pairs : (p, 2)
    weights : (p,) inf for a hard cannot-link
    """

    costs: NDArray[np.float64]
    pairs: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def n(self) -> int:
        return len(self.costs)

    @property
    def k(self) -> int:
        return int(self.costs.shape[1])

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Marks of the allowed labels, (n, k)."""
        return np.isfinite(self.costs)

    @property
    def n_labels(self) -> int:
        """Average number of allowed labels of a block, rounded up."""
        return -(-int(self.allowed.sum()) // max(1, self.n))

    @cached_property
    def links(self) -> Neighbours:
        """The pairs, as lists of the neighbours of each block."""
        return neighbour_lists(self.n, self.pairs, self.weights)

    @property
    def lowest(self) -> float:
        """A lower bound on the objective: no pair costs anything."""
        return float(self.costs.min(axis=1).sum() + self.weights[self.weights < 0].sum())

    def value(self, labels: NDArray[np.int64]) -> float:
        """Return the objective of labels (n,).

        It is inf if a hard pair is violated or a label forbidden.
        """
        same = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return float(self.costs[np.arange(self.n), labels].sum() + self.weights[same].sum())

    def restricted(self, blocks: NDArray[np.int64], pairs: NDArray[np.int64]) -> Potts:
        """Return the model of some blocks, and of pairs between them, by their numbers."""
        position = np.empty(self.n, np.int64)
        position[blocks] = np.arange(len(blocks))
        return Potts(self.costs[blocks], position[self.pairs[pairs]], self.weights[pairs])


class AssignmentSolution(NamedTuple):
    """Labels of low objective, and what is proven about them.

    labels : (n,) that satisfy the hard pairs; None: not found
    is_optimal : whether they are proven to minimise the objective, up to the tolerances of an
        integer programming solver
    is_infeasible : whether it is proven that no labels satisfy the hard pairs
    """

    labels: NDArray[np.int64] | None
    is_optimal: bool = False
    is_infeasible: bool = False


def signed_pairs(contraction: Contraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cannot-links and the soft pairs of the blocks, (p, 2), sorted, and weights (p,).

    Source: PCCC, sections 4.1 and 4.2.
    """
    hard, soft = contraction.cannot_link, contraction.soft
    pairs = np.concatenate([hard, soft.pairs])
    weights = np.concatenate([np.full(len(hard), np.inf), soft.weights])
    order = np.argsort(pairs[:, 0] * contraction.n_blocks + pairs[:, 1], kind="stable")
    return pairs[order], weights[order]

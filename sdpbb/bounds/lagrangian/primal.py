"""Primal side of column generation: the last solution, clusterings from it, the cheapest one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from sdpbb.bounds.lagrangian.columns import Columns, Membership
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.masters.programme import MasterSolution, Phase
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.backends.milp import integer_solver, solve_binary_programme
from sdpbb.runtime.backends.programme import BinaryProgramme

Labels = NDArray[np.intp]


def round_to_clustering(
    contraction: Contraction, members: Membership, x: NDArray[np.float64]
) -> Labels | None:
    """Round a solution of the master programme: return labels (m,), or None.

    They have exactly k clusters and keep the constraints. The solution uses clusters (t, m) x (t,)
    > 0 times each. None where the last blocks fit nowhere.

    Up to k times the cluster with the largest x times the number of its points that are not yet
    covered is taken, without the others. Blocks that remain go, one by one, where they add least.
    A cover by k clusters with x = 1 comes back without its overlaps.
    """
    labels, left = np.full(contraction.n_blocks, -1, np.intp), contraction.weights.copy()
    points = csr_array(members.astype(np.float64))
    for cluster in range(contraction.k):
        gains = x * (points @ left)
        best = int(np.argmax(gains))
        if not gains[best] > 0.0:
            break
        labels[members[best] & (labels < 0)] = cluster
        left[members[best]] = 0.0
    for block in np.argsort(-contraction.weights, kind="stable"):
        if labels[block] < 0:
            joined = _cheapest(contraction, labels, int(block))
            if joined is None:
                return None
            labels[block] = joined
    return split(contraction, labels)


def split(contraction: Contraction, labels: Labels) -> Labels:
    """Split clusters until there are k: the block farthest from its mean leaves its cluster.

    That costs nothing, and any subset of a cluster is allowed.
    """
    labels = labels.copy()
    e, c = contraction.weights, contraction.means
    for new in range(int(labels.max()) + 1, contraction.k):
        candidates = labels == np.arange(new)[:, None]
        centre = (candidates @ (e[:, None] * c)) / (candidates @ e)[:, None]
        gain = e * ((c - centre[labels]) ** 2).sum(axis=1)
        gain[np.bincount(labels)[labels] == 1] = -1.0
        labels[np.argmax(gain)] = new
    return labels


def cheapest_choice(
    sets: csr_array, costs: NDArray[np.float64], k: int, covers: bool, seconds: float
) -> NDArray[np.intp] | None:
    """Return the positions of the clusters of the cheapest cover, or partition, that HiGHS finds.

    It is a good one when the time limit is reached; None if none is met. No bound depends on it.

    Parameters
    ----------
    sets, costs : (t, m), (t,) of the clusters, t > 0
    covers : whether at most k of them hold each block; otherwise k hold each block exactly once

    Raises
    ------
    BackendFailure
        If the solver ends without a verdict for another reason than time.
    """
    count, m = sets.shape
    rows = vstack([csr_array(sets.T.astype(np.float64)), csr_array(np.ones((1, count)))])
    programme = BinaryProgramme(
        objective=costs,
        matrix=csr_array(rows),
        lower=np.concatenate([np.ones(m), [-math.inf if covers else float(k)]]),
        upper=np.concatenate([np.full(m, math.inf if covers else 1.0), [float(k)]]),
    )
    x = solve_binary_programme(programme, integer_solver("highs"), time_limit=seconds).x
    return None if x is None else np.flatnonzero(x > 0.5)


def _cheapest(contraction: Contraction, labels: Labels, block: int) -> int | None:
    """Return the cluster whose cost the block increases least.

    It is one of those that the block may join and, if there are fewer than k, a new one.
    """
    n_clusters = int(labels.max()) + 1
    if n_clusters < contraction.k:
        return n_clusters
    e, c = contraction.weights, contraction.means
    candidates = labels == np.arange(n_clusters)[:, None]
    weight = candidates @ e
    centre = (candidates @ (e[:, None] * c)) / weight[:, None]
    added = weight / (weight + e[block]) * ((centre - c[block]) ** 2).sum(axis=1)
    candidates[:, block] = True
    for cluster in np.argsort(added, kind="stable"):
        if contraction.allows(np.flatnonzero(candidates[cluster])):
            return int(cluster)
    return None


# Values of a solution that miss whole numbers by less are whole.
_WHOLE = 1e-6
# Maximum columns that a better clustering can use, and seconds, of the integer programme over them.
INTEGER_COLUMNS, INTEGER_SECONDS = 2000, 1.0


@stored
@dataclass(eq=False)
class Primal:
    """Last solution of the master programme of a node, and the cheapest clustering found so far.

    support, x : the s clusters that the last solution uses, and how much of each (s,)
    labels, cost : the cheapest clustering found
    """

    support: Columns
    x: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    labels: Labels | None = None
    cost: float = math.inf

    @classmethod
    def begin(cls, contraction: Contraction) -> Primal:
        return cls(Columns.of(contraction, np.zeros((0, contraction.n_blocks), bool)))

    def meet(
        self,
        contraction: Contraction,
        columns: Columns,
        solution: MasterSolution,
        rounds: bool = True,
    ) -> None:
        """Record a master solution, and round it to a clustering if it is a cover.

        rounds : whether that pays off
        """
        used = solution.x > 0.0
        self.support, self.x = columns.select(used), solution.x[used]
        if solution.phase is Phase.COST and rounds:
            labels = round_to_clustering(contraction, self.support.members, self.x)
            self._offer(contraction, labels)

    def affinity(self, contraction: Contraction) -> NDArray[np.float64]:
        """Return the affinity (m, m): sum_X x_X 1_X 1_X' / (points of X)."""
        members = self.support.members.astype(np.float64)
        weights = self.x / (members @ contraction.weights)
        return members.T @ (weights[:, None] * members)

    def search(
        self, contraction: Contraction, columns: Columns, duals: DualValues, cutoff: float
    ) -> None:
        """Search for a cheaper clustering among the columns that one below the cutoff can use.

        Their reduced cost is at most the difference between the value of the dual and the cutoff.
        """
        if np.all(np.abs(self.x - 1.0) < _WHOLE):
            return
        upper = min(cutoff, self.cost) - contraction.soft.constant_below
        reduced = columns.costs - columns.collected(duals.prices) + duals.sigma
        usable = columns.select(reduced <= upper - duals.value(contraction.k))
        if not 0 < len(usable) <= INTEGER_COLUMNS:
            return
        sets, covers = csr_array(usable.members), contraction.is_monotone
        found = cheapest_choice(sets, usable.costs, contraction.k, covers, INTEGER_SECONDS)
        if found is not None:
            chosen = usable.members[found]
            self._offer(contraction, round_to_clustering(contraction, chosen, np.ones(len(chosen))))

    def _offer(self, contraction: Contraction, labels: Labels | None) -> None:
        """Take a clustering if it keeps limits on sizes and is the cheapest so far."""
        if labels is None or not contraction.keeps_sizes(labels):
            return
        cost = contraction.cost(labels)
        if cost < self.cost:
            self.labels, self.cost = labels, cost

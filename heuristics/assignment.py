"""The assignment step: the cheapest labels for given centres that keep the cannot-links.

The programme (PC-SOS-SDP, section 3.4, with the centres of (2) fixed)

    minimise    sum_i e_i || c_i - m_{l(i)} ||^2
    subject to  l(i) != l(j) for every cannot-link ij

falls apart into the connected components of the cannot-link graph. Each is solved exactly by
dynamic programming along an elimination order (bucket elimination): eliminating block v replaces
its costs and the tables it receives by one table over its separator S, the neighbours it has left,

    h_v(s) = min { cost_vc + sum of received tables at (s, c) : c != s_u for u in S linked to v },

of k^|S| entries found in O(k^(|S|+1)). A block without cannot-links is the case |S| = 0: it takes
its cheapest cluster. Source: R. Dechter, Bucket elimination: a unifying framework for reasoning,
Artificial Intelligence 113 (1999). The graph is the same for all centres, so that the order and
the layout of the tables are computed once. A component whose tables would be too large goes to an
integer programming solver instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sdpbb.backends.milp import BinaryModel, load
from sdpbb.errors import ParameterError
from sdpbb.feasibility import colouring_programme, find_feasible
from sdpbb.problem import Contraction, Infeasibility

# Table entries visited for one component, sum over its blocks of k^(|S|+1). At about 55 ns each
# this is 55 ms, which is what HiGHS takes for an easy component of that density.
TABLE_BUDGET = 1_000_000
# So that the first of many programmes does not take all the time.
PROGRAMME_SHARE = 0.1


class Assignment:
    """The assignment step of one contraction, prepared for many sets of centres.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
    table_budget : entries of dynamic programming allowed to one component; the components over it
        are integer programmes, solved by HiGHS
    time_limit : seconds allowed to integer programmes over all calls together, > 0; each may take
        PROGRAMME_SHARE of what is left. Once time runs out, the labels of these components keep
        the cannot-links but need not be the cheapest, and depend on the machine.
    known : labels (m,) that keep the cannot-links, for the integer programmes to begin from; looked
        for if None

    Raises
    ------
    ParameterError
        If a component is an integer programme and has no labels that keep the cannot-links.
    """

    def __init__(
        self,
        contraction: Contraction,
        table_budget: float = TABLE_BUDGET,
        time_limit: float = np.inf,
        known: NDArray[np.intp] | None = None,
    ) -> None:
        self._sizes = contraction.sizes
        self._means = contraction.means
        self._k = contraction.k
        adjacency = contraction.adjacency
        neighbours = [set(np.flatnonzero(row).tolist()) for row in adjacency]
        component = connected_components(csr_array(adjacency), directed=False)[1]
        by_component = np.argsort(component, kind="stable")
        buckets: list[_Bucket] = []
        self._programmes: list[tuple[NDArray[np.intp], BinaryModel]] = []
        for blocks in np.split(by_component, np.cumsum(np.bincount(component))[:-1]):
            inside = {v: set(neighbours[v]) for v in blocks.tolist()}
            eliminated = _eliminate(inside, self._k, table_budget)
            if eliminated is not None:
                buckets += eliminated
                continue
            graph = adjacency[np.ix_(blocks, blocks)]
            model = load(colouring_programme(graph, self._k, np.zeros((len(blocks), self._k))))
            self._programmes.append((blocks, model))
        self._time_left = time_limit
        if self._programmes:
            feasible = find_feasible(contraction) if known is None else known
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering keeps the cannot-links: {feasible}")
            assert feasible is not None  # no time limit was given
            self._last = feasible  # the programmes begin from the labels of the last call
        self._tables = _lay_out(buckets, neighbours, self._k)

    def __call__(self, centres: NDArray[np.float64]) -> NDArray[np.intp]:
        """Labels (m,) for centres (k, r), with exactly k clusters.

        If the cheapest labels leave a cluster empty, the block whose move there reduces the sum of
        squares most is moved, out of a cluster of at least two blocks. This keeps the
        cannot-links, as an empty cluster holds no neighbour of the block; the labels are the
        minimum over all labels that keep the cannot-links only where nothing had to be moved.

        Raises
        ------
        ParameterError, BackendFailure
            As `minimise` does.
        """
        # || c_i ||^2 is the same for all labels of i, and left out.
        distances = (centres**2).sum(axis=1) - 2.0 * (self._means @ centres.T)
        labels = self.minimise(self._sizes[:, None] * distances)
        return _fill_empty_clusters(labels, self._sizes, self._means, self._k)

    def minimise(self, costs: NDArray[np.float64]) -> NDArray[np.intp]:
        """Labels (m,) that minimise sum_i costs[i, l(i)] and keep the cannot-links; clusters may be
        empty.

        Parameters
        ----------
        costs : (m, k), finite

        Raises
        ------
        ParameterError
            If no labels keep the cannot-links, or a cost is not finite.
        BackendFailure
            If the integer programming solver fails.
        """
        if not np.isfinite(costs).all():
            raise ParameterError("costs: every cost must be finite")
        labels = np.full(len(costs), -1, dtype=np.int64)
        if not _propagate(np.ascontiguousarray(costs), *self._tables, labels):
            raise ParameterError("no clustering keeps the cannot-links of the contraction")
        for blocks, model in self._programmes:
            labels[blocks] = self._solve(model, costs[blocks], self._last[blocks])
            self._last[blocks] = labels[blocks]
        return labels

    def _solve(
        self, model: BinaryModel, costs: NDArray[np.float64], last: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Labels of one component by integer programming, at most as costly as the last ones under
        any renaming of the clusters."""
        renamed = _renamed(last, costs)
        if self._time_left <= 0:
            return renamed
        warm_start = np.zeros_like(costs)
        warm_start[np.arange(len(costs)), renamed] = 1.0
        began = perf_counter()
        limit = PROGRAMME_SHARE * self._time_left
        solution = model.minimise(costs.reshape(-1), warm_start.reshape(-1), limit)
        self._time_left -= perf_counter() - began
        if solution.x is None or solution.objective > (costs * warm_start).sum():
            return renamed
        return np.argmax(solution.x.reshape(costs.shape), axis=1)


class _Bucket(NamedTuple):
    """One step of the elimination: a block and its separator."""

    block: int
    separator: tuple[int, ...]


class _Tables(NamedTuple):
    """The elimination as flat arrays; step t fills the table of block[t].

    The entry of a table at labels s of the separator is number sum_j s_j k^j. Step t receives the
    tables source[source_at[t] : source_at[t + 1]], each with |S| + 1 strides that lead from the
    labels of the separator, and of the block itself, to an entry of it.
    """

    block: NDArray[np.int64]
    separator_at: NDArray[np.int64]
    separator: NDArray[np.int64]
    linked: NDArray[np.bool_]
    source_at: NDArray[np.int64]
    source: NDArray[np.int64]
    stride_at: NDArray[np.int64]
    stride: NDArray[np.int64]
    table_at: NDArray[np.int64]


def _eliminate(neighbours: dict[int, set[int]], k: int, budget: float) -> list[_Bucket] | None:
    """A minimum-degree elimination of one component, which it consumes; None if the tables exceed
    the budget."""
    buckets = []
    entries = 0
    while neighbours:
        block = min(neighbours, key=lambda v: len(neighbours[v]))
        separator = neighbours.pop(block)
        entries += k ** (len(separator) + 1)
        if entries > budget:
            return None
        buckets.append(_Bucket(block, tuple(sorted(separator))))
        for u in separator:
            neighbours[u] |= separator
            neighbours[u] -= {u, block}
    return buckets


def _lay_out(buckets: list[_Bucket], neighbours: list[set[int]], k: int) -> _Tables:
    step_of = {bucket.block: t for t, bucket in enumerate(buckets)}
    sources: list[list[int]] = [[] for _ in buckets]
    for t, bucket in enumerate(buckets):
        if bucket.separator:  # the table goes to the first of the separator to be eliminated
            sources[min(step_of[u] for u in bucket.separator)].append(t)
    strides = [
        [
            k ** buckets[child].separator.index(u) if u in buckets[child].separator else 0
            for u in (*bucket.separator, bucket.block)
        ]
        for bucket, received in zip(buckets, sources, strict=True)
        for child in received
    ]
    return _Tables(
        block=_flat([[bucket.block] for bucket in buckets]),
        separator_at=_offsets(len(bucket.separator) for bucket in buckets),
        separator=_flat(bucket.separator for bucket in buckets),
        linked=_flat([u in neighbours[b.block] for u in b.separator] for b in buckets).astype(bool),
        source_at=_offsets(len(received) for received in sources),
        source=_flat(sources),
        stride_at=_offsets(len(stride) for stride in strides),
        stride=_flat(strides),
        table_at=_offsets(k ** len(bucket.separator) for bucket in buckets),
    )


def _renamed(labels: NDArray[np.intp], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """The labels under the permutation of the clusters that makes them cheapest."""
    from scipy.optimize import linear_sum_assignment  # a fifth of a second, and seldom needed

    sums = np.zeros((costs.shape[1], costs.shape[1]))
    np.add.at(sums, labels, costs)
    return linear_sum_assignment(sums)[1][labels]


def _flat(rows: Iterable[Iterable[int]]) -> NDArray[np.int64]:
    return np.array([x for row in rows for x in row], dtype=np.int64)


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)]).astype(np.int64)


@njit(cache=True)
def _propagate(
    costs,
    block,
    separator_at,
    separator,
    linked,
    source_at,
    source,
    stride_at,
    stride,
    table_at,
    labels,
):
    """Fill the tables forwards, read the labels off backwards; False if nothing is feasible."""
    k = costs.shape[1]
    n_steps = len(block)
    table = np.empty(table_at[n_steps])
    choice = np.empty(table_at[n_steps], np.int64)
    widest = 0
    for t in range(n_steps):
        widest = max(widest, separator_at[t + 1] - separator_at[t])
    digits = np.empty(widest, np.int64)
    value = np.empty(k)
    for t in range(n_steps):
        first, width = separator_at[t], separator_at[t + 1] - separator_at[t]
        for entry in range(table_at[t + 1] - table_at[t]):
            rest = entry
            for j in range(width):
                digits[j] = rest % k
                rest //= k
            for c in range(k):
                value[c] = costs[block[t], c]
            for q in range(source_at[t], source_at[t + 1]):
                at = table_at[source[q]]
                for j in range(width):
                    at += digits[j] * stride[stride_at[q] + j]
                own = stride[stride_at[q] + width]
                for c in range(k):
                    value[c] += table[at + own * c]
            for j in range(width):
                if linked[first + j]:
                    value[digits[j]] = np.inf
            best = 0
            for c in range(1, k):
                if value[c] < value[best]:
                    best = c
            table[table_at[t] + entry] = value[best]
            choice[table_at[t] + entry] = best

    for t in range(n_steps - 1, -1, -1):
        entry = table_at[t]
        power = 1
        for j in range(separator_at[t], separator_at[t + 1]):
            entry += power * labels[separator[j]]
            power *= k
        if table[entry] == np.inf:
            return False
        labels[block[t]] = choice[entry]
    return True


@njit(cache=True)
def _fill_empty_clusters(labels, sizes, means, k):
    """Move single blocks into empty clusters; the gain of moving block i out of cluster a is
    e_i N_a / (N_a - e_i) || c_i - mean_a ||^2."""
    m, r = means.shape
    count = np.zeros(k, np.int64)
    for i in range(m):
        count[labels[i]] += 1
    for empty in range(k):
        if count[empty] > 0:
            continue
        weight = np.zeros(k)
        centre = np.zeros((k, r))
        for i in range(m):
            weight[labels[i]] += sizes[i]
            for t in range(r):
                centre[labels[i], t] += sizes[i] * means[i, t]
        chosen = -1
        largest = -1.0
        for i in range(m):
            a = labels[i]
            if count[a] < 2:
                continue
            distance = 0.0
            for t in range(r):
                distance += (means[i, t] - centre[a, t] / weight[a]) ** 2
            gain = sizes[i] * weight[a] / (weight[a] - sizes[i]) * distance
            if gain > largest:
                largest = gain
                chosen = i
        count[labels[chosen]] -= 1
        count[empty] = 1
        labels[chosen] = empty
    return labels

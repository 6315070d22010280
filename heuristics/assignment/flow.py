"""Maximum flow with integer capacities (Dinic's algorithm).

Source: E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with power
estimation, Soviet Mathematics Doklady 11 (1970).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers
from sdpbb.runtime.jit import njit


class Network(NamedTuple):
    """Network as adjacency lists of arcs.

    Arcs 2e and 2e + 1 are opposite to each other; those that leave node v are arc[starts[v] :
    starts[v + 1]].

    starts : (n + 1,)
    arc : (a,)
    head : (a,) of each arc, by its number
    capacity : (a,) >= 0, by its number
    """

    starts: NDArray[np.int64]
    arc: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[np.int64]


def network(
    n: int, tails: NDArray[np.int64], heads: NDArray[np.int64], capacities: NDArray[np.int64]
) -> Network:
    """Return the network of arcs between n nodes.

    Parallel ones add up, opposite ones share an edge.
    """
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    keys, edge = np.unique(low * n + high, return_inverse=True)
    capacity = np.zeros(2 * len(keys), np.int64)
    np.add.at(capacity, 2 * edge + (tails > heads), capacities)
    first, second = np.divmod(keys, n)
    tail = np.column_stack([first, second]).reshape(-1)
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tail, minlength=n), out=starts[1:])
    head = np.column_stack([second, first]).reshape(-1)
    return Network(starts, np.argsort(tail, kind="stable"), head, capacity)


@njit(cache=True, nogil=True)
def augment(graph: Network, terminal: Integers, phases: int) -> tuple[int, bool]:
    """Increase the flow in as many phases as given, or until it is a maximum.

    Return the increase, and whether it is a maximum. Capacity and terminal become what is left of
    them.

    Parameters
    ----------
    terminal : (n,) the capacity from the source to a node where positive, and from the node to the
        sink where negative. The sum of absolute values and that of the capacities that are ever
        used must be less than 2^63
    phases : after each the shortest way from the source to the sink is longer
    """
    starts, arc, head, capacity = graph
    n = len(terminal)
    distance = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    following = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    flow = 0
    while _measure(graph, terminal, distance, queue):
        if phases == 0:
            return flow, False
        phases -= 1
        for i in range(n):
            following[i] = starts[i]
        for source in range(n):
            # Depth first, along arcs that come one step nearer to the sink.
            length = 0
            v = source
            while terminal[source] > 0 and distance[source] >= 0:
                if distance[v] == 0 and terminal[v] < 0:
                    amount = min(terminal[source], -terminal[v])
                    for step in range(length):
                        amount = min(amount, capacity[path[step]])
                    terminal[source] -= amount
                    terminal[v] += amount
                    flow += amount
                    kept = length
                    for step in range(length - 1, -1, -1):
                        capacity[path[step]] -= amount
                        capacity[path[step] ^ 1] += amount
                        if capacity[path[step]] == 0:
                            kept = step
                    if kept < length:
                        length = kept
                        v = head[path[length] ^ 1]
                    continue
                advanced = False
                while distance[v] > 0 and following[v] < starts[v + 1]:
                    a = arc[following[v]]
                    if capacity[a] > 0 and distance[head[a]] == distance[v] - 1:
                        path[length] = a
                        length += 1
                        v = head[a]
                        advanced = True
                        break
                    following[v] += 1
                if not advanced:
                    distance[v] = -1  # nothing is left behind it in this phase
                    if length > 0:
                        length -= 1
                        v = head[path[length] ^ 1]
    return flow, True


@njit(cache=True, nogil=True)
def _measure(graph: Network, terminal: Integers, distance: Integers, queue: Integers) -> bool:
    """Write the steps from each node to one with capacity to the sink, -1 for no way.

    Return whether there is a way from the source.
    """
    starts, arc, head, capacity = graph
    n = len(terminal)
    last = 0
    for v in range(n):
        distance[v] = -1
        if terminal[v] < 0:
            distance[v] = 0
            queue[last] = v
            last += 1
    reached = False
    first = 0
    while first < last:
        v = queue[first]
        first += 1
        if terminal[v] > 0:
            reached = True
        for position in range(starts[v], starts[v + 1]):
            a = arc[position]
            u = head[a]
            if distance[u] < 0 and capacity[a ^ 1] > 0:
                distance[u] = distance[v] + 1
                queue[last] = u
                last += 1
    return reached

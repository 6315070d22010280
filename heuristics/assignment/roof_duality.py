"""Roof duality for blocks with two labels.

With x_i the label of block i, each pair of `Potts` is a sum of products of two literals [x_i = a],
[x_j = b] with nonnegative coefficients, and the objective a constant plus such terms and single
literals. A term c u v stands for the arcs u -> not v and v -> not u of capacity c, a term c u for
the arcs from the source to not u, and from u to the sink. The value of a maximum flow in this
network of 2n literals, halved, is the roof dual: a lower bound on the minimum. Its residual arcs
say of some blocks which label they have in a minimiser:

- the literals to which capacity is left from the source hold in every minimiser (strong
  persistency);
- a set of literals that no residual arc leaves, and that contains no literal and its negation,
  holds together in some minimiser, whatever the others (weak persistency).

Hard pairs are terms of infinite coefficient; where the residual arcs are those alone, the second is
the way in which satisfiability with two literals in each clause is decided.

Sources: P. L. Hammer, P. Hansen, B. Simeone, Roof duality, complementation and persistency in
quadratic 0-1 optimization, Mathematical Programming 28 (1984); E. Boros, P. L. Hammer,
Pseudo-Boolean optimization, Discrete Applied Mathematics 123 (2002); V. Kolmogorov, C. Rother,
Minimizing nonsubmodular functions with graph cuts - a review, IEEE PAMI 29 (2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.flow import Network, augment, network
from heuristics.assignment.potts import Potts
from sdpbb.runtime.arrays import Booleans, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, no_limit

# All finite coefficients together, after scaling to integers: flows are then exact, and what is
# proven of the rounded coefficients is wrong by half a unit for each of them at most.
TOTAL = 2**50
# More than any flow.
INFINITE = 2**52
# Phases of the maximum flow between two looks at the time: so many, or fewer where all of them
# together would look at more arcs.
PHASES, ARCS = 10, 1_000_000


class RoofDual(NamedTuple):
    """Roof dual of a programme.

    labels : (n,) of a minimiser (of the rounded coefficients), -1 where nothing is known
    is_strong : (n,) whether every minimiser has this label
    bound : on the objective of `Potts`, the rounding deducted
    """

    labels: NDArray[np.int64]
    is_strong: NDArray[np.bool_]
    bound: float


class _Terms(NamedTuple):
    """Quadratic polynomial over literals.

    constant + sum_t coefficient[t] first[t] second[t] + sum_i single[i] over literals.

    Literal 2i + a stands for [x_i = a]; `single` (2n,) has its coefficients, >= 0.
    """

    constant: float
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    coefficient: NDArray[np.float64]
    single: NDArray[np.float64]


def roof_dual(potts: Potts, time_left: TimeLeft = no_limit) -> RoofDual:
    """Return the roof dual of a programme with two labels, both allowed, for each block.

    If the flow is no maximum when no time is left, nothing is known of labels; the bound holds.
    """
    terms = _terms(potts)
    finite = np.isfinite(terms.coefficient)
    total = float(terms.single.sum() + terms.coefficient[finite].sum())
    # A power of two, so that coefficients of few digits are not rounded at all.
    scale = 2.0 ** np.floor(np.log2(TOTAL / total)) if total > 0 else TOTAL
    whole = np.full(len(finite), INFINITE)
    whole[finite] = np.rint(scale * terms.coefficient[finite])
    single = np.rint(scale * terms.single).astype(np.int64)
    common = single.reshape(-1, 2).min(axis=1)  # paid whatever the label
    graph = _implications(potts.n, terms, whole)
    # From the source to the negations, from the literals to the sink.
    terminal = single.reshape(-1, 2)[:, ::-1].reshape(-1) - single
    phases = max(1, min(PHASES, ARCS // (1 + len(graph.head))))
    flow, is_maximum = augment(graph, terminal, phases)
    while not is_maximum and time_left() > 0.0:
        increase, is_maximum = augment(graph, terminal, phases)
        flow += increase
    rounding = 0.5 * (len(single) + len(whole))
    bound = terms.constant + (0.5 * flow + common.sum() - rounding) / scale
    labels = np.full(potts.n, -1)
    if not is_maximum:
        return RoofDual(labels, labels >= 0, bound)
    is_open = _symmetric(potts.n, graph)
    # The other max flow, in which every literal plays the part of its negation.
    terminal -= terminal.reshape(-1, 2)[:, ::-1].reshape(-1)
    _reach(graph, is_open, terminal, labels)
    is_strong = labels >= 0
    order = np.arange(potts.n)
    preferred = np.argmin(potts.costs, axis=1)
    _close(graph, is_open, order, preferred, labels)
    return RoofDual(labels, is_strong, bound)


def find_satisfying(potts: Potts) -> NDArray[np.int64] | None:
    """Return labels (n,) that keep the hard pairs of a programme with two labels, or None.

    Both labels of each block are allowed. None: there are no such labels. The labels are cheap ones
    where there is a choice, in the order of what the choice matters.
    """
    hard = potts.restricted(np.arange(potts.n), np.flatnonzero(np.isinf(potts.weights)))
    terms = _terms(hard)
    graph = _implications(potts.n, terms, np.full(len(terms.first), INFINITE))
    labels = np.full(potts.n, -1)
    order = np.argsort(-np.abs(potts.costs[:, 0] - potts.costs[:, 1]), kind="stable")
    preferred = np.argmin(potts.costs, axis=1)
    _close(graph, graph.capacity > 0, order, preferred, labels)
    return labels if (labels >= 0).all() else None


def _terms(potts: Potts) -> _Terms:
    match = potts.matches()
    i, j = potts.pairs.T
    weight = potts.weights
    lowest = potts.costs.min(axis=1)
    single = potts.costs - lowest[:, None]
    constant = float(lowest.sum())
    first, second, coefficient = [], [], []
    n_shared = (match >= 0).sum(axis=1)
    apart = weight > 0
    for a in (0, 1):
        # A cannot-link costs its weight where the labels agree, a must-link saves it there: it
        # costs the weight where they differ, less a constant.
        chosen = np.flatnonzero(apart & (match[:, a] >= 0))
        first.append(2 * i[chosen] + a)
        second.append(2 * j[chosen] + match[chosen, a])
        coefficient.append(weight[chosen])
        chosen = np.flatnonzero(~apart & (match[:, a] >= 0))
        first.append(2 * i[chosen] + a)
        second.append(2 * j[chosen] + 1 - match[chosen, a])
        coefficient.append(-weight[chosen])
        constant += float(weight[chosen[n_shared[chosen] == 1]].sum())
        # With one cluster in common, the other label of i differs whatever that of j.
        chosen = np.flatnonzero(~apart & (match[:, a] >= 0) & (n_shared == 1))
        np.add.at(single, (i[chosen], 1 - a), -weight[chosen])
    constant += float(weight[~apart & (n_shared == 2)].sum())
    return _Terms(
        constant,
        np.concatenate(first),
        np.concatenate(second),
        np.concatenate(coefficient),
        single.reshape(-1),
    )


def _implications(n: int, terms: _Terms, capacity: NDArray[np.int64]) -> Network:
    tails = np.concatenate([terms.first, terms.second])
    heads = np.concatenate([terms.second ^ 1, terms.first ^ 1])
    return network(2 * n, tails, heads, np.concatenate([capacity, capacity]))


def _symmetric(n: int, graph: Network) -> NDArray[np.bool_]:
    """Return whether an arc or its mirror has capacity left.

    The mirror is the arc from the negation of its head to that of its tail.
    """
    tail = graph.head[np.arange(len(graph.head)) ^ 1]
    keys = tail * (2 * n) + graph.head
    order = np.argsort(keys)
    opposite = (graph.head ^ 1) * (2 * n) + (tail ^ 1)
    mirrored = order[np.searchsorted(keys[order], opposite)]
    is_open: NDArray[np.bool_] = (graph.capacity > 0) | (graph.capacity[mirrored] > 0)
    return is_open


@njit(cache=True, nogil=True)
def _reach(graph: Network, is_open: Booleans, terminal: Integers, labels: Integers) -> None:
    """Let all literals hold that capacity is left to from the source."""
    starts, arc, head = graph.starts, graph.arc, graph.head
    n_literals = len(terminal)
    reached = np.zeros(n_literals, np.bool_)
    stack = np.empty(n_literals, np.int64)
    length = 0
    for v in range(n_literals):
        if terminal[v] > 0:
            reached[v] = True
            stack[length] = v
            length += 1
    while length > 0:
        length -= 1
        v = stack[length]
        labels[v // 2] = v % 2
        for position in range(starts[v], starts[v + 1]):
            u = head[arc[position]]
            if is_open[arc[position]] and not reached[u]:
                reached[u] = True
                stack[length] = u
                length += 1


@njit(cache=True, nogil=True)
def _close(
    graph: Network,
    is_open: Booleans,
    order: Integers,
    preferred: Integers,
    labels: Integers,
) -> None:
    """Let closed sets of literals hold.

    For each block without a label they are all that its preferred label implies, if this is no
    contradiction, or all that the other label implies.

    An implication and its contraposition are both among the arcs, so that what a literal implies
    contradicts itself, or what holds, only if it implies its own negation.
    """
    starts, arc, head = graph.starts, graph.arc, graph.head
    n_literals = 2 * len(labels)
    stamp = np.full(n_literals, -1, np.int64)
    is_refuted = np.zeros(n_literals, np.bool_)
    found = np.empty(n_literals, np.int64)
    for turn in range(n_literals):
        i = order[turn // 2]
        if labels[i] >= 0:
            continue
        literal = 2 * i + (preferred[i] if turn % 2 == 0 else 1 - preferred[i])
        found[0] = literal
        stamp[literal] = turn
        length = 1
        first = 0
        refuted = False
        while first < length and not refuted:
            v = found[first]
            first += 1
            for position in range(starts[v], starts[v + 1]):
                u = head[arc[position]]
                if not is_open[arc[position]] or stamp[u] == turn or labels[u // 2] == u % 2:
                    continue
                if stamp[u ^ 1] == turn or is_refuted[u]:
                    refuted = True
                    break
                stamp[u] = turn
                found[length] = u
                length += 1
        if refuted:
            is_refuted[literal] = True
            continue
        for position in range(length):
            labels[found[position] // 2] = found[position] % 2

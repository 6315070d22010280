"""Compiled loops over explicit columns: violated rows, and the exact cover search.

Costs are integers (int64): nothing here is rounded. Columns are compressed rows: the blocks of
column t are block[start[t]:start[t + 1]].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.runtime.arrays import Booleans, Integers, Reals, has_ranges
from sdpbb.runtime.jit import njit


def violated_triples(
    sets: csr_array, x: NDArray[np.float64], tolerance: float, at_most: int, per_block: int
) -> NDArray[np.int64]:
    """Separate the subset rows of triples of blocks, (c, 3), most violated ones first.

    A triple is violated if the x of the columns with at least two of its blocks add up to more than
    1 + tolerance. Columns with x = 1 need not be passed: their blocks are in no violated triple.

    sets : (t, m) the blocks of the columns
    x : (t,)
    at_most, per_block : maximum number of triples, and of triples with the same block
    """
    m = sets.shape[1]
    found, sums = _triples_above(sets.indptr, sets.indices, x, m, 1.0 + tolerance)
    used = np.zeros(m, np.intp)
    chosen: list[int] = []
    for p in np.argsort(-sums, kind="stable").tolist():
        if len(chosen) < at_most and used[found[p]].max() < per_block:
            chosen.append(p)
            used[found[p]] += 1
    return np.asarray(found[chosen])


@njit(cache=True)
def _triples_above(
    start: Integers, block: Integers, x: Reals, m: int, limit: float
) -> tuple[Integers, Reals]:
    """Return the triples (c, 3) whose sums are above the limit, and these sums (c,).

    The sum is W_ij + W_ih + W_jh - 2 T_ijh for the sums W_ij and T_ijh of the x of columns that
    hold all of these blocks.
    """
    W = np.zeros((m, m))
    holds = np.zeros((m, len(x)), np.bool_)
    for t in range(len(x)):
        for p in range(start[t], start[t + 1]):
            holds[block[p], t] = True
            for q in range(start[t], start[t + 1]):
                W[block[p], block[q]] += x[t]
    found = np.empty((64, 3), np.int64)
    sums = np.empty(64)
    count = 0
    for i in range(m):
        for j in range(i):
            for h in range(j):
                total = W[i, j] + W[i, h] + W[j, h]
                if total <= limit:
                    continue
                for t in range(len(x)):
                    if holds[i, t] and holds[j, t] and holds[h, t]:
                        total -= 2.0 * x[t]
                if total <= limit:
                    continue
                if count == len(sums):
                    found = np.concatenate((found, np.empty_like(found)))
                    sums = np.concatenate((sums, np.empty_like(sums)))
                found[count, 0], found[count, 1], found[count, 2] = i, j, h
                sums[count] = total
                count += 1
    return found[:count], sums[:count]


@njit(cache=True)
def cheapest_exact_cover(
    start: Integers,
    block: Integers,
    gains: Integers,
    costs: Integers,
    m: int,
    k: int,
    budget: int,
    target: int,
    shift: int,
    effort: int,
    kind: Integers,
    n_of_kind: Integers,
    measures: Integers,
    ranges: Integers,
) -> tuple[Integers, int, bool]:
    """Search for the cheapest k columns that hold each of the m blocks exactly once.

    Their costs add up to less than the target and their gains to less than the budget.

    Depth first: a node branches on the uncovered block with the fewest columns that fit, in the
    order given. Dual ascent gives a lower bound on the gains of the missing columns: each block in
    turn takes the least remaining gain of its columns. A node ends if the gains so far and this
    bound reach the budget. Columns that would reach it are dropped.

    Parameters
    ----------
    gains, costs : (t,) >= 0, each below the budget and the target
    shift : the budget falls by 2^-shift for each unit that the target falls
    kind : (t,) 0 to q - 1
    n_of_kind : (q,) number of columns of each kind to choose, k in all
    measures : (t,) whole numbers
    ranges : (k, 2) ranges of the measures of the chosen columns, one each; (0, 2): any measures

    Returns
    -------
    chosen (k,), or -1 if none was found; their cost, or the first target; whether the search ended
    within the effort: the number of columns examined in all nodes together
    """
    n_columns = len(gains)
    sizes = start[1:] - start[:-1]
    first_target, first_budget = target, budget
    chosen = np.full(k, -1)
    pick = np.zeros(k, np.int64)
    spent = np.zeros(k + 1, np.int64)
    paid = np.zeros(k + 1, np.int64)
    missing = np.full(k + 1, m)
    wanted = np.zeros((k + 1, len(n_of_kind)), np.int64)
    wanted[0] = n_of_kind
    covered = np.zeros((k + 1, m), np.bool_)
    # Candidates of depth d: stack[first[d]:last[d]].
    stack = np.empty(4 * n_columns + 4, np.int64)
    first = np.zeros(k + 1, np.int64)
    last = np.zeros(k + 1, np.int64)
    at = np.zeros(k + 1, np.int64)
    branch = np.zeros(k + 1, np.int64)
    slack = np.empty(n_columns, np.int64)
    holders = np.empty(len(block), np.int64)
    for t in range(n_columns):
        if sizes[t] <= m - (k - 1) and (k > 1 or sizes[t] == m):
            stack[last[0]] = t
            last[0] += 1
    depth = 0
    is_new = True
    while depth >= 0:
        if is_new:
            effort -= last[depth] - first[depth]
            if effort < 0:
                return chosen, target, False
            last[depth], branch[depth] = _reduced_candidates(
                stack,
                first[depth],
                last[depth],
                start,
                block,
                gains,
                covered[depth],
                budget - spent[depth],
                slack,
                holders,
            )
            at[depth] = first[depth]
            is_new = False
        t = -1
        while branch[depth] >= 0 and at[depth] < last[depth]:
            c = stack[at[depth]]
            at[depth] += 1
            fits = spent[depth] + gains[c] < budget and paid[depth] + costs[c] < target
            if fits and branch[depth] in block[start[c] : start[c + 1]]:
                t = c
                break
        if t < 0:
            depth -= 1
            continue
        pick[depth] = t
        if depth == k - 1:
            if len(ranges) and not has_ranges(measures[pick], ranges):
                continue
            for position in range(k):
                chosen[position] = pick[position]
            target = paid[depth] + costs[t]
            budget = first_budget - ((first_target - target) >> shift)
            continue
        deeper = depth + 1
        spent[deeper] = spent[depth] + gains[t]
        paid[deeper] = paid[depth] + costs[t]
        missing[deeper] = missing[depth] - sizes[t]
        wanted[deeper] = wanted[depth]
        wanted[deeper, kind[t]] -= 1
        covered[deeper] = covered[depth]
        for p in range(start[t], start[t + 1]):
            covered[deeper, block[p]] = True
        if last[depth] + last[depth] - first[depth] > len(stack):
            stack = np.concatenate((stack, np.empty_like(stack)))
        # Each of the other columns has at least one block, and together they have all.
        least = missing[deeper] if deeper == k - 1 else 1
        most = missing[deeper] - (k - 1 - deeper)
        end = last[depth]
        for p in range(first[depth], last[depth]):
            c = stack[p]
            fits = least <= sizes[c] <= most and spent[deeper] + gains[c] < budget
            fits = fits and wanted[deeper, kind[c]] > 0
            if fits and not covered[deeper][block[start[c] : start[c + 1]]].any():
                stack[end] = c
                end += 1
        first[deeper], last[deeper] = last[depth], end
        depth = deeper
        is_new = True
    return chosen, target, True


@njit(cache=True)
def _reduced_candidates(
    stack: Integers,
    first: int,
    last: int,
    start: Integers,
    block: Integers,
    gains: Integers,
    covered: Booleans,
    budget: int,
    slack: Integers,
    holders: Integers,
) -> tuple[int, int]:
    """Drop the candidates of stack[first:last] that the dual ascent excludes.

    Return the new end, and the uncovered block with the fewest candidates; -1 if a block has no
    candidate, or the bound reaches the budget.
    """
    m = len(covered)
    count = np.zeros(m, np.int64)
    for p in range(first, last):
        slack[stack[p]] = gains[stack[p]]
        for q in range(start[stack[p]], start[stack[p] + 1]):
            count[block[q]] += 1
    end = np.cumsum(count)
    begin = end - count
    position = begin.copy()
    for p in range(first, last):
        for q in range(start[stack[p]], start[stack[p] + 1]):
            holders[position[block[q]]] = stack[p]
            position[block[q]] += 1
    lower = 0
    # The blocks to cover, those with the fewest candidates first.
    order = np.empty(m, np.int64)
    n_order = 0
    for i in range(m):
        if covered[i]:
            continue
        if count[i] == 0:
            return first, -1
        p = n_order
        while p > 0 and count[order[p - 1]] > count[i]:
            order[p] = order[p - 1]
            p -= 1
        order[p] = i
        n_order += 1
    for i in order[:n_order]:
        share = slack[holders[begin[i]]]
        for p in range(begin[i], end[i]):
            share = min(share, slack[holders[p]])
        if share > 0:
            lower += share
            if lower >= budget:
                return first, -1
            for p in range(begin[i], end[i]):
                slack[holders[p]] -= share
    kept = first
    for p in range(first, last):
        if lower + slack[stack[p]] < budget:
            stack[kept] = stack[p]
            kept += 1
        else:
            for q in range(start[stack[p]], start[stack[p] + 1]):
                count[block[q]] -= 1
    branch = -1
    for i in range(m):
        if not covered[i] and (branch < 0 or count[i] < count[branch]):
            branch = i
    return kept, branch if count[branch] > 0 else -1


def exercise() -> None:
    """Call the compiled loops once, with the types that runs call them with."""
    sets = csr_array(np.eye(3, dtype=np.int8))
    start, block, none = sets.indptr.astype(np.int64), sets.indices.astype(np.int64), np.zeros(3)
    zeros, counts = none.astype(np.int64), np.array([3], np.int64)
    ranges = np.ones((3, 2), np.int64)
    cheapest_exact_cover(
        start, block, zeros, zeros, 3, 3, 1, 1, 0, 100, zeros, counts, zeros, ranges
    )
    violated_triples(sets, none, 1e-3, 1, 1)

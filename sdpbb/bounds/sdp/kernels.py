"""Compiled loops of the semidefinite bound: dual sweeps over the cuts, separation, fixing.

Each step reads what the last one wrote, so these are not array operations of NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sdpbb.arrays import ZERO, Booleans, Integers, Reals


@njit(cache=True, nogil=True)
def relaxed_sum(
    Y: Reals, W: Reals, U: Reals, over_relaxation: float, V: Reals, first: int, last: int
) -> None:
    """Write V = a Y + (1 - a) W + U (a: over_relaxation), of rows first to last - 1.

    Only the upper triangles are read and written.
    """
    m = Y.shape[0]
    for i in range(first, last):
        for j in range(i, m):
            V[i, j] = over_relaxation * Y[i, j] + (1.0 - over_relaxation) * W[i, j] + U[i, j]


@njit(cache=True, nogil=True)
def dual_sweeps(
    V: Reals,
    forbidden: Booleans,
    start: Integers,
    position: Integers,
    coefficient: Reals,
    entry: Reals,
    rhs: Reals,
    t: Reals,
    sweeps: int,
) -> None:
    """Project onto {W >= 0, W = 0 where forbidden, cuts} (step 3 of the method, see `admm`).

    V, a matrix G at first, and t are changed in place. `sweeps` passes of dual coordinate ascent
    (Hildreth) go over the multipliers t, from their last values: with V = G + sum_c t_c B_c and
    W = max(V, 0), the step t_c += rhs_c - <B_c, W> never decreases the dual function because
    ||B_c|| = 1. Only the upper triangles are read and written.
    """
    flat = V.reshape(-1)
    n_cuts = len(rhs)
    for c in range(n_cuts):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                flat[position[p]] += t[c] * entry[p]
    barred = forbidden.reshape(-1)
    # A cut that is slack with multiplier zero in the first sweep rarely matters in the next ones.
    active = np.empty(n_cuts, np.int64)
    n_active = 0
    for c in range(n_cuts):
        lhs = 0.0
        for p in range(start[c], start[c + 1]):
            q = position[p]
            if flat[q] > 0.0 and not barred[q]:
                lhs += coefficient[p] * flat[q]
        new = max(0.0, t[c] + rhs[c] - lhs)
        step = new - t[c]
        if new > 0.0 or step != 0.0:
            active[n_active] = c
            n_active += 1
            t[c] = new
            for p in range(start[c], start[c + 1]):
                flat[position[p]] += step * entry[p]
    for _ in range(sweeps - 1):
        for a in range(n_active):
            c = active[a]
            lhs = 0.0
            for p in range(start[c], start[c + 1]):
                q = position[p]
                if flat[q] > 0.0 and not barred[q]:
                    lhs += coefficient[p] * flat[q]
            new = max(0.0, t[c] + rhs[c] - lhs)
            step = new - t[c]
            if step != 0.0:
                t[c] = new
                for p in range(start[c], start[c + 1]):
                    flat[position[p]] += step * entry[p]


@njit(cache=True, nogil=True)
def polyhedral_iterates(
    Y: Reals,
    W: Reals,
    U: Reals,
    K: Reals,
    rho: float,
    over_relaxation: float,
    forbidden: Booleans,
    V: Reals,
    M: Reals,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Write W, U = G - W and M of rows first to last - 1, and of these columns.

    That is step 4 of the method (see `admm`), after `dual_sweeps` on V. M = W - U + K / rho is the
    matrix that the next spectral projection takes. Only the upper triangles are read.

    Returns the parts of these rows in the squared residuals, primal and dual.
    """
    m = Y.shape[0]
    primal = 0.0
    dual = 0.0
    for i in range(first, last):
        for j in range(i, m):
            G = over_relaxation * Y[i, j] + (1.0 - over_relaxation) * W[i, j] + U[i, j]
            w = 0.0 if forbidden[i, j] else max(V[i, j], 0.0)
            u = G - w
            weight = 1.0 if i == j else 2.0
            primal += weight * (Y[i, j] - w) ** 2
            dual += weight * (w - W[i, j]) ** 2
            W[i, j] = w
            U[i, j] = u
            M[i, j] = w - u + K[i, j] / rho
    # Rows are written one after the other; a piece of the columns stays in the cache.
    for j in range(first + 1, m):
        for i in range(first, min(last, j)):
            W[j, i] = W[i, j]
            U[j, i] = U[i, j]
            M[j, i] = M[i, j]
    return primal, dual


@njit(cache=True)
def nonnegativity_multipliers(
    U: Reals,
    forbidden: Booleans,
    start: Integers,
    position: Integers,
    entry: Reals,
    t: Reals,
    N: Reals,
) -> None:
    """Write N = -U - sum_c t_c B_c, the multipliers (divided by rho) of W >= 0.

    They are those after `polyhedral_iterates`: nonnegative off the cannot-links up to rounding,
    symmetric, in the coordinates of Y.
    """
    m = U.shape[0]
    for i in range(m):
        for j in range(i, m):
            N[i, j] = -U[i, j]
    flat = N.reshape(-1)
    for c in range(len(t)):
        if t[c] > 0.0:
            for p in range(start[c], start[c + 1]):
                flat[position[p]] -= t[c] * entry[p]
    for i in range(m):
        for j in range(i, m):
            if N[i, j] < 0.0 and not forbidden[i, j]:
                N[i, j] = 0.0
            N[j, i] = N[i, j]


@njit(cache=True)
def _sort_descending(items: Integers, keys: Reals) -> None:
    """Sort items in place by decreasing keys[item] (Shell's method, gaps of Ciura).

    The lists are short, and numba's own sort alone takes longer to compile than all else here.
    """
    for gap in (701, 301, 132, 57, 23, 10, 4, 1):
        for a in range(gap, len(items)):
            item = items[a]
            key = keys[item]
            b = a
            while b >= gap and keys[items[b - gap]] < key:
                items[b] = items[b - gap]
                b -= gap
            items[b] = item


@njit(cache=True, nogil=True)
def violated_triangles(
    Z: Reals, r: Reals, tolerance: float, per_arm: int, arms: int, first: int, last: int
) -> tuple[NDArray[np.int32], Reals]:
    """Separate triangle cuts: of arms (i, j) the `per_arm` most violated, and the pair cut.

    The cuts of an arm are (i, j, h) with h after j in the order of decreasing Z_i.; its violated
    pair cut is returned with h = j.

    Z : (m, m) affinity; r : (m,) 1/sqrt(size). A violation counts when it is above tolerance times
    Z_ii, and is measured as the distance of Y to the cut's hyperplane. Exact up to that where no
    centre has more than `arms` arms: a triangle can only be violated if Z_ij + Z_ih > Z_ii, so
    sorted rows end the loops early. Of more arms, so many are looked at, evenly spread.
    first, last : the centres are those from the first to before the last

    Returns ijh (c, 3) int32 and distance (c,).
    """
    m = Z.shape[0]
    capacity = 0
    for i in range(first, last):
        n_arms = 0
        for j in range(m):
            if j != i and 2.0 * Z[i, j] > (1.0 + tolerance) * Z[i, i]:
                n_arms += 1
        capacity += min(arms, n_arms) * (per_arm + 1)
    count = 0
    ijh = np.empty((capacity, 3), np.int32)
    distance = np.empty(capacity)
    best_h = np.empty(per_arm, np.int64)
    best_v = np.empty(per_arm)
    reachable = np.empty(m, np.int64)
    for i in range(first, last):
        Zii = Z[i, i]
        slack = tolerance * Zii
        rii = r[i] * r[i]
        largest = 0.0
        for j in range(m):
            if j != i and Z[i, j] > largest:
                largest = Z[i, j]
        n_reachable = 0
        for j in range(m):
            if j != i and Z[i, j] + largest > Zii + slack:
                reachable[n_reachable] = j
                n_reachable += 1
        order = reachable[:n_reachable]
        _sort_descending(order, Z[i])
        n_arms = 0  # h comes after j, so Z_ih <= Z_ij
        while n_arms < n_reachable and 2.0 * Z[i, order[n_arms]] > (1.0 + tolerance) * Zii:
            n_arms += 1
        for number in range(min(arms, n_arms)):
            a = number if n_arms <= arms else number * n_arms // arms
            j = order[a]
            Zij = Z[i, j]
            rij = r[i] * r[j]
            if Zij > Zii + slack:
                ijh[count, 0] = i
                ijh[count, 1] = j
                ijh[count, 2] = j
                distance[count] = (Zij - Zii) / np.sqrt(rii * rii + 0.5 * rij * rij)
                count += 1
            found = 0
            shortest = np.sqrt(rii * rii + 0.5 * rij * rij)  # no norm below is less
            for b in range(a + 1, n_reachable):
                h = order[b]
                Zih = Z[i, h]
                over = Zij + Zih - Zii
                if over <= slack:
                    break
                if found == per_arm and over <= best_v[found - 1] * shortest:
                    break  # Z_ih only falls, and Z_jh >= 0
                v = over - Z[j, h]
                if v > slack:
                    rjh = r[j] * r[h]
                    rih = r[i] * r[h]
                    norm2 = rii * rii + 0.5 * (rij * rij + rih * rih + rjh * rjh)
                    if found == per_arm and v * v <= best_v[found - 1] ** 2 * norm2:
                        continue
                    v /= np.sqrt(norm2)
                    if found < per_arm:
                        found += 1
                    s = found - 1
                    while s > 0 and best_v[s - 1] < v:
                        best_v[s] = best_v[s - 1]
                        best_h[s] = best_h[s - 1]
                        s -= 1
                    best_v[s] = v
                    best_h[s] = h
            for s in range(found):
                ijh[count, 0] = i
                ijh[count, 1] = j
                ijh[count, 2] = best_h[s]
                distance[count] = best_v[s]
                count += 1
    return ijh[:count], distance[:count]


@njit(cache=True)
def spread(order: Integers, ijh: NDArray[np.int32], m: int, per_pair: int, quota: int) -> Integers:
    """Select triangles such that no pair of blocks is in too many; return their positions.

    They are the first `quota` in the given order with no pair of blocks in more than `per_pair` of
    them.
    """
    used = np.zeros((m, m), np.int16)
    chosen = np.empty(min(quota, len(order)), np.int64)
    count = 0
    for p in order:
        if count == len(chosen):
            break
        i, j, h = ijh[p, 0], ijh[p, 1], ijh[p, 2]
        jh = (min(j, h), max(j, h))
        ij = (min(i, j), max(i, j))
        ih = (min(i, h), max(i, h))
        if used[ij] >= per_pair or used[ih] >= per_pair or used[jh] >= per_pair:
            continue
        used[ij] += 1
        used[ih] += 1
        used[jh] += 1
        chosen[count] = p
        count += 1
    return chosen[:count]


@njit(cache=True, nogil=True)
def violated_stars(
    Z: Reals,
    r: Reals,
    tolerance: float,
    neighbours: int,
    max_leaves: int,
    first: int,
    last: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Reals]:
    """Grow star cuts greedily.

    For each centre i, from the first to before the last, and each of its `neighbours` nearest j, T
    starts as {j} and takes the h with the largest Z_ih - sum of Z_lh over l in T while that is
    positive.

    Returns centre (c,), n_leaves (c,), leaves (c, max_leaves), distance (c,) for those with at
    least three leaves that are violated by more than tolerance times Z_ii; distance is that of Y to
    the cut's hyperplane.
    """
    m = Z.shape[0]
    neighbours = min(neighbours, m - 1)
    capacity = (last - first) * neighbours
    centre = np.empty(capacity, np.int32)
    n_leaves = np.empty(capacity, np.int32)
    leaves = np.empty((capacity, max_leaves), np.int32)
    distance = np.empty(capacity)
    count = 0
    gain = np.empty(m)
    near = np.empty(m, np.int64)
    for i in range(first, last):
        slack = tolerance * Z[i, i]
        reach = 0
        for j in range(m):
            if j != i and Z[i, j] > slack:
                near[reach] = j
                reach += 1
        order = near[:reach]
        _sort_descending(order, Z[i])
        for a in range(min(reach, neighbours)):
            j = order[a]
            total = Z[i, j] - Z[i, i]
            for b in range(reach):
                h = order[b]
                gain[b] = Z[i, h] - Z[j, h]
            leaves[count, 0] = j
            size = 1
            while size < max_leaves:
                best = -1
                best_gain = slack
                for b in range(reach):
                    if gain[b] > best_gain:
                        h = order[b]
                        taken = False
                        for s in range(size):
                            if leaves[count, s] == h:
                                taken = True
                                break
                        if not taken:
                            best = b
                            best_gain = gain[b]
                if best < 0:
                    break
                h = order[best]
                total += best_gain
                leaves[count, size] = h
                size += 1
                for b in range(reach):
                    gain[b] -= Z[h, order[b]]
            if size < 3 or total <= slack:
                continue
            norm = r[i] ** 4
            for s in range(size):
                norm += 0.5 * (r[i] * r[leaves[count, s]]) ** 2
                for q in range(s + 1, size):
                    norm += 0.5 * (r[leaves[count, s]] * r[leaves[count, q]]) ** 2
            centre[count] = i
            n_leaves[count] = size
            distance[count] = total / np.sqrt(norm)
            count += 1
    return centre[:count], n_leaves[:count], leaves[:count], distance[:count]


@njit(cache=True)
def violated_cliques(Z: Reals, order: int, threshold: float) -> NDArray[np.int32]:
    """Grow cliques of `order` blocks greedily from every block by the least sum of Z.

    The sum is that to the blocks taken. Return members (c, order) of those whose sum is below
    threshold.
    """
    m = Z.shape[0]
    members = np.empty((m, order), np.int32)
    count = 0
    weight = np.empty(m)
    for i in range(m):
        members[count, 0] = i
        for j in range(m):
            weight[j] = Z[i, j]
        weight[i] = np.inf
        total = 0.0
        for s in range(1, order):
            h = 0
            for j in range(1, m):
                if weight[j] < weight[h]:
                    h = j
            total += weight[h]
            members[count, s] = h
            for j in range(m):
                weight[j] += Z[h, j]
            weight[h] = np.inf
        if total < threshold:
            count += 1
    return members[:count]


@njit(cache=True)
def exclude_pairs(N: Reals, sizes: Reals, budget: float, apart: Booleans) -> int:
    """Set apart[i, j] for all pairs that `fixing.pairs_apart` excludes; return their number.

    Passes over the pairs go on until one finds no more. N : (m, m) symmetric, >= 0 where not apart.
    """
    m = len(sizes)
    # Sums of m terms lose at most that share of the sum of their absolute values.
    rounding = 4.0 * (m + 4) * np.finfo(np.float64).eps
    near = np.empty(m, np.int64)
    total = 0
    while True:
        found = 0
        for i in range(m):
            reach = 0
            for p in range(m):
                own = N[p, p] + 2.0 * N[i, p] - budget * sizes[p]
                # What rounds to 0 or a little more may be less.
                if p != i and own < rounding * budget * sizes[p] and not apart[i, p]:
                    near[reach] = p
                    reach += 1
            for j in range(i):
                if apart[i, j]:
                    continue
                paid = N[i, i] + N[j, j] + 2.0 * N[i, j]
                spent = budget * (sizes[i] + sizes[j])
                for a in range(reach):
                    if not paid - spent > rounding * (paid + spent):
                        break
                    p = near[a]
                    if p == j or apart[j, p]:
                        continue
                    others = N[p, p] + 2.0 * (N[i, p] + N[j, p])
                    if others < budget * sizes[p]:
                        paid += others
                        spent += budget * sizes[p]
                if paid - spent > rounding * (paid + spent):
                    apart[i, j] = apart[j, i] = True
                    found += 1
        total += found
        if found == 0:
            return total


@njit(cache=True)
def tied_groups(Z: Reals, sizes: Reals, tie: float, at_most: int) -> tuple[Integers, Integers]:
    """Find groups of blocks that share almost all of their clusters.

    Each block is in the group of the first one that it is tied to, i and j being tied when Z_ij >=
    tie max(Z_ii, Z_jj).

    Returns the first blocks of the `at_most` groups with the most points, (g,), and the first block
    of the group of every block, (m,).
    """
    m = Z.shape[0]
    first_of = np.full(m, -1)
    firsts = np.empty(m, np.int64)
    weight = np.zeros(m)
    count = 0
    for i in range(m):
        if first_of[i] < 0:
            firsts[count] = i
            count += 1
            for j in range(i, m):
                tied = j == i or Z[i, j] >= tie * max(Z[i, i], Z[j, j])
                if tied and first_of[j] < 0:
                    first_of[j] = i
                    weight[i] += sizes[j]
    chosen = firsts[:count]
    _sort_descending(chosen, weight)
    return chosen[:at_most], first_of


@njit(cache=True)
def together_estimates(
    Z: Reals, sizes: Reals, forbidden: Booleans, blocks: Integers
) -> tuple[Reals, Reals]:
    """Return lower and upper linear estimates (g, g) of x_pq for pairs of the given blocks.

    x_pq is 1 if p and q share a cluster. The estimates are the values at Z of what
    `pentagon_estimates` writes (see `cuts.pentagons`).
    """
    g = len(blocks)
    m = len(sizes)
    lower = np.zeros((g, g))
    upper = np.zeros((g, g))
    for a in range(g):
        p = blocks[a]
        for b in range(a):
            q = blocks[b]
            if forbidden[p, q]:
                continue
            z = Z[p, q]
            low = high = (sizes[p] + sizes[q]) * z
            for s in range(m):
                if s in (p, q) or forbidden[p, s] or forbidden[q, s]:
                    continue
                zp = Z[p, s]
                zq = Z[q, s]
                low += sizes[s] * max(0.0, z + zp - Z[p, p], z + zq - Z[q, q], zp + zq - Z[s, s])
                high += sizes[s] * min(z, zp, zq)
            lower[a, b] = lower[b, a] = low
            upper[a, b] = upper[b, a] = high
    return lower, upper


@njit(cache=True)
def violated_pentagons(lower: Reals, upper: Reals, tolerance: float, at_most: int) -> Integers:
    """Find the `at_most` most violated five-cycles; return their positions (c, 5).

    The violation is the sum of `lower` over edges less `upper` over chords beyond 2 + tolerance.

    Each path a b c of a cycle costs 1 - lower_ab - lower_bc + 2 upper_ac, and a cycle is violated
    when its five paths cost less than 1 together. From some path on, the first 1, 2, 3 paths cost
    no more than 1, 2, 3 fifths of what all do, so the search is exact although it goes on from no
    other.
    """
    g = lower.shape[0]
    fifth = (1.0 - 2.0 * tolerance) / 5.0
    best = np.empty((at_most, 5), np.int64)
    value = np.full(at_most, 5.0 * fifth)
    count = 0
    cycle = np.empty(5, np.int64)
    for a in range(g):
        for b in range(g):
            if b == a or lower[a, b] <= 0.0:
                continue
            for c in range(g):
                abc = 1.0 - lower[a, b] - lower[b, c] + 2.0 * upper[a, c]
                if c in (a, b) or abc >= fifth:
                    continue
                for d in range(g):
                    bcd = 1.0 - lower[b, c] - lower[c, d] + 2.0 * upper[b, d]
                    if d in (a, b, c) or abc + bcd >= 2.0 * fifth:
                        continue
                    for e in range(g):
                        cde = 1.0 - lower[c, d] - lower[d, e] + 2.0 * upper[c, e]
                        cost = abc + bcd + cde
                        if e in (a, b, c, d) or cost >= 3.0 * fifth:
                            continue
                        cost += 2.0 - lower[d, e] - 2.0 * lower[e, a] - lower[a, b]
                        cost += 2.0 * (upper[d, a] + upper[e, b])
                        if cost >= value[at_most - 1]:
                            continue
                        # The cycle can come again, from another block or backwards: write it from
                        # its first block, towards the smaller neighbour.
                        cycle[0], cycle[1], cycle[2], cycle[3], cycle[4] = a, b, c, d, e
                        first = np.argmin(cycle)
                        step = 1 if cycle[(first + 1) % 5] < cycle[(first + 4) % 5] else 4
                        known = False
                        for s in range(count):
                            same = True
                            for x in range(5):
                                same &= best[s, x] == cycle[(first + x * step) % 5]
                            known |= same
                        if known:
                            continue
                        s = min(count, at_most - 1)
                        while s > 0 and value[s - 1] > cost:
                            value[s] = value[s - 1]
                            best[s] = best[s - 1]
                            s -= 1
                        value[s] = cost
                        for x in range(5):
                            best[s, x] = cycle[(first + x * step) % 5]
                        count = min(count + 1, at_most)
    return best[:count]


@njit(cache=True)
def pentagon_estimates(
    Z: Reals, sizes: Reals, forbidden: Booleans, cycles: Integers
) -> tuple[Integers, NDArray[np.int32], NDArray[np.int32]]:
    """Find the sharpest estimates at Z of the pentagon cuts of the rows of cycles, (c, 5).

    Return start, place and block, as the checker's `Pentagons` has them.
    """
    m = len(sizes)
    capacity = len(cycles) * 10 * m
    start = np.zeros(len(cycles) + 1, np.int64)
    place = np.empty(capacity, np.int32)
    block = np.empty(capacity, np.int32)
    t = ZERO
    for c in range(len(cycles)):
        for a in range(5):
            p, q, r = cycles[c, a], cycles[c, (a + 1) % 5], cycles[c, (a + 2) % 5]
            t = _edge_estimates(Z, forbidden, p, q, 3 * a, place, block, t)
            t = _chord_estimates(Z, forbidden, p, r, 15 + 3 * a, place, block, t)
        start[c + 1] = t
    return start, place[:t].copy(), block[:t].copy()


@njit(cache=True)
def _edge_estimates(
    Z: Reals,
    forbidden: Booleans,
    p: int,
    q: int,
    first: int,
    place: NDArray[np.int32],
    block: NDArray[np.int32],
    t: int,
) -> int:
    """Write the lower estimates of x_pq from position t on; return the next position."""
    if forbidden[p, q]:
        return t
    for s in range(len(Z)):
        if s == p:
            by_p, by_q, by_s = 1.0, 0.0, 0.0
        elif s == q:
            by_p, by_q, by_s = 0.0, 1.0, 0.0
        else:
            by_p = Z[p, q] + Z[p, s] - Z[p, p]
            by_q = Z[p, q] + Z[q, s] - Z[q, q]
            by_s = Z[p, s] + Z[q, s] - Z[s, s]
        if forbidden[p, s] or forbidden[q, s] or max(by_p, by_q, by_s) <= 0.0:
            continue
        centre = 2 if by_s > max(by_p, by_q) else (0 if by_p >= by_q else 1)
        place[t], block[t] = first + centre, s
        t += 1
    return t


@njit(cache=True)
def _chord_estimates(
    Z: Reals,
    forbidden: Booleans,
    p: int,
    q: int,
    first: int,
    place: NDArray[np.int32],
    block: NDArray[np.int32],
    t: int,
) -> int:
    """Write the upper estimates of x_pq from position t on, where Z_pq is not the sharpest.

    Return the next position.
    """
    if forbidden[p, q]:
        return t
    for s in range(len(Z)):
        if s in (p, q) or forbidden[p, s] or forbidden[q, s]:
            continue
        nearer = 0 if Z[p, s] <= Z[q, s] else 1
        if min(Z[p, s], Z[q, s]) < Z[p, q]:
            place[t], block[t] = first + nearer, s
            t += 1
    return t

"""The compiled loops: dual sweeps over the cuts, and the exact separation of triangles and stars.

Sequential by nature (each step reads what the last one wrote), which is why they are not NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def polyhedral_step(
    Y,
    W,
    U,
    K,
    rho,
    relaxation,
    forbidden,
    start,
    position,
    coefficient,
    entry,
    rhs,
    t,
    sweeps,
    V,
    M,
):
    """Steps 2 to 4 of the method (see `admm`), in place on W, U, t; returns squared residuals.

    G = relaxation Y + (1 - relaxation) W + U is projected onto {W >= 0, W = 0 where forbidden,
    cuts} by `sweeps` passes of dual coordinate ascent (Hildreth) over the multipliers t, starting
    from their last values: with V = G + sum_c t_c B_c and W = max(V, 0), the step
    t_c += rhs_c - <B_c, W> never decreases the dual function because ||B_c|| = 1. Then U = G - W.
    M is filled with W - U + K / rho, the matrix that the next spectral projection takes.

    Only the upper triangle is read until the end; W, U and M are written in full.
    """
    m = Y.shape[0]
    for i in range(m):
        for j in range(i, m):
            V[i, j] = relaxation * Y[i, j] + (1.0 - relaxation) * W[i, j] + U[i, j]
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
    primal = 0.0
    dual = 0.0
    for i in range(m):
        for j in range(i, m):
            G = relaxation * Y[i, j] + (1.0 - relaxation) * W[i, j] + U[i, j]
            w = 0.0 if forbidden[i, j] else max(V[i, j], 0.0)
            u = G - w
            weight = 1.0 if i == j else 2.0
            primal += weight * (Y[i, j] - w) ** 2
            dual += weight * (w - W[i, j]) ** 2
            W[i, j] = w
            W[j, i] = w
            U[i, j] = u
            U[j, i] = u
            a = w - u + K[i, j] / rho
            M[i, j] = a
            M[j, i] = a
    return primal, dual


@njit(cache=True)
def nonnegativity_multipliers(U, forbidden, start, position, entry, t, N):
    """N = -U - sum_c t_c B_c, the multipliers (divided by rho) of W >= 0 after `polyhedral_step`:
    nonnegative off the cannot-links up to rounding. Symmetric, in the coordinates of Y."""
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
def _sort_descending(items, keys):
    """Sort items in place by decreasing keys[item] (Shell's method, gaps of Ciura). The lists are
    short, and numba's own sort alone takes longer to compile than all else here."""
    for gap in (701, 301, 132, 57, 23, 10, 4, 1):
        for a in range(gap, len(items)):
            item = items[a]
            key = keys[item]
            b = a
            while b >= gap and keys[items[b - gap]] < key:
                items[b] = items[b - gap]
                b -= gap
            items[b] = item


@njit(cache=True)
def violated_triangles(Z, r, tolerance, per_pair):
    """For every centre i and every j, the `per_pair` most violated triangle cuts (i, j, h) with h
    after j in the order of decreasing Z_i., and the violated pair cut (returned with h = j).

    Z : (m, m) affinity; r : (m,) 1/sqrt(size). A violation counts when it is above tolerance times
    Z_ii, and is measured as the distance of Y to the cut's hyperplane. Exact up to that: a triangle
    can only be violated if Z_ij + Z_ih > Z_ii, so sorted rows end the loops early.

    Returns ijh (c, 3) int32 and distance (c,).
    """
    m = Z.shape[0]
    capacity = 0
    for i in range(m):
        for j in range(m):
            if j != i and 2.0 * Z[i, j] > (1.0 + tolerance) * Z[i, i]:
                capacity += per_pair + 1
    count = 0
    ijh = np.empty((capacity, 3), np.int32)
    distance = np.empty(capacity)
    best_h = np.empty(per_pair, np.int64)
    best_v = np.empty(per_pair)
    reachable = np.empty(m, np.int64)
    for i in range(m):
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
        for a in range(n_reachable):
            j = order[a]
            Zij = Z[i, j]
            if not 2.0 * Zij > (1.0 + tolerance) * Zii:
                break  # h comes after j, so Z_ih <= Z_ij
            rij = r[i] * r[j]
            if Zij > Zii + slack:
                ijh[count, 0] = i
                ijh[count, 1] = j
                ijh[count, 2] = j
                distance[count] = (Zij - Zii) / np.sqrt(rii * rii + 0.5 * rij * rij)
                count += 1
            found = 0
            for b in range(a + 1, n_reachable):
                h = order[b]
                Zih = Z[i, h]
                over = Zij + Zih - Zii
                if over <= slack:
                    break
                v = over - Z[j, h]
                if v > slack:
                    rjh = r[j] * r[h]
                    rih = r[i] * r[h]
                    norm2 = rii * rii + 0.5 * (rij * rij + rih * rih + rjh * rjh)
                    if found == per_pair and v * v <= best_v[found - 1] ** 2 * norm2:
                        continue
                    v /= np.sqrt(norm2)
                    if found < per_pair:
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
def spread(order, ijh, m, limit, at_most):
    """The first `at_most` of the triangles in the given order such that no pair of blocks is in
    more than `limit` of them; returns their positions."""
    used = np.zeros((m, m), np.int16)
    chosen = np.empty(min(at_most, len(order)), np.int64)
    count = 0
    for p in order:
        if count == len(chosen):
            break
        i, j, h = ijh[p, 0], ijh[p, 1], ijh[p, 2]
        jh = (min(j, h), max(j, h))
        ij = (min(i, j), max(i, j))
        ih = (min(i, h), max(i, h))
        if used[ij] >= limit or used[ih] >= limit or used[jh] >= limit:
            continue
        used[ij] += 1
        used[ih] += 1
        used[jh] += 1
        chosen[count] = p
        count += 1
    return chosen[:count]


@njit(cache=True)
def violated_stars(Z, r, tolerance, neighbours, max_leaves):
    """Star cuts grown greedily: for each centre i and each of its `neighbours` nearest j, T starts
    as {j} and takes the h with the largest Z_ih - sum of Z_lh over l in T while that is positive.

    Returns centre (c,), n_leaves (c,), leaves (c, max_leaves), distance (c,) for those with at
    least three leaves that are violated by more than tolerance times Z_ii; distance is that of Y to
    the cut's hyperplane.
    """
    m = Z.shape[0]
    neighbours = min(neighbours, m - 1)
    capacity = m * neighbours
    centre = np.empty(capacity, np.int32)
    n_leaves = np.empty(capacity, np.int32)
    leaves = np.empty((capacity, max_leaves), np.int32)
    distance = np.empty(capacity)
    count = 0
    gain = np.empty(m)
    near = np.empty(m, np.int64)
    for i in range(m):
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
def violated_cliques(Z, order, threshold):
    """Cliques of `order` blocks grown greedily from every block by the least sum of Z to those
    taken. Returns members (c, order) of those whose sum is below threshold.
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

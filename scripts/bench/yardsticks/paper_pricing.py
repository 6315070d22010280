"""Published pricing method, as a yardstick for `sdpbb.bounds.lagrangian`.

B. Babaki, T. Guns and S. Nijssen, Constrained clustering using column generation (2014), section 4:
a set enumeration of the blocks, depth first, which removes candidates by cannot-links and pairwise
compatibility, eq. (26), and prunes by a bound that goes through all sizes a cluster can have.

With e_i the size, c_i the mean and w_i the own scatter of block i, the paper's sums of squared
distances within a block and between two blocks are

    d(i) = e_i w_i,    d(i, j) = e_i e_j ||c_i - c_j||^2 + e_j w_i + e_i w_j,

so that c(X) = (sum_{i in X} d(i) + sum_{i < j in X} d(i, j)) / sum_{i in X} e_i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction


class Priced(NamedTuple):
    """Outcome of a search for the cluster of least c(X) - prices(X).

    value : the least, or the target if no cluster is below it
    n_nodes : of the search
    finished : whether the value is the least for certain; else it is the least met
    """

    value: float
    n_nodes: int
    finished: bool


def paper_pricing(
    contraction: Contraction,
    prices: NDArray[np.float64],
    target: float = np.inf,
    node_limit: int = 10**9,
) -> Priced:
    """Return the least c(X) - prices(X) by Algorithm 1 of the paper.

    X are the non-empty sets of blocks without cannot-linked pairs.

    The paper leaves the order of the candidates open. Here blocks of high price come first, which
    took the fewest nodes of six orders at the prices that column generation ends with (by price
    per point, value, distance, none). Constraints on clusters other than cannot-links are not
    looked at.

    Parameters
    ----------
    prices : (m,) lambda >= 0, the duals of the covering rows
    target : the value to beat, the incumbent that the search begins with
    node_limit : calls of the paper's Branch-and-bound

    Raises
    ------
    ParameterError
        If a price is negative or not finite, for which the paper's bound is none.
    """
    prices = np.asarray(prices, dtype=np.float64)
    m = contraction.n_blocks
    if prices.shape != (m,) or not (np.isfinite(prices).all() and (prices >= 0).all()):
        raise ParameterError(f"prices of shape {prices.shape}: expected {m} finite numbers >= 0")
    return Priced(
        *_search(
            pair_sums(contraction),
            contraction.weights,
            prices,
            contraction.adjacency,
            float(target),
            int(node_limit),
        )
    )


def pair_sums(contraction: Contraction) -> NDArray[np.float64]:
    """Return the sums of squared distances d(i, j) between blocks (m, m), d(i) on the diagonal."""
    e, c, w = contraction.weights, contraction.means, contraction.scatter
    squared = ((c[:, None, :] - c) ** 2).sum(axis=2)
    between = np.outer(e, e) * squared + np.outer(w, e) + np.outer(e, w)
    np.fill_diagonal(between, e * w)
    return between


@njit(cache=True)
def _search(d, sizes, prices, adjacent, target, node_limit):
    """Run Algorithm 1 with a stack in place of recursion.

    X has t blocks, old[t] the sum of its d, size[t] points and price[t] to gain;
    stack[t, :count[t]] are its candidates that are left, the next one last, and
    beta[t, i] = d(i) + sum_{j in X} d(i, j).
    """
    m = len(sizes)
    by_price = np.argsort(-prices / sizes)
    incompatible = adjacent.copy()
    for i in range(m):
        for j in range(m):
            if i != j:
                value = (d[i, i] + d[j, j] + d[i, j]) / (sizes[i] + sizes[j])
                incompatible[i, j] |= value - prices[i] - prices[j] > 0.0
    stack = np.empty((m + 1, m), np.int64)
    count = np.zeros(m + 1, np.int64)
    beta = np.empty((m + 1, m))
    old, size, price = np.zeros(m + 1), np.zeros(m + 1), np.zeros(m + 1)
    best, n_nodes, t = target, 1, 0
    for i in range(m):
        beta[0, i] = d[i, i]
    stack[0] = np.argsort(prices)
    if _size_bound(0.0, 0.0, 0.0, stack[0], m, beta[0], sizes, prices, by_price) < best:
        count[0] = m
    while t >= 0:
        if count[t] == 0:
            t -= 1
            continue
        if n_nodes >= node_limit:
            return best, n_nodes, False
        n_nodes += 1
        count[t] -= 1
        c = stack[t, count[t]]
        u = t + 1
        old[u] = old[t] + beta[t, c]
        size[u] = size[t] + sizes[c]
        price[u] = price[t] + prices[c]
        n = 0
        for p in range(count[t]):
            i = stack[t, p]
            if not incompatible[c, i]:
                stack[u, n] = i
                beta[u, i] = beta[t, i] + d[c, i]
                n += 1
        bound = _size_bound(
            old[u], size[u], price[u], stack[u], n, beta[u], sizes, prices, by_price
        )
        if bound < best:
            best = min(best, old[u] / size[u] - price[u])
            count[u] = n
            t = u
    return best, n_nodes, True


@njit(cache=True)
def _size_bound(old, size, price, candidates, n, beta, sizes, prices, by_price):
    """Return the bound by sizes of section 4.3.

    It is the least value of X and the sets between X and X with all its candidates, over the sizes
    s that their points can add.

    Term (1) is the sum of beta over the most blocks in the order of beta / size that have at most s
    points; term (2) is 0; term (4) is the sum of prices over the fewest blocks in the order of
    prices / size that have at least s. Both are constant between the s where one of them changes,
    and the value falls with s there, so the last s before each change are enough.
    """
    is_candidate = np.zeros(len(sizes), np.bool_)
    for p in range(n):
        is_candidate[candidates[p]] = True
    own = candidates[:n]
    by_beta = own[np.argsort(beta[own] / sizes[own])]
    bound = old / size - price if size > 0.0 else np.inf
    a, between, below = 0, 0.0, 0.0  # blocks of term (1), their beta and their points
    gained, above = 0.0, 0.0  # prices and points of the blocks of term (4)
    for i in by_price:
        if not is_candidate[i]:
            continue
        # gained is now the term for s above the points of the blocks so far, up to those of this.
        first = above + 1.0
        above += sizes[i]
        gained += prices[i]
        while True:
            while a < n and below + sizes[by_beta[a]] <= first:
                below += sizes[by_beta[a]]
                between += beta[by_beta[a]]
                a += 1
            following = below + sizes[by_beta[a]] if a < n else np.inf
            s = min(above, following - 1.0)
            bound = min(bound, (old + between) / (size + s) - price - gained)
            if s == above:
                break
            first = following
    return bound

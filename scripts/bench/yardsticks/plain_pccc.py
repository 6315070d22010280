"""PCCC as it is written down: the whole programme (MBLP) handed to HiGHS in every iteration.

The yardstick for the assignment steps of `heuristics.PCCC`: the same start, the same alternation,
hard constraints only; no components, no dynamic programming, no warm start.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from heuristics.kmeans_steps import cluster_means
from heuristics.method import Heuristic, RunClock, SearchResult, contract_and_colour
from heuristics.result import Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.problem.colouring.decide import colouring_programme
from sdpbb.problem.colouring.graph import sparse_graph
from sdpbb.runtime.backends.milp import load
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpStatus


class PlainPCCC(Heuristic):
    """PCCC with the whole programme in each assignment step.

    Minimise sum e_i ||c_i - m_l||^2 x_il over the assignments that keep the cannot-links and leave
    no cluster empty ((1)-(4), (7) of the PCCC paper with squared distances), update, and so on
    until the objective does not decrease.
    """

    name = "plain"

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contracted = contract_and_colour(instance, clock)
        if isinstance(contracted, Infeasibility):
            return contracted
        contraction, labels = contracted
        means, sizes, k = contraction.means, contraction.weights, contraction.k
        programme = whole_programme(contraction)
        centres = kmeans_plus_plus(contraction, rng)
        best, n_iterations = np.inf, 0
        while True:
            distances = ((means[:, None, :] - centres) ** 2).sum(axis=2)
            model = load(programme, "highs")
            solution = model.minimise((sizes[:, None] * distances).reshape(-1))
            assert solution.status is MilpStatus.OPTIMAL
            assert solution.x is not None
            n_iterations += 1
            assigned = np.argmax(solution.x.reshape(-1, k), axis=1)
            cost = contraction.cost(assigned)
            if cost >= best:
                return SearchResult(contraction.lift(labels), Stop.CONVERGED, n_iterations)
            best, labels = cost, assigned
            centres = cluster_means(contraction, labels)


def whole_programme(contraction: Contraction) -> BinaryProgramme:
    """Return the colourings of the cannot-link graph with k colours that use every colour."""
    m, k = contraction.n_blocks, contraction.k
    colourings = colouring_programme(sparse_graph(m, contraction.cannot_link), k, np.zeros((m, k)))
    columns = np.arange(m * k).reshape(m, k).T.reshape(-1)  # the blocks of each cluster
    starts = np.arange(0, m * k + 1, m)
    nonempty = csr_array((np.ones(m * k), columns, starts), shape=(k, m * k))
    return BinaryProgramme(
        np.zeros(m * k),
        csr_array(vstack([colourings.matrix, nonempty])),
        np.concatenate([colourings.lower, np.ones(k)]),
        np.concatenate([colourings.upper, np.full(k, np.inf)]),
    )

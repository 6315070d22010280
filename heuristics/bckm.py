"""BCKM: k-means whose assignment step is a feasibility pump over an assignment polytope."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import StepVerdict, alternate
from heuristics.kmeans import best_kmeans
from heuristics.method import Heuristic, RunClock, contract_and_colour
from heuristics.result import SearchResult, Stop
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.problem.programme import assignment_rows
from sdpbb.runtime.backends.highs import LinearModel
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime, check_time

# Factor kappa of the penalties from step to step, and maximum steps of Algorithm 2.
GROWTH, MAX_STEPS = 1.1, 100
# Largest initial penalty, far above all squared distances: its products must be finite.
LARGEST_PENALTY = 1e250
# Regularisation of the centres, lambda of (8).
RIDGE = 1e-4
# Centres rest if their squared movement, relative to the mean squared distance of the points to
# their mean, is at most the first number. S and V rest if they move at most by the second.
CENTRES_AT_REST, ASSIGNMENT_AT_REST = 1e-9, 1e-6
# Tolerance for entries 0 and 1 of a binary vertex: ten times the tolerance of HiGHS for rows.
BINARY = 1e-6
# Steps of k-means for the initial assignments (section 7).
KMEANS_ITERATIONS = 100
# Variables for which HiGHS builds the model and finds a first vertex in about a second. A run that
# has too little time for that does not start.
VARIABLES_PER_SECOND = 100_000
# Maximum variables of the binary programme if there is a time limit: HiGHS presolves it without
# looking at the clock, for half a second; for a million variables, for several.
MOST_BINARY_VARIABLES = 300_000


@dataclass(frozen=True, eq=False, kw_only=True)
class BCKM(Heuristic):
    """k-means with hard constraints and bounds on cluster sizes.

    The problem is a binary programme, with the bounds of the instance; without any, u_c = 1:

        minimise    sum_{bc} s_bc Y_bc,  Y_bc = e_b || x_b - c_c ||^2,  over S and the centres c
        subject to  sum_c s_bc = 1,  u_c <= sum_b e_b s_bc <= v_c,
                    sum_{b in Q} s_bc <= 1 for cliques Q of cannot-links,  s_bc in {0, 1}

    Algorithm 1 alternates between the ridge means (8) of S, the centres, and Algorithm 2, which
    finds S. Algorithm 2 drives the linear relaxation to a binary vertex by l1 penalties on the
    distance to a binary V, (13)-(16). V is rounded from the last S; penalties grow from step to
    step.

    *Blocks.* The source has one column of S per point and equations S_ip = S_iq for must-links
    (3e). Equal columns start with equal V and penalties, and stay equal. So a programme over the m
    blocks has the same solutions. A block of e_b points counts e_b times in Y, the penalties and
    the size rows. (Y omits the scatter inside the block, the same for every s.)
    Blocks that the cannot-links force together are contracted as well. Cannot-links have one row
    per clique of a cover of their graph, instead of one per pair (3f): the binary S stay the same,
    with fewer fractional ones.

    *No columns for absolute values.* With V binary and 0 <= S <= 1, the terms of (12) are linear:
    if V_bc = 1, [S - V]^- = 1 - S and [V - S]^- = 0; if V_bc = 0, they are 0 and S. So (13) is the
    relaxation with costs Y - rho+ for V = 1 and Y + rho- for V = 0, plus a constant. Only costs
    change between steps, and the simplex method continues from the last vertex.

    The result is the cheapest clustering among all binary vertices met until the centres rest.
    Without any, the binary programme (9) for the last centres is solved exactly in the remaining
    time. Algorithm 1 then starts again from its S. With a time limit, larger programmes
    than 300,000 variables are not solved, as HiGHS does not check the clock in presolve.

    Source: H. M. Le, A. Eriksson, T.-T. Do, M. Milford, A binary optimization approach for
    constrained k-means clustering (2018), sections 4 to 6. Coordinates are centred, so that the
    ridge draws towards the mean of the points.
    """

    name = "bckm"
    keeps_sizes = True

    rho: float = parameter(
        0.5,
        "Initial penalty rho_0, in squared units of the points.",
        reason="On the synthetic data of the source 0.5 is 0.001 to 0.003 of the mean squared "
        "distance to the mean. If it is much more, points stay in the clusters of the initial "
        "assignment.",
        gt=0,
    )
    n_starts: int = parameter(1, "Initial assignments, by k-means from k-means++.", ge=1)
    max_iterations: int = parameter(100, "Steps of Algorithm 1, the outer loop.", ge=1)

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contracted = contract_and_colour(instance, clock)
        if isinstance(contracted, Infeasibility):
            return contracted
        contraction, known = contracted
        if contraction.n_blocks * contraction.k > VARIABLES_PER_SECOND * clock.seconds_left:
            return SearchResult(contraction.lift(known), Stop.TIME_LIMIT, 0)
        search = _PenaltyMethod(self, contraction, clock)
        stop = Stop.TIME_LIMIT
        with suppress(OutOfTime):
            for _ in range(self.n_starts):
                start = best_kmeans(contraction, rng, clock, 1, KMEANS_ITERATIONS)
                stop = search.alternate(start.found)
                if clock.is_over:
                    break
        if search.labels is None:
            search.solve_exactly()
            if search.labels is not None:
                with suppress(OutOfTime):
                    stop = search.alternate(search.labels)
        labels = known if search.labels is None else search.labels
        return SearchResult(labels, stop, search.n_iterations).lifted(contraction)


class _PenaltyMethod:
    """State of one run: the rows, the linear programme, and the best clustering met."""

    def __init__(self, method: BCKM, contraction: Contraction, clock: RunClock) -> None:
        self._method, self._contraction, self._clock = method, contraction, clock
        n, k, limits = contraction.n_points, contraction.k, contraction.size_limits
        bounds = [(1, n)] * k if limits is None else limits.bounds()
        sizes = contraction.counts, *np.array(bounds).T
        self._programme = assignment_rows(contraction.n_blocks, k, contraction.cannot_link, [sizes])
        self._model = LinearModel(self._programme)
        self._weights = contraction.weights[:, None]
        self._distances = np.zeros((contraction.n_blocks, k))
        self._cost = math.inf
        self.labels: NDArray[np.intp] | None = None
        self.n_iterations = 0

    def alternate(self, labels: NDArray[np.intp]) -> Stop:
        """Run Algorithm 1 from labels (m,)."""
        contraction, S = self._contraction, np.eye(self._contraction.k)[labels]
        at_rest = CENTRES_AT_REST * contraction.total / contraction.weights.sum()
        before, moved = np.full((contraction.k, contraction.means.shape[1]), np.inf), np.inf

        def assign(centres: NDArray[np.float64]) -> NDArray[Any]:
            nonlocal S, before, moved
            check_time(self._clock.time_left)
            squares = [((contraction.means - centre) ** 2).sum(axis=1) for centre in centres]
            self._distances = np.column_stack(squares)
            S, moved, before = self._pump(S), ((centres - before) ** 2).sum(), centres
            return S

        def rule(S: NDArray[Any]) -> StepVerdict:
            return StepVerdict.LAST if moved <= at_rest else StepVerdict.CONTINUE

        most, time_left = self._method.max_iterations, self._clock.time_left
        centres, means = self._ridge_means(S), self._ridge_means
        found = alternate(contraction, assign, centres, rule, most, None, time_left, means)
        self.n_iterations += found.n_iterations
        return found.stop

    def _ridge_means(self, S: NDArray[Any]) -> NDArray[np.float64]:
        """Return C, (k, r), of least || X - S C ||_F^2 + lambda || C ||_F^2, (8), for points X."""
        weighted = self._weights * S
        gram = S.T @ weighted + RIDGE * np.eye(self._contraction.k)
        return np.asarray(np.linalg.solve(gram, weighted.T @ self._contraction.means), np.float64)

    def solve_exactly(self) -> None:
        """Solve Algorithm 2's programme (9) for the last centres as an integer programme."""
        is_limited = self._clock.seconds_left < math.inf
        too_large = self._programme.n_variables > MOST_BINARY_VARIABLES
        if self._clock.is_over or (is_limited and too_large):
            return
        programme = replace(self._programme, objective=self._costs(self._distances))
        solution = solve_binary_programme(programme, self._clock.time_left)
        self.n_iterations += 1
        if solution.x is not None:
            self._offer(solution.x.reshape(self._distances.shape))

    def _pump(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run Algorithm 2 from S (m, k); return the last S."""
        S, V = start, np.rint(start)
        plus = minus = np.full_like(S, min(self._method.rho, LARGEST_PENALTY))
        for _ in range(MAX_STEPS):
            if self._clock.is_over:
                break
            # (13) at a binary V and S in [0, 1], but for a constant.
            costs = self._costs(self._distances + np.where(V == 1, -plus, minus))
            solution = self._model.minimise(costs, self._clock.time_left)
            if solution.x is None:
                break
            S_next = solution.x.reshape(S.shape)
            self._offer(S_next)
            V_next, plus, minus = nearest_binary(S_next, plus, minus)
            moved = float((self._weights * ((S_next - S) ** 2 + (V_next - V) ** 2)).sum())
            S, V = S_next, V_next
            if moved <= ASSIGNMENT_AT_REST:
                break
        return S

    def _offer(self, S: NDArray[np.float64]) -> None:
        """Record S as labels if it is a clustering within the bounds, and the cheapest."""
        if (np.abs(S - np.rint(S)) > BINARY).any():
            return
        labels = np.argmax(S, axis=1)
        cost = self._contraction.cost(labels)
        if cost < self._cost and self._contraction.keeps(labels):
            self.labels, self._cost = labels, cost

    def _costs(self, of_points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the costs of blocks (m k,) from costs (m, k) per point, scaled for the solver.

        As each block is in one cluster, its least cost is subtracted; then the largest becomes 1.
        """
        costs = self._weights * of_points
        costs -= costs.min(axis=1, keepdims=True)
        largest = costs.max()
        return np.asarray((costs / largest if largest > 0 else costs).reshape(-1), np.float64)


def nearest_binary(
    S: NDArray[np.float64], plus: NDArray[np.float64], minus: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the binary V (m, k) with the least penalties for S, (15), and the next penalties.

    Penalties that held V at 0 (minus) or at 1 (plus) grow, (16).
    """
    V = np.where(minus * S <= plus * (1 - S), 0.0, 1.0)
    return V, np.where(V == 1, GROWTH * plus, plus), np.where(V == 0, GROWTH * minus, minus)

"""IPC-k-means: k-means whose assignment step satisfies the constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import Decreases, alternate
from heuristics.assignment.steps import assignment_of
from heuristics.method import Heuristic, RunClock, cheapest_of, contract_and_colour
from heuristics.result import SearchResult, Stop
from heuristics.starts import from_affinity, kmeans_plus_plus, truncated_means
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime, TimeLeft


@dataclass(frozen=True, eq=False, kw_only=True)
class IPCKMeans(Heuristic):
    """k-means with exact assignments under hard constraints.

    Alternate between the cheapest assignment that satisfies all must-links, cannot-links, and
    limits on the sizes and weights of clusters,

        minimise sum_ij x_ij || p_i - m_j ||^2  over the clusterings x that satisfy all constraints,

    and the means m_j of its clusters, until the sum of squares no longer decreases. A run on a
    feasible instance always ends with a clustering, except on large ones with limits.

    Source: PC-SOS-SDP, Algorithm 1 and (12); for start = "sdp", Algorithm 2 and step 3.6 of
    Algorithm 3. `best-of` adds local search and relocations.
    """

    name = "ipc-kmeans"
    keeps_sizes = True
    keeps_weights = True

    start: Literal["k-means++", "sdp"] = parameter(
        "k-means++",
        'Initial centres. "sdp" solves the semidefinite relaxation first, as at the root of '
        "`sdpbb solve`. After each round of cuts, k-means on the rank-k approximation of its "
        "solution gives centres.",
    )
    n_starts: int = parameter(
        1,
        'Sets of initial centres (from each solution if start = "sdp"). The best clustering is '
        "the result.",
        ge=1,
    )
    max_iterations: int = parameter(1000, "Assignment steps from each set.", ge=1)
    affinities: Callable[[Contraction], Iterable[NDArray[np.float64]]] | None = parameter(
        None,
        'For start = "sdp": a function that solves the semidefinite relaxation of a contraction '
        'and yields its solutions Z (m, m). Python only: `sdpbb.heuristic("ipc-kmeans", '
        'start="sdp")` supplies it.',
        unit="a function",
    )

    def check_combination(self) -> None:
        if (self.start == "sdp") != (self.affinities is not None):
            raise ParameterError(
                'affinities: expected with start = "sdp", and only then; '
                'sdpbb.heuristic("ipc-kmeans", start="sdp") supplies it'
            )

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contracted = contract_and_colour(instance, clock)
        if isinstance(contracted, Infeasibility):
            return contracted
        contraction, known = contracted
        assign = assignment_of(contraction, math.inf, known, is_exact=True)

        def starts() -> Iterator[SearchResult]:
            time_left, most = clock.time_left, self.max_iterations
            for centres in self._initial_centres(contraction, rng, time_left):
                rule = Decreases(contraction)
                found = alternate(contraction, step, centres, rule, most, time_left=time_left)
                yield replace(found, cost=contraction.cost(found.found))

        def step(centres: NDArray[np.float64]) -> NDArray[np.intp]:
            return assign(centres, clock.time_left)

        try:
            best = cheapest_of(starts(), clock)
        except OutOfTime:  # the known labels satisfy the constraints
            best = SearchResult(known, Stop.CONVERGED, 0)
        return best.lifted(contraction)

    def _initial_centres(
        self, contraction: Contraction, rng: np.random.Generator, time_left: TimeLeft
    ) -> Iterator[NDArray[np.float64]]:
        if self.affinities is None:
            for _ in range(self.n_starts):
                yield kmeans_plus_plus(contraction, rng, time_left)
            return
        for affinity in self.affinities(contraction):
            rows = truncated_means(contraction, affinity, time_left)
            for _ in range(self.n_starts):
                yield from_affinity(contraction, rows, rng, time_left)

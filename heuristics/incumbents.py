"""Heuristic of the exact solver: `MultiStart`, as hard as a schedule says, in any contraction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment, AssignmentParameters
from heuristics.descent import Descent, HeuristicSolution
from heuristics.local_search import SWAP_BLOCKS
from heuristics.multi_start import MultiStart
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft

# Blocks times clusters from which on the search before the bound is a long one where sizes are
# limited: 2,000 points in the plane in 20 clusters are bounded for 100 s. Among more blocks than
# swaps are made of, 100 relocations take too long: 17 s of 20,000 points, and found nothing.
MANY = 10_000
# A relocation merges a cluster into others and splits one: in a long search as many in a row may
# find nothing better as try each pair so often. With 100 for any k, sets in 2 to 4 clusters that
# are proven in half a second took up to 11 % longer.
EACH_PAIR = 2


@dataclass(frozen=True)
class IncumbentSearch:
    """Heuristic of the exact solver: `MultiStart`, as hard as its schedule says; picklable.

    knows_good : whether the clustering known before is a good one, so that the search before the
        bound is one descent from it
    """

    schedule: HeuristicSchedule = field(default_factory=HeuristicSchedule)
    knows_good: bool = False


@dataclass(eq=False)
class PreparedSearch:
    """`IncumbentSearch` of one contraction: its descents share tables.

    known : labels (m,) that keep the cannot-links, the best so far
    time_left : time left for all searches together, inf for no limit, 0 when it is up
    is_root : whether the contraction is that of a search's root, which may be searched longer
    descent : with the parameters of the first search
    """

    of: IncumbentSearch
    contraction: Contraction
    known: NDArray[np.intp]
    time_left: TimeLeft
    is_root: bool = False
    descent: Descent | None = None

    def search(
        self,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        stop: Callable[[], bool],
        found: Callable[[NDArray[np.intp], str], None],
    ) -> None:
        """Search for better clusterings.

        Parameters
        ----------
        affinity : (m, m) Z of a relaxation's solution to begin from, or None before there is any
        stop : true once the search is to end
        found : called with labels (m,) and their origin, such as "k-means++", for every clustering
            that is cheaper than those before it
        """
        schedule, contraction = self.of.schedule, self.contraction
        parameters = schedule.before if affinity is None else schedule.during

        def offer(better: HeuristicSolution) -> None:
            self.known = better.labels
            found(better.labels, better.source)

        if contraction.has_limits:
            # Each search begins from the best clustering, and has the time of its own programmes.
            parameters, self.descent = self._within_limits(parameters, affinity is None), None
        start = None
        if affinity is None and self.of.knows_good and not contraction.has_limits:
            start = self.known
            parameters = replace(parameters, n_relocations=0, swap_effort=0.0)
        if self.descent is None:
            self.descent = Descent(contraction, parameters, self.known, self.time_left)
        search = MultiStart(parameters)
        search.run(contraction, rng, affinity, self.descent, stop, offer, start)

    def _within_limits(
        self, parameters: MultiStartParameters, is_before: bool
    ) -> MultiStartParameters:
        """Return the parameters of a search within limits: longer ones at most roots."""
        limited, contraction = self.of.schedule.limited, self.contraction
        m = contraction.n_blocks
        is_many = m <= SWAP_BLOCKS and m * contraction.k >= MANY
        if not self.is_root or (is_before and not is_many):
            return parameters
        most = min(limited.n_relocations, EACH_PAIR * contraction.k**2)
        return replace(limited, n_relocations=most)


def exercise(contraction: Contraction) -> None:
    """Call the kernels that almost every run needs, also those of a start from an affinity."""
    found = MultiStart().run(contraction, np.random.default_rng(0))
    together = found.labels == found.labels[:, None]
    affinity = together / (together @ contraction.weights)
    MultiStart().run(contraction, np.random.default_rng(0), affinity)


def exercise_rare(contraction: Contraction) -> None:
    """Call the kernels for components of cannot-links too wide for dynamic programming.

    contraction : with cannot-links
    """
    by_search = AssignmentParameters(table_budget=0, max_rows=0)
    assign = Assignment(contraction, by_search)
    for first in range(2):  # the second time from the labels of the first
        assign(contraction.means[first : first + contraction.k])

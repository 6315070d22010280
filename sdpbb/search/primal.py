"""Interface of the heuristics that find the search's clusterings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft


class PrimalHeuristic(Protocol):
    """Heuristic for clusterings of the blocks of a node. One object serves all nodes; picklable."""

    def prepare(
        self,
        contraction: Contraction,
        known: NDArray[np.intp],
        time_left: TimeLeft,
        is_root: bool = False,
    ) -> PreparedHeuristic:
        """Return the heuristic for one contraction.

        Parameters
        ----------
        known : (m,) labels that keep the cannot-links
        time_left : time left for all searches together, inf for no limit, 0 when it is up; to be
            asked often
        is_root : whether the contraction is that of a search's root, which may be searched longer
        """


class PreparedHeuristic(Protocol):
    """Heuristic for the blocks of one contraction, where it may keep what several searches need."""

    def search(
        self,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        stop: Callable[[], bool],
        found: Callable[[NDArray[np.intp], str], None],
    ) -> None:
        """Look for clusterings.

        Parameters
        ----------
        rng : the only source of randomness
        affinity : (m, m) Z of a relaxation's solution to begin from, or None before there is any
        stop : true once the search is to end; to be asked often
        found : to be called with labels (m,) and their origin, such as "k-means++", for every
            clustering that is cheaper than those before it
        """

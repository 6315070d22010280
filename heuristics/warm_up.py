"""Calls of every kernel that a search for incumbents may need, so that none compiles later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment
from heuristics.assignment.wide_hard import WideComponent
from heuristics.multi_start import MultiStart
from sdpbb.problem import Contraction


def exercise(contraction: Contraction, affinity: NDArray[np.float64] | None = None) -> None:
    """Call the kernels that almost every run needs, those of a start from an affinity if given."""
    MultiStart().run(contraction, np.random.default_rng(0), affinity)


def exercise_wide_components(contraction: Contraction) -> None:
    """Call those for components of cannot-links that are too wide for dynamic programming.

    contraction : with cannot-links
    """
    Assignment(contraction, 0)(contraction.means[: contraction.k])
    component = WideComponent(
        np.unique(contraction.cannot_link), contraction.cannot_link, contraction.k
    )
    component.exercise_search()

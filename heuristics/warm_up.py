"""Calls of every kernel that a descent may need, so that none is compiled during a run."""

from __future__ import annotations

import numpy as np

from heuristics.assignment import Assignment
from heuristics.assignment.wide_hard import WideComponent
from heuristics.multi_start import MultiStart
from sdpbb.problem import Contraction


def exercise_descents(contraction: Contraction) -> None:
    """Those that almost every run needs."""
    MultiStart().run(contraction, np.random.default_rng(0))


def exercise_wide_components(contraction: Contraction) -> None:
    """Those for components of cannot-links that are too wide for dynamic programming.

    contraction : with cannot-links
    """
    Assignment(contraction, 0)(contraction.means[: contraction.k])
    component = WideComponent(
        np.unique(contraction.cannot_link), contraction.cannot_link, contraction.k
    )
    component.exercise_search()

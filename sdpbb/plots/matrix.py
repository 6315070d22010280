"""Solution of the relaxation, sorted by clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.plots.style import INK, axes_or_new, finish
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.origin import Origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SIZE = (6.2, 5.2)


def plot_matrix(affinity: ArrayLike, labels: ArrayLike, ax: Axes | None = None) -> Axes:
    """Plot the matrix Z of the relaxation.

    Its rows and columns are sorted by cluster and, inside of a cluster, by their affinity to it.

    An entry is shown as Z_ij / sqrt(Z_ii Z_jj), so that large clusters are as dark as small ones.
    Where the relaxation is tight, Z is the matrix of the clustering, with 1 inside of the clusters
    and 0 outside; all between is what the relaxation has left undecided.

    Parameters
    ----------
    affinity : (m, m) symmetric and nonnegative (see `sdpbb.run.heuristic.root_affinities`)
    labels : (m,) integers, the clusters to sort by

    Raises
    ------
    ParameterError
        If the shapes do not fit each other.
    BackendUnavailable
        Without matplotlib.
    """
    Z, clusters = np.asarray(affinity, dtype=np.float64), np.asarray(labels)
    if Z.ndim != 2 or Z.shape[0] != Z.shape[1] or clusters.shape != Z.shape[:1]:
        raise ParameterError(
            f"affinity of shape {Z.shape} with labels of shape {clusters.shape}; expected (m, m) "
            "and (m,)"
        )
    ax = axes_or_new(ax, SIZE)
    order = sorted_order(Z, clusters)
    image = ax.imshow(_relative(Z[np.ix_(order, order)]), cmap="Blues", vmin=0.0, vmax=1.0)
    _draw_borders(clusters[order], ax)
    figure: Any = ax.figure
    bar = figure.colorbar(image, ax=ax, shrink=0.85)
    bar.set_label("Affinity of two blocks (1 together, 0 apart)", color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.outline.set_visible(False)
    ax.set_xlabel("Blocks, sorted by cluster")
    ax.set_ylabel("Blocks, sorted by cluster")
    finish(ax)
    return ax


def sorted_order(Z: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a permutation (m,) of the blocks for the plot.

    Clusters come by their first block, and inside of each the blocks with the most affinity to it
    first.
    """
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    together = labels[:, None] == labels
    inside = (Z * together).sum(axis=1)
    return np.lexsort((-inside, first[number]))


def _relative(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Z_ij / sqrt(Z_ii Z_jj), at most 1 for a semidefinite matrix."""
    roots = np.sqrt(np.maximum(np.diag(Z), np.finfo(np.float64).tiny))
    return np.clip(Z / roots / roots[:, None], 0.0, 1.0)


def _draw_borders(labels: NDArray[np.intp], ax: Axes) -> None:
    """Draw a square around each run of equal labels."""
    from matplotlib.patches import Rectangle

    starts = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), len(labels)]
    for start, end in pairwise(starts):
        side = end - start
        ax.add_patch(
            Rectangle(
                (start - 0.5, start - 0.5), side, side, fill=False, edgecolor=INK, linewidth=0.9
            )
        )


@dataclass(frozen=True, eq=False)
class SolvedRelaxation:
    """Solution of the relaxation: affinity (m, m) of the blocks, labels (m,) of a clustering."""

    affinity: NDArray[np.float64]
    labels: NDArray[np.intp]


def solved_relaxation(
    instance: Instance, labels: NDArray[np.intp] | None = None, time_limit: float = math.inf
) -> SolvedRelaxation | Infeasibility | None:
    """Return the semidefinite relaxation at the root, and labels to sort it by.

    Parameters
    ----------
    labels : (n,) to sort by; None for those of the best clustering that a heuristic finds
    time_limit : seconds, for the relaxation, which takes one iteration at least

    Returns
    -------
    SolvedRelaxation; the proof if there is no clustering; None if whether there is one was not
    decided in time

    Raises
    ------
    ParameterError
        If labels part points that must link.
    InstanceError
        If there are constraints on clusters, beyond pairs, or too many blocks.
    """
    # The engine is imported here: what draws other pictures does without.
    from sdpbb.problem.feasibility import find_feasible
    from sdpbb.run.heuristic import root_affinities, size_problem

    if instance.has_constraints_beyond_pairs:
        raise InstanceError(
            "a matrix is drawn of the relaxation without constraints on clusters; expected "
            "must-links and cannot-links only, and no limits on sizes or weights"
        )
    contraction = contract(instance.in_pairs())
    if isinstance(contraction, Infeasibility):
        return contraction
    if problem := size_problem(contraction):
        raise InstanceError(f"{problem}; expected a sample of the points")
    found = find_feasible(contraction, time_limit if math.isfinite(time_limit) else None)
    if found is None or isinstance(found, Infeasibility):
        return found
    if labels is None:
        chosen = _heuristic_labels(contraction)
    else:
        chosen = _of_blocks(contraction, labels, instance.origin)
    *_, affinity = root_affinities(contraction, time_limit)
    return SolvedRelaxation(affinity, chosen)


def _of_blocks(
    contraction: Contraction, labels: NDArray[np.intp], origin: Origin
) -> NDArray[np.intp]:
    of_blocks = labels[contraction.representatives]
    parted = np.flatnonzero(contraction.lift(of_blocks) != labels)
    if len(parted):
        other = int(parted[0])
        first = int(contraction.representatives[contraction.block_of[other]])
        raise ParameterError(
            f"labels: rows {origin.row(first)} and {origin.row(other)} have different labels, but "
            "must-links connect them; expected labels that satisfy the must-links"
        )
    return of_blocks


def _heuristic_labels(contraction: Contraction) -> NDArray[np.intp]:
    from heuristics.multi_start import MultiStart
    from heuristics.parameters import HeuristicSchedule

    solution = MultiStart(HeuristicSchedule().before).run(contraction, np.random.default_rng(0))
    return solution.labels

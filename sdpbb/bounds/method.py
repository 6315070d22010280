"""Interface of bounding methods (`BoundingMethod`), and trivial bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundRun, ProvenBound
from sdpbb.bounds.distance import components_apart
from sdpbb.bounds.lagrangian.duals import scatter_bound
from sdpbb.problem import Contraction, Instance, Partition

WarmStart = TypeVar("WarmStart")


class BoundingMethod(ABC, Generic[WarmStart]):
    """Bounding method: begins and resumes the bounding of nodes. See `sdpbb.bounds.registry`.

    Attributes
    ----------
    most_blocks_here : steps on more blocks are the work of another process, which can be left
        behind in the middle of one: no step of LAPACK's and no integer programme can be left
        otherwise. A step on 500 blocks takes a sixth of a second
    """

    most_blocks_here: int = 600

    @abstractmethod
    def start(
        self,
        contraction: Contraction,
        warm_start: WarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> BoundRun[WarmStart]:
        """Return a new run on a node, from the warm start of its parent if there is one.

        `known` is, if one is known, labels (m,) of a clustering of the blocks that keeps all
        constraints.
        """

    @abstractmethod
    def resume(self, contraction: Contraction, run: Any) -> BoundRun[WarmStart]:
        """Return the run, or a copy or unpickled one, attached to the contraction it started on."""

    @abstractmethod
    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about."""

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the name of a method that takes less memory, if one is good for the contraction.

        It is for where this one does not fit the memory.
        """
        return None

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether bounding takes little time, however many blocks there are."""
        return False

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        """Run the compiled loops of the method once, with the types that runs call them with."""

    @staticmethod
    def exercise_rare(contraction: Contraction) -> None:
        """Run those once that few runs call, where `exercise` leaves them out."""

    def scatter(self, contraction: Contraction) -> ProvenBound:
        """Return the scatter inside the blocks, which every clustering has."""
        return scatter_bound(contraction)

    def cost_of_only(
        self, contraction: Contraction, labels: NDArray[np.intp], instance: Instance
    ) -> ProvenBound:
        """Return the bound of a node all of whose clusterings cost what labels (m,) cost.

        What rounding can have added to this cost is deducted (see
        `sdpbb.problem.coordinates.sum_of_squares`).
        """
        eps = float(np.finfo(np.float64).eps)
        terms = 16.0 + float(np.log2(instance.points.size))
        cost = Partition(contraction.lift(labels)).cost(instance)
        return ProvenBound(cost * (1.0 - 4.0 * eps * terms))

    def components_apart(
        self,
        contraction: Contraction,
        instance: Instance,
        cutoff: float,
        stop: Callable[[], bool],
    ) -> tuple[NDArray[np.intp], Any]:
        """Return components (m,) of blocks that are apart, and the evidence for that.

        No cluster of a clustering below the cutoff is across two of them (see
        `sdpbb.bounds.distance`).
        """
        points, weights = instance.scaled
        return components_apart(contraction, points, cutoff, stop, weights), None

    def provisional(self, run: BoundRun[WarmStart], best: ProvenBound) -> ProvenBound:
        """Return the bound of a run that is paused.

        It is the best so far, or a better one if that can be proven with little work.
        """
        return best

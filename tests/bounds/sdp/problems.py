"""Small contractions with everything that is true about them."""

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.problem import Contraction, contract
from tests.enumeration import clustering_matrix, feasible_clusterings, random_instance


@dataclass(frozen=True)
class SmallProblem:
    """A feasible contraction, its relaxation, its clusterings (number, m) and their costs."""

    contraction: Contraction
    relaxation: Relaxation
    labels: np.ndarray
    costs: np.ndarray

    @property
    def optimum(self) -> float:
        return float(self.costs.min())

    def matrices(self) -> list[np.ndarray]:
        """Z of every clustering."""
        return [clustering_matrix(row, self.contraction.sizes) for row in self.labels]


def small_problem(seed: int, n_max: int = 8) -> SmallProblem:
    """The first feasible instance with at least two clusters and three blocks from this seed on."""
    rng = np.random.default_rng(seed)
    while True:
        instance = random_instance(rng, n_max, n_min=3)
        contraction = contract(instance)
        labels = feasible_clusterings(instance)
        if isinstance(contraction, Contraction) and len(labels) and instance.k > 1:
            if contraction.n_blocks < 3 or not contraction.means.any():
                continue
            blocks = labels[:, contraction.representatives]
            costs = np.array([contraction.cost(row) for row in blocks])
            return SmallProblem(contraction, Relaxation.of(contraction), blocks, costs)

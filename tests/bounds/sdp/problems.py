"""Small contractions with everything that is true about them."""

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.problem import Contraction, Instance, contract
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
        return [clustering_matrix(row, self.contraction.weights) for row in self.labels]


def small_problem(seed: int, n_max: int = 8, at_least: int = 3) -> SmallProblem:
    """The first feasible instance with at least two clusters and `at_least` blocks from this seed
    on."""
    rng = np.random.default_rng(seed)
    while True:
        instance = random_instance(rng, n_max, n_min=at_least)
        contraction = contract(instance)
        labels = feasible_clusterings(instance)
        if isinstance(contraction, Contraction) and len(labels) and instance.k > 1:
            if contraction.n_blocks < at_least or not contraction.means.any():
                continue
            blocks = labels[:, contraction.representatives]
            costs = np.array([contraction.cost(row) for row in blocks])
            return SmallProblem(contraction, Relaxation.of(contraction), blocks, costs)


def two_clusters(seed: int) -> SmallProblem:
    """A problem with two clusters and at least two cannot-linked pairs of blocks."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    order = rng.permutation(n)
    links = [(int(order[2 * p]), int(order[2 * p + 1])) for p in range(rng.integers(2, n // 2 + 1))]
    must_link = [(int(order[0]), int(order[n - 1]))] if n % 2 and rng.random() < 0.5 else []
    instance = Instance(rng.normal(size=(n, 2)), 2, must_link, links)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    blocks = feasible_clusterings(instance)[:, contraction.representatives]
    costs = np.array([contraction.cost(row) for row in blocks])
    return SmallProblem(contraction, Relaxation.of(contraction), blocks, costs)

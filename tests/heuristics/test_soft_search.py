"""Assignment steps if there are soft pairs."""

from itertools import product
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heuristics.assignment import Assignment
from sdpbb.problem import Contraction, contract
from tests.any_instance import drawn_instance
from tests.enumeration import feasible_clusterings

seeds = st.integers(0, 10**6)


def drawn(random: Random, *more: str):
    return drawn_instance(random, "equal points", "pairs", *more, always=["soft pairs"])


def contracted(seed: int):
    """A contraction, and labels of its blocks that keep the cannot-links."""
    random = Random(seed)
    while True:
        instance = drawn(random, "weights")
        contraction = contract(instance)
        labels = feasible_clusterings(instance)
        if isinstance(contraction, Contraction) and len(labels):
            return contraction, random.choice(labels)[contraction.representatives]


@given(seeds)
def test_an_assignment_step_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    contraction, labels = contracted(seed)
    m, k = contraction.n_blocks, contraction.k
    centres = rng.normal(size=(k, contraction.means.shape[1]))

    def cost(of: np.ndarray) -> float:
        distances = ((contraction.means - centres[of]) ** 2).sum(axis=1)
        return float(contraction.weights @ distances) + contraction.soft.penalty(of)

    found = Assignment(contraction, known=labels)(centres)
    assert len(np.unique(found)) == k
    assert contraction.keeps(found)
    if k**m > 3000:
        return
    some = (np.array(row) for row in product(range(k), repeat=m))
    least = min(cost(row) for row in some if contraction.keeps(row))
    every = [np.array(row) for row in product(range(k), repeat=m)]
    cheapest = [r for r in every if contraction.keeps(r) and cost(r) <= least * (1 + 1e-12)]
    if all(len(np.unique(row)) == k for row in cheapest):
        assert cost(found) <= least + 1e-9 * (abs(least) + np.abs(contraction.soft.weights).sum())

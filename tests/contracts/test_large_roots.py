"""Contract of roots of 256 blocks and more: a basis that grows, triangles of some arms, work for
several cores.

What is proven is compared with costs in rational arithmetic, what the checker makes of the same
dual values, other arms, and runs on two cores.
"""

import copy
from fractions import Fraction
from functools import partial
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, event, given, note
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from heuristics import MultiStart
from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts import stars
from sdpbb.bounds.sdp.evidence import checkable
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.checker.kernel.evidence import FULL
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.runtime.cores import LARGE, using_cores
from tests.any_instance import drawn_points, in_other_units, with_equal_points, with_far_groups
from tests.contracts.test_numbers import CHANGES
from tests.enumeration import ExactSquares
from tests.examples import examples
from tests.fuzz.lines import cheapest_on_line

# An example takes some ten seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]
SEEDS = st.integers(0, 2**32)
# A smaller seed is no smaller instance.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
CHANGED = (*CHANGES, with_equal_points, in_other_units, partial(with_far_groups, far=14))


class LargeRoot(NamedTuple):
    """labels : of a clustering that keeps the constraints

    least : the least cost, if it is known, up to rounding
    """

    instance: Instance
    labels: np.ndarray
    least: float = np.inf

    def cost(self, labels: np.ndarray) -> Fraction:
        return ExactSquares(self.instance.points).of(labels)


def random_large_root(rng: np.random.Generator) -> LargeRoot:
    """Points of some shape, changed, with pairs that hold for clusters drawn first."""
    random = Random(int(rng.integers(2**32)))
    n = random.randint(256, 420)
    k = random.choice([2, 3, random.randint(4, 12), random.randint(13, 40)])
    points = drawn_points(random, n, random.choice([1, random.randint(2, 29)]))
    for change in random.sample(CHANGED, random.choice([0, 1, 1, 2])):
        points = within_limits(change(random, points))
    # Slices of the points in some direction.
    place = np.argsort(np.argsort(points @ rng.normal(size=points.shape[1])))
    labels = place * k // n
    kinds = ["none", "few", "many", "heavy", "cliques"]
    kind = "none" if points.shape[1] == 1 else rng.choice(kinds)
    note(f"{kind} n={n} d={points.shape[1]} k={k}")
    if kind == "none":
        instance = Instance(points, k)
        least = cheapest_on_line(instance) if points.shape[1] == 1 else np.inf
        return LargeRoot(instance, labels, least)
    if kind == "heavy":  # hundreds of points more, in a block or in three
        own = rng.integers(0, rng.choice([1, 3]), int(rng.integers(100, 400)))
        points = np.concatenate([points, points[own] + rng.normal() * points[:1]])
        labels = np.concatenate([labels, labels[own]])
        together = np.column_stack([own, np.arange(n, len(points))])
        return LargeRoot(Instance(points, k, together, pairs_apart(rng, labels, 50)), labels)
    if kind == "cliques":  # of one point of each cluster
        sets = np.array([rng.choice(np.flatnonzero(labels == c), 3) for c in range(k)]).T
        a, b = np.triu_indices(k, 1)
        pairs = np.concatenate([np.column_stack([row[a], row[b]]) for row in sets])
        return LargeRoot(Instance(points, k, (), rng.permutation(pairs)[:600]), labels)
    together = rng.integers(0, n, (200, 2))
    together = together[labels[together[:, 0]] == labels[together[:, 1]]]
    together = together[together[:, 0] != together[:, 1]][: n - 256 if kind == "few" else 0]
    apart = pairs_apart(rng, labels, int(rng.integers(0, 100 if kind == "few" else n)))
    return LargeRoot(Instance(points, k, together, apart), labels)


def pairs_apart(rng: np.random.Generator, labels: np.ndarray, count: int) -> np.ndarray:
    pairs = rng.integers(0, len(labels), (count, 2))
    return pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]


def within_limits(points: np.ndarray) -> np.ndarray:
    """The same by a power of two where it leaves what docs/limits.md says is accepted."""
    spread, largest = float(np.ptp(points, axis=0).max()), float(np.abs(points).max())
    if largest > 1e99:
        return points * 2.0 ** -np.ceil(np.log2(largest / 1e99))
    if 0.0 < spread < 1e-99:
        return points * 2.0 ** np.ceil(np.log2(1e-99 / spread))
    return points


def advanced(contraction: Contraction, steps: int, cores: int):
    """A run after this number of steps, and its bounds; on several cores each step resumes it."""
    bounding, bounds = SdpBounding(), []
    with threadpool_limits(1), using_cores(cores):
        run = bounding.start(contraction, None)
        for _ in range(steps):
            if cores > 1:
                run = copy.deepcopy(run).attach(contraction, bounding)
            bounds.append(run.advance(np.inf).bound.value)
    return run, bounds


def cheapest(root: LargeRoot, contraction: Contraction, affinity) -> tuple[Fraction, np.ndarray]:
    """The exact cost and the labels of a good clustering."""
    found = MultiStart().run(contraction, np.random.default_rng(0), affinity)
    clusterings = (root.labels, contraction.lift(found.labels))
    costs = [root.cost(labels) for labels in clusterings]
    best = int(costs[1] < costs[0])
    return costs[best], clusterings[best]


@given(SEEDS)
@examples(20, phases=PHASES)
def test_bounds_of_large_roots(seed):
    rng = np.random.default_rng(seed)
    root = random_large_root(rng)
    contraction = contract(root.instance)
    if not isinstance(contraction, Contraction) or contraction.n_blocks < LARGE:
        event("too few blocks")
        return
    steps = int(rng.integers(1, 6))
    run, bounds = advanced(contraction, steps, 1)
    other, others = advanced(contraction, steps, 2)
    dual, other_dual = run.dual_point(), other.dual_point()
    assert bounds == others
    assert np.array_equal(run.affinity(), other.affinity())
    assert np.array_equal(dual.N, other_dual.N)
    assert np.array_equal(dual.multipliers, other_dual.multipliers)

    cost, labels = cheapest(root, contraction, run.affinity())
    with patch.multiple(stars, ARMS=10**6, STARTS=10**6):
        _, with_all_arms = advanced(contraction, steps, 1)
    assert Fraction(max(*bounds, *with_all_arms)) <= cost
    assert bounds[-1] <= root.least * (1.0 + 1e-9)

    certified = CertifiedBounding(SdpBounding(), stated_instance(root.instance)).start(
        contraction, None
    )
    of_dual = safe_bound(run.relaxation, dual).value
    for evidence in checkable(contraction, dual):
        checked = certified.confirmed_bound(evidence, FULL)
        assert Fraction(checked) <= cost
        # Single precision moves what has not converged; margins are relative to all scatter.
        assert checked >= of_dual - 1e-4 * abs(of_dual) - 1e-9 * contraction.total

    cutoff = float(cost) * (1.0 + 1e-9)
    i, j = contraction.representatives[run.fixings(cutoff).apart].T
    assert (labels[i] != labels[j]).all() or Fraction(cutoff) <= cost

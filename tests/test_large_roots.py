"""Roots of 256 blocks and more: a basis that grows, triangles of some arms, work for several cores.

What is proven is compared with costs in rational arithmetic, what the checker makes of the same
dual values, other arms, and runs on two cores and with other bounds.
"""

import copy
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, event, given, note
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from heuristics import MultiStart
from sdpbb import SolverParameters, solve, verify_certificate
from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts import stars
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.problem import Contraction, contract
from sdpbb.runtime.cores import LARGE, using_cores
from sdpbb.search.result import SolutionStatus
from tests.examples import examples
from tests.large_roots import LargeRoot, exact_cost, random_large_root

# An example takes some ten seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]
SEEDS = st.integers(0, 2**32)
# A smaller seed is no smaller instance.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def advanced(contraction: Contraction, steps: int, cores: int):
    """A run after so many steps, and its bounds; on several cores it is left after each, and
    resumed."""
    bounding, bounds = SdpBounding(), []
    with threadpool_limits(1), using_cores(cores):
        run = bounding.start(contraction, None)
        for _ in range(steps):
            if cores > 1:
                run = bounding.resume(contraction, copy.deepcopy(run))
            bounds.append(run.advance(np.inf).bound.value)
    return run, bounds


def cheapest(root: LargeRoot, contraction: Contraction, affinity) -> tuple[Fraction, np.ndarray]:
    """The exact cost and the labels of a good clustering."""
    found = MultiStart().run(contraction, np.random.default_rng(0), affinity)
    clusterings = (root.labels, contraction.lift(found.labels))
    costs = [exact_cost(root.instance.points, labels) for labels in clusterings]
    best = int(costs[1] < costs[0])
    return costs[best], clusterings[best]


@given(SEEDS)
@examples(20, phases=PHASES)
def test_bounds_of_large_roots(seed):
    rng = np.random.default_rng(seed)
    root = random_large_root(rng)
    note(root.name)
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
    with patch.object(stars, "EXACT_ORDER", 10**6):
        _, with_all_arms = advanced(contraction, steps, 1)
    assert Fraction(max(*bounds, *with_all_arms)) <= cost

    certified = CertifiedBounding(SdpBounding(), root.instance.points).start(contraction, None)
    of_dual = safe_bound(run.relaxation, dual).value
    for evidence in SdpBounding().checkable(contraction, dual):
        checked = certified._checker_bound(evidence, 1.0)
        assert Fraction(checked) <= cost
        # Single precision moves what has not converged; margins are relative to all scatter.
        assert checked >= of_dual - 1e-4 * abs(of_dual) - 1e-9 * contraction.total

    cutoff = float(cost) * (1.0 + 1e-9)
    i, j = contraction.representatives[run.fixings(cutoff).apart].T
    assert (labels[i] != labels[j]).all() or Fraction(cutoff) <= cost


@given(SEEDS)
@examples(20, phases=PHASES)
def test_runs_on_large_roots_do_not_contradict_each_other(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    root = random_large_root(rng)
    note(root.name)
    gap, path = float(rng.choice([1e-4, 1e-6])), tmp_path_factory.mktemp("run") / "proof"
    one_node = SolverParameters(bounding="sdp", gap=gap, node_limit=1)
    timed = SolverParameters(
        bounding=str(rng.choice(["hybrid", "colgen"])), gap=gap, time_limit=10.0
    )
    results = [
        solve(root.instance, one_node),
        solve(root.instance, SolverParameters(bounding="sdp", gap=gap, node_limit=1, workers=2)),
        solve(root.instance, timed, certificate=path),
    ]
    assert results[0].objective == results[1].objective
    assert results[0].lower_bound == results[1].lower_bound
    costs = [exact_cost(root.instance.points, root.labels)]
    for result in results:
        event(f"{result.parameters['bounding']}: {result.status.value}")
        assert result.partition.is_feasible(root.instance)
        cost = exact_cost(root.instance.points, result.partition.labels)
        assert abs(Fraction(result.objective) - cost) <= Fraction(1e-9) * cost
        costs.append(cost)
    least = min(costs)
    for result, cost in zip(results, costs[1:], strict=True):
        assert Fraction(result.lower_bound) <= least * (1 + Fraction(1e-12))
        if result.status is SolutionStatus.OPTIMAL:
            assert cost - least <= cost * Fraction(gap + 1e-12)
    verdict = verify_certificate(path, root.instance)
    assert verdict.status == results[-1].status.value
    assert Fraction(verdict.lower_bound) <= least * (1 + Fraction(1e-12))

"""Contracts of all bounds of a node by prices: column generation, places, and the hybrid's stages.

Whatever part comes into play, on nodes of few blocks under any mixture of rules: bounds hold, they
end at the optimum if they say so, runs resume to the last bit, and the checker proves them again.
"""

import copy
import math
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.multi_start import MultiStart
from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.evidence import Enumerated, Lagrangian
from sdpbb.bounds.lagrangian.columns import known_columns
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.staged.methods import ColgenBounding, HybridBounding
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import with_limits
from sdpbb.problem import (
    Contraction,
    Infeasibility,
    Instance,
    MaximumSize,
    SoftCannotLinks,
    contract,
)
from sdpbb.problem.checker_rules import checker_rules
from sdpbb.problem.feasibility import find_feasible
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.archive.file import read_archive, write_archive
from sdpbb.search.result import SolutionStatus
from tests.any_instance import ForbiddenSets
from tests.bounds.lagrangian.brute_force import optimum
from tests.constants import (
    STAGES,
    constants,
)
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
HASTY = SdpParameters(max_iterations=40)
# Each way to bound a node: the method, and constants that are changed.
WAYS = {
    name: (ColgenBounding() if name.startswith("columns") else HybridBounding(HASTY), changed)
    for name, changed in STAGES.items()
}


def known_of(contraction: Contraction, seed: int) -> np.ndarray | None:
    """A known clustering, now and then none."""
    if seed % 3 == 0 or isinstance(find_feasible(contraction), Infeasibility):
        return None
    labels = MultiStart().run(contraction, np.random.default_rng(seed)).labels
    return labels if labels is not None and contraction.keeps(labels) else None


def assert_bounded(run, best: float, cutoff: float, contraction: Contraction) -> float:
    """The last bound; none on the way is above the optimum or falls, and clusterings are ones."""
    before, rounding = 0.0, 1e-11 * contraction.total + 1e-12 * abs(best)
    rounding = rounding if math.isfinite(rounding) else 0.0
    for _ in range(3000):
        progress = run.advance(cutoff)
        bound = progress.bound.value
        assert before <= bound
        assert bound <= best + rounding or bound <= cutoff <= best
        before, labels = bound, run.clustering()
        if labels is not None:
            assert sorted(np.unique(labels)) == list(range(contraction.k))
            assert contraction.keeps(labels)
            assert contraction.cost(labels) >= best - rounding
        if progress.stalled or bound >= cutoff:
            return bound
    raise AssertionError("the bounding does not end")


@pytest.mark.parametrize("name", WAYS)
def test_states_and_warm_starts_go_into_archives(tmp_path, name):
    """And what is read from there goes on as it would have."""
    method, changed = WAYS[name]
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(14, 2)), 4))
    assert isinstance(contraction, Contraction)
    labels = MultiStart().run(contraction, np.random.default_rng(0)).labels
    cutoff = 1.02 * contraction.cost(labels)
    with constants(changed):
        whole, left = (method.start(contraction, None, labels) for _ in range(2))
        for number in range(40):
            # Children are begun after a step at the earliest.
            warm_start = left.warm_start() if left.n_iterations else None
            write_archive(tmp_path / str(number), (left, warm_start))
            state, warm_start = read_archive(tmp_path / str(number))
            left = method.resume(contraction, state)
            one, other = whole.advance(cutoff), left.advance(cutoff)
            assert one == other
            assert np.array_equal(whole.affinity(), left.affinity())
            if one.stalled or one.bound.value >= cutoff:
                break
        child = method.start(contraction, warm_start)
        assert child.advance(cutoff).bound.value <= cutoff


def without_triples(triples) -> Instance:
    """Points on a line; no cluster holds all of a triple."""
    sets = list(triples)
    n = 1 + max(max(x) for x in sets)
    constraint = ForbiddenSets(tuple(map(frozenset, sets)))
    return Instance(np.arange(float(n))[:, None], 2, cluster_constraints=[constraint])


BLOCKS_OF_THREE = [(i, j) for i in range(15) for j in (3 * (i // 3),) if i != j]
# Two clusters hold two of five blocks, or points, each: the pairs do not show it.
INFEASIBLE = {
    "size": Instance(
        np.arange(15.0)[:, None],
        2,
        must_link=BLOCKS_OF_THREE,
        cluster_constraints=[MaximumSize(8)],
    ),
    "custom": without_triples(combinations(range(5), 3)),
}


@pytest.mark.parametrize("name", [name for name in WAYS if "columns" in name])
@pytest.mark.parametrize("of", INFEASIBLE)
@pytest.mark.parametrize("cutoff", [math.inf, 10.0])
def test_a_node_without_a_clustering_is_proven_to_have_none(name, of, cutoff):
    contraction = contract(INFEASIBLE[of])
    assert isinstance(contraction, Contraction)
    method, changed = WAYS[name]
    with constants(changed):
        bound = assert_bounded(method.start(contraction, None), math.inf, cutoff, contraction)
    assert bound == math.inf or bound >= cutoff or "few" in name or "given up" in name


def checked_bound(instance: Instance, contraction: Contraction, evidence) -> float:
    """The bound that the checker proves from evidence."""
    n, k = instance.n_points, instance.k
    rules = with_limits(checker_rules(instance), n, k)
    blocks = Blocks(k, contraction.block_of, contraction.adjacency, rules)
    geometry = Geometry.of(instance.points).contracted(contraction.block_of)
    return float(evidence.bound(geometry, blocks))


PROVING = [
    "columns in short slices",
    "columns without enumeration",
    "places",
    "places within limits",
]


def proven(name: str, instance: Instance) -> tuple[Contraction, list[ProvenBound]]:
    """A node, and its bounds with prices as their evidence."""
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    method, changed = WAYS[name]
    known, bounds = known_of(contraction, 1), []
    best = optimum(contraction)
    if known is None or contraction.n_blocks <= contraction.k:
        return contraction, []
    with constants(changed):
        run, progress = method.start(contraction, None, known), None
        while progress is None or not (progress.stalled or progress.bound.value >= 1.2 * best):
            progress = run.advance(1.2 * best)
            if isinstance(progress.bound.evidence, (Lagrangian, Enumerated)):
                bounds.append(progress.bound)
    return contraction, bounds


@pytest.mark.long
@given(SEEDS, st.sampled_from(PROVING))
@examples(40, derandomize=True)
def test_the_checker_proves_each_bound_and_nothing_false(seed, name):
    rng = np.random.default_rng(seed)
    points, k = rng.normal(size=(int(rng.integers(6, 9)), 2)), int(rng.integers(2, 4))
    limits = {"max_size": int(rng.integers(4, 6))} if rng.random() < 0.5 else {}
    instance = Instance(points, k, [(0, 1)], [(1, 2), (3, 4)], **limits)
    contraction, bounds = proven(name, instance)
    best = optimum(contraction)
    for bound in bounds:
        found = checked_bound(instance, contraction, bound.evidence)
        assert found == pytest.approx(bound.value, rel=1e-9, abs=1e-9)
        for factor in (0.5, 1.5):
            prices = factor * bound.evidence.prices
            with suppress(Rejected):
                forged = checked_bound(
                    instance, contraction, replace(bound.evidence, prices=prices)
                )
                assert forged <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("name", PROVING)
def test_the_checker_rejects_that_no_cluster_is_worth_its_price(name):
    points = np.random.default_rng(2).normal(size=(8, 2))
    instance = Instance(points, 3, [(0, 1)], [(1, 2), (3, 4)])
    contraction, bounds = proven(name, instance)
    evidence = bounds[-1].evidence
    assert evidence.least < 0.0
    with pytest.raises(Rejected):
        checked_bound(instance, contraction, replace(evidence, least=0.0))


def test_what_is_known_may_violate_the_constraints():
    """Only the allowed ones of its clusters become columns."""
    instance = Instance(np.arange(6.0)[:, None], 2, cluster_constraints=[MaximumSize(3)])
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    columns = known_columns(contraction, np.array([0, 0, 1, 1, 1, 1]))
    assert columns.members.tolist() == [[True, True, False, False, False, False]]
    assert len(known_columns(contraction, None)) == 0


def test_a_copy_of_a_run_is_left_alone_by_it():
    contraction = contract(Instance(np.random.default_rng(1).normal(size=(12, 2)), 4))
    assert isinstance(contraction, Contraction)
    run = ColgenBounding().start(contraction, None)
    before = copy.deepcopy(run)
    first = run.advance(math.inf)
    assert before.columns.n_iterations == 0
    assert ColgenBounding().resume(contraction, before).advance(math.inf) == first


def test_costs_too_far_apart_for_simplex_do_not_end_the_run():
    # HiGHS ends a master programme as "Unknown": after unscaling, a dual value is out of tolerance.
    rng = np.random.default_rng(40)
    n = int(rng.integers(8, 15))
    points = rng.normal(size=(n, 2))
    points[0] += 10.0 ** rng.integers(6, 15)
    soft = [pair for pair in combinations(range(n), 2) if rng.random() < 0.3]
    instance = Instance(points, 3, cluster_constraints=(SoftCannotLinks(soft, 2),))
    result = solve(instance, SolverParameters(bounding="colgen"))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solve(instance).objective, rel=1e-9)

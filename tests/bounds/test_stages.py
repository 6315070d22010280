"""Which stages bound a node, and what one takes from another."""

import math
import pickle
from itertools import groupby
from typing import get_args

import numpy as np
import pytest

from heuristics.incumbents import MultiStart
from sdpbb.bounds.bound import BoundingMethod
from sdpbb.bounds.lagrangian import reach
from sdpbb.bounds.lagrangian.reach import Reach, is_for_places
from sdpbb.bounds.registry import BOUNDING_METHODS, Bounding, bounding_method
from sdpbb.bounds.sdp.bounding import MOST_CONIC, SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.staged.methods import HYBRID_STAGES, ColgenBounding, HybridBounding
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Instance
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.result import SolutionStatus
from tests.bounds.nodes import contracted, ended
from tests.constants import (
    ALL_COLUMNS,
    AT_PLACES,
    FEW_COLUMNS,
    HARD,
    MAX_TRIED_STEPS,
    NO_ENUMERATION,
    NODES_PER_SLICE,
    STAGES,
    constants,
)
from tests.enumeration import optimum

MAX_FAR_STEPS, FAR_GAP = "bounds.staged.methods.MAX_FAR_STEPS", "bounds.staged.run.FAR_GAP"
FOR_PLACES = "bounds.lagrangian.reach.FOR_PLACES"
HASTY = SdpParameters(max_iterations=40)
NAMES = list(dict.fromkeys(stage.name for stage in HYBRID_STAGES))
PLACES, CLUSTERS_OF_PLACES, EASY_COLUMNS, RELAXATION, ENUMERATION, COLUMNS = NAMES


def test_the_table_of_stages_has_their_order():
    rows = [row.split(" | ")[0] for row in reach.__doc__.split("\n| ")]
    assert rows[3:] == NAMES


def cloud(n: int, k: int) -> Contraction:
    return contracted(np.random.default_rng(1).normal(size=(n, 2)), k)


def best_cost(contraction: Contraction) -> float:
    return MultiStart().run(contraction, np.random.default_rng(0)).cost


def test_until_it_stalls_it_is_the_semidefinite_bound():
    contraction = cloud(20, 3)
    cutoff = 1.3 * best_cost(contraction)
    with constants(HARD):
        run, other = (m(HASTY).start(contraction, None) for m in (HybridBounding, SdpBounding))
    for _ in range(2):
        assert run.advance(cutoff).bound == other.advance(cutoff).bound
    assert np.array_equal(run.fixings(cutoff).apart, other.fixings(cutoff).apart)
    assert np.array_equal(run.affinity(), other.affinity())


@pytest.mark.parametrize(
    ("name", "without_cutoff", "with_cutoff"),
    [
        ("hybrid", [EASY_COLUMNS], [EASY_COLUMNS]),
        ("easy columns", [EASY_COLUMNS], [EASY_COLUMNS]),
        (
            "easy columns given up",
            [EASY_COLUMNS, RELAXATION, COLUMNS],
            [EASY_COLUMNS, RELAXATION, ENUMERATION],
        ),
        ("relaxation", [RELAXATION, COLUMNS], [RELAXATION, ENUMERATION, COLUMNS]),
        ("relaxation, enumeration", [RELAXATION, COLUMNS], [RELAXATION, ENUMERATION]),
        ("relaxation, columns", [RELAXATION, COLUMNS], [RELAXATION, ENUMERATION, COLUMNS]),
        ("relaxation, a few columns", [RELAXATION, COLUMNS], [RELAXATION, ENUMERATION]),
        ("all stages", [RELAXATION, COLUMNS], [RELAXATION, ENUMERATION, COLUMNS]),
    ],
)
def test_which_stages_a_node_goes_through(name, without_cutoff, with_cutoff):
    """And which its children skip: what was given up, easy columns unless it ended with them."""
    contraction, changed = cloud(24, 4), STAGES[name]
    best = best_cost(contraction)
    for cutoff, expected in ((math.inf, without_cutoff), (best * (1 - 1e-9), with_cutoff)):
        with constants(changed):
            run, stages, progress = HybridBounding(HASTY).start(contraction, None), [], None
            while progress is None or not (progress.stalled or progress.bound.value >= cutoff):
                stages.append(run.current.name)
                progress = run.advance(cutoff)
        assert [stage for stage, _ in groupby(stages)] == expected
        skipped = {PLACES} if expected[-1] == EASY_COLUMNS else {PLACES, EASY_COLUMNS}
        if MAX_TRIED_STEPS in changed and expected[-1] == COLUMNS:
            skipped.add(COLUMNS)
        assert set(run.warm_start().skipped) == skipped


def test_places_come_first_where_blocks_are_many_in_few_dimensions():
    """They need a clustering, or prices of a parent. No other part begins."""
    contraction, bounding = cloud(40, 4), HybridBounding()
    labels = MultiStart().run(contraction, np.random.default_rng(0)).labels
    cutoff = contraction.cost(labels)
    with constants({FOR_PLACES: (Reach(blocks=41),)}):
        assert not bounding.is_quick(contraction)
    with constants({FOR_PLACES: (Reach(blocks=40),)}):
        assert bounding.is_quick(contraction)
        run = bounding.start(contraction, None, labels)
        progress = ended(run, cutoff)
        child = bounding.start(contraction, run.warm_start())
        for of in (run, child):
            assert of.places is not None
            assert of.relaxed is of.columns is of.inherited.relaxation is None
        assert child.advance(cutoff).bound.value >= progress.bound.value * (1.0 - 1e-3)
        assert bounding.start(contraction, None).places is None


@constants(AT_PLACES)
def test_prices_of_places_prove_no_more_to_an_enumeration_than_they_did():
    """The enumeration begins with a bound that allows for their rounding, too."""
    rng = np.random.default_rng(0)
    contraction = contracted(
        1e3 * rng.normal(size=(120, 2)), 8, [(i, i + 1) for i in range(0, 80, 2)]
    )
    labels = MultiStart().run(contraction, rng).labels
    run = HybridBounding().start(contraction, None, labels)
    while run.enumeration is None:
        assert not run.advance(contraction.cost(labels)).stalled
    assert run.enumeration.bound.value <= run.places.bound.value


def test_memory_is_that_of_all_stages_that_a_node_may_come_to():
    """Columns follow places if clusters are small; the relaxation follows slow columns."""
    points, hybrid = np.random.default_rng(0).uniform(size=(1000, 2)), HybridBounding()
    few, many = (contracted(points, k) for k in (10, 200))
    assert all(is_for_places(contraction) for contraction in (few, many))
    relaxation = hybrid.sdp.mebibytes(many)
    assert hybrid.mebibytes(few) < relaxation < hybrid.mebibytes(many)


@constants({**NO_ENUMERATION, **HARD, **ALL_COLUMNS})
def test_columns_go_on_from_the_dual_values_of_the_relaxation():
    """Their first prices prove nearly what the relaxation has, which singletons alone do not."""
    contraction = cloud(40, 8)
    run = HybridBounding(SdpParameters(max_iterations=200)).start(contraction, None)
    while run.columns is None:
        relaxed = run.advance(math.inf).bound.value
    first = run.semidefinite_duals()
    assert first.value(contraction.k) >= 0.9 * relaxed
    assert np.array_equal(run.columns.master.centre, first.prices)
    assert ended(run).bound.value >= relaxed


@pytest.mark.parametrize(
    ("changed", "most"),
    [
        ({MAX_TRIED_STEPS: 3}, 3),
        ({MAX_TRIED_STEPS: 6, MAX_FAR_STEPS: 3, FAR_GAP: 0.0}, 3),
        ({MAX_TRIED_STEPS: 6, MAX_FAR_STEPS: 3, FAR_GAP: 1.0}, 6),
    ],
    ids=["for a while", "hopeless", "hopeful"],
)
def test_large_clusters_are_tried_for_a_while_and_once_a_tree(changed, most):
    contraction, bounding = cloud(40, 4), HybridBounding(SdpParameters(max_iterations=60))
    with constants({**HARD, **FEW_COLUMNS, **changed}):
        run, n_steps = bounding.start(contraction, None), 0
        while not run.advance(math.inf).stalled:
            n_steps += run.columns is not None
        assert n_steps == most + 1  # and the one that begins
        assert run.columns is None
        child = bounding.start(contraction, run.warm_start())
        while not child.advance(math.inf).stalled:
            assert child.columns is None


@pytest.mark.parametrize("most", [1, 3])
def test_exact_pricing_of_an_enumeration_is_given_up_after_so_many_slices(most):
    """Resumed or not: runs on subsets ask for fewer."""
    contraction, bounding = cloud(24, 4), HybridBounding(HASTY, most)
    cutoff = best_cost(contraction) * (1 - 1e-9)
    with constants({**HARD, NODES_PER_SLICE: 1}):
        run = bounding.start(contraction, None)
        while ENUMERATION not in run.skipped:
            assert not run.advance(cutoff).stalled
            run = pickle.loads(pickle.dumps(run)).attach(contraction, bounding)
    assert run.enumeration.n_slices == most


@pytest.mark.parametrize("part", ["generation.Generation", "enumeration.Enumeration"])
def test_what_a_linear_programming_solver_cannot_do_others_can(part, monkeypatch):
    def fail(self, *arguments):
        raise BackendFailure("HiGHS: Unknown")

    rng = np.random.default_rng(1)
    solve(Instance(rng.normal(size=(9, 2)), 3))  # kernels are loaded by what is to fail
    monkeypatch.setattr(f"sdpbb.bounds.lagrangian.{part}.advance", fail)
    for k in (2, 3):
        instance = Instance(rng.normal(size=(9, 2)), k, [], [(0, 1), (1, 2)])
        result = solve(instance, SolverParameters(gap=1e-9))
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(optimum(instance))
    monkeypatch.setattr("sdpbb.bounds.lagrangian.generation.Generation.advance", fail)
    with pytest.raises(BackendFailure):
        ColgenBounding().start(cloud(9, 3), None).advance(math.inf)


@pytest.mark.parametrize("name", BOUNDING_METHODS)
def test_a_method_takes_the_parameters_of_the_semidefinite_bound(name):
    assert get_args(Bounding) == tuple(BOUNDING_METHODS)
    conic = SdpParameters(solver="clarabel")
    made = bounding_method(name, conic)
    assert isinstance(made, BoundingMethod)
    assert made.most_blocks_here == MOST_CONIC < bounding_method(name).most_blocks_here
    relaxation = made if isinstance(made, SdpBounding) else made.sdp
    assert relaxation.parameters is conic

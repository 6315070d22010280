"""Nodes bounded by column generation, against all their clusterings."""

import math
import pickle
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.bound import BoundRun, ProvenBound
from sdpbb.bounds.colgen.bounding import ColgenBounding, ColgenRun, known_columns
from sdpbb.bounds.method import BoundingMethod
from sdpbb.problem import (
    Contraction,
    Infeasibility,
    Instance,
    MaximumSize,
    SoftCannotLinks,
    contract,
)
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.archive.file import read_archive, write_archive
from sdpbb.search.result import SolutionStatus
from tests.constants import GENEROUS, HARD, NO_ENUMERATION, NODES_PER_SLICE, constants
from tests.constrained import (
    ForbiddenSets,
    all_of,
    any_of,
    constrained_instance,
    custom,
    first_contraction,
    maximum_diameter,
    maximum_overlap,
    maximum_size,
    minimum_difference,
    soft_cannot_links,
)
from tests.enumeration import feasible_clusterings, sums_of_squares
from tests.examples import examples

SEEDS = st.integers(0, 10**6)
KINDS = st.sampled_from(
    [
        (),
        (),
        (maximum_size,),
        (maximum_diameter,),
        (maximum_overlap,),
        (minimum_difference,),
        (soft_cannot_links,),
        (all_of,),
        (any_of,),
        (custom,),
        (custom, maximum_size),
    ]
)
SHORT = {NODES_PER_SLICE: 7, **GENEROUS}
# Constants that are changed; the enumeration of SHORT always ends a node with a cutoff.
ENGINES = {
    "as it is": {},
    "in short slices": SHORT,
    "without enumeration": NO_ENUMERATION,
    "from the semidefinite bound": {**HARD, "bounds.colgen.bounding.CENTRE_ITERATIONS": 40},
}
NO_CLUSTERING = ProvenBound(math.inf)


@dataclass(frozen=True)
class Node:
    """An instance with decisions, the contraction of these, and the truth about it."""

    instance: Instance
    must_link: tuple[tuple[int, int], ...] = ()
    cannot_link: tuple[tuple[int, int], ...] = ()

    def costs(self) -> np.ndarray:
        """Of all clusterings that keep the constraints and the decisions."""
        labels = feasible_clusterings(self.instance)
        keep = np.ones(len(labels), bool)
        for i, j in self.must_link:
            keep &= labels[:, i] == labels[:, j]
        for i, j in self.cannot_link:
            keep &= labels[:, i] != labels[:, j]
        return sums_of_squares(self.instance.points, labels[keep])

    @property
    def optimum(self) -> float:
        """inf if there is none."""
        return float(self.costs().min(initial=math.inf))

    def children(self, parent: Contraction, rng) -> list[tuple["Node", Contraction]]:
        """Of a pair of points in different blocks that are not cannot-linked; not those that are
        seen to hold nothing, or one clustering only, which are not bounded."""
        open_pairs = np.argwhere(np.triu(~parent.adjacency, 1))
        if not len(open_pairs):
            return []
        pair = tuple(parent.representatives[open_pairs[rng.integers(len(open_pairs))]].tolist())
        together = Node(self.instance, (*self.must_link, pair), self.cannot_link)
        apart = Node(self.instance, self.must_link, (*self.cannot_link, pair))
        made = [
            (node, contract(self.instance, node.must_link, node.cannot_link, parent.block_of))
            for node in (together, apart)
        ]
        for node, contraction in made:
            if isinstance(contraction, Infeasibility):
                assert node.optimum == math.inf
        return [(node, made_of) for node, made_of in made if is_to_be_bounded(made_of)]


def is_to_be_bounded(contraction: Contraction | Infeasibility) -> bool:
    """Whether a node may hold more than one clustering."""
    return isinstance(contraction, Contraction) and contraction.n_blocks > contraction.k


def drawn_node(seed: int, kinds, n_max: int = 8) -> tuple[Node, Contraction]:
    rng = np.random.default_rng(seed)
    instances = (constrained_instance(rng, kinds, n_max=n_max) for _ in range(1000))
    open_ones = (instance for instance in instances if is_to_be_bounded(contract(instance)))
    instance, contraction = first_contraction(open_ones, n_max)
    return Node(instance), contraction


def rounding_of(contraction: Contraction) -> float:
    """Of the enumeration's sums of squares, not of the bounds'."""
    return 1e-13 * contraction.total


def drawn_cutoff(best: float, contraction: Contraction, rng) -> float:
    """Without an incumbent, with a worse one, with the best one, and with one that is too good."""
    if math.isinf(best):
        return float(rng.choice([math.inf, contraction.total]))
    unit = 1e-6 * contraction.total
    return float(rng.choice([math.inf, 1.3 * best + unit, best * (1 - 1e-12), 0.9 * best]))


def bounded(
    run: BoundRun, best: float, cutoff: float, contraction: Contraction, max_steps: int = 3000
) -> float:
    """The last bound of a run that is over; none on the way is above the optimum, or falls."""
    before = 0.0
    for _ in range(max_steps):
        progress = run.advance(cutoff)
        assert progress.bound.value <= best + rounding_of(contraction)
        assert progress.bound.value >= before
        before = progress.bound.value
        assert_clustering_is_one(run, best, contraction)
        if progress.stalled or before >= cutoff or progress.bound == NO_CLUSTERING:
            return before
    raise AssertionError("the bounding does not end")


def assert_clustering_is_one(run: BoundRun, best: float, contraction: Contraction) -> None:
    labels = run.clustering()
    if labels is None:
        return
    assert sorted(np.unique(labels)) == list(range(contraction.k))
    assert contraction.keeps(labels)
    assert contraction.cost(labels) >= best - rounding_of(contraction)


def assert_the_same_when_left(
    bounding: BoundingMethod, contraction: Contraction, cutoff: float, max_steps: int = 300
) -> None:
    """A run that is left after every step, its state pickled, has the same bounds to the last
    bit."""
    whole, left = bounding.start(contraction, None), bounding.start(contraction, None)
    for _ in range(max_steps):
        one, other = whole.advance(cutoff), left.advance(cutoff)
        assert one == other
        left = bounding.resume(contraction, pickle.loads(pickle.dumps(left.state)))
        assert np.array_equal(left.affinity(), whole.affinity())
        assert left.n_iterations == whole.n_iterations
        labels = whole.clustering()
        assert (left.clustering() is None) == (labels is None)
        assert labels is None or np.array_equal(left.clustering(), labels)
        if one.stalled or one.bound.value >= cutoff:
            break


def assert_children_are_bounded(
    bounding: BoundingMethod, parent: tuple[Node, Contraction], rng, is_exact: bool
) -> None:
    """From the parent's warm start, and from that of the child in turn."""
    node, contraction = parent
    best = node.optimum
    run = bounding.start(contraction, None)
    bounded(run, best, drawn_cutoff(best, contraction, rng), contraction)
    level = [(node, contraction, run)]
    for _ in range(2):
        above, level = level, []
        for node, contraction, run in above:
            warm_start = pickle.loads(pickle.dumps(run.warm_start()))
            for child, blocks in node.children(contraction, rng):
                best = child.optimum
                cutoff = drawn_cutoff(best, blocks, rng)
                run = bounding.start(blocks, warm_start)
                bound = bounded(run, best, cutoff, blocks)
                level.append((child, blocks, run))
                if is_exact and math.isfinite(cutoff):
                    assert bound >= min(best, cutoff) * (1 - 1e-8) - 1e-11 * blocks.total


@pytest.mark.long
@given(SEEDS, KINDS, st.sampled_from(list(ENGINES)))
@examples(90, derandomize=True)
def test_no_bound_on_the_way_is_above_the_optimum(seed, kinds, name):
    node, contraction = drawn_node(seed, kinds)
    best, rng = node.optimum, np.random.default_rng(seed)
    cutoff = drawn_cutoff(best, contraction, rng)
    with constants(ENGINES[name]):
        run = ColgenBounding().start(contraction, None)
        bound = bounded(run, best, cutoff, contraction)
    if math.isinf(best):
        assert bound == math.inf or math.isfinite(cutoff)
    if ENGINES[name] is SHORT and math.isfinite(cutoff):
        assert bound >= min(best, cutoff) * (1 - 1e-8) - 1e-11 * contraction.total


@pytest.mark.long
@given(SEEDS, KINDS)
@examples(30, derandomize=True)
def test_a_known_clustering_changes_nothing_that_is_proven(seed, kinds):
    node, contraction = drawn_node(seed, kinds, n_max=7)
    labels = feasible_clusterings(node.instance)
    if not len(labels):
        return
    rng = np.random.default_rng(seed)
    known = labels[rng.integers(len(labels))][contraction.representatives]
    assert len(known_columns(contraction, known)) == contraction.k
    best = node.optimum
    cutoff = 1.3 * best + 1e-6 * contraction.total
    with constants(SHORT):
        run = ColgenBounding().start(contraction, None, known)
        bound = bounded(run, best, cutoff, contraction)
    assert bound >= best * (1 - 1e-8) - 1e-11 * contraction.total


def test_what_is_known_may_violate_the_constraints():
    """Only the allowed ones of its clusters become columns."""
    instance = Instance(np.arange(6.0)[:, None], 2, cluster_constraints=[MaximumSize(3)])
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    columns = known_columns(contraction, np.array([0, 0, 1, 1, 1, 1]))
    assert columns.members.tolist() == [[True, True, False, False, False, False]]
    assert len(known_columns(contraction, None)) == 0


@pytest.mark.long
@given(SEEDS, KINDS, st.sampled_from(list(ENGINES)))
@examples(40, derandomize=True)
def test_children_start_from_what_their_parent_knows(seed, kinds, name):
    rng, parent = np.random.default_rng(seed), drawn_node(seed, kinds, n_max=7)
    with constants(ENGINES[name]):
        assert_children_are_bounded(ColgenBounding(), parent, rng, ENGINES[name] is SHORT)


@pytest.mark.long
@given(SEEDS, KINDS, st.sampled_from(list(ENGINES)))
@examples(40, derandomize=True)
def test_leaving_a_run_changes_no_bit(seed, kinds, name):
    node, contraction = drawn_node(seed, kinds, n_max=7)
    cutoff = drawn_cutoff(node.optimum, contraction, np.random.default_rng(seed))
    with constants(ENGINES[name]):
        assert_the_same_when_left(ColgenBounding(), contraction, cutoff)


@constants(SHORT)
def test_states_and_warm_starts_go_into_archives(tmp_path):
    """And what is read from there goes on as it would have."""
    points = np.random.default_rng(0).normal(size=(14, 2))
    contraction = contract(Instance(points, 4, cluster_constraints=[MaximumSize(4)]))
    assert isinstance(contraction, Contraction)
    bounding = ColgenBounding()
    run = bounding.start(contraction, None)
    cutoff = 4.2  # somewhat above the value of the master programme
    path = tmp_path / "state"
    kinds = set()
    for _ in range(3000):
        state = run.state
        searches = state.pricer.search is not None
        kind = (searches, state.enumeration is not None)
        if kind not in kinds:  # each phase once
            kinds.add(kind)
            write_archive(path, (state, run.warm_start()))
            state, warm_start = read_archive(path)
            assert isinstance(bounding.start(contraction, warm_start), ColgenRun)
            run = bounding.resume(contraction, state)
            path.unlink()
        progress = run.advance(cutoff)
        if progress.stalled:
            break
    assert progress.stalled
    assert {(False, False), (True, False), (False, True)} <= kinds
    assert_the_same_when_left(bounding, contraction, cutoff, 20)


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


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", INFEASIBLE)
@pytest.mark.parametrize("cutoff", [math.inf, 10.0])
def test_what_holds_no_clustering_is_proven_to(engine, name, cutoff):
    contraction = contract(INFEASIBLE[name])
    assert isinstance(contraction, Contraction)
    with constants(ENGINES[engine]):
        run = ColgenBounding().start(contraction, None)
        assert bounded(run, math.inf, cutoff, contraction) == math.inf


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

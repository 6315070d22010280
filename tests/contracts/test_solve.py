"""Contract of `solve`: its answer is the answer of enumeration, however the run goes."""

import os
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sdpbb
from tests.any_instance import ForbiddenSets, any_instance
from tests.checker.forged import assert_verdict_true, forged
from tests.contracts.runs import Way, assert_proven, assert_true, ways
from tests.enumeration import Truth
from tests.examples import examples

LINE = np.arange(9.0)[:, None]
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
SEVEN = np.random.default_rng(0).normal(size=(7, 2))
# Three clusters of eight points have seven pairs at least; each may hold two of them.
PIGEONS = [(i, j) for i in range(8) for j in range(i)]


def instance(points, k, **more):
    return sdpbb.Instance(np.asarray(points, float), k, as_points=True, **more)


NINE = np.random.default_rng(1).normal(size=(9, 2))
GROUPS = np.repeat([[0.0, 1.0], [5.0, 2.0], [7.0, -3.0]], 3, axis=0)
CLIQUE = list(combinations(range(4), 2))
LINES = [frozenset(line) for line in FANO]
# What has been wrong once, or nearly.
EXAMPLES = {
    "all points equal": instance(np.ones((6, 2)), 3, max_size=2),
    "all points zero": instance(np.zeros((6, 2)), 2),
    "a clustering that costs nothing": instance(GROUPS, 3, max_size=3),
    "as many clusters as points": instance(LINE, 9),
    "one cluster": instance(LINE, 1, max_size=9),
    "pairs that leave a choice": instance(
        LINE, 3, must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3)]
    ),
    "an outlier": instance([[0.0], [1e-9], [1.0], [1.0 + 1e-9], [3.0], [1e6]], 5),
    "an outlier at the end of precision": instance([[0.0], [1e-9], [1.0], [3.0], [1e17]], 3),
    "differences at the end of precision": instance([[0.0], [1.0], [2.0 + 1e-14]], 2),
    "no difference": instance([[0.0], [1.0], [2.0 + 3e-16]], 2),
    "far from the origin": instance(NINE + 1e6, 3),
    "more coordinates than points": instance(np.random.default_rng(0).normal(size=(7, 40)), 3),
    "the smallest unit": instance(NINE * 1e-99, 3, cannot_link=[(0, 1), (1, 2)]),
    "the largest unit": instance(NINE * 1e99, 3, cannot_link=[(0, 1), (1, 2)]),
    "a clique": instance(LINE, 3, cannot_link=CLIQUE),
    "a contradiction": instance(LINE, 3, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)]),
    "a diameter": instance(LINE, 3, cluster_constraints=[sdpbb.MaximumDiameter(1.0)]),
    "too small clusters": instance(LINE, 2, max_size=4),
    "too little overlap": instance(
        LINE, 2, cluster_constraints=[sdpbb.MaximumOverlap(range(5), 2)]
    ),
    "too little difference": instance(
        LINE, 2, cluster_constraints=[sdpbb.MinimumDifference([0], 3)]
    ),
    "a block that is not allowed": instance(
        LINE, 4, must_link=[(0, 1)], cluster_constraints=[sdpbb.SoftCannotLinks([(0, 1)], 0)]
    ),
    "the Fano plane": instance(SEVEN, 2, cluster_constraints=[ForbiddenSets(tuple(LINES))]),
    "a line less": instance(SEVEN, 2, cluster_constraints=[ForbiddenSets(tuple(LINES[1:]))]),
    "pigeons": instance(NINE[:8], 3, cluster_constraints=[sdpbb.SoftCannotLinks(PIGEONS, 2)]),
    "soft pairs of equal points": instance(
        np.zeros((4, 1)), 2, soft_cannot_link=[(0, 1, 1.0), (2, 3, 2.0)]
    ),
    "a light soft pair": instance([[0.0], [0.1], [10.0], [10.1]], 2, soft_must_link=[(0, 2, 1.0)]),
    "a heavy soft pair": instance([[0.0], [0.1], [10.0], [10.1]], 2, soft_must_link=[(0, 2, 1e4)]),
    "a limit that says nothing": instance([[0.1], [0.3], [-1.0], [1.5], [1.5]], 3, max_size=5),
    "the lightest point weighs as much as itself": instance(
        [[0.0], [50.0], [1.0], [2.0]],
        4,
        weights=[1.5118216247002567, 1.9504636963259352, 1.1441596127196338, 5.845948e-09],
        min_weight=5.845948e-09,
    ),
    "any point is as heavy as the lightest": instance(
        NINE, 4, weights=np.arange(9.0) + 1.5, min_weight=1.5, max_weight=20.0
    ),
    "weights of many scales": instance(NINE, 3, weights=10.0 ** np.arange(-4.0, 5.0)),
}
WAYS = [
    Way(),
    Way("sdp", 1e-9),
    Way("sdp", hasty=True),
    Way("colgen", 1e-9),
    Way(steps="branching", hasty=True),
    Way("decomposition"),
    Way(certified=True),
    Way("colgen", certified=True),
    Way("sdp", solver="clarabel"),
    Way("sdp", steps="one round", solver="scs"),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(tmp_path, name):
    for way in WAYS:
        if way.refusal(EXAMPLES[name]) is None:
            check_answer(EXAMPLES[name], way, tmp_path)


@given(any_instance(), ways())
@examples(150)
def test_the_answer_is_the_one_of_enumeration(tmp_path_factory, instance, way):
    check_run(instance, way, tmp_path_factory.mktemp("run"))


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="starts a process for each worker")
@given(
    any_instance(n=(8, 9), k=(3, 4), d=(2, 3)),
    st.one_of(ways(workers=2), ways(workers=2, bounding="sdp", hasty=True, fixing=False)),
)
@examples(20)
def test_two_workers_find_the_answer_of_enumeration(tmp_path_factory, instance, way):
    """Other processes evaluate all nodes. Most instances of the second strategy branch."""
    check_run(instance, way, tmp_path_factory.mktemp("run"))


def check_run(instance, way, folder):
    """The answer, or the refusal of what does not go together."""
    if (refusal := way.refusal(instance)) is None:
        check_answer(instance, way, folder)
    else:
        with pytest.raises(sdpbb.ParameterError, match=refusal):
            way.solve(instance, folder)
        assert not list(folder.iterdir())


def check_answer(instance, way, folder):
    """The optimum, or that there is none, with a proof if one was requested."""
    truth = Truth(instance)
    assert_proven(way.solve(instance, folder), truth, way.gap)
    if way.certified:
        verdict = sdpbb.verify_certificate(folder / "proof", instance)
        assert verdict.status == ("optimal" if truth.is_feasible else "infeasible")
        if truth.is_feasible:
            assert verdict.lower_bound <= truth.optimum * (1.0 + 1e-12)
            assert verdict.cost <= truth.optimum * (1.0 + way.gap) * (1.0 + 1e-9)


@given(any_instance(n=(4, 8)), ways(pauses=False, hasty=True), st.integers(1, 4))
@examples(40)
def test_a_node_limit_leaves_what_is_true(tmp_path_factory, instance, way, limit):
    assume(way.refusal(instance) is None)
    folder = tmp_path_factory.mktemp("run")
    result, truth = way.solve(instance, folder, node_limit=limit), Truth(instance)
    assert_true(result, truth)
    if way.certified:
        verdict = sdpbb.verify_certificate(folder / "proof", instance)
        assert verdict.status == result.status.value
        if result.objective is not None:
            # A run counts fixed pairs that its proof may do without.
            assert min(verdict.lower_bound, result.objective) >= result.lower_bound


@given(any_instance(n=(4, 8)), ways(pauses=True))
@examples(40)
def test_a_run_that_is_paused_ends_as_the_whole_run(tmp_path_factory, instance, way):
    assume(way.refusal(instance) is None)
    folders = [tmp_path_factory.mktemp("run") for _ in range(2)]
    whole = way._replace(pauses=False).solve(instance, folders[0])
    paused = way.solve(instance, folders[1])
    assert (paused.status, paused.partition) == (whole.status, whole.partition)
    assert (paused.objective, paused.lower_bound) == (whole.objective, whole.lower_bound)
    for count in ("n_nodes", "n_iterations", "root_lower_bound"):
        assert getattr(paused.statistics, count) == getattr(whole.statistics, count)
    if way.certified:
        proofs = [(folder / "proof").read_bytes() for folder in folders]
        assert proofs[0] == proofs[1]


@given(any_instance(n=(3, 7)), ways(certified=True, pauses=False), st.integers(0, 2**32 - 1))
@examples(25)
def test_a_certificate_that_is_changed_is_rejected_or_still_true(
    tmp_path_factory, instance, way, seed
):
    assume(way.refusal(instance) is None)
    folder = tmp_path_factory.mktemp("run")
    way.solve(instance, folder)
    data, rng = (folder / "proof").read_bytes(), np.random.default_rng(seed)
    truth, verdicts = Truth(instance).optimum, []
    for what, verdict in forged(data, instance, rng, 30):
        verdicts.append(verdict)
        if verdict is not None:
            assert_verdict_true(verdict, truth, what)
    assert None in verdicts

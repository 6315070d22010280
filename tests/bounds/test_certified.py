"""Bounds that count as far as the checker confirms them, and components that distances keep apart.

tests/contracts have that no more is confirmed than is true."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds import certified
from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.distance import components_apart
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.staged.methods import ColgenBounding, HybridBounding
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.checker_rules import stated_instance
from tests.any_instance import any_instance
from tests.archives import archived
from tests.enumeration import Truth

FAR = any_instance("equal points", always=["far groups"], far=17)


def same_evidence(one, other) -> bool:
    if one is other is None:
        return True
    pairs = ((value, vars(other)[name]) for name, value in vars(one).items())
    return type(one) is type(other) and all(
        np.array_equal(*pair) for pair in pairs if isinstance(pair[0], np.ndarray)
    )


class TimeUntilCheck:
    """Time that ends as soon as the checker is asked, and for as long as `ends` is true."""

    def __init__(self, monkeypatch) -> None:
        self.ends, self._is_checking = True, False
        for kind in (Lagrangian, Enumerated):
            for name in ("bound", "proves_infeasible"):
                if name in vars(kind):
                    monkeypatch.setattr(kind, name, self._watched(getattr(kind, name)))

    def _watched(self, judge):
        def watched(*arguments):
            self._is_checking = True
            try:
                return judge(*arguments)
            finally:
                self._is_checking = False

        return watched

    def __call__(self) -> float:
        return 0.0 if self.ends and self._is_checking else np.inf


@pytest.mark.parametrize("method", [ColgenBounding, HybridBounding])
@pytest.mark.parametrize("k", [3, 9])
def test_a_check_that_the_time_cuts_short_is_begun_anew(method, k, monkeypatch):
    points = np.random.default_rng(3).normal(size=(16, 2))
    instance = Instance(points, k, [(0, 1)], [(2, 3), (3, 4)])
    contraction, bounding = (
        contract(instance),
        CertifiedBounding(method(), stated_instance(instance)),
    )
    whole, run = (bounding.start(contraction, None) for _ in range(2))
    cutoff = 0.9 * sdpbb.solve(instance, gap=0.0).objective
    monkeypatch.setattr(certified, "LAST_SECONDS", 0.0)
    time_left, n_cut = TimeUntilCheck(monkeypatch), 0
    for _ in range(40):
        expected = whole.advance(cutoff)
        progress = run.advance(cutoff, time_left)
        if progress.is_cut:
            n_cut += 1
            assert progress.bound <= expected.bound
            assert not progress.stalled
            assert run.provisional() <= expected.bound
            run = archived(run).attach(contraction, bounding)
            time_left.ends = False
            progress = run.advance(cutoff, time_left)
        assert progress.bound == expected.bound
        assert same_evidence(progress.bound.evidence, expected.bound.evidence)
        if expected.stalled or expected.bound.value >= cutoff:
            break
    assert n_cut == 1
    assert expected.bound.value >= cutoff


def test_without_memory_for_its_matrices_the_checker_confirms_nothing():
    instance = Instance([[0.0], [1.0], [5.0]], 2, must_link=[(0, 1)])
    contraction, labels = contract(instance), np.array([0, 1])
    for fits_memory, scatter in ((True, 0.5), (False, 0.0)):
        bounding = CertifiedBounding(SdpBounding(), stated_instance(instance), fits_memory)
        assert bounding.scatter(contraction).value == pytest.approx(scatter)
        bound = bounding.cost_of_only(contraction, labels, instance)
        assert bound.value == pytest.approx(scatter)


@given(FAR, st.floats(1e-3, 2.0), st.data())
def test_no_cheaper_clustering_has_a_cluster_across(instance, part, data):
    contraction, truth = contract(instance), Truth(instance)
    cutoff = part * data.draw(st.sampled_from(truth.costs.tolist()))
    certified = CertifiedBounding(SdpBounding(), stated_instance(instance))
    for found in (
        components_apart(contraction, instance.points, cutoff, lambda: False, None),
        certified.components_apart(contraction, instance, cutoff, lambda: False)[0],
    ):
        components = contraction.lift(found)
        for labels in truth.labels[truth.costs < cutoff * (1.0 - 1e-15)]:
            for cluster in np.unique(labels):
                assert len(np.unique(components[labels == cluster])) == 1


@pytest.mark.parametrize(
    ("points", "pairs", "cutoff", "expected"),
    [
        # Only both together keep the last two from the others; 2 is near 0 through 1.
        ([0, 3, 6, 9, 12], {"cannot_link": [(2, 3)]}, 5.0, [0, 0, 0, 1, 1]),
        ([0, 3, 6, 9, 12], {}, 5.0, [0, 0, 0, 0, 0]),
        # Blocks count with their points and scatter: the three together cost 2 + 2 / 3 * 16.
        ([-1, 1, 4], {"must_link": [(0, 1)]}, 12.66, [0, 0, 1]),
        ([-1, 1, 4], {"must_link": [(0, 1)]}, 12.67, [0, 0, 0]),
    ],
)
def test_links_and_distances_add_up(points, pairs, cutoff, expected):
    points = np.array(points, float)[:, None]
    contraction = contract(Instance(points, 2, **pairs))
    found = components_apart(contraction, points, cutoff, lambda: False, None)
    assert found[contraction.block_of].tolist() == expected


def test_components_are_around_their_own_means():
    points = np.array([[0.0, 1.0], [2.0, 1.0], [1e17, 0.0], [1e17, 4.0], [1e17, 8.0]])
    contraction = contract(Instance(points, 3), components=np.array([0, 0, 1, 1, 1]))
    assert isinstance(contraction, Contraction)
    assert np.array_equal(contraction.means, [[-1, 0], [1, 0], [0, -4], [0, 0], [0, 4]])
    assert len(contraction.cannot_link) == 6
    assert contraction.total == 34.0

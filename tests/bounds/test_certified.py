"""Bounds that count as far as the checker confirms them."""

from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.bounds import certified
from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.staged.methods import ColgenBounding, HybridBounding
from sdpbb.checker.prices import Enumerated, Lagrangian
from sdpbb.problem import Instance, contract
from sdpbb.problem.contraction import Contraction
from sdpbb.runtime.archive.file import read_archive, write_archive

INNER = {"sdp": SdpBounding, "colgen": ColgenBounding, "hybrid": HybridBounding}


def small_instance(seed: int, n: int = 9) -> Instance:
    rng = np.random.default_rng(seed)
    return Instance(rng.normal(size=(n, 2)), 3, [(0, 1)], [(2, 3), (3, 4)])


def contracted(instance: Instance) -> Contraction:
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return contraction


def bounding_of(name: str, instance: Instance) -> CertifiedBounding:
    return CertifiedBounding(INNER[name](), instance.points)


def assert_same_evidence(one, other):
    assert type(one) is type(other)
    if one is not None:
        for name, value in vars(one).items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(value, vars(other)[name])


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


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
@pytest.mark.parametrize("k", [3, 9])
def test_a_check_that_the_time_cuts_short_is_begun_anew(name, k, monkeypatch, tmp_path):
    instance = replace(small_instance(3, n=16), k=k)
    contraction, bounding = contracted(instance), bounding_of(name, instance)
    whole = bounding.start(contraction, None)
    cutoff = 0.9 * sdpbb.solve(instance, gap=0.0).objective
    monkeypatch.setattr(certified, "LAST_SECONDS", 0.0)
    time_left, n_cut = TimeUntilCheck(monkeypatch), 0
    run = bounding.start(contraction, None)
    for _ in range(40):
        expected = whole.advance(cutoff)
        progress = run.advance(cutoff, time_left)
        if progress.is_cut:
            n_cut += 1
            assert progress.bound <= expected.bound
            assert not progress.stalled
            assert run.provisional() <= expected.bound
            write_archive(tmp_path / "state", run)
            run = bounding.resume(contraction, read_archive(tmp_path / "state"))
            time_left.ends = False
            progress = run.advance(cutoff, time_left)
        assert progress.bound == expected.bound
        assert_same_evidence(progress.bound.evidence, expected.bound.evidence)
        if expected.stalled or expected.bound.value >= cutoff:
            break
    assert n_cut == 1
    assert expected.bound.value >= cutoff


def test_without_memory_for_its_matrices_the_checker_confirms_nothing():
    instance = Instance([[0.0], [1.0], [5.0]], 2, must_link=[(0, 1)])
    contraction, labels = contracted(instance), np.array([0, 1])
    for fits_memory, scatter in ((True, 0.5), (False, 0.0)):
        bounding = CertifiedBounding(SdpBounding(), instance.points, (), fits_memory)
        assert bounding.scatter(contraction).value == pytest.approx(scatter)
        bound = bounding.cost_of_only(contraction, labels, instance)
        assert bound.value == pytest.approx(scatter)

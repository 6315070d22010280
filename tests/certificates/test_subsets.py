"""Certificates of runs that begin with subsets."""

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

import sdpbb
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.decomposition.subsets import restricted
from sdpbb.run.solver import resume, solve
from sdpbb.run.verification import verdict_on, verify_certificate
from tests.any_instance import drawn_instance
from tests.checker.make_vectors import WHEEL
from tests.checker.parts import Parts, loaded
from tests.decomposition.test_bound import PARAMETERS as TINY
from tests.decomposition.test_run import CLOUDS, MANY, PARAMETERS, clouds, left_early

# Of CLOUDS, so that four subsets prove it, and their proofs are in its certificate.
BY_SUBSETS = replace(PARAMETERS, gap=5e-3)


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A run of two clouds of subsets, its result, and its file."""
    path = tmp_path_factory.mktemp("subsets") / "proof"
    return solve(CLOUDS, BY_SUBSETS, certificate=path), path


def test_the_certificate_of_a_run_that_begins_with_subsets(certified):
    result, path = certified
    verdict = verify_certificate(path, CLOUDS)
    assert verdict.status == result.status.value == "optimal"
    assert verdict.lower_bound == result.lower_bound
    assert 2 <= verdict.n_subsets <= 8
    assert f"checked      {verdict.n_subsets} subsets, " in str(verdict)
    several = verify_certificate(path, CLOUDS, workers=3)
    assert replace(several, seconds=verdict.seconds) == verdict


def test_evidence_of_one_subset_proves_nothing_of_another(certified):
    _, path = certified

    def exchange(parts):
        first, second = parts.named_steps("subset")[:2]
        first.arrays, second.arrays = second.arrays, first.arrays

    def raise_a_bound(parts):
        parts.named_steps("bound")[0].words[1] *= 1.0 + 1e-6

    for change in (exchange, raise_a_bound):
        parts = Parts.of(path)
        change(parts)
        with pytest.raises(Rejected, match="subset 0"):
            verdict_on(loaded(parts.data), CLOUDS)


def test_links_and_rules_of_subsets(tmp_path):
    rng = np.random.default_rng(3)
    labels = np.arange(240) % 3
    pairs = rng.permutation(240).reshape(-1, 2)[:60]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    instance = replace(
        CLOUDS,
        must_link=pairs[same],
        cannot_link=pairs[~same],
        cluster_constraints=[sdpbb.MaximumSize(100), sdpbb.MaximumDiameter(40.0)],
    )
    path = tmp_path / "proof"
    result = solve(instance, replace(PARAMETERS, gap=0.1), certificate=path)
    verdict = verify_certificate(path, instance)
    assert verdict.status == result.status.value == "optimal"
    assert verdict.n_subsets > 1


def test_a_subset_without_a_clustering(tmp_path):
    points = np.random.default_rng(0).normal(size=(60, 2))
    instance = Instance(points, 3, cannot_link=WHEEL)
    path = tmp_path / "proof"
    solve(instance, TINY, certificate=path)
    assert verify_certificate(path, instance).status == "infeasible"


@pytest.mark.long
def test_a_run_that_goes_on_from_a_checkpoint(tmp_path, certified):
    path = tmp_path / "run"
    first = solve(MANY, PARAMETERS, *left_early(), checkpoint=path, certificate=tmp_path / "first")
    verdict = verify_certificate(tmp_path / "first", MANY)
    assert verdict.status == "feasible"
    assert verdict.lower_bound == first.lower_bound > 0.0
    saved = read_checkpoint(path).subsets
    assert saved is not None
    assert len(saved.best_proofs()) == verdict.n_subsets
    resume(path, certificate=tmp_path / "proof")
    assert verify_certificate(tmp_path / "proof", MANY).status == "optimal"
    # A run that has ended is certified again.
    resume(path, certificate=tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "proof").read_bytes()


def test_only_proofs_of_the_best_sum_are_kept(certified):
    rows = [step.arrays["rows"] for step in Parts.of(certified[1]).named_steps("subset")]
    together = np.concatenate(rows)
    assert len(np.unique(together)) == len(together) <= 240


def test_what_is_stated_of_the_points_of_a_subset_is_what_the_checker_sees():
    rng, n_soft = np.random.default_rng(5), 0
    for seed in range(150):
        parts = ("equal points", "pairs", "constraints", "soft pairs")
        instance = drawn_instance(Random(seed), *parts)
        contraction = contract(instance)
        rows = np.flatnonzero(rng.random(instance.n_points) < 0.7)
        if not isinstance(contraction, Contraction) or len(rows) < instance.k:
            continue
        part = restricted(instance, rows)
        whole, own = stated_instance(instance), stated_instance(part)
        with suppress(Rejected):
            (seen,) = whole.parts([rows])
            n_soft += len(seen.soft.must_link) + len(seen.soft.cannot_link)
            assert np.array_equal(seen.root.adjacency, own.root.adjacency)
            assert {**seen.digests, "rules": ""} == {**own.digests, "rules": ""}
    assert n_soft > 20


def test_evidence_that_has_no_place_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.run.decomposition.levels.LARGEST_FILE", 1e-3)
    monkeypatch.setattr(
        "sdpbb.run.decomposition.levels.evaluate", None
    )  # before anything is looked for
    with pytest.raises(ParameterError, match="the proof takes"):
        solve(CLOUDS, PARAMETERS, certificate=tmp_path / "proof")


def test_equal_points_of_subsets_are_joined(tmp_path):
    points = np.repeat(clouds(120).points, 2, axis=0)
    instance = Instance(points, 3, must_link=[(0, 7)], cannot_link=[(2, 11), (9, 30)])
    solve(instance, replace(PARAMETERS, gap=0.1), certificate=tmp_path / "proof")
    verdict = verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "optimal"
    assert verdict.n_subsets > 1
    names = [step.name for step in Parts.of(tmp_path / "proof").steps]
    assert ("subset", "equal") in pairwise(names)

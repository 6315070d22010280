"""Certificates whose bound is the sum of those of subsets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel import digests
from sdpbb.checker.kernel.arithmetic import sum_down
from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Either, Limit, Rules, broken_by, broken_clusters, over_blocks
from sdpbb.checker.kernel.subsets import Subsets
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from tests.checker.building import Builder, Built, certificate_of, cheapest, random_instance
from tests.checker.forged import assert_rejected_or_true
from tests.checker.parts import Step
from tests.enumeration import optimum
from tests.examples import examples

SEEDS = st.integers(0, 2**32 - 1)
GROUPS = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.5], [0.0, 0.5], [0.0, 1.5], [9.0, 1.0]]
NO_PAIRS = np.empty((0, 2), np.int64)


def part(instance: Instance, rows: np.ndarray) -> Instance:
    """The points of rows, and the links among them."""

    def inside(pairs: np.ndarray) -> np.ndarray:
        return np.searchsorted(rows, pairs[np.isin(pairs, rows).all(axis=1)])

    links = inside(instance.must_link), inside(instance.cannot_link)
    return Instance(instance.points[rows], instance.k, *links)


def n_blocks(instance: Instance) -> int:
    from sdpbb.problem.graph import connected_components

    return int(connected_components(instance.n_points, instance.must_link).max()) + 1


def built(instance: Instance, subsets: list[np.ndarray], tolerance: float = 0.5) -> Built:
    """A certificate of an instance of few points: each subset is split to the end."""
    steps: list[Step] = []
    values = []
    for rows in subsets:
        builder = Builder(part(instance, rows), steps=steps)
        builder.add("subset", rows=rows.astype(np.int32))
        values.append(max(0.0, builder.root()))
    value = np.inf if np.inf in values else sum_down(values)
    return certificate_of(instance, cheapest(instance), steps, value, "feasible", tolerance)


def random_subsets(rng: np.random.Generator, instance: Instance) -> list[np.ndarray]:
    """Disjoint ones of k blocks or more."""
    of = rng.integers(0, 3, instance.n_points)
    subsets = [np.flatnonzero(of == number) for number in range(2)]  # points of 2 are in none
    return [
        rows
        for rows in subsets
        if len(rows) >= instance.k and n_blocks(part(instance, rows)) >= instance.k
    ]


@examples(60)
@given(SEEDS, st.integers(1, 3))
def test_what_is_verified_is_true(seed, k):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n=8, k=k, pairs=4)
    subsets = random_subsets(rng, instance)
    verdict = built(instance, subsets).verified()
    truth = optimum(instance)
    assert verdict.n_subsets == len(subsets)
    if verdict.status == "infeasible":
        assert truth is None
    elif truth is not None:
        assert verdict.lower_bound <= truth * (1 + 1e-12) + 1e-28
        parts = [optimum(part(instance, rows)) for rows in subsets]
        assert verdict.lower_bound == pytest.approx(sum(parts), rel=1e-9, abs=1e-20)


def test_a_subset_that_has_no_clustering_proves_that_there_is_none():
    links = [(0, 1), (1, 2), (0, 2)]
    instance = Instance(np.arange(7.0)[:, None], 2, cannot_link=links)
    certificate = built(instance, [np.arange(3), np.arange(3, 6)])
    assert certificate.verified().status == "infeasible"


def test_no_subsets_prove_nothing():
    verdict = built(Instance(GROUPS, 2), []).verified()
    assert (verdict.status, verdict.lower_bound, verdict.n_subsets) == ("feasible", 0.0, 0)


def test_threads_come_to_the_same():
    certificate = built(Instance(GROUPS, 2), [np.array([0, 1, 2]), np.array([3, 4, 5, 6])])
    instance, read = certificate.instance, Certificate.read(certificate.data)
    verdicts = [verify(read, instance.points, 2, (), (), (), n) for n in (1, 3)]
    assert verdicts[0].lower_bound == verdicts[1].lower_bound > 0.0
    certificate.parts.named_steps("bound")[-1].words[1] *= 1.5
    with pytest.raises(Rejected, match="subset 1: line"):
        verify(Certificate.read(certificate.data), instance.points, 2, (), (), (), 3)


def test_a_subset_of_fewer_blocks_than_clusters_is_refused():
    """Three points that must link are no two clusters: this would prove that there are none."""
    instance = Instance(GROUPS, 2, must_link=[(0, 1), (1, 2)])
    certificate = built(instance, [np.array([0, 1, 2])])
    certificate.parts.unclaimed().claim["status"] = "infeasible"  # there is a clustering
    assert certificate.parts.claim["lower_bound"] is None
    with pytest.raises(Rejected, match="subset 0: 1 blocks; expected k = 2 or more"):
        certificate.verified()


def test_another_instance_is_refused():
    certificate = built(Instance(GROUPS, 2), [np.array([0, 1, 2])])
    moved = np.array(GROUPS)
    moved[6] += 1.0  # of no subset
    data = Certificate.read(certificate.data)
    with pytest.raises(Rejected, match="is about other points"):
        verify(data, moved, 2, (), ())
    with pytest.raises(Rejected, match="is about other cannot-links"):
        verify(data, GROUPS, 2, (), [(0, 1)])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_what_is_changed_is_rejected_or_still_true(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n=7, k=2, pairs=2)
    certificate = built(instance, random_subsets(rng, instance))
    assert_rejected_or_true(certificate.data, instance, certificate.verified, rng, 300, 200)


@given(SEEDS)
def test_constraints_inside_of_subsets(seed):
    """They are those of the points of each, one by one."""
    rng = np.random.default_rng(seed)
    n, k = 12, 2
    of = rng.integers(-1, 2, n)
    rows = [np.flatnonzero(of == number) for number in range(2)]
    if min(map(len, rows)) < k:
        return
    cannot_link = digests.normalised(rng.permutation(n).reshape(-1, 2)[:3])
    rules = random_rules(rng, n)
    subsets = Subsets(rows, n, NO_PAIRS, cannot_link, rules)
    for number, each in enumerate(rows):
        root = subsets.root(number, 3) if len(each) >= 3 else None
        if root is None:
            continue
        of_whole = over_blocks(rules, np.arange(n))
        marks = np.zeros((40, n), np.bool_)
        marks[:, each] = rng.random((40, len(each))) < 0.4
        of_blocks = np.array([marks[:, each][:, root.block_of == b].any(1) for b in range(root.m)])
        expected = broken_by(of_whole, marks)
        assert (broken_by(root.block_rules, of_blocks.T) == expected).all()
        for i, j in cannot_link:
            if of[i] == of[j] == number:
                a, b = root.block_of[np.searchsorted(each, [i, j])]
                assert root.adjacency[a, b]


def random_rules(rng: np.random.Generator, n: int) -> Rules:
    def limit() -> Limit:
        pairs = digests.normalised(rng.permutation(n).reshape(-1, 2)[:4])
        return Limit(rng.integers(0, 3, n), pairs, int(rng.integers(1, 6)))

    return limit(), Either(((limit(),), (limit(), limit())))


@given(SEEDS)
def test_rules_that_clusters_break(seed):
    rng = np.random.default_rng(seed)
    n, k = 10, 3
    rules, labels = random_rules(rng, n), rng.permutation(np.r_[:k, rng.integers(0, k, n - k)])
    sets = labels == np.arange(k)[:, None]
    expected = broken_by(over_blocks(rules, np.arange(n)), sets)
    assert (broken_clusters(rules, labels, k) == expected).all()


def test_labels_of_many_points_take_no_matrix():
    """A matrix of a bit for each pair of the 200,000 points would be of 5 GB."""
    n = 200_000
    points = np.arange(float(n))[:, None] % 2 * 3.0
    labels = (np.arange(n) % 2).astype(np.int32)
    parts = built(Instance(GROUPS, 2), []).parts
    parts.claim |= {"n": n, "d": 1, "points": digests.of_points(points)}
    parts.claim |= {"cost": 0.0, "status": "optimal"}
    parts.labels = labels
    verdict = verify(Certificate.read(parts.data), points, 2, (), ())
    assert (verdict.status, verdict.cost, verdict.lower_bound) == ("optimal", 0.0, 0.0)

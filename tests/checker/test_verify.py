"""Verification of whole certificates: the verdict is the truth, within moderate memory."""

import hashlib
import io
import struct
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel import archive, digests
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.proof import ProofCounts, proven_value
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import broken_by, broken_clusters, over_blocks
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from tests.checker.building import (
    Built,
    built,
    claimed,
    part,
    plain_instance,
    random_subsets,
)
from tests.checker.parts import Parts, Step
from tests.checker.priced import random_rules
from tests.enumeration import optimum
from tests.examples import examples

POINTS = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]]


@pytest.fixture
def sound() -> Built:
    return built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3), (4, 2)]))


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(["plain", "fixing", "subsets"]))
def test_a_sound_proof_is_accepted_and_says_the_truth(seed, k, kind):
    instance, rng = plain_instance(seed, k), np.random.default_rng(seed)
    subsets = random_subsets(rng, instance) if kind == "subsets" else None
    certificate, truth = built(instance, kind == "fixing", subsets), optimum(instance)
    verdict, named = certificate.verified(), certificate.parts.named_steps
    n_splits, n_trees = len(named("split")), 1 if subsets is None else len(subsets)
    assert (verdict.n_nodes, verdict.n_leaves) == (2 * n_splits + n_trees, n_splits + n_trees)
    assert verdict.n_bounds == len(named("bound"))
    fixed = [step.arrays for step in named("fix")]
    assert verdict.n_fixings == sum(len(each["far"]) + len(each["excluded"]) for each in fixed)
    assert verdict.n_subsets == (0 if subsets is None else len(subsets))
    if verdict.status == "infeasible":
        assert truth is verdict.cost is verdict.lower_bound is None
        return
    assert truth is not None or subsets is not None
    if truth is not None:
        assert verdict.status == ("optimal" if subsets is None else "feasible")
        assert verdict.cost == pytest.approx(truth, rel=1e-12, abs=1e-28)
        assert verdict.lower_bound <= truth * (1 + 1e-12) + 1e-28
        parts = [np.arange(6)] if subsets is None else subsets
        expected = sum(optimum(part(instance, rows)) for rows in parts)
        assert verdict.lower_bound == pytest.approx(expected, rel=1e-9, abs=1e-20)


def test_every_byte_that_is_damaged_is_rejected_or_says_the_same():
    """Dates of members, and the like, say nothing."""
    certificate = built(Instance([[0.0], [1.0], [5.0]], 2))
    data, rejected = certificate.data, 0
    expected = replace(certificate.verified(), seconds=0.0)
    assert expected.status == "optimal"
    for at in range(len(data)):
        for flipped in (data[at] ^ 1, data[at] ^ 128):
            try:
                verdict = certificate.verified(data[:at] + bytes([flipped]) + data[at + 1 :])
            except Rejected:
                rejected += 1
                continue
            assert replace(verdict, seconds=0.0) == expected
    assert rejected > len(data)
    for end in range(len(data)):
        with pytest.raises(Rejected):
            certificate.verified(data[:end])


def test_weaker_claims_are_accepted(sound):
    sound.parts.claim["status"] = "feasible"
    assert sound.verified().status == "feasible"
    sound.parts.unclaimed()
    assert sound.verified().status == "unknown"
    sound.parts.steps = [Step(["open"])]
    sound.parts.claim["lower_bound"] = 0
    assert sound.verified().lower_bound == 0.0


def test_numpy_reads_a_certificate(sound):
    """The claim and the steps are text, a line each; arrays are named by their lines."""
    with np.load(io.BytesIO(sound.data), allow_pickle=False) as found:
        text = found["log"].tobytes().decode()
        assert found["labels"].tolist() == sound.parts.labels.tolist()
    assert text.startswith('{"certificate":3,')
    assert text.endswith("\n")
    assert len(text.splitlines()) == 1 + len(sound.parts.steps)
    assert '["split",' in text


def test_deep_trees_need_no_recursion():
    n = 50
    points = np.arange(float(n))[:, None]
    certificate = claimed(points, 3, [0, 1, *[2] * (n - 2)])
    steps = [Step(["split", int(i), int(j)]) for i, j in zip(*np.triu_indices(n, 1), strict=True)]
    certificate.parts.unclaimed().steps = [
        line for step in steps for line in (step, Step(["open"]))
    ] + [Step(["open"])]
    assert certificate.verified().n_nodes == n * (n - 1) + 1


def test_branches_that_wait_take_little_memory():
    """One waits for each of 200 nodes on the way; a matrix of 300 blocks is of 90,000 bytes."""
    n, depth = 300, 200
    points = np.arange(float(n))[:, None]
    certificate = claimed(points, 3, [0, 1, *[2] * (n - 2)])
    splits = [Step(["split", number, number + 1]) for number in range(depth)]
    certificate.parts.steps = [*splits, *[Step(["open"])] * (depth + 1)]
    log = Certificate.read(certificate.data).log
    root = Blocks.of(n, 3, *[np.empty((0, 2), np.int64)] * 2)
    judge = Judge(Geometry.of(points))
    tracemalloc.start()
    try:
        assert proven_value(log, range(1, len(log)), root, judge, ProofCounts()) == 0.0
        assert tracemalloc.get_traced_memory()[1] < depth * n**2 // 8
    finally:
        tracemalloc.stop()


def bomb(step: Step, **shapes: tuple[int, ...]) -> bytes:
    """A small file of a step with large arrays of zeros, after labels of six points."""
    parts = claimed(POINTS, 3, [0, 0, 1, 1, 2, 2]).parts.unclaimed()
    parts.steps = [step, Step(["open"])]
    file = io.BytesIO(parts.data)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as opened:
        for name, shape in shapes.items():
            dtype = "<i4" if len(shape) > 1 else "<f8"
            header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
            head = b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n"
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            with opened.open(f"1.{name}.npy", "w") as member:
                member.write(head)
                for at in range(0, size, 2**22):
                    member.write(bytes(min(2**22, size - at)))
    return file.getvalue()


BOMBS = {
    "merge": (Step(["merge"]), {"rows": (2**21, 4)}, r"expected <i4 \(0\.\.6, 4\)"),
    "far": (Step(["fix", 1.0, None]), {"far": (2**22, 2)}, r"expected <i4 \(0\.\.15, 2\)"),
    "N": (Step(["bound", 0.0, ["dual", 1.0, []]]), {"N": (2**22,)}, r"or <f4 \(21\)"),
    "prices": (Step(["bound", 0.0, ["prices", 0.0]]), {"prices": (2**22,)}, r"<f8 \(6\)"),
    "triples": (
        Step(["bound", 0.0, ["clusters", 1.0, 0.0]]),
        {"penalties": (2**21,)},
        r"<f8 \(0\.\.2000\)",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_take_little_memory(name):
    step, shapes, why = BOMBS[name]
    data = bomb(step, **shapes)
    assert len(data) < 2**17
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=why):
            verify(Certificate.read(data), POINTS, 3, (), ())
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_text_that_is_compressed_is_refused(sound):
    """A small file could hold lines without end."""
    text = b"\n" * 2**24
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(text)},), }}"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        head = b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n"
        opened.writestr("log.npy", head + text)
    assert len(file.getvalue()) < 2**16
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match="log: is not stored as such arrays are"):
            Certificate.read(file.getvalue())
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_arrays_of_more_than_a_certificate_may_have_are_refused(sound, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_BYTES", 100)
    with pytest.raises(Rejected, match="the arrays are of more than 100 bytes"):
        sound.verified()


@pytest.mark.parametrize(
    ("points", "must_link", "says"),
    [
        (np.zeros(6), (), "points"),
        (np.full((6, 2), np.nan), (), "points"),
        (POINTS, [(0, 0)], "must_link"),
        (POINTS, [(0, 6)], "must_link"),
        (POINTS, [(0.0, 1.0)], "must_link"),
    ],
)
def test_what_is_no_instance_is_an_error(sound, points, must_link, says):
    with pytest.raises(ValueError, match=says):
        verify(Certificate.read(sound.data), points, 3, must_link, [])


def test_a_bound_above_the_cost_of_the_labels_is_a_contradiction(sound, monkeypatch):
    """No proof can come to that: were the mathematics wrong somewhere, it would be told."""
    monkeypatch.setattr("sdpbb.checker.kernel.evidence.scatter_bound", lambda *_: 99.0)
    for step in sound.parts.named_steps("bound"):
        step.words[1] = 99.0
    sound.parts.claim["lower_bound"] = 99.0
    with pytest.raises(Rejected, match=r"the lower bound 99\.0 is above the cost"):
        sound.verified()


OUTLIER = [[0.0], [1.0], [3.0], [1e17]]
EQUAL, NEXT = [[1e17], [1e17], [0.0]], [[1e17], [1e17 + 16], [0.0]]


def far_pair(far: float, step: float) -> list[list[float]]:
    return [[far], [far], [0.0], [step], [2 * step], [3 * step]]


@pytest.mark.parametrize(
    ("points", "k", "labels"),
    [
        (OUTLIER, 3, [0, 1, 1, 2]),
        # The best clustering costs a quarter, wherever the pair is that has a cluster of its own.
        *(
            (far_pair(far, step), 3, [0, 0, 1, 2, 1, 2])
            for far, step in [(2.0**51, 1.0), (1e10, 1e-6), (1e17, 16.0)]
        ),
        (NEXT, 2, [0, 0, 1]),
    ],
)
def test_no_size_of_other_coordinates_makes_a_cost_optimal(points, k, labels):
    wrong = claimed(points, k, labels)
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is "):
        wrong.verified()
    wrong.parts.claim["status"] = "feasible"
    verdict = wrong.verified()
    assert (verdict.status, verdict.gap) == ("feasible", 1.0)
    wrong.parts.claim["cost"] = 0.0
    with pytest.raises(Rejected, match=r"cost: states 0\.0, the labels cost "):
        wrong.verified()


def test_a_cost_of_0_is_that_of_points_that_coincide():
    verdict = claimed(EQUAL, 2, [0, 0, 1]).verified()
    assert (verdict.status, verdict.gap, verdict.cost) == ("optimal", 0.0, 0.0)


GROUPS = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.5], [0.0, 0.5], [0.0, 1.5], [9.0, 1.0]]


def test_a_subset_that_has_no_clustering_proves_that_there_is_none():
    links = [(0, 1), (1, 2), (0, 2)]
    instance = Instance(np.arange(7.0)[:, None], 2, cannot_link=links)
    certificate = built(instance, subsets=[np.arange(3), np.arange(3, 6)])
    assert certificate.verified().status == "infeasible"


def test_no_subsets_prove_nothing():
    verdict = built(Instance(GROUPS, 2), subsets=[], tolerance=0.5).verified()
    assert (verdict.status, verdict.lower_bound, verdict.n_subsets) == ("feasible", 0.0, 0)


def test_threads_come_to_the_same():
    subsets = [np.array([0, 1, 2]), np.array([3, 4, 5, 6])]
    certificate = built(Instance(GROUPS, 2), subsets=subsets)
    points, read = certificate.instance.points, Certificate.read(certificate.data)
    verdicts = [verify(read, points, 2, (), (), (), n) for n in (1, 3)]
    assert verdicts[0].lower_bound == verdicts[1].lower_bound > 0.0
    certificate.parts.named_steps("bound")[-1].words[1] *= 1.5
    with pytest.raises(Rejected, match="subset 1: line"):
        verify(Certificate.read(certificate.data), points, 2, (), (), (), 3)


def test_a_subset_of_fewer_blocks_than_clusters_is_refused():
    """Three points that must link are no two clusters: this would prove that there are none."""
    instance = Instance(GROUPS, 2, must_link=[(0, 1), (1, 2)])
    certificate = built(instance, subsets=[np.array([0, 1, 2])])
    certificate.parts.unclaimed().claim["status"] = "infeasible"  # there is a clustering
    assert certificate.parts.claim["lower_bound"] is None
    with pytest.raises(Rejected, match="subset 0: 1 blocks; expected k = 2 or more"):
        certificate.verified()


@given(st.integers(0, 2**32))
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
    parts = built(Instance(GROUPS, 2), subsets=[]).parts
    parts.claim |= {"n": n, "d": 1, "points": digests.of_points(points)}
    parts.claim |= {"cost": 0.0, "status": "optimal"}
    parts.labels = (np.arange(n) % 2).astype(np.int32)
    verdict = verify(Certificate.read(parts.data), points, 2, (), ())
    assert (verdict.status, verdict.cost, verdict.lower_bound) == ("optimal", 0.0, 0.0)


def test_parts_are_those_of_the_file(sound):
    assert Parts.of(sound.data).data == sound.data


def test_digests_are_those_of_equal_instances():
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert digests.of_points(points) == digests.of_points(np.asfortranarray(points))
    assert digests.of_points([[-0.0]]) == digests.of_points([[0.0]])
    assert digests.of_points(points) != digests.of_points(points.T)
    assert digests.of_points([[0.1]]) != digests.of_points([[np.float32(0.1)]])
    assert digests.of_pairs([(3, 1), (0, 2), (1, 3)]) == digests.of_pairs([(0, 2), (1, 3)])
    assert digests.of_pairs([]) == digests.of_pairs(np.empty((0, 2), np.int32))
    assert digests.of_pairs([(0, 1)]) != digests.of_pairs([(0, 2)])


def test_digests_are_of_the_bytes_that_are_stated():
    points = hashlib.sha256(struct.pack("<4d", 0.0, 1.0, 2.0, 3.0)).hexdigest()
    assert digests.of_points([[-0.0, 1.0], [2.0, 3.0]]) == points
    pairs = hashlib.sha256(struct.pack("<4q", 0, 2, 1, 3)).hexdigest()
    assert digests.of_pairs([(3, 1), (0, 2)]) == pairs

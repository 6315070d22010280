"""Verification of whole certificates: the verdict is the truth, within moderate memory."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.checker.kernel import archive
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.proof import proof_of
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.problem.graph import connected_components
from tests.any_instance import any_instance
from tests.checker.building import built, claimed, verified
from tests.checker.nodes import STATED
from tests.checker.parts import Parts, Step, loaded
from tests.enumeration import Truth, clusterings
from tests.examples import examples

POINTS = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]]
SOUND = Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3), (4, 2)])
seeds = st.integers(0, 2**32)


@pytest.fixture
def sound() -> Parts:
    return built(SOUND)


def has_blocks(instance: Instance, rows: np.ndarray) -> bool:
    """Whether must-links leave as many blocks of a subset as there are clusters."""
    inside = np.isin(instance.must_link, rows).all(axis=1)
    block_of = connected_components(instance.n_points, instance.must_link[inside])
    return len(set(block_of[rows])) >= instance.k


@examples(80)
@given(any_instance(*STATED, n=(2, 6)), seeds, st.sampled_from(["plain", "fixing", "subsets"]))
def test_a_sound_proof_is_accepted_and_says_the_truth(instance, seed, kind):
    """Of any kind of instance; what subsets prove is at most the truth."""
    rows = None
    if kind == "subsets":
        subset_of = np.random.default_rng(seed).integers(0, 3, instance.n_points)
        rows = [np.flatnonzero(subset_of == number) for number in range(2)]
        assume(all(has_blocks(instance, each) for each in rows))
    parts = built(instance, kind == "fixing", rows)
    truth, said, named = Truth(instance), verified(parts, instance), parts.named_steps
    n_splits, n_trees = len(named("split")), 1 if rows is None else len(rows)
    assert (said.n_nodes, said.n_leaves) == (2 * n_splits + n_trees, n_splits + n_trees)
    assert (said.n_bounds, said.n_subsets) == (len(named("bound")), len(rows or ()))
    fixed = [step.arrays for step in named("fix")]
    assert said.n_fixings == sum(len(each["far"]) + len(each["excluded"]) for each in fixed)
    if not truth.is_feasible:
        assert said.status == ("infeasible" if rows is None else parts.claim["status"])
        assert said.cost is None
        return
    assert said.status == ("optimal" if rows is None else "feasible")
    best = float(min(truth.exact_costs))
    assert said.cost == pytest.approx(best, rel=1e-12, abs=1e-28)
    assert said.lower_bound <= best * (1 + 1e-12) + 1e-28
    assert rows is not None or said.lower_bound == pytest.approx(best, rel=1e-9, abs=1e-20)


@examples(60)
@given(any_instance(*STATED, n=(2, 6)), seeds)
def test_labels_are_accepted_if_they_keep_the_constraints(instance, seed):
    rows = clusterings(instance.n_points, instance.k)
    labels = rows[seed % len(rows)]
    parts = claimed(instance, labels, status="feasible")
    if Truth(instance).has(labels):
        assert verified(parts, instance).status == "feasible"
    else:
        with pytest.raises(Rejected, match=r"^labels: "):
            verified(parts, instance)


def test_weaker_claims_are_accepted(sound):
    sound.claim["status"] = "feasible"
    assert verified(sound, SOUND).status == "feasible"
    assert verified(sound.unclaimed(), SOUND).status == "unknown"
    sound.steps, sound.claim["lower_bound"] = [Step(["open"])], 0
    assert verified(sound, SOUND).lower_bound == 0.0


def line_of(n: int) -> tuple[Instance, Parts]:
    """Points in a line, and parts that claim nothing of them yet."""
    instance = Instance(np.arange(float(n))[:, None], 3)
    return instance, claimed(instance)


def test_deep_trees_need_no_recursion():
    n = 50
    instance, parts = line_of(n)
    splits = zip(*np.triu_indices(n, 1), strict=True)
    parts.steps = [s for i, j in splits for s in (Step(["split", int(i), int(j)]), Step(["open"]))]
    parts.steps.append(Step(["open"]))
    assert verified(parts, instance).n_nodes == n * (n - 1) + 1


def test_branches_that_wait_take_little_memory():
    """One waits for each of 200 nodes on the way; a matrix of 300 blocks is of 90,000 bytes."""
    n, depth = 300, 200
    instance, parts = line_of(n)
    splits = [Step(["split", number, number + 1]) for number in range(depth)]
    parts.steps = [*splits, *[Step(["open"])] * (depth + 1)]
    read, stated = loaded(parts.data), stated_instance(instance)
    root, judge = stated.root, Judge(stated.geometry)
    tracemalloc.start()
    try:
        assert proof_of(read, range(1, len(read.log)), root, judge).value() == 0.0
        assert tracemalloc.get_traced_memory()[1] < depth * n**2 // 8
    finally:
        tracemalloc.stop()


def zeros(file: io.BytesIO, name: str, dtype: str, shape: str, size: int) -> None:
    """Add a member of zeros to an archive, a few bytes where it is compressed."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as opened,
        opened.open(f"{name}.npy", "w") as member,
    ):
        member.write(b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n")
        for at in range(0, size, 2**22):
            member.write(bytes(min(2**22, size - at)))


BOMBS = {
    "rows": (["merge"], "<i4", (2**21, 4), r"expected <i4 \(0\.\.6, 4\)"),
    "far": (["fix", 1.0, None], "<i4", (2**22, 2), r"expected <i4 \(0\.\.15, 2\)"),
    "N": (["bound", 0.0, ["dual", 1.0, []]], "<f8", (2**22,), r"or <f4 \(21\)"),
    "prices": (["bound", 0.0, ["prices", 0.0]], "<f8", (2**22,), r"<f8 \(6\)"),
    "penalties": (
        *(["bound", 0.0, ["clusters", 1.0, 0.0]], "<f8"),
        *((2**21,), r"<f8 \(0\.\.2000\)"),
    ),
    "log": (["open"], "|u1", (2**24,), "log: is not stored as such arrays are"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_take_little_memory(name):
    """Large arrays of zeros, and text that is compressed, which could hold lines without end."""
    words, dtype, shape, why = BOMBS[name]
    instance = Instance(POINTS, 3)
    parts, file = claimed(instance, steps=[Step(words), Step(["open"])]), io.BytesIO()
    if name != "log":
        file.write(parts.data)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    zeros(file, name if name == "log" else f"1.{name}", dtype, str(shape), size)
    data = file.getvalue()
    assert len(data) < 2**17
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=why):
            verify(loaded(data), stated_instance(instance))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("content", "why"), [(-4, "damaged"), (2**20, "not as long as its shape")])
def test_a_member_of_another_length_than_its_array_is_rejected(sound, content, why):
    """A shorter one says that it is whole, and its checksum is right."""
    file, whole = io.BytesIO(), io.BytesIO()
    np.save(whole, sound.labels)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("labels.npy", (whole.getvalue() + bytes(2**20))[: whole.tell() + content])
        opened.infolist()[0].file_size -= min(content, 0)
    with pytest.raises(Rejected, match=why):
        archive.Archive(file).take("labels", archive.NUMBERS, SOUND.n_points)


def test_arrays_of_more_than_a_certificate_may_have_are_refused(sound, monkeypatch):
    monkeypatch.setattr(archive, "_MAX_BYTES", 100)
    with pytest.raises(Rejected, match="the arrays are of more than 100 bytes"):
        verified(sound, SOUND)


def test_a_bound_above_the_cost_of_the_labels_is_a_contradiction(sound, monkeypatch):
    """No proof can come to that: were the mathematics wrong somewhere, it would be told."""
    monkeypatch.setattr("sdpbb.checker.kernel.evidence.scatter_bound", lambda *_: 99.0)
    for step in sound.named_steps("bound"):
        step.words[1] = 99.0
    sound.claim["lower_bound"] = 99.0
    with pytest.raises(Rejected, match=r"the lower bound 99\.0 is above the cost"):
        verified(sound, SOUND)


def far_pair(far: float, step: float) -> list[list[float]]:
    return [[far], [far], [0.0], [step], [2 * step], [3 * step]]


@pytest.mark.parametrize(
    ("points", "k", "labels"),
    [
        ([[0.0], [1.0], [3.0], [1e17]], 3, [0, 1, 1, 2]),
        # The best clustering costs a quarter, wherever the pair is that has a cluster of its own.
        *(
            (far_pair(far, step), 3, [0, 0, 1, 2, 1, 2])
            for far, step in [(2.0**51, 1.0), (1e10, 1e-6), (1e17, 16.0)]
        ),
        ([[1e17], [1e17 + 16], [0.0]], 2, [0, 0, 1]),
    ],
)
def test_no_size_of_other_coordinates_makes_a_cost_optimal(points, k, labels):
    """Only clusters of coinciding points cost 0."""
    instance = Instance(points, k)
    wrong = claimed(instance, labels, tolerance=1e-4)
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is "):
        verified(wrong, instance)
    wrong.claim["status"] = "feasible"
    assert (verified(wrong, instance).status, verified(wrong, instance).gap) == ("feasible", 1.0)
    wrong.claim["cost"] = 0.0
    with pytest.raises(Rejected, match=r"cost: states 0\.0, the labels cost "):
        verified(wrong, instance)
    equal = Instance([[1e17], [1e17], [0.0]], 2)
    said = verified(claimed(equal, [0, 0, 1]), equal)
    assert (said.status, said.gap, said.cost) == ("optimal", 0.0, 0.0)


GROUPS = [[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.5], [0.0, 0.5], [0.0, 1.5], [9.0, 1.0]]


def test_no_subsets_prove_nothing():
    instance = Instance(GROUPS, 2)
    said = verified(built(instance, subsets=[]), instance)
    assert (said.status, said.lower_bound, said.n_subsets) == ("feasible", 0.0, 0)


def test_threads_come_to_the_same():
    instance = Instance(GROUPS, 2)
    parts = built(instance, subsets=[np.array([0, 1, 2]), np.array([3, 4, 5, 6])])
    said = [verified(parts, instance, workers) for workers in (1, 3)]
    assert said[0].lower_bound == said[1].lower_bound > 0.0
    parts.named_steps("bound")[-1].words[1] *= 1.5
    with pytest.raises(Rejected, match="subset 1: line"):
        verified(parts, instance, 3)


def test_a_subset_of_fewer_blocks_than_clusters_is_refused():
    """Three must-linked points do not make two clusters: this would prove infeasibility."""
    instance = Instance(GROUPS, 2, must_link=[(0, 1), (1, 2)])
    rows = Step(["subset"], {"rows": np.arange(3, dtype=np.int32)})
    parts = claimed(instance, None, [rows, Step(["infeasible", "conflict"])], np.inf)
    with pytest.raises(Rejected, match="subset 0: 1 blocks; expected k = 2 or more"):
        verified(parts, instance)


def test_labels_of_many_points_take_no_matrix():
    """A matrix of a bit for each pair of the 200,000 points would be of 5 GB."""
    instance = Instance(np.arange(200_000.0)[:, None] % 2 * 3.0, 2)
    parts = claimed(instance, np.arange(200_000) % 2, [])
    said = verified(parts, instance)
    assert (said.status, said.cost, said.lower_bound) == ("optimal", 0.0, 0.0)


def test_parts_are_those_of_the_file(sound):
    assert Parts.of(sound.data).data == sound.data

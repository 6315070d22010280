"""Verification of whole certificates: the verdict is the truth, within moderate memory."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel import archive
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.proof import ProofCounts, proven_value
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from tests.checker.building import Built, built, claimed, random_instance
from tests.checker.parts import Parts, Step
from tests.enumeration import optimum
from tests.examples import examples

POINTS = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]]


@pytest.fixture
def sound() -> Built:
    return built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3), (4, 2)]))


@examples(30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_the_verdict_is_the_truth(seed, k, fixing):
    instance = random_instance(np.random.default_rng(seed), k=k)
    certificate = built(instance, fixing)
    verdict = certificate.verified()
    truth = optimum(instance)
    if truth is None:
        assert (verdict.status, verdict.cost, verdict.lower_bound) == ("infeasible", None, None)
        return
    assert verdict.status == "optimal"
    assert verdict.cost == pytest.approx(truth, rel=1e-12, abs=1e-28)
    assert verdict.lower_bound <= truth * (1 + 1e-12) + 1e-28
    assert verdict.gap <= 1e-9
    n_splits = len(certificate.parts.named_steps("split"))
    assert (verdict.n_nodes, verdict.n_leaves) == (2 * n_splits + 1, n_splits + 1)
    assert verdict.n_bounds == len(certificate.parts.named_steps("bound"))
    fixed = [step.arrays for step in certificate.parts.named_steps("fix")]
    assert verdict.n_fixings == sum(len(each["far"]) + len(each["excluded"]) for each in fixed)


def test_the_verdict_prints_itself(sound):
    verdict = sound.verified()
    assert "Verified: the clustering is optimal" in str(verdict)
    assert "k = 3" in str(verdict)
    values = verdict.to_dict()
    assert values["verified"] is True
    assert values["cost"] == verdict.cost


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


def test_order_and_repetition_of_constraints_do_not_matter(sound):
    certificate = Certificate.read(sound.data)
    verdict = verify(certificate, POINTS, 3, [(1, 0), (0, 1)], [(2, 4), (3, 2), (2, 3)])
    assert verdict.status == "optimal"


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


def test_a_far_point_by_itself_makes_nothing_optimal():
    """However far it is: the best clustering costs 0.5, and not 2, as this one does."""
    outlier = claimed([[0.0], [1.0], [3.0], [1e17]], 3, [0, 1, 1, 2])
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is 2\.0"):
        outlier.verified()
    outlier.parts.claim["status"] = "feasible"
    verdict = outlier.verified()
    assert (verdict.status, verdict.gap) == ("feasible", 1.0)
    assert "gap          100%\n" in str(verdict)


@pytest.mark.parametrize(("far", "step"), [(2.0**51, 1.0), (1e10, 1e-6), (1e17, 16.0)])
def test_no_size_of_other_coordinates_makes_a_cost_optimal(far, step):
    """The best clustering costs a quarter of this one, wherever the two points are that it has in
    a cluster of their own."""
    points = [[far], [far], [0.0], [step], [2 * step], [3 * step]]
    wrong = claimed(points, 3, [0, 0, 1, 2, 1, 2])
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is "):
        wrong.verified()


def test_a_cost_of_0_is_that_of_points_that_coincide():
    equal = claimed([[1e17], [1e17], [0.0]], 2, [0, 0, 1])
    verdict = equal.verified()
    assert (verdict.status, verdict.gap, verdict.cost) == ("optimal", 0.0, 0.0)
    next_to_equal = claimed([[1e17], [1e17 + 16], [0.0]], 2, [0, 0, 1])
    with pytest.raises(Rejected, match="status: optimal"):
        next_to_equal.verified()
    next_to_equal.parts.claim["cost"] = 0.0
    with pytest.raises(Rejected, match=r"cost: states 0\.0, the labels cost 128"):
        next_to_equal.verified()


def test_modules_that_a_proof_does_not_need_are_not_loaded(tmp_path):
    """A proof by semidefinite bounds is checked by the kernel alone."""
    import shutil
    import subprocess
    import sys
    from pathlib import Path

    from sdpbb import checker

    folder = tmp_path / "small"
    shutil.copytree(Path(checker.__file__).parent, folder)
    for name in ("prices.py", "clusters.py", "partitions.py", "colouring.py", "packing.py"):
        (folder / name).unlink()
    shutil.rmtree(folder / "pricing")
    instance = Instance(POINTS, 3, cannot_link=[(2, 3), (4, 2)])
    parts = built(instance, fixing=True).parts
    parts.steps = [
        step for step in parts.steps if step.evidence is None or step.evidence[0] == "dual"
    ]
    parts.steps = [parts.steps[0], Step(["open"])]
    parts.unclaimed().claim["lower_bound"] = max(0.0, parts.steps[0].words[1])
    (tmp_path / "proof").write_bytes(parts.data)
    np.save(tmp_path / "points.npy", np.array(POINTS))
    (tmp_path / "pairs").write_text("CL 2 3\nCL 4 2\n")
    files = [str(tmp_path / name) for name in ("proof", "points.npy", "pairs")]
    command = [sys.executable, str(folder), *files[:2], "--constraints", files[2]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dual bound" in done.stdout


def test_parts_are_those_of_the_file(sound):
    assert Parts.of(sound.data).data == sound.data

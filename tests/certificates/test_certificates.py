"""Certificates of runs, checked by the checker, on instances whose optimum is enumerated."""

import numpy as np
import pytest

import sdpbb
from sdpbb.bounds.sdp.cuts import FAMILIES, pentagons
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.run.parameters import SolverParameters
from sdpbb.search.events import CertificateWritten, Finished
from tests.checker.make_vectors import TRIANGLE_FREE, WHEEL
from tests.checker.parts import Parts

# So little of the method that most instances branch.
WEAK = SdpParameters(max_iterations=20)


@pytest.fixture(autouse=True)
def few_cuts(monkeypatch):
    monkeypatch.setattr("sdpbb.bounds.sdp.cuts.stars.TRIANGLES_PER_BLOCK", 1)
    monkeypatch.setattr("sdpbb.bounds.sdp.cuts.stars.PER_BLOCK", 0)


def branching_instance() -> sdpbb.Instance:
    """One that weak bounds branch on."""
    rng = np.random.default_rng(3)
    return sdpbb.Instance(rng.normal(size=(30, 2)), 4, [(0, 1)], [(2, 3), (3, 4), (2, 4)])


def test_pairs_are_fixed_with_reasons(tmp_path):
    """Fixings by dual values, by distance, and merges by cliques, in one tree."""
    rng = np.random.default_rng(5)
    centres = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [300.0, 0.0]], 7, axis=0)
    points = centres + rng.normal(size=centres.shape) * 2.0
    instance = sdpbb.Instance(points, 4, [], [(0, 7), (0, 14), (7, 14), (0, 27), (7, 27), (14, 27)])
    parameters = SolverParameters(bounding="sdp", sdp=WEAK, gap=1e-9)
    sdpbb.solve(instance, parameters, certificate=tmp_path / "proof")
    fixings = Parts.of(tmp_path / "proof").named_steps("fix")
    assert any("excluded" in step.arrays for step in fixings)
    assert any("far" in step.arrays for step in fixings)
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "optimal"
    assert verdict.n_fixings > 10


@pytest.mark.parametrize(
    ("k", "must_link", "cannot_link", "kind"),
    [
        (2, [(0, 1), (1, 2)], [(0, 2)], "conflict"),
        (2, [], [(0, 1), (1, 2), (0, 2)], "conflict"),
        (3, [], [(i, j) for i in range(4) for j in range(i)], "clique"),
        (3, [], WHEEL, "conflict"),
        (3, [], TRIANGLE_FREE, "colouring"),
        (11, [(0, 1)], [], "conflict"),
    ],
)
def test_infeasible_instances_leave_the_reason(tmp_path, k, must_link, cannot_link, kind):
    points = np.random.default_rng(0).normal(size=(11, 2))
    instance = sdpbb.Instance(points, k, must_link, cannot_link)
    result = sdpbb.solve(instance, certificate=tmp_path / "proof")
    assert result.status.value == "infeasible"
    steps = Parts.of(tmp_path / "proof").steps
    assert next(step.words[1] for step in steps if step.name == "infeasible") == kind
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "infeasible"
    assert verdict.lower_bound is None


def grid_instance() -> sdpbb.Instance:
    """One where no relaxation is tight."""
    return sdpbb.Instance(np.array([(i, j) for i in range(7) for j in range(6)], float), 5)


def words_of_bounds(path) -> list[str]:
    return [step.evidence[0] for step in Parts.of(path).named_steps("bound")]


@pytest.mark.parametrize("bounding", ["colgen", "hybrid"])
def test_clusters_that_were_enumerated_are_a_proof(tmp_path, bounding):
    instance = grid_instance()
    path = tmp_path / "proof"
    result = sdpbb.solve(instance, SolverParameters(bounding=bounding), certificate=path)
    assert result.statistics.n_nodes == 1
    assert words_of_bounds(path) == ["clusters"]
    assert sdpbb.verify_certificate(path, instance).status == "optimal"


@pytest.mark.long
def test_where_the_checker_gives_up_the_run_branches(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.checker.partitions.MAX_PARTITION_NODES", 4)
    path = tmp_path / "proof"
    result = sdpbb.solve(grid_instance(), certificate=path)
    assert result.status.value == "optimal"
    assert result.statistics.n_nodes > 1
    assert sdpbb.verify_certificate(path, grid_instance()).status == "optimal"


@pytest.mark.long
def test_pentagons_are_a_proof(tmp_path, monkeypatch):
    """Of clusters that overlap, with pairs that are decided in children."""
    monkeypatch.setitem(FAMILIES, "pentagons", FAMILIES["pentagons"]._replace(after=0))
    monkeypatch.setattr(pentagons, "TOLERANCE", 0.0)
    sdp = SdpParameters(max_iterations=200)
    count = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        instance = sdpbb.Instance(rng.normal(size=(24, 2)), 4, [], [(0, 1), (2, 3)])
        path = tmp_path / "proof"
        parameters = SolverParameters(bounding="sdp", sdp=sdp, gap=1e-7)
        sdpbb.solve(instance, parameters, certificate=path)
        groups = [step.evidence[2] for step in Parts.of(path).evidences("dual")]
        count += sum(group[0] == "pentagons" for each in groups for group in each)
        assert sdpbb.verify_certificate(path, instance).status == "optimal"
    assert count > 0


def test_what_cannot_be_certified_is_refused(tmp_path):
    instance = branching_instance()
    proof = tmp_path / "proof"
    with pytest.raises(ParameterError, match=r"^gap = .*1e-09 or more for a certificate"):
        sdpbb.solve(instance, SolverParameters(gap=1e-10), certificate=proof)
    with pytest.raises(ParameterError, match=r"^certificate = .*no folder"):
        sdpbb.solve(instance, certificate=tmp_path / "none" / "proof")
    state = tmp_path / "state"
    sdpbb.solve(instance, SolverParameters(node_limit=1), checkpoint=state)
    with pytest.raises(ParameterError, match=r"^certificate = .*did not start with one"):
        sdpbb.resume(state, certificate=proof)
    assert not proof.exists()


def full(path):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("name", "broken", "why"),
    [
        ("replacement", full, "could not be written .No space"),
        ("certificate_arrays", None, "not ca"),
    ],
)
def test_whatever_goes_wrong_costs_nobody_the_result(tmp_path, monkeypatch, name, broken, why):
    monkeypatch.setattr(f"sdpbb.run.certificates.writer.{name}", broken)
    told = []
    with pytest.raises(sdpbb.CertificateError, match=why) as error:
        sdpbb.solve(branching_instance(), None, told.append, certificate=tmp_path / "proof")
    assert error.value.result.status.value == "optimal"
    assert isinstance(told[-1], Finished)


def test_an_observer_is_told_of_the_file(tmp_path):
    told = []
    sdpbb.solve(branching_instance(), None, told.append, certificate=tmp_path / "proof")
    (written,) = (event for event in told if isinstance(event, CertificateWritten))
    assert written.n_bytes == (tmp_path / "proof").stat().st_size


def test_files_that_are_no_certificates_are_named(tmp_path):
    instance = branching_instance()
    with pytest.raises(sdpbb.CertificateError, match="none: cannot be read"):
        sdpbb.verify_certificate(tmp_path / "none", instance)
    (tmp_path / "text").write_text("a text")
    with pytest.raises(
        sdpbb.CertificateError, match=r"text: rejected: is not a certificate of sdpbb"
    ):
        sdpbb.verify_certificate(tmp_path / "text", instance)

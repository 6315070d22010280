"""Certificates of gaps, of batches, and of constraints that contradict each other."""

import warnings

import numpy as np
import pytest
from hypothesis import given

import sdpbb
from sdpbb.errors import CertificateError, InstanceWarning, ParameterError
from sdpbb.problem.formats import read_instance, write_points
from sdpbb.questions.batch.batch import BatchParameters, run_batch
from sdpbb.questions.batch.manifest import Job
from tests.any_instance import ForbiddenSets
from tests.certificates.test_constrained import CONSTRAINED
from tests.enumeration import optimum
from tests.examples import examples

POINTS = np.random.default_rng(0).normal(size=(9, 2))


@given(instance=CONSTRAINED)
@examples(25)
def test_a_check_is_certified_where_nothing_fits(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("check") / "proof"
    report = sdpbb.check_constraints(instance, certificate=path)
    assert report.is_feasible is (optimum(instance) is not None)
    assert path.exists() is (not report.is_feasible)
    if path.exists():
        assert sdpbb.verify_certificate(path, instance).status == "infeasible"


def test_a_check_without_a_proof_in_time_keeps_its_report(tmp_path, monkeypatch):
    instance = sdpbb.Instance(POINTS, 2, cluster_constraints=[sdpbb.MaximumSize(4)])
    unproven = sdpbb.solve(POINTS, 2, node_limit=1)
    monkeypatch.setattr("sdpbb.run.solver.solve", lambda *_, **__: unproven)
    with pytest.raises(CertificateError, match=r"proof: not written, as no proof .* 60 s") as error:
        sdpbb.check_constraints(instance, certificate=tmp_path / "proof")
    assert error.value.result.is_feasible is False
    assert not (tmp_path / "proof").exists()


def test_what_cannot_be_checked_is_refused_before(tmp_path):
    path = tmp_path / "proof"
    own = sdpbb.Instance(POINTS, 2, cluster_constraints=[ForbiddenSets(())])
    with pytest.raises(ParameterError, match=r"^certificate = .*proof: expected none.*ForbiddenS"):
        sdpbb.check_constraints(own, certificate=path)
    with pytest.raises(ParameterError, match=r"^certificate = .*proof: .*ForbiddenSets"):
        sdpbb.optimality_gap(own, np.arange(9) % 2, certificate=path)


@pytest.fixture
def files(tmp_path):
    write_points(tmp_path / "points.txt", POINTS, 3)
    (tmp_path / "size.txt").write_text("MAXSIZE 3\n")
    (tmp_path / "wrong.txt").write_text("ML 0 1\nML 1 2\nCL 0 2\n")
    return tmp_path


def test_a_batch_leaves_a_certificate_for_each_result(files):
    names = {"size": "size.txt", "wrong": "wrong.txt", "none": "none.txt"}
    jobs = [
        Job(str(files / "points.txt"), name, constraints=str(files / file))
        for name, file in names.items()
    ]
    out = files / "out"
    first = run_batch(jobs[:1], out)
    assert first.rows[0].certificate is None
    assert not (out / "certificates").exists()
    wanted = BatchParameters(certificates=True, resume=True)
    rows = {row.name: row for row in run_batch(jobs, out, wanted).rows}
    assert [rows[name].status.value for name in names] == ["optimal", "infeasible", "bad_input"]
    assert rows["none"].certificate is None
    for name in ("size", "wrong"):
        assert rows[name].certificate == f"certificates/{name}.cert"
        instance = sdpbb.read_instance(files / "points.txt", None, files / names[name])
        verdict = sdpbb.verify_certificate(out / rows[name].certificate, instance)
        assert verdict.status == rows[name].status.value
    assert sorted(path.name for path in (out / "certificates").iterdir()) == [
        "size.cert",
        "wrong.cert",
    ]
    # What has a certificate is not done again.
    again = run_batch(jobs[:2], out, wanted)
    assert again.rows == (rows["size"], rows["wrong"])


def test_a_certificate_that_is_not_written_is_told_in_the_row(files, monkeypatch):
    from sdpbb.questions.batch.batch import evaluate

    monkeypatch.setattr("sdpbb.run.certificates.writer.certificate_arrays", None)
    job = Job(str(files / "points.txt"), "a", constraints=str(files / "size.txt"))
    value = evaluate(job, str(files / "a.cert")).value
    assert (value["status"], value["certificate"]) == ("optimal", False)
    assert "a.cert: could not be written" in value["message"]


def test_warnings_on_an_instance_are_told_in_the_row(files, monkeypatch):
    from sdpbb.questions.batch.batch import evaluate

    def read(*args, **kwargs):
        warnings.warn("it looks odd", InstanceWarning, stacklevel=1)
        warnings.warn("a library is old", DeprecationWarning, stacklevel=1)
        return read_instance(*args, **kwargs)

    monkeypatch.setattr("sdpbb.problem.formats.read_instance", read)
    value = evaluate(Job(str(files / "points.txt"), "a"), None).value
    assert (value["status"], value["message"]) == ("optimal", "it looks odd")

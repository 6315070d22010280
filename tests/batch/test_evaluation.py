"""The work on one job: answers are right, and everything that goes wrong is a value."""

import warnings
from functools import partial

import numpy as np
import pytest

from sdpbb.errors import InstanceWarning
from sdpbb.problem import Instance
from sdpbb.problem.formats import Constraints, read_instance, write_constraints, write_points
from sdpbb.problem.partition import Partition
from sdpbb.questions.batch.batch import evaluate
from sdpbb.questions.batch.manifest import Job
from sdpbb.questions.study import isolated
from tests.enumeration import optimum

POINTS = np.array([[0.0], [1.0], [1.5], [4.0], [5.0], [5.2]])
CANNOT_LINK = np.array([[0, 1], [4, 5]])


@pytest.fixture
def files(tmp_path):
    write_points(tmp_path / "a.txt", POINTS, 2)
    write_constraints(tmp_path / "pairs.txt", Constraints(cannot_link=CANNOT_LINK))
    return tmp_path


@pytest.fixture
def run(files):
    """The value of a job."""

    def run(constraints="pairs.txt", **asked):
        files_of_job = {"data": str(files / "a.txt"), "constraints": str(files / constraints)}
        job = Job.from_keys({"name": "a", **files_of_job, **asked})
        outcome = isolated(partial(evaluate, job, None), True)
        if outcome.failure is not None:
            return {"status": outcome.failure, "message": outcome.message}
        return outcome.value

    return run


def test_an_optimum(run):
    value = run(gap=0.0)
    least = optimum(Instance(POINTS, 2, cannot_link=CANNOT_LINK))
    assert (value["status"], value["termination"]) == ("optimal", "gap_closed")
    assert value["objective"] == pytest.approx(least)
    heading, *lines = value["labels"].decode().splitlines()
    assert heading == "id,cluster"
    labels = Partition(np.array([int(line.partition(",")[2]) for line in lines]))
    assert labels.sum_of_squares(POINTS) == pytest.approx(least)
    assert (value["n_points"], value["n_features"], value["k"]) == (6, 1, 2)
    assert (value["n_must_link"], value["n_cannot_link"]) == (0, 2)
    assert value["message"] == ""


def test_warnings_on_an_instance_are_kept(run, monkeypatch):
    def read(*args, **kwargs):
        warnings.warn("it looks odd", InstanceWarning, stacklevel=1)
        warnings.warn("a library is old", DeprecationWarning, stacklevel=1)
        return read_instance(*args, **kwargs)

    monkeypatch.setattr("sdpbb.problem.formats.read_instance", read)
    value = run()
    assert value["status"] == "optimal"
    assert value["message"] == "it looks odd"

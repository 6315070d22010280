from dataclasses import fields, replace

import numpy as np
import pytest

from sdpbb.errors import ParameterError
from sdpbb.questions.batch.manifest import KEYS, LONGEST_NAME, Job
from sdpbb.run.parameters import SHORT_NAMES, SolverParameters
from sdpbb.runtime.declaration import Parameters, declared_values
from sdpbb.runtime.reading import Reading


@pytest.fixture
def job(tmp_path):
    (tmp_path / "a.txt").write_text("2 1 2\n0\n1\n")
    (tmp_path / "pairs.txt").write_text("CL 0 1\n")
    return Job(str(tmp_path / "a.txt"), "a", constraints=str(tmp_path / "pairs.txt"))


def stated(job, **values):
    """The job with other values by the keys of a manifest."""
    own = {name: getattr(job, name) for name in ("data", "name", "k", "constraints")}
    return Job.from_keys({**own, **values})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "name = '': expected a text that is not empty"),
        ({"name": ".."}, "name = '..': expected a valid file name, without / or \\"),
        ({"name": "a/b"}, "name = 'a/b': expected a valid file name, without / or \\"),
        ({"name": "a\\b"}, "name = 'a\\\\b': expected a valid file name"),
        ({"name": "\0"}, "name = '\\x00': expected a valid file name"),
        ({"k": 0}, "k = 0: expected an integer >= 1"),
        ({"sdp.solvr": 0}, "sdp.solvr: unknown parameter; did you mean solver?"),
        (
            {"workers": 2},
            "workers = 2: expected none, as each instance of a batch runs in one process",
        ),
        ({"dask": "tcp://x:1"}, "dask = 'tcp://x:1': expected none, as each instance of a batch"),
        ({"constraints_format": "x"}, "constraints_format = 'x': expected one of"),
    ],
)
def test_values_outside_of_their_domain_are_refused(job, changes, message):
    with pytest.raises(ParameterError) as caught:
        stated(job, **changes)
    assert str(caught.value).startswith(message)


def test_a_long_name_is_refused(job):
    assert replace(job, name="x" * LONGEST_NAME).name
    for name in ("ä" * LONGEST_NAME, "[" * 6000):
        with pytest.raises(ParameterError, match=f"of at most {LONGEST_NAME} bytes") as error:
            replace(job, name=name)
        assert len(str(error.value)) < 200


def test_the_engine_is_asked_for_what_the_job_says(job):
    limits = {"time_limit": 2, "node_limit": 4, "memory_limit": np.float64(500)}
    asked = stated(job, gap=0.5, seed=3, bounding="colgen", **limits)
    parameters = asked.parameters
    assert (parameters.gap, parameters.seed, parameters.bounding) == (0.5, 3, "colgen")
    assert (parameters.workers, parameters.sdp) == (1, SolverParameters().sdp)
    assert asked.limits() == {"time_limit": 2.0, "node_limit": 4, "memory_limit": 500.0}
    assert set(job.limits().values()) == {None}


def test_every_parameter_of_the_engine_is_a_key_but_those_of_processes():
    own = {"data", "name", "k", "constraints", *SHORT_NAMES}
    engine = KEYS.keys() - own - {field.name for field in fields(Reading)}
    paths = {
        declaration.path
        for declaration, value in declared_values(SolverParameters())
        if not isinstance(value, Parameters)
    }
    assert engine == paths - {"workers", "dask", "mpi"}


def test_the_key_is_that_of_what_is_solved(job, tmp_path):
    key = job.key()
    assert key == "23915d730f59a3cc2f505059f5a4c2da"  # also where parameters are added
    for limits in ({"time_limit": 5.0}, {"node_limit": 5}, {"memory_limit": 500.0}):
        assert stated(job, **limits).key() == key
    others = (
        *({"name": "b"}, {"k": 1}, {"constraints": None}, {"constraints_format": "pc-sos-sdp"}),
        *({"one_based": True}, {"index_column": "x"}, {"drop": ("x",)}),
        *({"gap": 1e-6}, {"seed": 1}, {"bounding": "colgen"}),
        *({"sdp_solver": "scs"}, {"sdp.max_iterations": 300}, {"certify": True}),
    )
    keys = {stated(job, **other).key() for other in others}
    assert len(keys) == len(others)
    assert key not in keys


def test_the_key_is_that_of_the_contents_of_files(job, tmp_path):
    key = job.key()
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("a.txt", "pairs.txt"):
        (moved / name).write_bytes((tmp_path / name).read_bytes())
    there = replace(job, data=str(moved / "a.txt"), constraints=str(moved / "pairs.txt"))
    assert there.key() == key
    (moved / "pairs.txt").write_text("ML 0 1\n")
    assert there.key() != key
    (tmp_path / "a.txt").unlink()
    assert job.key() != key


def test_nothing_but_a_regular_file_is_read_for_the_key(job, tmp_path):
    missing = replace(job, data=str(tmp_path / "folder"))
    key = missing.key()
    (tmp_path / "folder").mkdir()
    assert missing.key() == key
    assert replace(job, data="\0").key()

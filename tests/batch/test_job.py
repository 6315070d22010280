import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.batch.job import FIELDS, LONGEST_NAME, Job
from sdpbb.errors import ParameterError


@pytest.fixture
def job(tmp_path):
    (tmp_path / "a.txt").write_text("2 1 2\n0\n1\n")
    (tmp_path / "pairs.txt").write_text("CL 0 1\n")
    return Job(str(tmp_path / "a.txt"), "a", constraints=str(tmp_path / "pairs.txt"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "name = '': expected a name that a file can have, without / or \\"),
        ({"name": ".."}, "name = '..': expected a name that a file can have, without / or \\"),
        ({"name": "a/b"}, "name = 'a/b': expected a name that a file can have, without / or \\"),
        ({"name": "a\\b"}, "name = 'a\\\\b': expected a name that a file can have"),
        ({"name": "\0"}, "name = '\\x00': expected a name that a file can have"),
        ({"k": 0}, "k = 0: expected an integer >= 1"),
        ({"k": 2.5}, "k = 2.5: expected an integer >= 1"),
        ({"k": True}, "k = True: expected an integer >= 1"),
        ({"gap": 1.5}, "gap = 1.5: expected a number in [0, 1)"),
        ({"time_limit": 0}, "time_limit = 0: expected seconds > 0"),
        ({"node_limit": 0}, "node_limit = 0: expected an integer >= 1, or None"),
        ({"memory_limit": -1.0}, "memory_limit = -1.0: expected MiB > 0"),
        ({"seed": -1}, "seed = -1: expected an integer >= 0"),
        ({"bounding": "lp"}, "bounding = 'lp': expected one of sdp, colgen, hybrid"),
        ({"sdp_solver": "lp"}, "sdp_solver = 'lp': expected one of admm, clarabel, scs"),
        ({"constraints_format": "x"}, "constraints_format = 'x': expected one of"),
    ],
)
def test_values_outside_of_their_domain_are_refused(job, changes, message):
    with pytest.raises(ParameterError) as caught:
        replace(job, **changes)
    assert str(caught.value).startswith(message)


def test_a_long_name_is_refused(job):
    assert replace(job, name="x" * LONGEST_NAME).name
    with pytest.raises(ParameterError, match=f"of at most {LONGEST_NAME} bytes"):
        replace(job, name="ä" * LONGEST_NAME)


def test_the_engine_is_asked_for_what_the_job_says(job):
    asked = replace(
        job, gap=0.5, seed=3, bounding="colgen", time_limit=2, node_limit=4, memory_limit=500
    ).solver_parameters()
    assert (asked.gap, asked.seed, asked.bounding, asked.workers) == (0.5, 3, "colgen", 1)
    assert (asked.time_limit, asked.node_limit, asked.memory_limit) == (2.0, 4, 500.0)
    assert job.solver_parameters().time_limit == math.inf


def test_a_job_survives_json(job):
    job = replace(job, drop=("class",), time_limit=math.inf, memory_limit=np.float64(9))
    values = json.loads(json.dumps(job.to_dict(), allow_nan=False))
    assert Job.from_dict(values) == job
    assert job.time_limit is None
    assert tuple(values) == FIELDS


def test_the_key_is_that_of_what_is_solved(job, tmp_path):
    key = job.key()
    assert job.key() == key
    for limits in ({"time_limit": 5.0}, {"node_limit": 5}, {"memory_limit": 500.0}):
        assert replace(job, **limits).key() == key
    others = (
        *({"name": "b"}, {"k": 1}, {"constraints": None}, {"constraints_format": "pc-sos-sdp"}),
        *({"one_based": True}, {"index_column": "x"}, {"drop": ("x",)}),
        *({"gap": 1e-6}, {"seed": 1}, {"bounding": "colgen"}),
        {"sdp_solver": "scs"},
    )
    keys = {replace(job, **other).key() for other in others}
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


def test_long_names_are_told_in_short():
    with pytest.raises(ParameterError) as error:
        Job(name="{" + 6000 * "[", data="x")
    assert len(str(error.value)) < 200

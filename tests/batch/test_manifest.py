import os
from dataclasses import replace

import pytest

from sdpbb.errors import ParameterError
from sdpbb.questions.batch.manifest import Job, read_manifest
from sdpbb.run.parameters import SolverParameters

TOML = """
[defaults]
time_limit = 60
one_based = true
constraints_format = "cccg"

[[instance]]
data = "iris.txt"

[[instance]]
data = "*.txt"
constraints = "sets/{stem}/*.txt"
name = "{parent}.{stem}.{constraints}"
time_limit = 5
k = 2
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "iris.txt").touch()
    (tmp_path / "wine.txt").touch()
    for stem, sets in {"iris": ("a", "b"), "wine": ("a",)}.items():
        (tmp_path / "sets" / stem).mkdir(parents=True)
        for name in sets:
            (tmp_path / "sets" / stem / f"{name}.txt").touch()
    return tmp_path


def read(folder, text, **overrides):
    path = folder / "m.toml"
    path.write_text(text)
    return read_manifest(path, overrides)


def job(data, name, **values):
    return Job.from_keys({"data": data, "name": name, **values})


def test_toml(folder):
    jobs = read(folder, TOML)
    root, name = str(folder), folder.name
    reading = {"constraints_format": "cccg", "one_based": True, "time_limit": 5.0, "k": 2}

    def with_set(stem, one):
        path = f"{root}/sets/{stem}/{one}.txt"
        return job(f"{root}/{stem}.txt", f"{name}.{stem}.{one}", constraints=path, **reading)

    assert jobs == [
        job(f"{root}/iris.txt", "iris", time_limit=60.0),
        *(with_set("iris", "a"), with_set("iris", "b"), with_set("wine", "a")),
    ]


DOTTED = """
[defaults]
sdp.max_iterations = 300
sdp_solver = "scs"

[[instance]]
data = "iris.txt"
"search.fixing" = false

[[instance]]
data = "wine.txt"
sdp = { solver = "admm" }
[instance.decomposition]
smallest = 50
"""


def test_any_parameter_of_the_engine_is_a_key(folder):
    iris, wine = (job.parameters for job in read(folder, DOTTED))
    assert (iris.sdp.solver, iris.sdp.max_iterations, iris.search.fixing) == ("scs", 300, False)
    assert (wine.sdp.solver, wine.sdp.max_iterations, wine.search.fixing) == ("admm", 300, True)
    assert wine.decomposition.smallest == 50


def test_what_is_said_beside_the_manifest_takes_precedence(folder):
    given = SolverParameters().updated({"gap": 0.5, "sdp.max_iterations": 9, "workers": 4})
    path = folder / "m.toml"
    path.write_text(DOTTED)
    overrides = {"sdp_solver": "clarabel", "bounding": "colgen"}
    for job in read_manifest(path, overrides, given):
        asked = job.parameters
        assert (asked.sdp.solver, asked.bounding) == ("clarabel", "colgen")
        assert (asked.gap, asked.workers, asked.sdp.max_iterations) == (0.5, 1, 300)
    with pytest.raises(ParameterError, match=r"^gap = 2: expected a number in \[0, 1\)$"):
        read(folder, TOML, gap=2)


def test_paths_are_relative_to_the_folder_of_the_manifest(folder, monkeypatch):
    (folder / "m.toml").write_text('[[instance]]\ndata = "iris.txt"\n[[instance]]\ndata = "w*"')
    monkeypatch.chdir(folder)
    assert [job.data for job in read_manifest("m.toml")] == ["iris.txt", "wine.txt"]
    monkeypatch.chdir(folder.parent)
    path = os.path.join(folder.name, "m.toml")
    names = [os.path.join(folder.name, name) for name in ("iris.txt", "wine.txt")]
    assert [job.data for job in read_manifest(path)] == names


def test_letters_of_patterns_in_names_of_files_are_letters(folder):
    odd = folder / "[odd]"
    (odd / "sets").mkdir(parents=True)
    for name in ("a[1].txt", "a1.txt", "sets/a[1]_x.txt", "sets/a1_y.txt"):
        (odd / name).touch()
    (job,) = read(odd, '[[instance]]\ndata = "a[1].txt"\nconstraints = "sets/{stem}_*.txt"')
    assert job.data == str(odd / "a[1].txt")
    assert job.constraints == str(odd / "sets" / "a[1]_x.txt")


@pytest.fixture
def small(tmp_path):
    (tmp_path / "a.txt").write_text("2 1 2\n0\n1\n")
    (tmp_path / "pairs.txt").write_text("CL 0 1\n")
    return Job(str(tmp_path / "a.txt"), "a", constraints=str(tmp_path / "pairs.txt"))


def stated(job, **values):
    """The job with other values by the keys of a manifest."""
    own = {name: getattr(job, name) for name in ("data", "name", "k", "constraints")}
    return Job.from_keys({**own, **values})


def test_the_key_is_that_of_what_is_solved(small, tmp_path):
    key = small.key()
    assert key == "23915d730f59a3cc2f505059f5a4c2da"  # also where parameters are added
    for limits in ({"time_limit": 5.0}, {"node_limit": 5}, {"memory_limit": 500.0}):
        assert stated(small, **limits).key() == key
    others = (
        *({"name": "b"}, {"k": 1}, {"constraints": None}, {"constraints_format": "pc-sos-sdp"}),
        *({"one_based": True}, {"index_column": "x"}, {"drop": ("x",)}),
        *({"gap": 1e-6}, {"seed": 1}, {"bounding": "colgen"}),
        *({"sdp_solver": "scs"}, {"sdp.max_iterations": 300}, {"certify": True}),
    )
    keys = {stated(small, **other).key() for other in others}
    assert len(keys) == len(others)
    assert key not in keys


def test_the_key_is_that_of_the_contents_of_files(small, tmp_path):
    key = small.key()
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("a.txt", "pairs.txt"):
        (moved / name).write_bytes((tmp_path / name).read_bytes())
    there = replace(small, data=str(moved / "a.txt"), constraints=str(moved / "pairs.txt"))
    assert there.key() == key
    (moved / "pairs.txt").write_text("ML 0 1\n")
    assert there.key() != key
    (tmp_path / "a.txt").unlink()
    assert small.key() != key


def test_nothing_but_a_regular_file_is_read_for_the_key(small, tmp_path):
    missing = replace(small, data=str(tmp_path / "folder"))
    key = missing.key()
    (tmp_path / "folder").mkdir()
    assert missing.key() == key
    assert replace(small, data="\0").key()

"""The bundled instances are what the script writes, and what their names say."""

import importlib.util
from pathlib import Path

import pytest

from sdpbb.problem.formats import read_instance

ROOT = Path(__file__).resolve().parents[1]
INSTANCES = ROOT / "instances"
CONSTRAINT_SETS = sorted(INSTANCES.glob("*_ml_*_cl_*.txt"))


@pytest.fixture(scope="module")
def make_instances():
    path = ROOT / "scripts" / "instances.py"
    spec = importlib.util.spec_from_file_location("instances", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_writes_the_same_files(make_instances, tmp_path):
    make_instances.make_instances(tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in INSTANCES.glob("*.txt")}


def test_constraints_agree_with_the_classes(make_instances):
    classes = [0, 0, 0, 1, 1, 2]
    constraints = make_instances.draw_constraints(classes, 3, 4, seed=7)
    assert len(constraints.must_link) == 3
    assert len(constraints.cannot_link) == 4
    assert all(i < j and classes[i] == classes[j] for i, j in constraints.must_link)
    assert all(i < j and classes[i] != classes[j] for i, j in constraints.cannot_link)


@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # of a column that dominates
@pytest.mark.parametrize("path", CONSTRAINT_SETS, ids=lambda path: path.stem)
def test_constraint_sets_hold_what_their_names_say(path):
    name, _, must_links, _, cannot_links = path.stem.split("_")
    instance = read_instance(INSTANCES / f"{name}.txt", constraints_path=path)
    assert len(instance.must_link) == int(must_links)
    assert len(instance.cannot_link) == int(cannot_links)
    assert len(CONSTRAINT_SETS) == 12

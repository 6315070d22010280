"""Data sets that ship with the package, also in a wheel."""

import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sdpbb.datasets import load_iris, load_wine
from sdpbb.errors import InstanceError

ROOT = Path(__file__).resolve().parents[1]
LOADERS = {"iris": load_iris, "wine": load_wine}


def test_the_script_writes_the_same_files(tmp_path):
    runpy.run_path(str(ROOT / "scripts" / "instances.py"))["make_instances"](tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    shipped = (ROOT / "instances").glob("*.txt")
    assert written == {path.name: path.read_bytes() for path in shipped}


@pytest.mark.parametrize("name", LOADERS)
def test_points_and_classes(name):
    data = LOADERS[name]()
    n, d = data.points.shape
    assert (len(data.labels), len(data.feature_names)) == (n, d)
    assert set(data.labels.tolist()) == set(range(data.k)) == set(range(len(data.class_names)))
    assert np.array_equal(data.points, data.instance().points)
    assert repr(data).startswith(f"<Dataset {name}: {n} points")


@pytest.mark.parametrize("name", LOADERS)
def test_constraint_sets_agree_with_the_classes(name):
    data = LOADERS[name]()
    instances = {name: data.instance(name) for name in data.constraint_sets}
    assert len(instances) == 6
    for of, instance in instances.items():
        _, must_links, _, cannot_links = of.split("_")
        assert (len(instance.must_link), len(instance.cannot_link)) == (
            int(must_links),
            int(cannot_links),
        )
        together = data.labels[instance.must_link]
        apart = data.labels[instance.cannot_link]
        assert (together[:, 0] == together[:, 1]).all()
        assert (apart[:, 0] != apart[:, 1]).all()


def test_another_number_of_clusters():
    assert load_iris().instance("ml_0_cl_38", k=4).k == 4


def test_an_unknown_set_names_a_similar_one():
    with pytest.raises(InstanceError, match=r"iris has no such set; did you mean ml_19_cl_19\?"):
        load_iris().instance("ml_19_cl_9")


@pytest.mark.long
def test_a_wheel_has_the_data_sets(tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("sdpbb", "heuristics", "instances"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=unwanted)
    build = (
        "from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert {path.name for path in site.iterdir() if "dist-info" not in path.name} == {
        "sdpbb",
        "heuristics",
    }
    script = (
        "import sdpbb; from sdpbb.datasets import load_iris, load_wine; "
        "print(sdpbb.__file__); sets = [of() for of in (load_iris, load_wine)]; "
        "print(*(len([one.instance(name) for name in one.constraint_sets]) for one in sets))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(site / "sdpbb" / "__init__.py"), "6", "6"]

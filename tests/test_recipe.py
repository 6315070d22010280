"""The conda-forge recipe says what pyproject.toml says."""

import tomllib
from pathlib import Path

import pytest

import sdpbb

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def recipe():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "scripts" / "conda" / "recipe.yaml").read_text())


def separated(requirement):
    """Split a requirement into its name and its versions."""
    name, sign, versions = requirement.replace(" ", "").partition(">=")
    return name, sign + versions


def test_version_and_licence(recipe):
    project = PROJECT["project"]
    assert recipe["context"]["name"] == project["name"]
    assert recipe["context"]["version"] == project["version"] == sdpbb.__version__
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]


def test_requirements(recipe):
    _, *run = recipe["requirements"]["run"]
    assert sorted(map(separated, run)) == sorted(map(separated, PROJECT["project"]["dependencies"]))
    assert f">={recipe['context']['python_min']}" == PROJECT["project"]["requires-python"]
    build = {separated(each) for each in PROJECT["build-system"]["requires"]}
    assert build <= {separated(each) for each in recipe["requirements"]["host"]}


def test_commands(recipe):
    stated = dict(each.split(" = ") for each in recipe["build"]["python"]["entry_points"])
    assert stated == PROJECT["project"]["scripts"]

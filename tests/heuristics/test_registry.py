import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import heuristics
from heuristics.method import Heuristic, Soft
from heuristics.registry import METHODS, method, method_class, method_parameters
from sdpbb.errors import ParameterError

DOCUMENT = Path(__file__).parents[2] / "docs" / "heuristics.md"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_where_the_registry_says(name):
    found = method_class(name)
    assert issubclass(found, Heuristic)
    assert found.name == name
    assert found is getattr(heuristics, METHODS[name].class_name)
    assert (found.soft is Soft.WEIGHED) == ("soft: " in METHODS[name].summary)
    assert (found.soft is Soft.IGNORED) == ("no constraints: " in METHODS[name].summary)


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_has_a_default_and_a_name(name):
    parameters = method_parameters(name)
    assert "time_limit" in parameters
    for parameter in parameters.values():
        assert parameter.default is not inspect.Parameter.empty
        assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    assert method(name, time_limit=3.0).time_limit == 3.0


@pytest.mark.parametrize("name", METHODS)
def test_every_method_and_parameter_is_documented(name):
    section = DOCUMENT.read_text().split(f"\n### {name}\n")[1].split("\n### ")[0]
    for parameter in method_parameters(name).keys() - {"time_limit"}:
        assert f"`{parameter}`" in section


def test_an_unknown_method_is_told_which_there_are():
    with pytest.raises(ParameterError) as caught:
        method("kmedians", n_starts=3)
    assert str(caught.value) == f"no method 'kmedians'; expected one of {', '.join(METHODS)}"


def test_an_unknown_parameter_is_told_which_there_are():
    with pytest.raises(ParameterError) as caught:
        method("kmeans", n_startz=3)
    message = "kmeans has no parameter 'n_startz'; expected one of "
    assert str(caught.value) == message + ", ".join(method_parameters("kmeans"))


def test_a_parameter_outside_of_its_domain_is_told():
    with pytest.raises(ParameterError, match=r"^time_limit = -1: expected"):
        method("kmeans", time_limit=-1)


def test_names_are_loaded_when_they_are_used():
    script = "import sys, heuristics, heuristics.registry; print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    assert set(heuristics.__all__) <= set(dir(heuristics))
    assert all(getattr(heuristics, name) is not None for name in heuristics.__all__)
    assert {entry.class_name for entry in METHODS.values()} < set(heuristics.__all__)
    with pytest.raises(AttributeError, match="no attribute 'KMedians'"):
        _ = heuristics.KMedians

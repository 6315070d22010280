import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import heuristics
from heuristics.kmeans import KMeans
from heuristics.method import Heuristic, Soft
from heuristics.registry import (
    METHODS,
    method,
    method_class,
    register,
    summary,
)
from sdpbb.errors import ParameterError

DOCUMENT = Path(__file__).parents[2] / "docs" / "heuristics.md"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_where_the_registry_says_with_what_it_supports(name):
    found = method_class(name)
    assert found is getattr(heuristics, found.__name__)
    assert issubclass(found, Heuristic)
    assert found.name == name
    assert summary(name) + "." == inspect.getdoc(found).splitlines()[0]
    assert (found.soft is Soft.WEIGHED) == ("soft" in summary(name))
    assert (found.soft is Soft.IGNORED) == ("without constraints" in summary(name))
    assert (found.soft is not Soft.IGNORED) == ("hard" in summary(name))


def test_a_class_of_a_user_is_a_method():
    class Own(KMeans):
        """A method.

        Of a user.
        """

        name = "own"

    assert register(Own) is Own
    assert register(Own) is Own  # a module may be run twice
    assert summary("own") == "A method"
    assert method_class("own") is Own
    assert isinstance(method("own", n_starts=2), Own)
    Own.name = "kmeans"
    with pytest.raises(ParameterError, match=r"^name = 'kmeans': another method has this name"):
        register(Own)
    METHODS.pop("own")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_and_its_parameters_have_a_section(name):
    section = DOCUMENT.read_text().split(f"\n### {name}\n")[1].split("\n### ")[0]
    assert f"\n<!-- parameters: {name} -->\n" in section


def test_names_are_loaded_when_they_are_used():
    script = "import sys, heuristics, heuristics.registry; print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    assert set(heuristics.__all__) <= set(dir(heuristics))
    assert all(getattr(heuristics, name) is not None for name in heuristics.__all__)
    assert {where.partition(":")[2] for where in METHODS.values()} < set(heuristics.__all__)
    with pytest.raises(AttributeError, match="no attribute 'KMedians'"):
        _ = heuristics.KMedians

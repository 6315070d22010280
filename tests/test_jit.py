"""Kernels that are loaded from the cache, alone or as parts of others."""

import importlib.util
import sys

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache

from sdpbb.runtime import jit, kernel_cache

MODULE = "kernels_of_a_test"
SOURCE = """
import numpy as np
from sdpbb.runtime.jit import njit

@njit(cache=True)
def doubled(values):
    found = np.empty(len(values))
    for i in range(len(values)):
        if values[i] < 0.0:
            raise ValueError("negative")
        found[i] = 2.0 * values[i]
    return found

@njit(cache=True, no_cpython_wrapper=True)
def halved(value):
    return 0.5 * value

@njit(cache=True)
def sum_of_halves(values):
    total = 0.0
    for value in doubled(values):
        total += halved(value)
    return total
"""
VALUES = np.array([1.0, 2.5, 4.0])


@pytest.fixture
def module(monkeypatch, tmp_path):
    """A function that imports kernels anew, as another process does."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    numba.config.reload_config()
    file = tmp_path / f"{MODULE}.py"
    file.write_text(SOURCE)

    def imported():
        spec = importlib.util.spec_from_file_location(MODULE, file)
        found = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, MODULE, found)
        spec.loader.exec_module(found)
        return found

    return imported


def hits(kernel) -> int:
    return sum(kernel.stats.cache_hits.values())


@pytest.fixture
def loaded_by_numba(monkeypatch) -> list[str]:
    """The kernels that Numba has loaded in its own way."""
    found, load = [], FunctionCache.load_overload

    def recorded(cache, *arguments):
        found.append(cache._py_func.__name__)
        return load(cache, *arguments)

    monkeypatch.setattr(FunctionCache, "load_overload", recorded)
    return found


def test_a_kernel_is_loaded_and_computes_the_same(module, loaded_by_numba):
    first = module().doubled(VALUES)
    kernel = module().doubled
    assert kernel(VALUES).tolist() == first.tolist() == (2.0 * VALUES).tolist()
    assert hits(kernel) == 1
    assert not loaded_by_numba
    with pytest.raises(ValueError, match="negative"):
        kernel(-VALUES)


def test_extensions_of_numba_are_looked_for_only_before_something_is_compiled(module, monkeypatch):
    module().doubled(VALUES)
    looked = []
    monkeypatch.setattr("numba.core.entrypoints.init_all", lambda: looked.append(True))
    kernel = module().doubled
    kernel(VALUES)
    assert not looked
    kernel(VALUES.astype(np.float32))
    assert looked


def test_kernels_that_are_loaded_become_parts_of_others(module, loaded_by_numba):
    """Of one that is compiled, and is loaded itself by the next process."""
    module().doubled(VALUES)
    for cached in (0, 1):
        kernels = module()
        kernels.doubled(VALUES)
        assert kernels.sum_of_halves(VALUES) == VALUES.sum()
        assert (hits(kernels.doubled), hits(kernels.sum_of_halves)) == (1, cached)
    assert not loaded_by_numba


@pytest.mark.parametrize("part", ["_Library", "_Unpickler", "_nrt_python", "compile_result"])
def test_where_a_part_of_numba_has_changed_it_loads_the_kernel(
    module, loaded_by_numba, monkeypatch, part
):
    module().doubled(VALUES)
    monkeypatch.setattr(kernel_cache, "_named", [])
    monkeypatch.delattr(kernel_cache, part)
    kernel = module().doubled
    assert kernel(VALUES).tolist() == (2.0 * VALUES).tolist()
    assert hits(kernel) == 1
    assert loaded_by_numba == ["doubled"]


@pytest.mark.parametrize("version", ["0.69.0", "1.0.0rc1", "0+unknown"])
def test_a_release_that_was_not_tested_loads_kernels_itself(module, monkeypatch, version):
    monkeypatch.setattr(jit.numba, "__version__", version)
    assert type(module().doubled._cache) is FunctionCache


def test_the_installed_release_was_tested():
    """A newer one has to pass these tests before `NEWEST` names it."""
    assert jit.is_tested(numba.__version__)

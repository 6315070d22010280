"""Facts about this installation: versions, cores, memory, cached kernels, optional packages."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sdpbb.run.kernels import all_parts, can_mark, is_compiled
from sdpbb.runtime.executors.memory import free_mebibytes
from sdpbb.runtime.extras import install_command, requirements
from sdpbb.runtime.version import installed_version

EXTRAS = ("plot", "excel", "pandas", "polars", "parquet", "exact", "dask", "mpi", "gurobi")
LITTLE_MEMORY = 1024.0
"""MiB below which runs of some hundred points may have to do without the nearest bounds."""


@dataclass(frozen=True)
class Fact:
    """Fact about the installation.

    Attributes
    ----------
    group, name, value : what is known
    problem : what is wrong with it and what would be right, in one line; "" for nothing
    """

    group: str
    name: str
    value: str
    problem: str = ""


def installation_facts() -> list[Fact]:
    """Return the facts about this installation, group by group."""
    return [*_versions(), *_machine(), *_kernels(), *_optional()]


def _versions() -> Iterator[Fact]:
    group = "Versions"
    folder = Path(__file__).resolve().parents[2]
    yield Fact(group, "sdpbb", f"{installed_version()} in {folder}")
    yield Fact(group, "Python", f"{platform.python_version()} ({sys.executable})")
    for name in _packages():
        yield Fact(group, name, _version(name) or "-", "" if _version(name) else _missing(name))


def _machine() -> Iterator[Fact]:
    import psutil

    group = "Machine"
    has_affinity = hasattr(os, "sched_getaffinity")
    usable = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    yield Fact(group, "System", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Fact(group, "Cores", f"{usable} usable of {os.cpu_count()}")
    free, total = free_mebibytes(), psutil.virtual_memory().total / 2**20
    little = f"only {free:.0f} MiB are free; expected {LITTLE_MEMORY:.0f} or more"
    problem = little if free < LITTLE_MEMORY else ""
    yield Fact(group, "Memory", f"{free / 1024:.1f} GiB free of {total / 1024:.1f}", problem)
    yield Fact(group, "BLAS", f"{_blas()}; one thread while sdpbb computes")


def _blas() -> str:
    from threadpoolctl import threadpool_info

    found = {
        f"{library.get('internal_api')} {library.get('version') or ''}".strip()
        for library in threadpool_info()
        if library.get("user_api") == "blas"
    }
    return ", ".join(sorted(found)) or "unknown to threadpoolctl"


def _kernels() -> Iterator[Fact]:
    group = "Compiled kernels"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        slow = "NUMBA_DISABLE_JIT is set: kernels run as plain Python, 100 times slower; unset it"
        yield Fact(group, "Compiler", "off", slow)
    named = os.environ.get("NUMBA_CACHE_DIR")
    place = named or "next to the source, or in the user's cache"
    refused = "" if can_mark() else "the folder is not writable: every process compiles again"
    yield Fact(group, "Cache", place, refused)
    cached = [part for part in all_parts() if is_compiled(part)]
    later = "none yet (done when first needed, or by sdpbb doctor --warm)"
    yield Fact(group, "All cached of", ", ".join(cached) or later)


def _optional() -> Iterator[Fact]:
    group = "Optional"
    for extra in EXTRAS:
        for name in _packages(extra):
            found = _version(name)
            problem = _PROBLEMS[name]() if found and name in _PROBLEMS else ""
            yield Fact(group, name, found or f"not installed; {install_command(extra)}", problem)
    yield Fact(group, "Conic solvers", _conic_solvers())


def _conic_solvers() -> str:
    """Return the values of `--sdp-solver` beside admm."""
    from sdpbb.runtime.backends.conic import conic_solvers

    try:
        return ", ".join(conic_solvers()) or "none"
    except ImportError:  # a fact of its own says what is missing
        return "none without cvxpy"


def _packages(extra: str = "") -> list[str]:
    """Return the names of the packages of an extra; without one of those that are needed."""
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements(extra)]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _missing(name: str) -> str:
    return f"{name} is not installed; pip install {name}"


def _gurobi_problem() -> str:
    """Return why Gurobi cannot be used although it is installed; "" if it can."""
    try:
        import gurobipy

        with gurobipy.Env(params={"OutputFlag": 0}):
            return ""
    except Exception as error:  # whatever a licence lacks
        return f"no licence: {' '.join(str(error).split())}; nothing needs Gurobi"


_PROBLEMS: dict[str, Callable[[], str]] = {"gurobipy": _gurobi_problem}

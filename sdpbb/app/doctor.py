"""State of this installation: what it runs on, and a self-test of its proofs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sdpbb.errors import CertificateError
from sdpbb.problem import Instance
from sdpbb.run.kernels import can_mark, is_compiled
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.run.verification import verify_certificate
from sdpbb.runtime.executors.memory import free_mebibytes
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.runtime.version import installed_version, requirements
from sdpbb.search.result import SolutionStatus

LITTLE_MEMORY = 1024.0
"""MiB below which runs of some hundred points may have to do without the nearest bounds."""
SECONDS = 60.0
"""Limit of each check; they take some two seconds together."""


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


def installation_facts() -> Iterator[Fact]:
    """Yield the facts about this installation, group by group."""
    group = "Versions"
    yield Fact(group, "sdpbb", f"{installed_version()} in {Path(__file__).resolve().parents[1]}")
    yield Fact(group, "Python", f"{platform.python_version()} ({sys.executable})")
    for requirement in requirements():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        found = _version(name)
        missing = "" if found else f"{name} is not installed; pip install {name}"
        yield Fact(group, name, found or "-", missing)
    for machine, value, problem in _machine():
        yield Fact("Machine", machine, value, problem)
    group = "Compiled kernels"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        slow = "NUMBA_DISABLE_JIT is set: kernels run as plain Python, 100 times slower; unset it"
        yield Fact(group, "Compiler", "off", slow)
    place = os.environ.get("NUMBA_CACHE_DIR") or "next to the source, or in the user's cache"
    refused = "" if can_mark() else "the folder is not writable: every process compiles again"
    yield Fact(group, "Cache", place, refused)
    late = "when first called, or all by sdpbb doctor --warm"
    yield Fact(group, "Compiled", "all" if is_compiled() else late)


def _machine() -> Iterator[tuple[str, str, str]]:
    import psutil

    has_affinity = hasattr(os, "sched_getaffinity")
    usable = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    yield "System", f"{platform.system()} {platform.release()}, {platform.machine()}", ""
    yield "Cores", f"{usable} usable of {os.cpu_count()}", ""
    free, total = free_mebibytes(), psutil.virtual_memory().total / 2**20
    little = f"only {free:.0f} MiB are free; expected {LITTLE_MEMORY:.0f} or more"
    problem = little if free < LITTLE_MEMORY else ""
    yield "Memory", f"{free / 1024:.1f} GiB free of {total / 1024:.1f}", problem


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def self_test() -> Iterator[Fact]:
    """Run the checks, and yield a fact of each: its seconds; what it raises is its problem."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("same optimum by semidefinite bounds and by columns, 40 points", _agreement),
        ("certificate of 60 points: verified, and rejected for other points", _certificate),
    )
    for name, check in checks:
        started = RUN_CLOCK()
        try:
            problem = check()
        except Exception as error:  # whatever an installation may lack
            problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        yield Fact("Self-test", name, f"{RUN_CLOCK() - started:.1f} s", problem)


def _instance(n: int, k: int) -> Instance:
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, 2)) + 10.0 * rng.integers(0, k, n)[:, None]
    return Instance(points, k, np.array([(0, 1)]), np.array([(0, 2), (3, 4)]))


def _agreement() -> str:
    costs = []
    for bounding in ("sdp", "colgen"):
        parameters = SolverParameters(gap=1e-6, bounding=bounding, time_limit=SECONDS)
        found = solve(_instance(40, 4), parameters)
        if found.status is not SolutionStatus.OPTIMAL:
            return f"bounding {bounding}: {found.status.value}, expected optimal"
        costs.append(found.objective or 0.0)
    if not np.isclose(costs[0], costs[1], rtol=1e-6):
        return f"found {costs[0]} and {costs[1]}, expected the same"
    return ""


def _certificate() -> str:
    instance, other = _instance(60, 3), _instance(61, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "self-test.cert")
        solve(instance, SolverParameters(time_limit=SECONDS), certificate=path)
        status = verify_certificate(path, instance).status
        if status != "optimal":
            return f"verified as {status}, expected optimal"
        try:
            verify_certificate(path, other)
        except CertificateError:
            return ""
    return "verified for other points as well"

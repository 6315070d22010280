"""The commands `sdpbb doctor` and `sdpbb parameters`: this installation, and what can be set."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.app import ExitCode
from sdpbb.app.cli.files import Outputs
from sdpbb.errors import CertificateError, ParameterError
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.version import installed_version, requirements

if TYPE_CHECKING:
    from sdpbb.problem import Instance

# Columns of the names of facts, and of the text on a parameter.
NAMES, WIDTH = 20, 92
COMPILING = "  (compiling kernels, once per machine and version; up to a minute)"
LITTLE_MEMORY = 1024.0
"""With less free memory, in MiB, runs of some hundred points may have weaker bounds."""
SECONDS = 60.0
"""Limit of each check; all together need about two seconds."""


@dataclass(frozen=True)
class Fact:
    """Fact about the installation.

    Attributes
    ----------
    group, name, value : the fact
    problem : error and what is expected, in one line; or ""
    """

    group: str
    name: str
    value: str
    problem: str = ""


def doctor(
    *,
    warm: Annotated[
        bool,
        options.flag(
            "--warm",
            help="Compile all kernels now, for container images and continuous integration.",
        ),
    ] = False,
    test: Annotated[
        bool,
        options.flag("--test", negative="--no-test", help="Run the self-test.", default="test"),
    ] = True,
    outputs: Outputs = Outputs(),
) -> ExitCode:
    """Report what this installation has and lacks, and test its proofs.

    The self-test needs some seconds, after compiling its kernels once. It solves an instance by
    each bound, and verifies a certificate. Please add the output to bug reports.
    """
    outputs.check([])
    from sdpbb.runtime.jit import clock_stopped_by_compiler

    if warm:
        _warm(outputs)
    facts = _reported(outputs, installation_facts())
    with clock_stopped_by_compiler(lambda: outputs.tell(COMPILING)):
        checks = _reported(outputs, self_test() if test else ())
    problems = [f"{fact.name}: {fact.problem}" for fact in (*facts, *checks) if fact.problem]
    outputs.tell("\n" + "\n".join(problems or ["Nothing is wrong."]))
    outputs.write({"facts": facts, "self_test": checks, "problems": problems})
    return ExitCode.UNANSWERED if problems else ExitCode.FOUND


def _warm(outputs: Outputs) -> None:
    """Compile all kernels, and report the seconds."""
    from sdpbb.run.kernels import compile_all, is_compiled

    if is_compiled():
        outputs.tell("Compiling: nothing, as all kernels are cached\n")
        return
    outputs.tell("Compiling all kernels: one to two minutes")
    started = time.perf_counter()
    compile_all()
    outputs.tell(f"   all done ({time.perf_counter() - started:.1f} s)\n")


def _reported(outputs: Outputs, facts: Iterable[Fact]) -> list[Fact]:
    """Return facts, each printed as soon as it is known."""
    known: list[Fact] = []
    for fact in facts:
        if not known or known[-1].group != fact.group:
            outputs.tell(f"{fact.group}:")
        outputs.tell(f" {'!' if fact.problem else ' '} {fact.name:<{NAMES}}  {fact.value}")
        known.append(fact)
    return known


def installation_facts() -> Iterator[Fact]:
    """Yield the facts about this installation, group by group."""
    from sdpbb.run.kernels import can_mark, is_compiled

    group = "Versions"
    yield Fact(group, "sdpbb", f"{installed_version()} in {Path(__file__).resolve().parents[2]}")
    yield Fact(group, "Python", f"{platform.python_version()} ({sys.executable})")
    for requirement in requirements():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        found = _version(name)
        missing = "" if found else f"{name} is not installed; pip install {name}"
        yield Fact(group, name, found or "-", missing)
    yield from _machine()
    group = "Compiled kernels"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        slow = "NUMBA_DISABLE_JIT is set: kernels run as plain Python, 100 times slower; unset it"
        yield Fact(group, "Compiler", "off", slow)
    place = os.environ.get("NUMBA_CACHE_DIR") or "next to the source, or in the user's cache"
    refused = "" if can_mark() else "the folder is not writable: every process compiles again"
    yield Fact(group, "Cache", place, refused)
    late = "when first called, or all by sdpbb doctor --warm"
    yield Fact(group, "Compiled", "all" if is_compiled() else late)


def _machine() -> Iterator[Fact]:
    import psutil

    from sdpbb.runtime.memory import free_mebibytes

    group = "Machine"
    yield Fact(group, "System", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Fact(group, "Cores", f"{options.usable_cores()} usable of {os.cpu_count()}")
    free, total = free_mebibytes(), psutil.virtual_memory().total / 2**20
    little = f"only {free:.0f} MiB are free; expected {LITTLE_MEMORY:.0f} or more"
    problem = little if free < LITTLE_MEMORY else ""
    yield Fact(group, "Memory", f"{free / 1024:.1f} GiB free of {total / 1024:.1f}", problem)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def self_test() -> Iterator[Fact]:
    """Run the checks, and yield a fact for each, with its seconds; an exception is its problem."""
    from sdpbb.runtime.time_left import RUN_CLOCK

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
    import numpy as np

    from sdpbb.problem import Instance

    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, 2)) + 10.0 * rng.integers(0, k, n)[:, None]
    return Instance(points, k, np.array([(0, 1)]), np.array([(0, 2), (3, 4)]))


def _agreement() -> str:
    from sdpbb.run.solver import solve

    costs = []
    for bounding in ("sdp", "colgen"):
        parameters = SolverParameters(gap=1e-6, bounding=bounding, time_limit=SECONDS)
        found = solve(_instance(40, 4), parameters)
        if found.status.value != "optimal":
            return f"bounding {bounding}: {found.status.value}, expected optimal"
        costs.append(found.objective or 0.0)
    if abs(costs[0] - costs[1]) > 1e-6 * costs[1]:
        return f"found {costs[0]} and {costs[1]}, expected the same"
    return ""


def _certificate() -> str:
    from sdpbb.run.solver import solve
    from sdpbb.run.verification import verify_certificate

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


def parameters(
    prefix: Annotated[
        str,
        options.argument(
            "PREFIX",
            help="Print only parameters whose names start with PREFIX, such as decomposition.",
        ),
    ] = "",
    /,
    *,
    file: options.ParametersFile = None,
    toml: Annotated[
        bool, options.flag("--toml", help="Print all parameters as TOML, for --parameters FILE.")
    ] = False,
) -> ExitCode:
    """Print all parameters of the engine: value, default, domain, meaning and reason."""
    values = SolverParameters() if file is None else options.read_parameters(file)[0]
    if toml and prefix:
        raise ParameterError(f"--toml prints all parameters; expected no PREFIX ({prefix})")
    text = values.to_toml() if toml else "\n".join(_lines(values, prefix))
    if not text:
        raise ParameterError(f"PREFIX {prefix!r}: no parameter starts with it")
    Outputs().tell(text.rstrip())
    return ExitCode.FOUND


def _lines(parameters: SolverParameters, prefix: str) -> Iterator[str]:
    from sdpbb.runtime.declaration import Parameters, declared_values

    for declaration, value in declared_values(parameters):
        if isinstance(value, Parameters) or not declaration.path.startswith(prefix):
            continue
        yield f"{declaration.path} = {value}"
        domain = f"Default: {declaration.default}. Expected: {declaration.expected}."
        for text in (declaration.help, declaration.reason, domain):
            yield from textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
        yield ""

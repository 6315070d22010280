"""The commands `sdpbb doctor` and `sdpbb parameters`: this installation, and what can be set."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.app import ExitCode
from sdpbb.app.cli.files import Outputs
from sdpbb.errors import ParameterError

if TYPE_CHECKING:
    from sdpbb.app.doctor import Fact
    from sdpbb.run.parameters import SolverParameters

# Columns of the names of facts, and of the text on a parameter.
NAMES, WIDTH = 20, 92
COMPILING = "  (compiling kernels, once per machine and version; up to a minute)"


def doctor(
    *,
    warm: Annotated[
        bool,
        options.flag(
            "--warm",
            help="Compile all kernels before, so that no run has to: for images, and for "
            "continuous integration.",
        ),
    ] = False,
    test: Annotated[
        bool,
        options.flag("--test", negative="--no-test", help="Run the self-test.", default="test"),
    ] = True,
    outputs: Outputs = Outputs(),
) -> ExitCode:
    """Report what this installation has and lacks, and test its proofs.

    The self-test takes some seconds, after compiling its kernels once. It solves an instance by
    each bound, and verifies a certificate. Please add the output to bug reports.
    """
    outputs.check([])
    from sdpbb.app.doctor import installation_facts, self_test
    from sdpbb.runtime.jit import clock_stopped_by_compiler

    if warm:
        _warm(outputs)
    facts = _told(outputs, installation_facts())
    with clock_stopped_by_compiler(lambda: outputs.tell(COMPILING)):
        checks = _told(outputs, self_test() if test else ())
    problems = [f"{fact.name}: {fact.problem}" for fact in (*facts, *checks) if fact.problem]
    outputs.tell("\n" + "\n".join(problems or ["Nothing is wrong."]))
    outputs.write({"facts": facts, "self_test": checks, "problems": problems})
    return ExitCode.UNANSWERED if problems else ExitCode.FOUND


def _warm(log: Outputs) -> None:
    """Compile all kernels, and report the seconds."""
    from sdpbb.run.kernels import compile_all, is_compiled

    if is_compiled():
        log.tell("Compiling: nothing, as all kernels are cached\n")
        return
    log.tell("Compiling all kernels: one to two minutes")
    started = time.perf_counter()
    compile_all()
    log.tell(f"   all done ({time.perf_counter() - started:.1f} s)\n")


def _told(log: Outputs, facts: Iterable[Fact]) -> list[Fact]:
    """Return facts, each told in a line when it is known."""
    told: list[Fact] = []
    for fact in facts:
        if not told or told[-1].group != fact.group:
            log.tell(f"{fact.group}:")
        log.tell(f" {'!' if fact.problem else ' '} {fact.name:<{NAMES}}  {fact.value}")
        told.append(fact)
    return told


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
    from sdpbb.app.cli.options import read_parameters
    from sdpbb.run.parameters import SolverParameters

    values = SolverParameters() if file is None else read_parameters(file)[0]
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

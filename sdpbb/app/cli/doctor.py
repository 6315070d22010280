"""The command `sdpbb doctor`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode
from sdpbb.app.cli.outputs import JsonOutput, Outputs

if TYPE_CHECKING:
    from sdpbb.app.doctor import Fact


# Columns of the names of facts.
NAMES = 20
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
    outputs: JsonOutput = JsonOutput(),
) -> ExitCode:
    """Report what this installation has and lacks, and test its proofs.

    The self-test takes some seconds, after compiling its kernels once. It solves an instance by
    each bound, and verifies a certificate. Please add the output to bug reports.
    """
    outputs.check([])
    from sdpbb.app.doctor import installation_facts, self_test
    from sdpbb.runtime.jit import clock_stopped_by_compiler

    log = Outputs(json=outputs.json)
    if warm:
        _warm(log)
    facts = _told(log, installation_facts())
    with clock_stopped_by_compiler(lambda: log.tell(COMPILING)):
        checks = _told(log, self_test() if test else ())
    problems = [f"{fact.name}: {fact.problem}" for fact in (*facts, *checks) if fact.problem]
    log.tell("\n" + "\n".join(problems or ["Nothing is wrong."]))
    values = {"facts": facts, "self_test": checks, "problems": problems}
    outputs.write(values, quiet=True)
    return ExitCode.UNANSWERED if problems else ExitCode.FOUND


def _warm(log: Outputs) -> None:
    """Compile the kernels of all parts of the engine, with a line for each and what is left."""
    from sdpbb.run.kernels import PARTS, compile_part, is_compiled

    left = [part for part in PARTS if not is_compiled(part)]
    log.tell("Compiling:" if left else "Compiling: nothing, as all kernels are cached")
    started = time.perf_counter()
    for number, part in enumerate(left, 1):
        compile_part(part)
        seconds = time.perf_counter() - started
        more = f"{len(left) - number} of {len(left)} to go" if number < len(left) else "all done"
        log.tell(f"   {part}  ({seconds:.1f} s; {more})")
    log.tell("")


def _told(log: Outputs, facts: Iterable[Fact]) -> list[Fact]:
    """Return facts, each told in a line when it is known."""
    told: list[Fact] = []
    for fact in facts:
        if not told or told[-1].group != fact.group:
            log.tell(f"{fact.group}:")
        log.tell(f" {'!' if fact.problem else ' '} {fact.name:<{NAMES}}  {fact.value}")
        told.append(fact)
    return told

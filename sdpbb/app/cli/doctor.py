"""The command `sdpbb doctor`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode
from sdpbb.app.cli.outputs import JsonOutput, Outputs

if TYPE_CHECKING:
    from sdpbb.app.doctor import Fact, SelfCheck


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

    The self-test takes some seconds, after compiling its kernels once. It solves an instance
    by each bound, and verifies a certificate. Please add the output to bug
    reports.
    """
    outputs.check([])
    from sdpbb.app.doctor import installation_facts

    log = Outputs(json=outputs.json)
    if warm:
        _warm(log)
    facts = installation_facts()
    _tell_facts(log, facts)
    checks = _tested(log) if test else []
    problems = [f"{fact.name}: {fact.problem}" for fact in facts if fact.problem]
    problems += [f"{check.name}: {check.problem}" for check in checks if check.problem]
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


def _tell_facts(log: Outputs, facts: Sequence[Fact]) -> None:
    width = max(len(fact.name) for fact in facts)
    group = ""
    for fact in facts:
        if fact.group != group:
            log.tell(f"{fact.group}:")
            group = fact.group
        mark = "!" if fact.problem else " "
        log.tell(f" {mark} {fact.name:<{width}}  {fact.value}")


def _tested(log: Outputs) -> list[SelfCheck]:
    """Run the self-test, a line for each check."""
    from sdpbb.app.doctor import self_test
    from sdpbb.runtime.jit import clock_stopped_by_compiler

    def tell() -> None:
        log.tell("  (compiling kernels, once per machine and version; up to a minute)")

    log.tell("Self-test:")
    checks = []
    with clock_stopped_by_compiler(tell):
        for check in self_test():
            checks.append(check)
            log.tell(f" {'!' if check.problem else ' '} {check.name}  ({check.seconds:.1f} s)")
    return checks

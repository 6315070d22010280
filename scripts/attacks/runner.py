"""Cases in processes that may hang or die, which is something found and not the end."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, TextIO

from attacks.outcome import Kind, Outcome
from attacks.tally import Tally
from attacks.worker import READY, work

# Beyond a part's own patience, for code that does not listen to signals.
GRACE = 10.0
STARTING = 300.0
SHOWN_EVERY = 5.0
ENDLESS = 2**62


@dataclass(frozen=True)
class Plan:
    """The cases first, first + 1, ... of a part, for so many seconds and at most so many.

    package : that the part is a module of
    """

    part: str
    seed: int = 0
    first: int = 0
    count: int | None = None
    seconds: float | None = 60.0
    processes: int = 1
    package: str = "attacks.parts"

    @property
    def module(self) -> str:
        return f"{self.package}.{self.part}"


def attack(plan: Plan, log: TextIO) -> Tally:
    """Try the cases, telling the counts every few seconds."""
    tally = Tally(plan.part, plan.seed)
    last = ENDLESS if plan.count is None else plan.first + plan.count
    began = time.monotonic()
    deadline = None if plan.seconds is None else began + plan.seconds
    crew = [
        Worker(plan, range(plan.first + place, last, plan.processes), deadline)
        for place in range(plan.processes)
    ]
    shown = began
    try:
        while any(not worker.done for worker in crew):
            wait([worker.connection for worker in crew if not worker.done], timeout=0.5)
            for worker in crew:
                for number, outcome in worker.received():
                    tally.add(number, outcome)
                    if outcome.kind is Kind.FOUND and tally.found[outcome.signature].times == 1:
                        print(f"FOUND in case {number}: {outcome.signature}", file=log, flush=True)
            tally.seconds = time.monotonic() - began
            if time.monotonic() > shown + SHOWN_EVERY:
                shown = time.monotonic()
                print(tally.line(), file=log, flush=True)
    finally:
        for worker in crew:
            worker.kill()
    tally.seconds = time.monotonic() - began
    print(tally.line(), file=log, flush=True)
    return tally


class Worker:
    """A process with its cases, and another one for the rest of them when it dies."""

    def __init__(self, plan: Plan, numbers: range, deadline: float | None) -> None:
        self.done = False
        self._plan = plan
        self._deadline = deadline
        self._numbers = numbers
        self._patience = import_module(plan.module).PATIENCE + GRACE
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe(duplex=False)
        arguments = (self._plan.module, self._plan.seed, self._numbers, self._deadline, other)
        self._process: BaseProcess = context.Process(target=work, args=arguments)
        self._process.start()
        other.close()
        self._heard = time.monotonic()
        self._ready = False

    def received(self) -> list[tuple[int, Outcome]]:
        """What has come since the last time, and what silence means."""
        outcomes: list[tuple[int, Outcome]] = []
        try:
            while not self.done and self.connection.poll():
                self._take(self.connection.recv(), outcomes)
        except (EOFError, OSError):
            self._process.join()
            self._lost(f"the process ended with status {self._process.exitcode}", outcomes)
            return outcomes
        patience = self._patience if self._ready else STARTING
        if not self.done and time.monotonic() > self._heard + patience:
            self.kill()
            self._lost(f"no answer in {patience:g} s, and signals do not help", outcomes)
        return outcomes

    def _take(self, message: Any, outcomes: list[tuple[int, Outcome]]) -> None:
        self._heard = time.monotonic()
        if message is None:
            self.done = True
            self._process.join()
            return
        number, outcome = message
        if number == READY:
            self._ready = True
            return
        outcomes.append((number, outcome))
        self._numbers = self._numbers[1:]

    def _lost(self, why: str, outcomes: list[tuple[int, Outcome]]) -> None:
        if not self._ready:
            raise RuntimeError(f"part {self._plan.part} could not be prepared: {why}")
        if not self._numbers:
            self.done = True
            return
        outcomes.append((self._numbers[0], Outcome(Kind.FOUND, why)))
        self._numbers = self._numbers[1:]
        self._start()

    def kill(self) -> None:
        """End the process now."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()

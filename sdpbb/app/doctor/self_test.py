"""Self-test: small instances whose answers are known, by each bound, with a certificate."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sdpbb.errors import CertificateError
from sdpbb.problem import Instance, Partition
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.run.verification import verify_certificate
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.search.result import SolutionStatus

SECONDS = 60.0
"""Limit of each check; all of them take some two seconds together."""


@dataclass(frozen=True)
class SelfCheck:
    """Check of the self-test.

    Attributes
    ----------
    name : what is checked
    seconds : that it took
    problem : what is wrong, in one line; "" for nothing
    """

    name: str
    seconds: float
    problem: str


def self_test() -> Iterator[SelfCheck]:
    """Run the checks, one after the other; what one of them raises is its problem."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("optimum of 8 points against full enumeration", _enumeration),
        ("same optimum by semidefinite bounds and by columns, 40 points", _agreement),
        ("certificate of 60 points: verified, and rejected for other points", _certificate),
        ("contradictory constraints are detected", _conflict),
    )
    for name, check in checks:
        started = RUN_CLOCK()
        try:
            problem = check()
        except Exception as error:  # whatever an installation may lack
            problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        yield SelfCheck(name, RUN_CLOCK() - started, problem)


def _instance(n: int, k: int) -> Instance:
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, 2)) + 10.0 * rng.integers(0, k, n)[:, None]
    return Instance(points, k, np.array([(0, 1)]), np.array([(0, 2), (3, 4)]))


def _enumeration() -> str:
    instance = _instance(8, 3)
    clusterings = (Partition(np.array(row)) for row in itertools.product(range(3), repeat=8))
    least = min(p.cost(instance) for p in clusterings if p.is_feasible(instance))
    found = solve(instance, SolverParameters(gap=0.0, time_limit=SECONDS))
    return _difference(found.objective, least)


def _agreement() -> str:
    costs = []
    for bounding in ("sdp", "colgen"):
        parameters = SolverParameters(gap=1e-6, bounding=bounding, time_limit=SECONDS)
        found = solve(_instance(40, 4), parameters)
        if found.status is not SolutionStatus.OPTIMAL:
            return f"bounding {bounding}: {found.status.value}, expected optimal"
        costs.append(found.objective)
    return _difference(*costs)


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


def _conflict() -> str:
    must_link, cannot_link = np.array([(0, 1), (1, 2)]), np.array([(0, 2)])
    instance = Instance(np.arange(6.0)[:, None], 2, must_link, cannot_link)
    found = solve(instance, SolverParameters(time_limit=SECONDS))
    if found.status is not SolutionStatus.INFEASIBLE or found.conflict is None:
        return f"{found.status.value}, expected infeasible with a conflict"
    named = len(found.conflict.members)
    return "" if named == 3 else f"a conflict of {named} constraints, expected 3"


def _difference(found: float | None, expected: float | None) -> str:
    if found is None or expected is None or not np.isclose(found, expected, rtol=1e-6):
        return f"found {found}, expected {expected}"
    return ""

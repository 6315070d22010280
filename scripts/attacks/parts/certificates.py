"""Certificates of small instances, a third of them with constraints on clusters: what the engine
writes is verified, and nothing that is false is once they are changed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from attacks.certificate_mutations import damaged, mutations
from attacks.exhaustive import best_clustering
from attacks.judging import BOUND
from attacks.outcome import Found, Kind, Outcome
from attacks.random_parameters import code_of
from attacks.ruled import RuledCase, least_ruled_cost, random_ruled_case
from attacks.shapes import Case, random_case

PATIENCE = 120.0
N_MAX, N_MAX_RULED, RULED = 9, 8, 1 / 3
# The first knows no constraints on clusters.
BOUNDINGS = ("sdp", "colgen", "hybrid")
TIME_LIMIT = 30.0
# Of each certificate, with the digest it had and with that which belongs to them.
N_DAMAGED, N_RESEALED = 10, 20


def prepare(folder: Path) -> None:
    """Load the engine and compile."""
    rng = np.random.default_rng(0)
    for bounding in BOUNDINGS:
        _certificate(random_case(rng, N_MAX), _parameters(rng, bounding), folder)
    case = random_case(rng, N_MAX)
    best_clustering(case.points, case.k, case.must_link, case.cannot_link)


def case(rng: np.random.Generator, folder: Path) -> Outcome:
    """The certificate of one instance, and some that are like it."""
    ruled = rng.random() < RULED
    given = random_ruled_case(rng, N_MAX_RULED) if ruled else random_case(rng, N_MAX)
    parameters = _parameters(rng, str(rng.choice(BOUNDINGS[ruled:])))
    least = _least(given)
    content, status = _certificate(given, parameters, folder)
    about = given.code(code_of(parameters))
    verdict = _verdict(content, given)
    if isinstance(verdict, str):
        raise Found("a certificate of the engine is rejected", f"{about}\n# {verdict}")
    if verdict.status != status:
        raise Found("a certificate says less than the result", f"{about}\n# {verdict.status}")
    _judge(given, verdict, least, about)
    for _ in range(N_DAMAGED):
        description, changed = damaged(content, rng)
        if changed != content and not isinstance(_verdict(changed, given), str):
            raise Found("a damaged certificate is accepted", f"{about}\n# {description}")
    for description, changed in islice(mutations(content, rng), N_RESEALED):
        accepted = _verdict(changed, given)
        if not isinstance(accepted, str):
            _judge(given, accepted, least, f"{about}\n# {description}")
    return Outcome(Kind(status))


def _least(given: Case) -> float | None:
    """The cost of the best clustering, if there is any."""
    if isinstance(given, RuledCase):
        return least_ruled_cost(given)
    best = best_clustering(given.points, given.k, given.must_link, given.cannot_link)
    return None if best is None else best[0]


def _parameters(rng: np.random.Generator, bounding: str) -> Any:
    """Mostly such that there is a tree."""
    from dataclasses import replace

    from sdpbb import SolverParameters
    from sdpbb.bounds.sdp.cuts import SeparationParameters
    from sdpbb.bounds.sdp.cuts.stars import StarCuts
    from sdpbb.bounds.sdp.cuts.triangles import TriangleCuts
    from sdpbb.bounds.sdp.parameters import SdpParameters
    from sdpbb.search.parameters import BranchingParameters, SearchParameters

    sdp = SdpParameters()
    if rng.random() < 0.7:
        separation = SeparationParameters(
            triangles=TriangleCuts(per_block=1), stars=StarCuts(per_block=0)
        )
        sdp = replace(sdp, max_iterations=20, separation=separation)
    branching = BranchingParameters(int(rng.choice([1, 1, 4])), 1)
    return SolverParameters(
        gap=float(rng.choice([1e-2, 1e-4, 1e-6, 1e-9])),
        time_limit=TIME_LIMIT,
        node_limit=int(rng.choice([3, 10**6])),
        bounding=bounding,
        sdp=sdp,
        search=SearchParameters(branching=branching, fixing=bool(rng.random() < 0.7)),
    )


def _certificate(given: Case, parameters: Any, folder: Path) -> tuple[bytes, str]:
    import sdpbb

    path = folder / "run.cert"
    result = sdpbb.solve(given.instance(), parameters, certificate=path)
    return path.read_bytes(), result.status.value


def _verdict(content: bytes, given: Case) -> Any:
    """The verdict, or why there is none."""
    from sdpbb.checker.certificate import Certificate
    from sdpbb.checker.rejection import Rejected
    from sdpbb.checker.verify import verify
    from sdpbb.problem.cluster_rules import CheckedConstraints

    kept = CheckedConstraints.of(given.instance())
    constraints = kept.must_link, kept.cannot_link, kept.rules
    try:
        return verify(Certificate.read(content), given.points, given.k, *constraints)
    except Rejected as rejected:
        return str(rejected)


def _judge(given: Case, verdict: Any, least: float | Fraction | None, about: str) -> None:
    """Whether what was accepted is true."""
    if least is None:
        if verdict.status in ("optimal", "feasible"):
            raise Found("a clustering of an instance that has none is accepted", about)
        return
    if verdict.status == "infeasible":
        raise Found("accepted as infeasible, but a clustering keeps the links", about)
    allowed = Fraction(least) * (1 + Fraction(BOUND))
    if math.isnan(verdict.lower_bound) or Fraction(verdict.lower_bound) > allowed:
        shown = f"# {verdict.lower_bound!r} > {float(least)!r}"
        raise Found("a bound above the optimum is accepted", f"{about}\n{shown}")
    lowest = Fraction(least) * (1 - Fraction(BOUND))
    if verdict.cost is not None and Fraction(verdict.cost) < lowest:
        raise Found("a cost below the optimum is accepted", about)

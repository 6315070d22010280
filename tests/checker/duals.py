"""Dual values to prove bounds from: random ones, and those of the solver's method."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.evidence import checked_cuts
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.problem import Contraction
from tests.checker.drawn_cuts import drawn_cuts, joined
from tests.checker.exact import Problem


def zero_evidence(m: int, unit: float = 1.0) -> Semidefinite:
    return Semidefinite(unit, np.zeros(m * (m + 1) // 2), Cuts(), np.zeros(0))


def random_cuts(rng: np.random.Generator, k: int, adjacency: np.ndarray, sizes: np.ndarray) -> Cuts:
    """Of all forms that need no limits, with blocks that repeat."""
    node, drawn = NodeFacts(k, sizes, adjacency), [Cuts()]
    for name in ("stars", "vectors", "cliques", "complements", "pentagons"):
        is_possible = name != "complements" or (k == 2 and adjacency.any())
        if is_possible and rng.random() < 0.7:
            drawn.append(drawn_cuts(rng, name, node))
    return joined(*drawn)


def random_evidence(
    rng: np.random.Generator, problem: Problem, spread: float, scale: float
) -> Semidefinite:
    """Dual values of about spread * scale^2, in single or double precision."""
    m = len(problem.adjacency)
    upper = np.triu_indices(m)
    N = rng.exponential(spread, len(upper[0])) * (rng.random(len(upper[0])) < rng.random())
    free = problem.adjacency[upper]
    N[free] = rng.normal(size=free.sum()) * spread
    cuts = random_cuts(rng, problem.k, problem.adjacency, problem.contracted.weights)
    t = rng.exponential(spread, len(cuts))
    dtype = rng.choice([np.float32, np.float64])
    unit = float(2.0 ** np.round(2.0 * np.log2(scale)))
    return Semidefinite(unit, N.astype(dtype), cuts, t.astype(dtype))


def solved(contraction: Contraction, rounds: int) -> tuple[Relaxation, DualPoint]:
    """The dual values of the solver's method after some rounds of cuts; pentagons left out."""
    run = SdpBounding().start(contraction, None)
    for _ in range(rounds):
        run.advance(np.inf)
    dual = run.admm.dual_point()
    kept = dual.cuts.rhs > -1.0
    cuts = dual.cuts.select(kept)
    return Relaxation.of(contraction), DualPoint(dual.N, cuts, dual.multipliers[kept])


def evidence_of(relaxation: Relaxation, dual: DualPoint) -> tuple[Semidefinite, DualPoint]:
    """The same dual values as evidence, and once more with the signs that it has to have."""
    N = np.where(relaxation.forbidden, dual.N, np.maximum(dual.N, 0.0))
    N = 0.5 * (N + N.T)
    t = np.maximum(dual.multipliers, 0.0)
    unit = float(2.0 ** np.floor(np.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    cuts, order = checked_cuts(dual.cuts.members, relaxation)
    evidence = Semidefinite(unit, N[np.triu_indices(len(N))] * factor, cuts, t[order] * factor)
    return evidence, DualPoint(N, dual.cuts, t)

"""Dual values to prove bounds from: random ones, and those of the solver's method."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.cuts import Cuts
from sdpbb.checker.cuts.inequalities import NodeFacts
from sdpbb.checker.evidence import Semidefinite
from sdpbb.problem import Contraction
from tests.checker.drawn_cuts import drawn_arrays, family_named
from tests.checker.exact import Problem


def cuts_of(k: int, **arrays: np.ndarray) -> Cuts:
    """Cuts whose arrays are given by their keys in a file; none of the families without any."""
    return Cuts.of(k, arrays)


def zero_evidence(m: int, k: int, unit: float = 1.0) -> Semidefinite:
    return Semidefinite(unit, np.zeros(m * (m + 1) // 2), Cuts.of(k), np.zeros(0))


def random_cuts(rng: np.random.Generator, k: int, adjacency: np.ndarray, sizes: np.ndarray) -> Cuts:
    """Of all families that need no limits, with blocks that repeat."""
    node, arrays = NodeFacts(k, sizes, adjacency), {}
    for name in ("stars", "cliques", "complements", "pentagons"):
        is_possible = name != "complements" or (k == 2 and adjacency.any())
        if is_possible and rng.random() < 0.7:
            arrays |= drawn_arrays(rng, family_named(name), node)
    return Cuts.of(k, arrays)


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
    dual = run._admm.dual_point()
    kept = dual.cuts.rhs > -1.0
    cuts = dual.cuts.select(kept)
    return Relaxation.of(contraction), DualPoint(dual.N, cuts, dual.multipliers[kept])


def evidence_of(relaxation: Relaxation, dual: DualPoint) -> tuple[Semidefinite, DualPoint]:
    """The same dual values as evidence, and once more with the signs that it has to have.

    The blocks of cuts are read off their terms, which tell them as long as no blocks were merged.
    """
    stars, cliques, complements = [], [], []
    cuts = dual.cuts
    for c in range(len(cuts)):
        terms = slice(cuts.start[c], cuts.start[c + 1])
        row, column, value = cuts.row[terms], cuts.column[terms], cuts.coefficient[terms]
        if cuts.rhs[c] > 0:
            cliques.append((c, np.unique([row, column]).tolist()))
            continue
        diagonal = row == column
        (i,) = row[diagonal].tolist()
        other = np.where(row == i, column, row)
        if value[diagonal][0] < 0:
            complements.append((c, [i, *other[~diagonal].tolist()]))
        else:
            stars.append((c, [i, *other[value < 0].tolist()]))
    order = [c for c, _ in stars + cliques + complements]
    N = np.where(relaxation.forbidden, dual.N, np.maximum(dual.N, 0.0))
    N = 0.5 * (N + N.T)
    t = np.maximum(dual.multipliers, 0.0)
    unit = float(2.0 ** np.floor(np.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    evidence = Semidefinite(
        unit,
        N[np.triu_indices(len(N))] * factor,
        Cuts.of(
            relaxation.k,
            {
                "star_start": np.cumsum([0, *(len(each) for _, each in stars)], dtype=np.int64),
                "star_blocks": np.array([b for _, each in stars for b in each], dtype=np.int32),
                "cliques": _rows(cliques, relaxation.k + 1),
                "complements": _rows(complements, 3),
            },
        ),
        t[order] * factor,
    )
    return evidence, DualPoint(N, cuts, t)


def _rows(cuts: list, width: int) -> np.ndarray:
    return np.array([blocks for _, blocks in cuts], dtype=np.int32).reshape(-1, width)

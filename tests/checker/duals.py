"""Dual values to prove bounds from: random ones, and those of the solver's method."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint
from sdpbb.checker.cuts import FAMILIES, Cuts
from sdpbb.checker.cuts.cliques import Cliques
from sdpbb.checker.cuts.complements import Complements
from sdpbb.checker.cuts.family import CheckedCuts
from sdpbb.checker.cuts.pentagons import Pentagons
from sdpbb.checker.cuts.stars import Stars
from sdpbb.checker.evidence import Semidefinite
from sdpbb.problem import Contraction
from tests.checker.exact import Problem


def cuts_of(k: int, **arrays: np.ndarray) -> Cuts:
    """Cuts whose arrays are given by their keys in a file; none of the families without any."""
    return Cuts.of_arrays(k, {**Cuts.of(k).arrays, **arrays})


def family(cuts: Cuts, kind: type[CheckedCuts]) -> Any:
    """The cuts of one family."""
    return cuts.families[FAMILIES.index(kind)]


def zero_evidence(m: int, k: int, unit: float = 1.0) -> Semidefinite:
    return Semidefinite(unit, np.zeros(m * (m + 1) // 2), Cuts.of(k), np.zeros(0))


def random_cuts(rng: np.random.Generator, k: int, adjacency: np.ndarray, sizes: np.ndarray) -> Cuts:
    """Of all families, with blocks that repeat."""
    m = len(adjacency)
    stars = [rng.integers(m, size=int(rng.integers(2, 7))) for _ in range(rng.integers(0, 6))]
    apart = np.argwhere(adjacency) if k == 2 else np.empty((0, 2), int)
    pairs = apart[rng.integers(len(apart), size=3)] if len(apart) else apart
    return Cuts.of(
        k,
        Stars(
            np.cumsum([0, *map(len, stars)], dtype=np.int64),
            np.concatenate([*stars, np.empty(0)]).astype(np.int32),
        ),
        Cliques(rng.integers(m, size=(int(rng.integers(0, 4)), k + 1)).astype(np.int32)),
        Complements(np.column_stack([rng.integers(m, size=len(pairs)), pairs]).astype(np.int32)),
        random_pentagons(rng, sizes),
    )


def random_pentagons(rng: np.random.Generator, sizes: np.ndarray) -> Pentagons:
    """Up to three, with random estimates for some of the points of all blocks."""
    cycles = rng.integers(len(sizes), size=(int(rng.integers(0, 4)), 5))
    start, estimates = [0], []
    for _ in cycles:
        for pair in range(10):
            for s, size in enumerate(sizes.astype(int).tolist()):
                parts = rng.multinomial(size, np.full(4, 0.25))[: 3 if pair < 5 else 2]
                parts = parts * (rng.random() < 0.7)
                estimates += [(3 * pair + w, s, part) for w, part in enumerate(parts) if part]
        start.append(len(estimates))
    rows = np.array(estimates, np.int32).reshape(-1, 3)
    return Pentagons(cycles.astype(np.int32), np.array(start, np.int64), rows)


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
            Stars(
                np.cumsum([0, *(len(blocks) for _, blocks in stars)], dtype=np.int64),
                np.array([b for _, blocks in stars for b in blocks], dtype=np.int32),
            ),
            Cliques(_rows(cliques, relaxation.k + 1)),
            Complements(_rows(complements, 3)),
        ),
        t[order] * factor,
    )
    return evidence, DualPoint(N, cuts, t)


def _rows(cuts: list, width: int) -> np.ndarray:
    return np.array([blocks for _, blocks in cuts], dtype=np.int32).reshape(-1, width)

"""`suggest_queries`: the pairs of points, or the points, to ask about next."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from sdpbb.errors import ParameterError
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.questions.queries.report import Query, QueryReport
from sdpbb.questions.queries.standing import Memberships, Standing, memberships_of, standing_of
from sdpbb.questions.queries.strategy import ChosenPair, QueryKind, chosen_blocks, chosen_pairs
from sdpbb.run.arguments import checked_clustering

Ask = Literal["pairs", "classes"]
"""What is asked: whether two points belong together, or of which class a point is."""

# Clusters that a reason names beside the likeliest are as likely as this at least.
WORTH_NAMING = 0.05


def suggest_queries(
    instance: Any,
    q: int = 10,
    *,
    k: int | None = None,
    ask: Ask = "pairs",
    clustering: ArrayLike | None = None,
    seed: int = 0,
    time_limit: float = math.inf,
    **arguments: Unpack[InstanceArguments],
) -> QueryReport:
    """Suggest pairs of points, or points, whose answers are worth most for a clustering.

    Each of the k clusters has a representative: its largest group of must-linked points. A point
    is asked about with the representative of the cluster that it most likely belongs to; points
    come by the information that an answer is expected to give, weighted by the density of points
    around. A few queries ask whether two representatives are apart. Answers become must-links and
    cannot-links of the next instance. docs/benchmarks/queries.md has what this is worth.

    Of classes instead, a point is asked for by the same measure of information, after one point of
    each cluster of which no class is known. Answers are known classes of the next instance.

    No query is implied by the constraints, as far as propagation finds, or can come to be implied
    by answers to the others, so that they can be answered in any order.

    Parameters
    ----------
    instance : points, k and the constraints known so far as an `Instance`; with weights, limits on
        sizes and soft pairs, if any. Or points alone, an array (n, d) or a data frame, with the
        others as further arguments
    q : number of queries, >= 1
    k : number of clusters, of points
    ask : "pairs": whether two points belong together; "classes": of which class a point is
    clustering : labels (n,) of the clustering that queries are about, such as a proven one; None
        for the best that the engine's first search finds
    seed : of the random choices, >= 0: the same for the same arguments, unless the time limit
        cuts in
    time_limit : seconds, > 0, for the search
    arguments : of points what makes an `Instance` of them, as for `sdpbb.solve`

    Returns
    -------
    QueryReport; with fewer queries than q, and a note, where no more are left.

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        If the instance is none, no clustering keeps its constraints (`NoClusteringToAskAbout`), or
        it has constraints on clusters beyond their sizes.
    ParameterError
        If an argument is out of its domain, the clustering does not keep the constraints,
        or the time is too short.
    """
    instance = instance_of(instance, k, arguments, suggest_queries)
    _check(q, ask, seed, time_limit)
    with threadpool_limits(1):  # see `sdpbb.run.run`
        given = None
        if clustering is not None:
            given = checked_clustering(clustering, instance, "clustering").labels
        standing = standing_of(instance, given, seed, time_limit)
        shares = memberships_of(standing)
        # Other choices between equals with each answer.
        n_known = len(instance.must_link) + len(instance.cannot_link)
        rng = np.random.default_rng([seed, n_known])
        if ask == "pairs":
            chosen = chosen_pairs(standing, shares, q, rng)
        else:
            chosen = chosen_blocks(standing, shares, q, rng, _with_known_class(standing))
    return QueryReport(
        instance=instance,
        queries=tuple(_query(standing, shares, pair) for pair in chosen),
        n_asked_for=q,
        ask=ask,
        labels=standing.contraction.lift(standing.labels),
        cost=standing.contraction.cost(standing.labels),
        seed=seed,
    )


def _with_known_class(standing: Standing) -> NDArray[np.bool_]:
    """Return which blocks hold a row whose class is known, (m,)."""
    classes, contraction = standing.instance.origin.known_classes, standing.contraction
    is_known = np.zeros(contraction.n_blocks, np.bool_)
    if classes is not None:
        is_known[contraction.block_of[classes.numbers >= 0]] = True
    return is_known


def _check(q: int, ask: str, seed: int, time_limit: float) -> None:
    for name, value, least in (("q", q, 1), ("seed", seed, 0)):
        is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not is_integer or value < least:
            raise ParameterError(f"{name} = {value!r}: expected an integer >= {least}")
    if ask not in get_args(Ask):
        raise ParameterError(f"ask = {ask!r}: expected 'pairs' or 'classes'")
    if not time_limit > 0:
        raise ParameterError(f"time_limit = {time_limit!r}: expected seconds > 0")


def _query(standing: Standing, shares: Memberships, pair: ChosenPair) -> Query:
    contraction = standing.contraction
    i, j = (int(contraction.representatives[block]) for block in pair.blocks)
    first, second = (int(standing.labels[block]) for block in pair.blocks)
    names = standing.instance.origin.row(i), standing.instance.origin.row(j)
    return Query(
        rows=(i, j),
        names=names,
        clusters=(first, second),
        kind=pair.kind,
        score=pair.score,
        likely_together=pair.likely,
        reason=_reason(names, (first, second), pair, shares),
    )


def _reason(
    names: tuple[str, str], clusters: tuple[int, int], pair: ChosenPair, shares: Memberships
) -> str:
    if pair.kind is QueryKind.CLUSTERS:
        return (
            f"{names[0]} and {names[1]} stand for clusters {clusters[0]} and {clusters[1]}, "
            "which are not known to be apart"
        )
    if pair.kind is QueryKind.REST:
        return "nothing says yet whether they belong together"
    if pair.blocks[0] == pair.blocks[1]:
        return f"{names[0]} stands for cluster {clusters[0]}, of which no class is known"
    own = shares[pair.blocks[0]]
    likeliest = [c for c in np.argsort(-own, kind="stable").tolist() if own[c] >= WORTH_NAMING]
    named = [f"{cluster} ({100 * own[cluster]:.0f} %)" for cluster in likeliest[:3]]
    if len(named) < 2:
        return f"{names[0]} is most likely of cluster {clusters[1]}, which {names[1]} stands for"
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"{names[0]} lies between clusters {listed}; {names[1]} stands for {clusters[1]}"

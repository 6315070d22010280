"""Loop of branch and bound: select, evaluate, bound, branch."""

from __future__ import annotations

from sdpbb.search.evaluations import Evaluations
from sdpbb.search.reporting import Watch
from sdpbb.search.result import Termination
from sdpbb.search.tree import Search


def branch_and_bound(search: Search, evaluations: Evaluations, watch: Watch) -> Termination | None:
    """Search best-first by branch and bound (PC-SOS-SDP, Algorithm 3), asynchronously.

    While no limit is reached and a worker is free (`Evaluations.rounds`):

    1. Select the open node with the least bound, or one whose evaluation is to go on.
    2. Evaluate it: bound, cut, and look for clusterings (`sdpbb.search.evaluate`).

    For each result that comes back:

    3. Bound: take its clustering if it is better than the incumbent. Drop the node if it holds no
       clustering, close it if its bound meets the incumbent, and evaluate it again if pairs were
       fixed or its slice of time has ended.
    4. Branch otherwise: replace the node by its two children.

    Works on the search in place. Returns the limit that was reached, None if every node is
    finished.
    """
    tree = search.tree
    try:
        watch.began(search)
        for results in evaluations.rounds(search):  # 1, 2
            for number, result in results:
                if result is None:  # two workers have died of it
                    search.lose(number, evaluations.seconds)
                    watch.lost(search, number)
                    continue
                pair = search.apply(number, result, evaluations.seconds)  # 3
                children = None if pair is None else tree.split(number, pair)  # 4
                watch.evaluated(search, number, result, children)
            watch.round_ended(search)
    finally:
        evaluations.shutdown()
    watch.ended(search)
    return evaluations.limit or _reason_for_open_nodes(search)


def _reason_for_open_nodes(search: Search) -> Termination | None:
    """Return why a search that has reached no limit has not closed its tree, or None if it has."""
    if search.tree.is_closed or search.tree.is_exhausted:
        return None
    return Termination.WORKERS_LOST if search.statistics.n_lost else Termination.PRECISION

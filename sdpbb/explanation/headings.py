"""What is wrong with constraints that cannot hold together, in words."""

from __future__ import annotations

from collections.abc import Sequence

from sdpbb.explanation.oracle import quotient
from sdpbb.explanation.statements import Catalogue
from sdpbb.problem import Infeasibility, InfeasibilityKind, contract
from sdpbb.values import counted


def described(catalogue: Catalogue, numbers: Sequence[int]) -> tuple[InfeasibilityKind, str]:
    """The kind of argument that refutes the constraints of these numbers, and a heading."""
    must_link, cannot_link, on_clusters = catalogue.split(numbers)
    n, k = catalogue.instance.n_points, catalogue.instance.k
    if on_clusters:
        return _on_clusters(catalogue, numbers)
    if not len(cannot_link):
        return InfeasibilityKind.TOO_FEW_BLOCKS, (
            f"{counted(len(must_link), 'must-link')} leave "
            f"{counted(n - len(must_link), 'group')} of the {n} points, "
            f"fewer than k = {k} clusters"
        )
    if k == 1:
        return InfeasibilityKind.CLIQUE, "a cannot-link, and only k = 1 cluster"
    if len(cannot_link) == 1:
        return InfeasibilityKind.CANNOT_LINK_IN_BLOCK, _in_block(len(must_link))
    if k == 2:
        return InfeasibilityKind.ODD_CYCLE, (
            f"a cycle with an odd number of cannot-links ({len(cannot_link)}), "
            "which k = 2 clusters cannot take turns along"
        )
    graph = quotient(n, k, must_link, cannot_link)
    groups = "points" if not len(must_link) else "groups of points"
    if graph is None:  # not minimal
        return InfeasibilityKind.CANNOT_LINK_IN_BLOCK, "must-links and a cannot-link across them"
    m = graph.shape[0]
    if m == k + 1 and graph.nnz == m * k:
        return InfeasibilityKind.CLIQUE, (
            f"{k + 1} {groups}, each two of which cannot link, but only k = {k} clusters"
        )
    return InfeasibilityKind.NOT_COLOURABLE, (
        f"{m} {groups} that cannot be put into k = {k} clusters without violating one of "
        f"{len(cannot_link)} cannot-links"
    )


def _in_block(n_must_links: int) -> str:
    if n_must_links == 1:
        return "2 points that must link and cannot link"
    return f"{n_must_links + 1} points in one cluster by must-links, but two of them cannot link"


def _on_clusters(catalogue: Catalogue, numbers: Sequence[int]) -> tuple[InfeasibilityKind, str]:
    k = catalogue.instance.k
    found = contract(catalogue.restricted(numbers))
    kind = found.kind if isinstance(found, Infeasibility) else InfeasibilityKind.EXHAUSTED
    match kind:
        case InfeasibilityKind.BLOCK_NOT_ALLOWED:
            return kind, "points that must be together, which no cluster may hold"
        case InfeasibilityKind.TOO_MUCH_FOR_K:
            return kind, (
                f"more points, or pairs that must be together, than k = {k} clusters may hold"
            )
    return kind, f"no clustering into k = {k} clusters keeps all of these"

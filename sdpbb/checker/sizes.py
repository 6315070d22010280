"""Limits on the sizes of clusters, as the checker derives them from what is stated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckedSizes:
    """Limits on the numbers of points of k clusters of n points in all.

    least <= |C| <= most for every cluster C; where sizes are listed, the clusters have these in
    some order.

    least : 1 or more
    listed : k sizes in ascending order, or None
    """

    n: int
    k: int
    least: int
    most: int
    listed: tuple[int, ...] | None = None

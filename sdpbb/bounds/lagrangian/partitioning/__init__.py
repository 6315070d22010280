"""Cheapest partition of the blocks into clusters of a list, and the proof of it."""

from sdpbb.bounds.lagrangian.partitioning.cheapest import Partitioning, cheapest_partition

__all__ = ["Partitioning", "cheapest_partition"]

"""Sweeps over the number of clusters: a run for each k, started from a neighbour's clustering."""

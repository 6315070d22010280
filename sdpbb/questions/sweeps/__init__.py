"""Sweeps over the number of clusters: a run for each k."""

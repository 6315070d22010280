"""Sweeps over the number of clusters: every k is solved, each begun from a neighbour's clustering."""

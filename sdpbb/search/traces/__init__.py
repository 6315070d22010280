"""Traces of runs, bounds over time and the tree, and their files."""

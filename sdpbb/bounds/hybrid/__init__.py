"""Hybrid bound: prices and places, columns, and the semidefinite bound, in stages."""

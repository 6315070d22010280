"""Bounds in stages: prices and places, columns, and the semidefinite bound."""

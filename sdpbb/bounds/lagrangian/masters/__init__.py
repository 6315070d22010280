"""Restricted master programmes: their interface, and two solvers."""

"""Semidefinite bounds.

The contracted Peng-Wei relaxation, its cuts, a first-order method for dual values, and the dual
function, which proves the bound.
"""

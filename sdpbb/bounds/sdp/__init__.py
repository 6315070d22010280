"""Semidefinite bounds.

The contracted Peng-Wei relaxation, its cuts, a first-order method that steers, and the dual
evaluation that proves.
"""

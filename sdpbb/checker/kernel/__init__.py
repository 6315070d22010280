"""Kernel of the checker: all that proofs by semidefinite bounds need.

It imports the standard library and NumPy. What other proofs need stands beside it: pricing, the
partitions of priced clusters, colouring and packing.
"""

"""Kernel of the checker: all that proofs by semidefinite bounds need.

It imports the standard library and NumPy, and python-flint in exact mode alone. Other proofs need
the modules next to it: pricing, partitions into priced clusters, colouring and packing. Read the
kernel in this order:

| files | what they do |
| --- | --- |
| `archive.py`, `certificate.py` | read the file: arrays, the claim, steps |
| `proof.py`, `blocks.py` | walk over the steps; the state of a node, and what changes it |
| `evidence.py`, `dual.py` | prove a lower bound of a node |
| `cuts/` | prove the inequalities that the bound may use |
| `arithmetic.py`, `geometry.py`, `soft.py` | bound what rounding does, and what soft pairs cost |
| `rules.py`, `sizes.py` | limits on clusters |
| `stated.py`, `verdict.py` | the instance, its digests and its parts; the verdict |
| `judge.py`, `exact.py` | answer the questions that numbers decide: in floats, in balls |
"""

"""Certificates: what a run has proven, in a file that `sdpbb.checker` checks.

replay.py     what follows in every node from its decisions, step by step, with reasons
pruning.py    what a proof owes its bound to: the rest is left out
document.py   the proof as the document and the arrays of a file
writer.py     the file
"""

from sdpbb.certificates.writer import certificate_bytes

__all__ = ["certificate_bytes"]

"""Certificates: the proof of a run, in a file that `sdpbb.checker` checks.

recorder.py   the proof of a search, recorded while that goes on
replay.py     inferences in a node from its decisions, with reasons
pruning.py    the value of a proof, and the steps that are needed for it
document.py   the proof as the document and the arrays of a file
writer.py     the file
"""

from sdpbb.certificates.writer import certificate_bytes

__all__ = ["certificate_bytes"]

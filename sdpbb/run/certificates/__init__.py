"""Certificates: the proof of a run, in a file that `sdpbb.checker` checks.

recorder.py       recording of the proof of a search
replay.py         inferences in a node from its decisions, with reasons
document.py       what the proof implies at each node, and the steps that are needed, as the
                  document and the arrays of a file
writer.py         the bytes and the file of a certificate, once a run has ended
"""

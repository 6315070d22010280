"""Certificates: the proof of a run, in a file that `sdpbb.checker` checks."""

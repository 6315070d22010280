"""Independent checker of the certificates that `sdpbb solve --certificate` writes.

It imports nothing of the solver; certified runs of the solver call it. It imports NumPy and the
standard library, and python-flint in exact mode alone. A copy of this folder is a program:
`python FOLDER CERTIFICATE POINTS [--constraints FILE]`.
"""

"""Independent checker of the certificates that `sdpbb solve --certificate` writes.

It imports nothing of the solver, which asks it about bounds of certified runs. It needs NumPy and
the standard library only: a copy of this folder is a program of its own,
`python FOLDER CERTIFICATE POINTS [--constraints FILE]`.
"""

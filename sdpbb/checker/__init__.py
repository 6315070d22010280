"""Independent checker of the certificates that `sdpbb solve --certificate` writes.

It shares no code with the solver, and needs NumPy and the standard library only: a copy of this
folder is a program of its own, `python FOLDER CERTIFICATE POINTS [--constraints FILE]`.
"""

"""A checker of certificates: what `sdpbb solve --certificate` writes is proven here once more.

It shares no code with the solver, and needs NumPy and the standard library only: a copy of this
folder is a program of its own, `python FOLDER CERTIFICATE POINTS [--constraints FILE]`.
"""

"""Foundations of all rooms: files, archives, clocks, signals, executors, kernels, solvers."""

"""What all rooms run on: files, archives, clocks, signals, executors, kernels, solvers."""

"""Scheduler of tasks; executors: this process, other processes, or an executor of the user."""

"""Scheduler of tasks, and executors that do them: here, in processes, or somebody else's."""

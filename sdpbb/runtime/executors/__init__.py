"""Scheduler of tasks that loses none when a worker dies, and executors that do them.

These are this process, processes of this machine, and any `concurrent.futures.Executor`.
"""

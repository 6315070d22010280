"""Pool of tasks that loses none when a worker dies, over executors.

These are this process, local processes, and a Dask cluster.
"""

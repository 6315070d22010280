"""Where tasks run: in this process, in local processes, or on a Dask cluster, behind
concurrent.futures.Executor; and a pool over them which no dying worker costs a task."""

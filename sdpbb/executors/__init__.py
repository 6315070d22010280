"""Pool of tasks that loses none when a worker dies, over executors: this process, local processes,
and a Dask cluster."""

"""python -m tests.executors.cluster WORKERS [SETTING=VALUE ...]

A Dask cluster of processes with one thread each. Says its address, and ends when its standard
input does.
"""

import sys

import dask
from distributed import LocalCluster


def main():
    n_workers, *settings = sys.argv[1:]
    dask.config.set({name: int(value) for name, value in (text.split("=") for text in settings)})
    with LocalCluster(
        n_workers=int(n_workers), threads_per_worker=1, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()

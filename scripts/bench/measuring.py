"""Seconds, memory and outcomes of what is measured, and the machine that it was measured on."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import numpy as np

import sdpbb
from sdpbb.problem import Instance

T = TypeVar("T")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def identity() -> dict[str, Any]:
    """Return columns that say what was measured where."""
    return {
        "version": sdpbb.__version__,
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def cpu_name() -> str:
    """Return the processor's name, as far as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def warm_up(bounding: str = "hybrid", **limits: int) -> None:
    """Compile all kernels, and load those of a bound."""
    from sdpbb.run.kernels import compile_all  # not needed by what reads files

    compile_all()
    points = np.random.default_rng(0).normal(size=(40, 3))
    small = Instance(points, 8, [(0, 1)], [(2, 3), (3, 4)], **limits)
    sdpbb.solve(small, sdpbb.SolverParameters(bounding=bounding, node_limit=3, time_limit=60.0))


def clocked(work: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """Return what work returns, its seconds, and the load of the last minute.

    CPU seconds include processes that work has started and ended.
    """
    began, before = time.perf_counter(), cpu_seconds()
    outcome = work()
    seconds, used = time.perf_counter() - began, cpu_seconds() - before
    load = round(os.getloadavg()[0], 1)
    return outcome, {"seconds": round(seconds, 6), "cpu_seconds": round(used, 6), "load": load}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it has ended, by now."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def solved(
    instance: Instance, parameters: sdpbb.SolverParameters, *arguments: Any, **options: Any
) -> tuple[sdpbb.Result, dict[str, Any]]:
    """Solve; return the result, and its columns with seconds and memory."""
    with peak_memory(parameters.workers > 1 or parameters.dask is not None) as peak:
        result, times = clocked(lambda: sdpbb.solve(instance, parameters, *arguments, **options))
    statistics = result.statistics
    return result, {
        "n": instance.n_points,
        "k": instance.k,
        "blocks": statistics.n_blocks,
        "status": result.status.value,
        "termination": result.termination.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "gap_tolerance": parameters.gap,
        "root_gap": statistics.root_gap,
        "root_seconds": statistics.root_seconds,
        "nodes": statistics.n_nodes,
        "seed": parameters.seed,
        "workers": parameters.workers,
        "peak_rss_mib": round(peak[0], 1),
        **times,
    }


@contextmanager
def peak_memory(has_others: bool = False) -> Iterator[list[float]]:
    """Context manager: the largest memory of this process so far, in MiB, in a list at its end.

    has_others : whether the processes that it starts count, too; their sum is taken twice a second
    """
    from sdpbb.runtime.memory import resident_mebibytes

    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            peak[0] = max(peak[0], resident_mebibytes())

    watcher = threading.Thread(target=watch, daemon=True)
    if has_others:
        watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        if has_others:
            watcher.join()
        peak[0] = max(peak[0], own_peak())


def own_peak() -> float:
    """Return the largest memory of this process so far, in MiB."""
    try:
        # Linux hands ru_maxrss down to children, but not this.
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(float(line.split()[1]) for line in file if "VmHWM" in line) / 2**10
    except (OSError, StopIteration):
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Ended(NamedTuple):
    """Process that has ended: its standard output, wall-clock and CPU seconds."""

    output: str
    wall: float
    cpu: float


def process(command: Sequence[str], codes: Sequence[int] = (0,), **options: Any) -> Ended:
    """Run a command of this Python to its end, with one BLAS thread.

    codes : exit codes that are expected
    options : of `subprocess.run`; env is added to the environment

    Raises
    ------
    RuntimeError
        If it exits with another code.
    """
    environment = os.environ | ONE_THREAD | options.pop("env", {})
    before, began = cpu_seconds(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=environment,
        **options,
    )
    wall, cpu = time.perf_counter() - began, cpu_seconds() - before
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command[:3])}: exit code {done.returncode}")
    return Ended(done.stdout, wall, cpu)

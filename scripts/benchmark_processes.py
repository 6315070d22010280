"""Solve the PC-SOS-SDP benchmark by `sdpbb solve`, a whole process for each constraint set.

The seconds are those that a user waits for, with the start of Python, imports and the loading of
kernels; one worker, one BLAS thread, one process at a time. Kernels are compiled before. Beside
the wall-clock seconds are the CPU seconds, which say what they would be on a machine that does
nothing else. Rows are appended to the CSV file; sets that it has are left out.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import benchmark
import rows

FIELDS = ("dataset", "set", "wall", "cpu", "published")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=benchmark.SHARED)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5), help="of the sets")
    parser.add_argument("--out", type=Path, default=benchmark.ROOT / "docs" / "processes.csv")
    arguments = parser.parse_args()
    data = arguments.shared / "data" / "pc-sos-sdp"
    reference = benchmark.read_reference(arguments.shared / "reference" / "pc_sos_sdp_results.csv")
    datasets = sorted(path.name for path in (data / "constraints").iterdir())
    known = {(row["dataset"], row["set"]) for row in rows.read(arguments.out)}
    for task in benchmark.find_tasks(data, datasets, arguments.seeds):
        published = reference.get(task.configuration)
        if published is None or (task.dataset, task.set_name) in known:
            continue
        wall, cpu = solved(data, task)
        told = f"{wall:.2f}", f"{cpu:.2f}", f"{published['wall_seconds_16_cores']:g}"
        row = dict(zip(FIELDS, (task.dataset, task.set_name, *told), strict=True))
        rows.append(arguments.out, FIELDS, row)
        print(*row.values(), flush=True)
    for clock in ("wall", "cpu"):
        ratios = {
            f"{row['dataset']} {row['set']}": float(row["published"]) / float(row[clock])
            for row in rows.read(arguments.out)
        }
        slowest = min(ratios, key=lambda name: ratios[name])
        print(
            f"published / {clock} seconds: geometric mean "
            f"{benchmark.geometric_mean(ratios.values()):.0f} of {len(ratios)} sets, "
            f"least {ratios[slowest]:.1f} ({slowest})"
        )


def solved(data: Path, task: benchmark.Task) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a process that solves a constraint set."""
    command = [
        *(sys.executable, "-m", "sdpbb", "solve", str(data / "datasets" / f"{task.dataset}.txt")),
        *("--constraints", str(data / "constraints" / task.dataset / task.file_name)),
        *("--gap", "1e-4", "--workers", "1", "--quiet"),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | benchmark.ONE_THREAD)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()

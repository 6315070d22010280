"""Runs and batches that are killed at any moment, and go on: they come to what they would have
come to, and no file is ever damaged."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from attacks.outcome import Found, Kind, Outcome
from attacks.running import (
    check_end,
    check_orphans,
    descendants,
    ended,
    kill_all,
    read_json,
    run,
    start,
)

PATIENCE = 900.0
# Runs of five to thirty seconds that branch: (seed, n, k, d) of normal points.
INSTANCES = ((1, 80, 8, 10), (6, 80, 8, 10), (8, 80, 8, 12))
GAP = 1e-6
N_KILLS = 10
LONGEST = 300.0
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Of a batch: data, k.
JOBS = tuple((seed, k) for seed in range(4) for k in (2, 3, 4))


def prepare(folder: Path) -> None:
    """Nothing to be compiled here: the commands do."""
    folder.mkdir(exist_ok=True)


def case(rng: np.random.Generator, folder: Path) -> Outcome:
    """One run or one batch, killed again and again."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    kind = _batch(rng, work) if rng.random() < 0.3 else _run(rng, work, folder)
    return Outcome(kind)


def write_points(path: Path, seed: int, n: int, d: int, k: int) -> None:
    """Normal points as a text file."""
    points = np.random.default_rng(seed).normal(size=(n, d))
    rows = "\n".join(" ".join(map(repr, row)) for row in points.tolist())
    path.write_text(f"{n} {d} {k}\n{rows}\n")


@cache
def undisturbed(number: int, folder: Path) -> dict[str, Any]:
    """The result of a run that nobody kills."""
    seed, n, k, d = INSTANCES[number]
    write_points(folder / "points.txt", seed, n, d, k)
    json_path = folder / f"undisturbed-{number}.json"
    run(["solve", "points.txt", *OPTIONS, "--json", json_path], folder, LONGEST)
    return read_json(json_path)


OPTIONS = ("--bounding", "sdp", "--gap", GAP, "--quiet")


def _run(rng: np.random.Generator, work: Path, folder: Path) -> Kind:
    number = int(rng.integers(len(INSTANCES)))
    truth = undisturbed(number, folder)
    seed, n, k, d = INSTANCES[number]
    write_points(work / "points.txt", seed, n, d, k)
    workers = int(rng.integers(1, 3))
    checkpoint, result = work / "state", work / "result.json"
    log: list[str] = []
    for attempt in range(N_KILLS + 1):
        new = not checkpoint.exists()
        what = ["solve", "points.txt", *OPTIONS, "--checkpoint", checkpoint.name]
        arguments = what if new else ["resume", checkpoint.name, "--quiet"]
        arguments = [*arguments, "--workers", workers, "--json", result.name]
        process = start(arguments, work)
        if attempt < N_KILLS:
            log.append(_disturb(rng, process))
            done = ended(process, LONGEST)
            if done.code in (-signal.SIGKILL, -signal.SIGTERM):
                _check_readable(checkpoint, new, log)
                continue
        else:
            done = ended(process, LONGEST)
        try:
            check_end(done, arguments)
        except Found as found:
            raise Found(found.signature, f"{found.text}\n# {'; '.join(log)}") from None
        if done.code == 0:
            _same(truth, read_json(result), log)
            return Kind.OPTIMAL
        _check_readable(checkpoint, new, log)
    raise Found("a run that nobody killed any more has not ended", "; ".join(log))


def _disturb(rng: np.random.Generator, process: Any) -> str:
    """Send a signal after a while, to the command, or to one of its workers."""
    seconds = float(rng.uniform(0.2, 12.0)) if rng.random() < 0.8 else float(rng.uniform(0.0, 2.0))
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    children = [child for child in descendants(process) if _is_worker(child)]
    number = SIGNALS[rng.integers(len(SIGNALS))]
    if children and rng.random() < 0.4:
        child = children[rng.integers(len(children))]
        with contextlib.suppress(psutil.NoSuchProcess):
            child.send_signal(signal.SIGKILL)
        return f"{seconds:.2f} s: a worker killed"
    if process.poll() is None:
        os.kill(process.pid, number)
        if number != signal.SIGINT:
            process.wait()
            check_orphans(children)
    return f"{seconds:.2f} s: {number.name}"


def _is_worker(child: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return "resource_tracker" not in " ".join(child.cmdline())
    return False


def _check_readable(checkpoint: Path, was_new: bool, log: list[str]) -> None:
    from sdpbb.checkpoint import read_checkpoint
    from sdpbb.errors import ArchiveError

    if not checkpoint.exists():
        if was_new:
            return
        raise Found("a checkpoint has gone", "; ".join(log))
    try:
        read_checkpoint(checkpoint)
    except ArchiveError as error:
        raise Found("a checkpoint cannot be read", f"{error}\n# {'; '.join(log)}") from None


def _same(truth: dict[str, Any], result: dict[str, Any], log: list[str]) -> None:
    """Both are optimal to the gap, and no bound is above a clustering."""
    upper = min(truth["objective"], result["objective"])
    lower = max(truth["lower_bound"], result["lower_bound"])
    far = max(truth["objective"], result["objective"]) * (1.0 - 2.0 * GAP) > upper
    if result["status"] != "optimal" or far or lower > upper * (1.0 + 1e-12):
        shown = {key: (truth[key], result[key]) for key in ("status", "objective", "lower_bound")}
        raise Found("a run that was killed comes to something else", f"{shown}\n# {'; '.join(log)}")


def _batch(rng: np.random.Generator, work: Path) -> Kind:
    lines = ["data,k,name"]
    for seed, k in JOBS:
        write_points(work / f"p{seed}.txt", seed, 40, 6, k)
        lines.append(f"p{seed}.txt,{k},p{seed}-{k}")
    (work / "jobs.csv").write_text("\n".join(lines) + "\n")
    names = {f"p{seed}-{k}" for seed, k in JOBS}
    arguments = ["batch", "jobs.csv", "--out", "out", "--workers", 2, "--resume", "--quiet"]
    known: set[str] = set()
    log: list[str] = []
    for attempt in range(N_KILLS + 1):
        process = start(arguments, work)
        if attempt == N_KILLS:
            done = ended(process, LONGEST)
            check_end(done, arguments)
        else:
            seconds = float(rng.uniform(0.5, 8.0))
            with contextlib.suppress(Exception):
                process.wait(seconds)
            children = descendants(process)
            kill_all(process) if rng.random() < 0.5 else process.kill()
            process.communicate()
            check_orphans(children)
            log.append(f"{seconds:.2f} s: killed")
        known = _rows(work / "out" / "results.jsonl", known, log)
    if known != names:
        raise Found("a batch is not complete at its end", f"{sorted(names - known)}")
    table = (work / "out" / "results.csv").read_text()
    if table.count("optimal") < len(JOBS):
        raise Found("the table of a batch is not complete at its end", table)
    return Kind.OPTIMAL


def _rows(path: Path, known: set[str], log: list[str]) -> set[str]:
    """The names of the rows; all whole lines are rows, and none has gone."""
    if not path.exists():
        if known:
            raise Found("the results of a batch have gone", "; ".join(log))
        return known
    content = path.read_bytes()
    names = set()
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        try:
            names.add(json.loads(line)["name"])
        except (ValueError, KeyError, TypeError):
            raise Found("the results of a batch are damaged", f"{line!r}\n{log}") from None
    if known - names:
        raise Found("rows of a batch have gone", f"{sorted(known - names)}\n{log}")
    return names

"""Limits of time, nodes and memory, and disks that are full: runs end in time, bounds hold, files
are what they were or whole new ones."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from attacks.judging import BOUND, check_labels
from attacks.outcome import Found, Kind, Outcome
from attacks.parts.kills import write_points
from attacks.running import Ended, leftovers, run
from attacks.shapes import Case, random_links

PATIENCE = 240.0
# docs/limits.md: limits of time are looked at between steps, which take a second for 500 blocks.
SLACK, SLACK_PER_BLOCK = 2.0, 1.0 / 500.0
SECONDS = 120.0
OLD = "what was there before\n"


def prepare(_folder: Path) -> None:
    """Load the engine."""
    import sdpbb

    points = np.random.default_rng(0).normal(size=(40, 3))
    for bounding in ("sdp", "colgen", "hybrid"):
        parameters = sdpbb.SolverParameters(bounding=bounding)
        sdpbb.solve(sdpbb.Instance(points, 8, cannot_link=[(0, 1)]), parameters)


def case(rng: np.random.Generator, folder: Path) -> Outcome:
    """A limit, mostly; or a command that cannot write."""
    work = folder / "work"
    if work.exists():
        shutil.rmtree(work)
    work.mkdir()
    if rng.random() < 0.6:
        return Outcome(_limited(rng))
    attack = WRITING[rng.integers(len(WRITING))]
    return Outcome(attack(rng, work))


def _limited(rng: np.random.Generator) -> Kind:
    import sdpbb

    n, d = int(rng.integers(20, 301)), int(rng.integers(1, 11))
    points = rng.random((n, d)) if rng.random() < 0.5 else rng.normal(size=(n, d))
    k = int(rng.integers(2, max(n // 3, 3)))
    labels = rng.integers(0, k, n)
    links = [pairs[: int(rng.integers(0, n))] for pairs in random_links(rng, n)]
    every = np.concatenate(links)
    together = labels[every[:, 0]] == labels[every[:, 1]]
    given = Case(points, k, every[together], every[~together])
    limits = {
        "time_limit": float(10.0 ** rng.uniform(-3, 1)),
        "node_limit": None if rng.random() < 0.5 else int(rng.integers(1, 20)),
        "memory_limit": float("inf") if rng.random() < 0.8 else float(rng.choice([1.0, 100, 1e5])),
    }
    parameters = sdpbb.SolverParameters(
        **limits, bounding=str(rng.choice(["sdp", "colgen", "hybrid"]))
    )
    # Of the processor: what other processes take is not the engine's.
    began = time.process_time()
    result = sdpbb.solve(given.instance(), parameters)
    seconds = time.process_time() - began
    text = f"# n = {n}, d = {d}, k = {k}, {len(every)} links, {parameters.bounding}, {limits}\n"
    text += f"# {seconds:.2f} s: {result!r}"
    allowed = limits["time_limit"] + SLACK + SLACK_PER_BLOCK * n
    if seconds > allowed:
        raise Found(f"{parameters.bounding}: a limit of time is not kept", text)
    nodes = limits["node_limit"]
    if nodes is not None and result.statistics.n_nodes > nodes:
        raise Found("more nodes than the limit", text)
    _check_bounds(given, result, labels, text)
    return Kind(result.status.value)


def _check_bounds(given: Case, result, labels: np.ndarray, text: str) -> None:  # type: ignore[no-untyped-def]
    """The lower bound is below what is found, and below the labels the links were made from."""
    if result.status.value == "infeasible":
        if len(np.unique(labels)) == given.k:
            raise Found("infeasible, but the labels of the links are a clustering", text)
        return
    if result.lower_bound is None or not result.lower_bound >= 0.0:
        raise Found("no lower bound", text)
    uppers = []
    if result.partition is not None:
        check_labels(given, result)
        uppers.append(result.objective)
    if len(np.unique(labels)) == given.k:
        from sdpbb import Partition

        uppers.append(Partition(labels).sum_of_squares(given.points))
    if any(result.lower_bound > upper * (1.0 + BOUND) for upper in uppers):
        raise Found("a lower bound above a clustering", f"{text}\n{uppers}")


def _points(rng: np.random.Generator, work: Path) -> list[object]:
    """A file of points, and the command on it."""
    n = int(rng.integers(6, 60))
    write_points(work / "points.txt", int(rng.integers(1000)), n, 3, 2)
    return ["solve", "points.txt", "--quiet", "--workers", 1]


def _to_device(rng: np.random.Generator, work: Path) -> Kind:
    """Outputs to /dev/full are refused before the run."""
    option = ("--json", "--labels", "--checkpoint", "--trace", "--report")[rng.integers(5)]
    arguments = [*_points(rng, work), option, "/dev/full"]
    return _refused(run(arguments, work, SECONDS), arguments, work)


def _read_only(rng: np.random.Generator, work: Path) -> Kind:
    """A folder that nobody may write to: of the kernel, so that the superuser may not either."""
    option = ("--json", "--labels", "--checkpoint", "--trace", "--report")[rng.integers(5)]
    place = ("/proc/version", "/proc/new", "/sys/new", "/nowhere/new")[rng.integers(4)]
    arguments = [*_points(rng, work), option, place]
    done = run(arguments, work, SECONDS)
    if option == "--checkpoint" and done.code == 0 and "not written" in done.err:
        return Kind.ACCEPTED  # the kernel lets it look writable, and a run outlives its checkpoint
    return _refused(done, arguments, work)


def _refused(done: Ended, arguments: list[object], work: Path) -> Kind:
    text = f"sdpbb {' '.join(map(str, arguments))}\n# status {done.code}\n{done.err}"
    if done.code not in (2, 3) or len(done.err.strip().splitlines()) != 1:
        raise Found("an output that cannot be written is not refused on one line", text)
    if leftovers(work):
        raise Found("temporary files are left", f"{text}\n{leftovers(work)}")
    return Kind.REFUSED


def _full_disk(rng: np.random.Generator, work: Path, size: int | None = None) -> Kind:
    """No file may exceed some bytes: outputs are the old ones, or whole."""
    options = {"--json": "r.json", "--labels": "l.txt", "--trace": "t.json", "--report": "h.html"}
    chosen = [name for name in options if rng.random() < 0.6] or ["--json"]
    arguments = _points(rng, work)
    for name in chosen:
        arguments += [name, options[name]]
        if rng.random() < 0.5:
            (work / options[name]).write_text(OLD)
    before = {options[name]: (work / options[name]).exists() for name in chosen}
    if rng.random() < 0.5:
        arguments += ["--checkpoint", "state"]
    size = int(10.0 ** rng.uniform(0, 5)) if size is None else size
    done = run(arguments, work, SECONDS, size)
    text = f"ulimit of {size} bytes: sdpbb {' '.join(map(str, arguments))}\n# status {done.code}\n"
    text += done.err
    failed = []
    for name, was_there in before.items():
        path = work / name
        content = path.read_text() if path.exists() else None
        if content is None or content == OLD:
            failed.append(name)
            if (content == OLD) != was_there:
                raise Found("a file that was there has gone", text)
        elif not _is_whole(name, content, work):
            raise Found("half of a file is left", f"{text}\n{name}: {content[:200]!r}")
    if failed and done.code != 3:
        raise Found(f"status {done.code} where an output could not be written", text)
    lines = [line for line in done.err.splitlines() if line.startswith("error")]
    if failed and len(lines) != 1:
        raise Found("not one line on outputs that could not be written", text)
    if leftovers(work):
        raise Found("temporary files are left", f"{text}\n{leftovers(work)}")
    if (work / "state").exists():
        _check_state(work / "state", text)
    return Kind.REFUSED if failed else Kind.ACCEPTED


def _check_state(path: Path, text: str) -> None:
    from sdpbb.checkpoint import read_checkpoint
    from sdpbb.errors import ArchiveError

    try:
        read_checkpoint(path)
    except ArchiveError as error:
        raise Found("half of a checkpoint is left", f"{text}\n{error}") from None


def _is_whole(name: str, content: str, work: Path) -> bool:
    if name.endswith(".json"):
        try:
            json.loads(content)
        except ValueError:
            return False
        return True
    if name.endswith(".html"):
        return content.rstrip().endswith("</html>")
    n = int((work / "points.txt").read_text().split()[0])
    return len(content.splitlines()) == n


def _full_batch(rng: np.random.Generator, work: Path) -> Kind:
    """A batch whose rows do not fit: those before are kept, and it goes on when there is room."""
    write_points(work / "p.txt", 1, 20, 3, 2)
    lines = [f"p.txt,{k},p{k}" for k in range(1, 7)]
    (work / "jobs.csv").write_text("\n".join(["data,k,name", *lines]) + "\n")
    arguments = ["batch", "jobs.csv", "--out", "out", "--workers", 1, "--quiet", "--resume"]
    size = int(rng.integers(1, 6000))
    done = run(arguments, work, SECONDS, size)
    text = f"ulimit of {size} bytes: sdpbb {' '.join(map(str, arguments))}\n# status {done.code}\n"
    text += done.err
    rows = work / "out" / "results.jsonl"
    kept = rows.read_text().splitlines() if rows.exists() else []
    try:
        names = [json.loads(line)["name"] for line in kept]
    except ValueError:
        raise Found("half of a row is left", f"{text}\n{kept[-1:]}") from None
    if done.code == 0 and len(names) < len(lines):
        raise Found("status 0 of a batch that is not complete", text)
    again = run(arguments, work, SECONDS)
    after = [json.loads(line)["name"] for line in rows.read_text().splitlines()]
    if again.code != 0 or after[: len(names)] != names or len(set(after)) != len(lines):
        raise Found("a batch does not go on after a full disk", f"{text}\n{again.err}\n{after}")
    return Kind.ACCEPTED if done.code == 0 else Kind.REFUSED


def _standard_output(rng: np.random.Generator, work: Path) -> Kind:
    """Standard output is full."""
    import subprocess
    import sys

    arguments = [*_points(rng, work)[:2], "--workers", 1]
    if rng.random() < 0.5:
        arguments += ["--json", "-"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sdpbb", *map(str, arguments)],
            cwd=work,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "SDPBB_DEBUG": "0"},
        )
    text = f"sdpbb {' '.join(map(str, arguments))} > /dev/full\n# status {done.returncode}\n"
    if "Traceback" in done.stderr or "Exception ignored" in done.stderr:
        raise Found("a traceback where standard output is full", text + done.stderr)
    if "--json" in arguments and done.returncode != 3:
        raise Found(f"status {done.returncode} where standard output is full", text + done.stderr)
    return Kind.REFUSED


WRITING: tuple[Callable[[np.random.Generator, Path], Kind], ...] = (
    *(_to_device, _read_only, _full_disk, _full_disk, _full_disk, _full_batch, _standard_output),
)

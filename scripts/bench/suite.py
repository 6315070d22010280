"""Suites: cases, each measured in a process of its own, whose rows go to a CSV file.

A suite is a module NAME of `scripts.bench.suites`; its rows are in docs/benchmarks/NAME.csv. It has

    __doc__      its story, for --help
    KEY          columns that say which case a row is of; if empty, cases have new rows each time
    COLUMNS      the other columns
    OPTIONS      names of its options, with their defaults
    ONLY         words as of --only, which choose the cases if none are given
    cases        function of the options: cases, with the values of the key and further arguments
    measure      measure(options, **case): a row, or rows, without the columns of the key
    TABLES       functions of rows and options, which return lines of Markdown, by name
    picture      picture(rows, path, options) draws NAME.png

Every row is kept as soon as it is there, and a case that has rows is not run again, unless it
failed, or was stopped at a shorter time limit, or --again is given.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from scripts.bench import rows
from scripts.bench.data import RESULTS
from scripts.bench.measuring import identity, process

Options = argparse.Namespace
Case = dict[str, Any]
SOLVED = ("optimal", "infeasible")
# Seconds: reading, compiling and the last step of a run come on top of its time limit.
PATIENCE = 300.0
HELP = {
    "time_limit": "seconds of a run (default: that of the case, or %(default)s)",
    "workers": "processes of a run (default: %(default)s)",
    "draws": "of each random case (default: %(default)s)",
    "starts": "of each search (default: %(default)s)",
    "first": "what the run begins with: auto, subsets or whole (default: %(default)s)",
}
"""Help of the options that suites may have."""
NAMES = sorted(path.stem for path in (Path(__file__).parent / "suites").glob("[a-z]*.py"))


class Suite:
    """Module of a suite, with defaults for what it does not have."""

    def __init__(self, name: str) -> None:
        module = import_module(f"scripts.bench.suites.{name}")
        self.about: str = module.__doc__ or ""
        self.key: list[str] = module.KEY.split()
        self.columns: list[str] = [*self.key, *module.COLUMNS.split()]
        self.options: dict[str, Any] = getattr(module, "OPTIONS", {})
        self.only: tuple[str, ...] = getattr(module, "ONLY", ())
        self.csv = RESULTS / f"{name}.csv"
        self.cases, self.measure, self.tables = module.cases, module.measure, module.TABLES
        self.picture = getattr(module, "picture", None)


def add_options(parser: argparse.ArgumentParser, options: Mapping[str, Any]) -> None:
    """Add options by their defaults: None stands for a number that the case has."""
    for name, default in options.items():
        given: dict[str, Any] = {"default": default, "help": HELP[name]}
        given["type"] = float if default is None else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", **given)


def is_chosen(case: Case, groups: Sequence[Sequence[str]]) -> bool:
    """Return whether a case has a word of each group: a value of it, or the beginning of one."""
    values = {str(value) for value in case.values()}
    words = values | {re.split("[ -]", value)[0] for value in values}
    return all(words & set(group) for group in groups)


def is_answered(found: Sequence[rows.Row], time_limit: float | None) -> bool:
    """Return whether rows of a case answer it."""
    for row in found:
        status, limit = row.get("status"), row.get("time_limit")
        if status == "failed":
            return False
        is_open = bool(status) and status not in SOLVED
        if is_open and limit and time_limit is not None and float(limit) < time_limit:
            return False
    return bool(found)


def run(suite: Suite, options: Options, arguments: Sequence[str]) -> int:
    """Measure the chosen cases, and return the number of those that failed.

    arguments : of the command line, which starts the processes of the cases, too
    """
    groups = options.only or ([suite.only] if suite.only else [])
    chosen = [case for case in suite.cases(options) if is_chosen(case, groups)]
    if not chosen:
        print(f"SKIPPED: no case, or no data in {options.data}")
    limit = getattr(options, "time_limit", None)
    known: Mapping[tuple[str, ...], list[rows.Row]] = {}
    if suite.key and not options.again:
        known = rows.grouped(rows.read(options.out), *suite.key)
    left = [c for c in chosen if not is_answered(known.get(rows.key_of(c, suite.key), []), limit)]
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, case in enumerate(left, start=1):
            began = time.perf_counter()
            further = ["--scratch", scratch, "--case", json.dumps(case)]
            made = [row | case for row in measured([*arguments, *further], limit)]
            has_failed = any(row.get("status") == "failed" for row in made)
            n_failed += has_failed
            if not has_failed or "status" in suite.columns:
                rows.put(options.out, suite.columns, suite.key, made)
            told = (f"{c} {shown(made[-1].get(c))}" for c in suite.columns if made)
            print(f"{number}/{len(left)}, {time.perf_counter() - began:.1f} s:", *told, flush=True)
    return n_failed


def shown(value: object) -> str:
    """Return a value for a line of the log."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def measured(arguments: Sequence[str], time_limit: float | None) -> list[dict[str, Any]]:
    """Return the rows of a case, from a process of its own.

    A process that fails, or does not end, is a row with the status `failed`.
    """
    patience = None
    if time_limit is not None and math.isfinite(time_limit):
        patience = 2 * time_limit + PATIENCE
    try:
        done = process(["-m", "scripts.bench", *arguments], timeout=patience)
        return [json.loads(line) for line in done.output.splitlines()]
    except subprocess.TimeoutExpired:
        reason = f"no end after {patience:g} s"
    except RuntimeError as error:
        reason = str(error).rpartition(": ")[2]
    print(f"FAILED: {arguments[-1]}: {reason}", file=sys.stderr, flush=True)
    return [{"status": "failed", "termination": reason}]


def measure_here(suite: Suite, options: Options) -> None:
    """Measure the case that the options name in this process, and print its rows as JSON."""
    made = suite.measure(options, **json.loads(options.case))
    same = identity() | vars(options)
    wanted = {name: same[name] for name in suite.columns if name in same}
    for row in [made] if isinstance(made, Mapping) else made:
        print(json.dumps(wanted | {name: row[name] for name in suite.columns if name in row}))

"""Manifests: which instances a batch has, and what is asked for each.

TOML, if the file's name ends in `.toml`: tables `[[instance]]`, each of one or more instances, and
a table `[defaults]` for what they have in common.

    [defaults]
    time_limit = 60

    [[instance]]
    data = "datasets/iris.txt"
    constraints = "constraints/{stem}/*.txt"

    [[instance]]
    data = "*.csv"
    k = 3
    name = "{stem}-three"

CSV, if it ends in `.csv`: a heading with the same keys, and a line per table. An empty field means
that nothing is said. Names in `drop` are separated by semicolons.

Keys are the parameters of `Job`; only `data` is needed. `data` and `constraints` are paths or
patterns (`*`, `?`, `[...]`, `**` for any folders), relative to the manifest's folder, and there is
an instance for each file of data, with each of its files of constraints. In `constraints`,
`{stem}` stands for the name of the file of data without its ending, and `{parent}` for that of its
folder; in `name`, `{constraints}` also stands for the stem of the file of constraints. Without a
name, an instance is called `STEM-CONSTRAINTS-kK`, less what is not given, and less `STEM-` if
`CONSTRAINTS` begins with it.
"""

from __future__ import annotations

import csv
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdpbb.batch.entry import Entry, check_values, from_text
from sdpbb.batch.errors import BatchError
from sdpbb.batch.expansion import expand
from sdpbb.batch.job import FIELDS, Job
from sdpbb.errors import InstanceError
from sdpbb.files import shown_path
from sdpbb.parameters import SolverParameters
from sdpbb.problem.textfile import FilePath, open_text, shown

CONSTRAINTS_KEYS = ("constraints_format", "one_based")
"""Keys that are only of use where there are constraints."""


def read_manifest(path: FilePath, overrides: Mapping[str, Any] | None = None) -> list[Job]:
    """The jobs that a manifest names, in its order; files that a pattern matches in theirs.

    Parameters
    ----------
    path : a file whose name ends in `.toml` or `.csv`
    overrides : parameters of the engine that take precedence over those of the manifest: gap, seed,
        bounding, sdp_solver and limits

    Raises
    ------
    ParameterError
        On the overrides.
    BatchError
        One line: the manifest, the line or the number of the table, what is wrong and what would be
        right. Two jobs of the same name and patterns that match no file are wrong; files that are
        named and are not there are not, until they are read.
    """
    overrides = overrides or {}
    SolverParameters(**{name: overrides[name] for name in overrides if name != "sdp_solver"})
    try:
        entries = _entries(path)
    except BatchError:
        raise
    except InstanceError as error:  # it is no text file at all
        raise BatchError(str(error)) from None
    if not entries:
        raise BatchError(
            f"{shown_path(path)}: names no instance; expected at least one, with its data"
        )
    folder = os.path.dirname(os.fspath(path))
    jobs: list[Job] = []
    taken: dict[str, Entry] = {}
    for entry in entries:
        for job in expand(entry, folder, overrides):
            if job.name in taken:
                raise _duplicate(job, entry, taken[job.name])
            taken[job.name] = entry
            jobs.append(job)
    return jobs


def _entries(path: FilePath) -> list[Entry]:
    suffix = Path(path).suffix.lower()
    if suffix == ".toml":
        return _of_toml(path)
    if suffix == ".csv":
        return _of_csv(path)
    raise BatchError(f"{shown_path(path)}: expected a manifest whose name ends in .toml or .csv")


def _duplicate(job: Job, entry: Entry, other: Entry) -> BatchError:
    where = "itself" if other is entry else other.where
    return BatchError(
        f"{entry.where}: a second instance is called {shown(job.name)}, after one of {where}; "
        "expected different names: give a name, which may hold {stem}, {parent} and {constraints}"
    )


def _of_toml(path: FilePath) -> list[Entry]:
    name = shown_path(path)
    with open_text(path) as file:
        text = file.read()
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of thousands of digits or brackets
        raise BatchError(f"{name}: {error}; expected TOML") from None
    for key in content:
        if key not in ("defaults", "instance"):
            raise BatchError(f"{name}: {shown(key)}; expected [defaults] and [[instance]] only")
    defaults, tables = content.get("defaults", {}), content.get("instance", [])
    if not isinstance(defaults, dict):
        raise BatchError(f"{name}: defaults is no table; expected [defaults]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BatchError(f"{name}: instance is no list of tables; expected [[instance]]")
    common = Entry(f"{name}: [defaults]", defaults)
    _check_keys(common.where, list(defaults))
    check_values(common)
    entries = []
    for number, table in enumerate(tables, start=1):
        entry = Entry(f"{name}: [[instance]] {number}", table)
        _check_keys(entry.where, list(table))
        check_values(entry)
        entries.append(_complete(Entry(entry.where, _with_defaults(defaults, table)), {*table}))
    return entries


def _with_defaults(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults on how constraints are to be read say nothing to an instance without any."""
    values = {**defaults, **table}
    without = "constraints" not in values
    unused = {*CONSTRAINTS_KEYS} - {*table} if without else set()
    return {key: value for key, value in values.items() if key not in unused}


def _of_csv(path: FilePath) -> list[Entry]:
    name = shown_path(path)
    entries = []
    with open_text(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            heading = [field.strip() for field in next(reader, [])]
            where = f"{name}:{max(1, reader.line_num)}"
            _check_keys(where, heading)
            if "data" not in heading:
                raise BatchError(f"{where}: no column data; expected a heading with it")
            for fields in reader:
                if any(field.strip() for field in fields):
                    entries.append(_of_line(f"{name}:{reader.line_num}", heading, fields))
        except csv.Error as error:
            raise BatchError(f"{name}:{reader.line_num}: {error}; expected CSV") from None
    return entries


def _of_line(where: str, heading: list[str], fields: list[str]) -> Entry:
    if len(fields) != len(heading):
        raise BatchError(
            f"{where}: {len(fields)} fields; expected {len(heading)}, as in the heading"
        )
    given = {key: field.strip() for key, field in zip(heading, fields, strict=True)}
    values = {key: from_text(where, key, field) for key, field in given.items() if field}
    entry = Entry(where, values)
    check_values(entry)
    return _complete(entry, {*values})


def _complete(entry: Entry, stated: set[str]) -> Entry:
    if "data" not in entry.values:
        raise BatchError(f"{entry.where}: no data; expected the path of a file, or a pattern")
    return Entry(entry.where, entry.values, states_k="k" in stated)


def _check_keys(where: str, keys: list[str]) -> None:
    for position, key in enumerate(keys):
        if key not in FIELDS:
            close = difflib.get_close_matches(key, FIELDS, n=1)
            meant = f"did you mean {close[0]}?" if close else f"expected {', '.join(FIELDS)}"
            raise BatchError(f"{where}: unknown key {shown(key)}; {meant}")
        if key in keys[:position]:
            raise BatchError(f"{where}: {key} twice; expected each key once")

"""Manifests: the instances of a batch, and the parameters of each.

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

Keys are those of `job.KEYS`: the files, how they are read, and any parameter of `SolverParameters`
by its path, as in `sdp.max_iterations = 300`. Only `data` is needed. `data` and `constraints` are
paths or patterns (`*`, `?`, `[...]`, `**` for any folders), relative to the manifest's folder, and
there is an instance for each file of data, with each of its files of constraints. In `constraints`,
`{stem}` stands for the name of the file of data without its ending, and `{parent}` for the name of
its folder, as in `known_classes`, a file of known classes or a column of the data; in `name`,
`{constraints}` also stands for the stem of the file of constraints. Without a name, an instance is
called `STEM-CONSTRAINTS-kK`, less what is not given, and less `STEM-` if `CONSTRAINTS` begins with
it.
"""

from __future__ import annotations

import csv
import glob
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.textfile import open_text, shown
from sdpbb.questions.batch.job import KEYS, Job, engine_values
from sdpbb.questions.study_folder import StudyError as BatchError
from sdpbb.run.parameters import SHORT_NAMES, SolverParameters
from sdpbb.runtime.declaration import Declaration, did_you_mean
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import OF_CONSTRAINTS

LONGEST_PATH = 4096
"""Letters; no system opens a longer one."""

_COMPONENTS = {key[:end] for key in KEYS for end, letter in enumerate(key) if letter == "."}


@dataclass(frozen=True)
class ManifestEntry:
    """One table of a manifest, or one line, with the defaults that hold for it.

    where : file and line or table, for messages
    values : by key, each of the domain that its declaration in `KEYS` states
    states_k : whether k is stated here, and not only for all
    """

    where: str
    values: Mapping[str, Any]
    states_k: bool


def read_manifest(
    path: FilePath,
    overrides: Mapping[str, Any] | None = None,
    parameters: SolverParameters | None = None,
) -> list[Job]:
    """Return the jobs that a manifest names, in its order; files that a pattern matches in theirs.

    Parameters
    ----------
    path : a file whose name ends in `.toml` or `.csv`
    overrides : parameters of the runs, by key, that take precedence over those of the manifest
    parameters : of the runs, those that neither states; not their workers, dask and mpi, as an
        instance takes one process

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
    SolverParameters().updated(engine_values(overrides))
    base = replace(parameters or SolverParameters(), workers=1, dask=None, mpi=False)
    try:
        entries = _entries(path)
    except BatchError:
        raise
    except InstanceError as error:  # it is no text file at all
        raise BatchError(str(error)) from None
    if not entries:
        raise BatchError(
            f"{shown_path(path)}: has no instance; expected at least one, with its data"
        )
    folder = os.path.dirname(os.fspath(path))
    jobs: list[Job] = []
    taken: dict[str, ManifestEntry] = {}
    for entry in entries:
        for job in _expand(entry, folder, engine_values(overrides), base):
            if job.name in taken:
                raise _duplicate(job, entry, taken[job.name])
            taken[job.name] = entry
            jobs.append(job)
    return jobs


def _entries(path: FilePath) -> list[ManifestEntry]:
    suffix = Path(path).suffix.lower()
    if suffix == ".toml":
        return _of_toml(path)
    if suffix == ".csv":
        return _of_csv(path)
    raise BatchError(f"{shown_path(path)}: expected a manifest whose name ends in .toml or .csv")


def _duplicate(job: Job, entry: ManifestEntry, other: ManifestEntry) -> BatchError:
    where = "itself" if other is entry else other.where
    return BatchError(
        f"{entry.where}: a second instance is called {shown(job.name)}, after one of {where}; "
        "expected different names: give a name, which may hold {stem}, {parent} and {constraints}"
    )


def _of_toml(path: FilePath) -> list[ManifestEntry]:
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
        raise BatchError(f"{name}: defaults is not a table; expected [defaults]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BatchError(f"{name}: instance is not a list of tables; expected [[instance]]")
    common = _values(f"{name}: [defaults]", list(_flat(defaults)), Declaration.checked)
    entries = []
    for number, table in enumerate(tables, start=1):
        where = f"{name}: [[instance]] {number}"
        stated = _values(where, list(_flat(table)), Declaration.checked)
        entries.append(_entry(where, _with_defaults(common, stated), stated))
    return entries


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and of the tables of components within it, each with its path."""
    for key, value in table.items():
        path = prefix + key
        if isinstance(value, dict) and path in _COMPONENTS:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _with_defaults(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with the defaults that apply to them.

    Defaults on how constraints are to be read say nothing to an instance without any.
    """
    values = {**defaults, **table}
    without = "constraints" not in values
    unused = {*OF_CONSTRAINTS} - {*table} if without else set()
    return {key: value for key, value in values.items() if key not in unused}


def _of_csv(path: FilePath) -> list[ManifestEntry]:
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


def _of_line(where: str, heading: list[str], fields: list[str]) -> ManifestEntry:
    if len(fields) != len(heading):
        raise BatchError(
            f"{where}: {len(fields)} fields; expected {len(heading)}, as in the heading"
        )
    given = [(key, field.strip()) for key, field in zip(heading, fields, strict=True)]
    values = _values(where, [(key, field) for key, field in given if field], _from_text)
    return _entry(where, values, values)


def _entry(where: str, values: Mapping[str, Any], stated: Mapping[str, Any]) -> ManifestEntry:
    if "data" not in values:
        raise BatchError(f"{where}: no data; expected the path of a file, or a pattern")
    return ManifestEntry(where, values, states_k="k" in stated)


def _values(
    where: str, given: list[tuple[str, Any]], read: Callable[[Declaration, Any], Any]
) -> dict[str, Any]:
    """Return the values of a table or a line by the paths of their parameters.

    Each is as `read` makes it from its declaration and what is given.
    """
    _check_keys(where, [key for key, _ in given])
    values = {}
    for key, value in given:
        declaration = KEYS[key]
        try:
            values[SHORT_NAMES.get(key, key)] = read(declaration, value)
        except ParameterError as error:
            component = key.removesuffix(declaration.name)
            raise BatchError(f"{where}: {component}{error}") from None
    return values


def _from_text(declaration: Declaration, text: str) -> Any:
    """Return the value of a field: names are taken as they are, also where they are words."""
    return text if declaration.kinds == (str,) else declaration.from_text(text)


def _check_keys(where: str, keys: list[str]) -> None:
    seen = set[str]()
    for key in keys:
        if key not in KEYS:
            raise BatchError(f"{where}: unknown key {shown(key)}; {_meant(key)}")
        path = SHORT_NAMES.get(key, key)
        if path in seen:
            raise BatchError(f"{where}: {key} twice; expected each key once")
        seen.add(path)


def _meant(key: str) -> str:
    """Return the end of a message on an unknown key: what it may stand for."""
    return did_you_mean(key, KEYS, "docs/tutorials/batch.md, and 'sdpbb parameters'")


def _expand(
    entry: ManifestEntry, folder: str, overrides: Mapping[str, Any], parameters: SolverParameters
) -> Iterator[Job]:
    """Yield a job for each file of data of an entry, with each of its files of constraints.

    Parameters
    ----------
    entry : with a value for "data" at least
    folder : what paths are relative to; "" for the working folder
    overrides : values by key that take precedence
    parameters : of the run, those that nothing else states

    Raises
    ------
    BatchError
        If a pattern matches no file, or a value is outside of its domain.
    """
    values = {**entry.values, **overrides}
    for data in _files(entry, folder, values["data"], "data", {}):
        for constraints in _constraints(entry, folder, values.get("constraints"), data):
            name = _name(values.get("name"), data, constraints, entry)
            files = {"data": data, "constraints": constraints, "name": name}
            if classes := _class_file(folder, values.get("known_classes"), data):
                files["known_classes"] = classes
            try:
                yield Job.from_keys({**values, **files}, parameters)
            except ParameterError as error:
                raise BatchError(f"{entry.where}: {error}") from None


def _constraints(
    entry: ManifestEntry, folder: str, pattern: str | None, data: str
) -> list[str | None]:
    if pattern is None:
        return [None]
    return list(_files(entry, folder, pattern, "constraints", _placeholders(data)))


def _class_file(folder: str, stated: str | None, data: str) -> str | None:
    """Return the path of a file of known classes; None if a column of the data is meant."""
    path = None if stated is None else os.path.join(folder, _filled(stated, _placeholders(data)))
    return path if path is not None and os.path.exists(path) else None


def _files(
    entry: ManifestEntry, folder: str, pattern: str, key: str, placeholders: Mapping[str, str]
) -> list[str]:
    """Return the paths that match a pattern, each beginning with the folder.

    A path that is no pattern is returned as it is.
    """
    plain = os.path.join(folder, _filled(pattern, placeholders))
    if "\0" in plain or len(plain) > LONGEST_PATH:
        raise BatchError(f"{entry.where}: {key} = {shown(pattern)}; expected the name of a file")
    if os.path.lexists(plain) or not glob.has_magic(pattern):
        return [plain]
    # What placeholders and the folder stand for is no pattern, whatever letters are in it.
    escaped = {key: glob.escape(value) for key, value in placeholders.items()}
    wanted = os.path.join(glob.escape(folder), _filled(pattern, escaped))
    found = sorted(path for path in glob.glob(wanted, recursive=True) if not os.path.isdir(path))
    if not found:
        raise BatchError(
            f"{entry.where}: {key} = {shown(pattern)}: there is no file {shown_path(plain)}; "
            "expected a pattern that matches one, relative to the manifest's folder"
        )
    return found


def _name(template: str | None, data: str, constraints: str | None, entry: ManifestEntry) -> str:
    stem = _stem(data)
    of_constraints = "" if constraints is None else _stem(constraints)
    if template is not None:
        return _filled(template, {**_placeholders(data), "constraints": of_constraints})
    starts = of_constraints.startswith(stem)
    parts = [of_constraints] if starts else [stem, *([of_constraints] if constraints else [])]
    if entry.states_k:
        parts.append(f"k{entry.values['k']}")
    return "-".join(parts)


def _placeholders(data: str) -> dict[str, str]:
    return {"stem": _stem(data), "parent": PurePath(os.path.abspath(data)).parent.name}


def _filled(template: str, placeholders: Mapping[str, str]) -> str:
    for key, value in placeholders.items():
        template = template.replace(f"{{{key}}}", value)
    return template


def _stem(path: str) -> str:
    return PurePath(path).stem

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from sdpbb.errors import ParameterError
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
    overrides = engine_values(overrides or {})
    SolverParameters().updated(overrides)
    base = replace(parameters or SolverParameters(), workers=1, dask=None, mpi=False)
    folder = os.path.dirname(os.fspath(path))
    jobs: list[Job] = []
    taken: dict[str, ManifestEntry] = {}
    for entry in _entries(path):
        for job in _expand(entry, folder, overrides, base):
            if job.name in taken:
                other = "itself" if taken[job.name] is entry else taken[job.name].where
                raise BatchError(
                    f"{entry.where}: a second instance is called {shown(job.name)}, after one of "
                    f"{other}; expected different names: give a name, which may hold {{stem}}, "
                    "{parent} and {constraints}"
                )
            taken[job.name] = entry
            jobs.append(job)
    if not jobs:
        raise BatchError(
            f"{shown_path(path)}: has no instance; expected at least one, with its data"
        )
    return jobs


Values = Iterable[tuple[str, Any]]
"""Keys and values of a table or a line, as given."""


def _entries(path: FilePath) -> Iterator[ManifestEntry]:
    """Yield the entries of a manifest, with its defaults."""
    suffix, name = Path(path).suffix.lower(), shown_path(path)
    if suffix not in (".toml", ".csv"):
        raise BatchError(f"{name}: expected a manifest whose name ends in .toml or .csv")
    defaults, tables, read = _toml(path) if suffix == ".toml" else _csv(path)
    common = _values(f"{name}: [defaults]", defaults, read)
    for where, table in tables:
        stated = _values(where, table, read)
        values = {**common, **stated}
        if "data" not in values:
            raise BatchError(f"{where}: no data; expected the path of a file, or a pattern")
        # Defaults on how constraints are to be read say nothing to an instance without any.
        unused = set() if "constraints" in values else {*OF_CONSTRAINTS} - {*stated}
        values = {key: value for key, value in values.items() if key not in unused}
        yield ManifestEntry(where, values, states_k="k" in stated)


Stated = tuple[Values, Iterable[tuple[str, Values]], Callable[[Declaration, Any], Any]]
"""Defaults; for each entry where it is and what it states; what makes a value of one."""


def _toml(path: FilePath) -> Stated:
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
    numbered = enumerate(tables, start=1)
    stated = ((f"{name}: [[instance]] {number}", _flat(table)) for number, table in numbered)
    return _flat(defaults), stated, Declaration.checked


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a table and of the tables of components within it, each with its path."""
    for key, value in table.items():
        path = prefix + key
        if isinstance(value, dict) and path in _COMPONENTS:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _csv(path: FilePath) -> Stated:
    return (), _lines(path), _from_text


def _lines(path: FilePath) -> Iterator[tuple[str, Values]]:
    """Yield the lines of a CSV file, without its empty fields."""
    name = shown_path(path)
    with open_text(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            heading = [field.strip() for field in next(reader, [])]
            _check_keys(f"{name}:1", heading)
            for fields in reader:
                where, stated = f"{name}:{reader.line_num}", [field.strip() for field in fields]
                if not any(stated):
                    continue
                if len(stated) != len(heading):
                    raise BatchError(
                        f"{where}: {len(stated)} fields; expected {len(heading)}, as in the heading"
                    )
                given = zip(heading, stated, strict=True)
                yield where, [(key, field) for key, field in given if field]
        except csv.Error as error:
            raise BatchError(f"{name}:{reader.line_num}: {error}; expected CSV") from None


def _values(where: str, stated: Values, read: Callable[[Declaration, Any], Any]) -> dict[str, Any]:
    """Return the values of a table or a line by the paths of their parameters.

    Each is as `read` makes it from its declaration and what is given.
    """
    given = list(stated)
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
            meant = did_you_mean(key, KEYS, "docs/tutorials/batch.md, and 'sdpbb parameters'")
            raise BatchError(f"{where}: unknown key {shown(key)}; {meant}")
        path = SHORT_NAMES.get(key, key)
        if path in seen:
            raise BatchError(f"{where}: {key} twice; expected each key once")
        seen.add(path)


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
        placeholders = _placeholders(data)
        chosen: list[str | None] = [None]
        if (pattern := values.get("constraints")) is not None:
            chosen = [*_files(entry, folder, pattern, "constraints", placeholders)]
        files = {"data": data}
        if (classes := values.get("known_classes")) is not None:
            path = os.path.join(folder, _filled(classes, placeholders))
            # Otherwise a column of the data is meant.
            files |= {"known_classes": path} if os.path.exists(path) else {}
        for constraints in chosen:
            name = _name(values.get("name"), data, constraints, entry)
            own = {**values, **files, "constraints": constraints, "name": name}
            try:
                yield Job.from_keys(own, parameters)
            except ParameterError as error:
                raise BatchError(f"{entry.where}: {error}") from None


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

"""Manifests: the instances of a batch, and the parameters of each.

A manifest is TOML: tables `[[instance]]`, each for one or more instances, and a table `[defaults]`
for shared keys.

    [defaults]
    time_limit = 60

    [[instance]]
    data = "datasets/iris.txt"
    constraints = "constraints/{stem}/*.txt"

    [[instance]]
    data = "*.csv"
    k = 3
    name = "{stem}-three"

Keys are `KEYS`: the files, options of reading them, and parameters of `SolverParameters`, also by
path, as in `sdp.max_iterations = 300`. Only `data` is required. `data` and `constraints` are paths
or patterns (`*`, `?`, `[...]`, `**` for any folders), relative to the folder of the manifest. Each
file of data with each of its files of constraints is an instance. In `constraints` and
`known_classes`, `{stem}` is the name of the file of data without its ending, and `{parent}` the
name of its folder. In `name`, `{constraints}` is also the stem of the file of constraints. The
default name is `STEM-CONSTRAINTS-kK`, without missing parts, and without `STEM-` if `CONSTRAINTS`
begins with it.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Self

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.textfile import open_text, shown
from sdpbb.run.parameters import LIMITS, SHORT_NAMES, WORKERS, SolverParameters
from sdpbb.runtime.declaration import (
    Parameters,
    declared_values,
    did_you_mean,
    own_declarations,
    parameter,
    wrong,
)
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import OF_CONSTRAINTS, Reading

LONGEST_NAME = 200
"""Maximum bytes of a job's name, which is also the name of a file."""

_PATH = "a text that is not empty"


@dataclass(frozen=True)
class Job(Parameters):
    """One instance and the parameters of its run, in one process, or two for long steps.

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    data: str = parameter(help="Path of the file of points.", unit=_PATH)
    name: str = parameter(
        help="Name in reports and of the file of labels; different from the names of other jobs "
        "of the batch.",
        unit=_PATH,
    )
    k: int | None = parameter(None, "Number of clusters. None: as stated in the data file.", ge=1)
    constraints: str | None = parameter(None, "Path of the file of constraints.", unit=_PATH)
    reading: Reading = parameter(Reading, "Options of reading the files.")
    parameters: SolverParameters = parameter(
        SolverParameters,
        "Parameters of the run.",
        reason="Without workers, dask and mpi, so that rows are repeatable.",
    )

    def check_combination(self) -> None:
        name, expected = self.name, None
        if name in (".", "..") or any(letter in name for letter in "/\\\0"):
            expected = "a valid file name, without / or \\"
        elif len(os.fsencode(name)) > LONGEST_NAME:
            expected = f"a name of at most {LONGEST_NAME} bytes"
        if expected is not None:
            raise ParameterError(f"name = {shown(name)}: expected {expected}")
        for name in WORKERS:
            value = getattr(self.parameters, name)
            if value != getattr(SolverParameters, name):
                raise wrong(name, value, "none, as each instance of a batch runs in one process")

    @classmethod
    def from_keys(
        cls, values: Mapping[str, Any], parameters: SolverParameters | None = None
    ) -> Self:
        """Return the job with these keys of a manifest.

        Parameters
        ----------
        values : by key, see `KEYS`
        parameters : parameters of the run that no key gives

        Raises
        ------
        ParameterError
            One line that begins with the name or the path of a parameter.
        """
        own, reading, asked = _divided(values, parameters or SolverParameters())
        return cls(**own, reading=Reading(**reading), parameters=asked)

    def limits(self) -> dict[str, float | int | None]:
        """Return time_limit, node_limit and memory_limit; None for no limit."""
        limits = {name: getattr(self.parameters, name) for name in LIMITS}
        return {name: None if limit == math.inf else limit for name, limit in limits.items()}

    def key(self) -> str:
        """Return the digest of the job that identifies its row.

        It covers the name of the job, contents and names of its files, and the parameters of its
        run except limits.

        Folders do not count, so that a batch can be moved.
        """
        # Defaults are not in digests, so that new parameters do not change old ones.
        values: dict[str, Any] = {"name": self.name, "k": self.k} | {
            declaration.path: value
            for part in (self.reading, self.parameters)
            for declaration, value in declared_values(part)
            if not isinstance(value, Parameters) and value != declaration.default
        }
        for name in LIMITS:
            values.pop(name, None)
        files = {name: getattr(self, name) for name in ("data", "constraints")}
        files["known_classes"] = self.reading.known_classes
        for name, path in files.items():
            values[name] = None if path is None else [os.path.basename(path), _digest(path)]
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_OWN = ("data", "name", "k", "constraints")
KEYS = (
    *_OWN,
    *own_declarations(Reading),
    *SHORT_NAMES,
    *(name for name in own_declarations(SolverParameters) if name not in WORKERS),
)
"""Keys of a manifest, or the component that a key begins with."""


def _divided(
    values: Mapping[str, Any], parameters: SolverParameters
) -> tuple[dict[str, Any], dict[str, Any], SolverParameters]:
    """Return the fields of a job, the options of reading, and the parameters of a run.

    values : by key
    parameters : parameters that no key gives
    """
    for key in values:
        if key.partition(".")[0] not in KEYS:
            meant = did_you_mean(key, KEYS, "docs/tutorials/batch.md, and 'sdpbb parameters'")
            raise ParameterError(f"unknown key {shown(key)}; {meant}")
    left = {SHORT_NAMES.get(key, key): value for key, value in values.items()}
    of_jobs, of_reading = own_declarations(Job), own_declarations(Reading)
    own = {name: of_jobs[name].checked(left.pop(name)) for name in _OWN if name in left}
    reading = {n: of_reading[n].checked(left.pop(n)) for n in of_reading if n in left}
    return own, reading, parameters.updated(left)


def _digest(path: str) -> str | None:
    """Return the digest of the contents of a file; None if no regular file can be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def read_manifest(
    path: FilePath,
    overrides: Mapping[str, Any] | None = None,
    parameters: SolverParameters | None = None,
) -> list[Job]:
    """Return the jobs of a manifest in its order; matches of a pattern are sorted.

    Parameters
    ----------
    path : a file whose name ends in `.toml`
    overrides : parameters of the runs, by key, that take precedence over the manifest
    parameters : parameters of the runs that neither gives. workers, dask and mpi are ignored, as
        each job has one process

    Raises
    ------
    ParameterError
        On the overrides.
    InstanceError
        One line: the manifest, the number of the table, what is wrong and what is expected. Two
        jobs with the same name and patterns without a match are errors. A missing file is only an
        error of its job.
    """
    overrides = {SHORT_NAMES.get(key, key): value for key, value in (overrides or {}).items()}
    SolverParameters().updated(overrides)
    base = (parameters or SolverParameters()).alone()
    name, jobs, places = shown_path(path), dict[str, Job](), dict[str, str]()
    if Path(path).suffix.lower() != ".toml":
        raise InstanceError(f"{name}: expected a manifest whose name ends in .toml")
    defaults, tables = _tables(path, name)
    with _named(f"{name}: [defaults]"):
        own, reading, base = _divided(defaults, base)
    common, folder = own | reading, os.path.dirname(os.fspath(path))
    for number, table in enumerate(tables, start=1):
        where = f"{name}: [[instance]] {number}"
        values = common | table
        if "constraints" not in values:
            # Defaults on reading constraints do not apply to an instance without constraints.
            unused = {*OF_CONSTRAINTS} - {*table}
            values = {key: value for key, value in values.items() if key not in unused}
        with _named(where):
            if "data" not in values:
                raise ParameterError("no data; expected the path of a file, or a pattern")
            checked = values | _divided(values, base)[0]
            suffix = f"-k{table['k']}" if "k" in table else ""
            for files in _expanded(checked, folder, suffix):
                job = Job.from_keys(checked | files, base)
                job = replace(job, parameters=job.parameters.updated(overrides))
                if job.name in jobs:
                    other = "itself" if places[job.name] == where else places[job.name]
                    raise ParameterError(
                        f"a second instance is called {shown(job.name)}, after one of {other}; "
                        "expected different names: give a name, which may hold {stem}, {parent} "
                        "and {constraints}"
                    )
                jobs[job.name], places[job.name] = job, where
    if not jobs:
        raise InstanceError(f"{name}: has no instance; expected at least one, with its data")
    return list(jobs.values())


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Context manager: a ParameterError becomes an InstanceError that names the place."""
    try:
        yield
    except ParameterError as error:
        raise InstanceError(f"{where}: {error}") from None


def _tables(path: FilePath, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the defaults and the tables of a manifest."""
    with open_text(path) as file:
        text = file.read()
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of thousands of digits or brackets
        raise InstanceError(f"{name}: {error}; expected TOML") from None
    for key in content:
        if key not in ("defaults", "instance"):
            raise InstanceError(f"{name}: {shown(key)}; expected [defaults] and [[instance]] only")
    defaults, tables = content.get("defaults", {}), content.get("instance", [])
    if not isinstance(defaults, dict):
        raise InstanceError(f"{name}: defaults is not a table; expected [defaults]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InstanceError(f"{name}: instance is not a list of tables; expected [[instance]]")
    return defaults, tables


def _expanded(
    values: Mapping[str, Any], folder: str, suffix: str
) -> Iterator[dict[str, str | None]]:
    """Yield the files and the name of each job of a table.

    Parameters
    ----------
    values : values by key, at least "data"
    folder : folder that paths are relative to; "": the working folder
    suffix : suffix of default names

    Raises
    ------
    ParameterError
        If a pattern matches no file.
    """
    for data in _matched("data", values["data"], folder, {}):
        stem = PurePath(data).stem
        known = {"stem": stem, "parent": PurePath(os.path.abspath(data)).parent.name}
        files: dict[str, str | None] = {"data": data}
        if (classes := values.get("known_classes")) is not None:
            path = os.path.join(folder, _filled(classes, known))
            # Otherwise a column of the data is meant.
            files |= {"known_classes": path} if os.path.exists(path) else {}
        chosen: list[str | None] = [None]
        if (pattern := values.get("constraints")) is not None:
            chosen = [*_matched("constraints", pattern, folder, known)]
        for constraints in chosen:
            stem_too = "" if constraints is None else PurePath(constraints).stem
            parts = [stem_too] if stem_too.startswith(stem) else [stem, *filter(None, [stem_too])]
            name = "-".join(parts) + suffix
            if "name" in values:
                name = _filled(values["name"], {**known, "constraints": stem_too})
            yield files | {"constraints": constraints, "name": name}


def _matched(key: str, pattern: str, folder: str, placeholders: Mapping[str, str]) -> list[str]:
    """Return the paths that match a pattern, each beginning with the folder.

    A path that is not a pattern is returned as it is.
    """
    plain = os.path.join(folder, _filled(pattern, placeholders))
    if "\0" in plain or os.path.lexists(plain) or not glob.has_magic(pattern):
        return [plain]
    # Letters such as * in values of placeholders or in the folder are not patterns.
    escaped = {key: glob.escape(value) for key, value in placeholders.items()}
    wanted = os.path.join(glob.escape(folder), _filled(pattern, escaped))
    found = sorted(path for path in glob.glob(wanted, recursive=True) if not os.path.isdir(path))
    if not found:
        raise ParameterError(
            f"{key} = {shown(pattern)}: there is no file {shown_path(plain)}; "
            "expected a pattern that matches one, relative to the manifest's folder"
        )
    return found


def _filled(template: str, placeholders: Mapping[str, str]) -> str:
    for key, value in placeholders.items():
        template = template.replace(f"{{{key}}}", value)
    return template

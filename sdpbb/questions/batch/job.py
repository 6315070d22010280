"""Instance of a batch: its files, how they are read, and the parameters of its run."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sdpbb.errors import ParameterError
from sdpbb.problem.textfile import shown
from sdpbb.run.parameters import SHORT_NAMES, SolverParameters
from sdpbb.runtime.declaration import (
    Parameters,
    declarations,
    declared_values,
    own_declarations,
    parameter,
    wrong,
)
from sdpbb.runtime.reading import Reading

LONGEST_NAME = 200
"""Bytes of a job's name, which also names a file."""

NOT_OF_JOBS = ("workers", "dask", "mpi")
"""Parameters that say who does the work: of a batch, not of its jobs."""

_PATH = "a text that is not empty"


@dataclass(frozen=True)
class Job(Parameters):
    """One instance and the parameters of its run, which takes one process, two for long steps.

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
        if problem := name_problem(self.name):
            raise ParameterError(f"name = {shown(self.name)}: {problem}")
        for name in NOT_OF_JOBS:
            value = getattr(self.parameters, name)
            if value != getattr(SolverParameters, name):
                raise wrong(name, value, "none, as each instance of a batch runs in one process")

    @classmethod
    def from_keys(
        cls, values: Mapping[str, Any], parameters: SolverParameters | None = None
    ) -> Self:
        """Return the job that the keys of a manifest state.

        Parameters
        ----------
        values : by key, see `KEYS`
        parameters : of the run, those that no key states

        Raises
        ------
        ParameterError
            One line that begins with the name or the path of a parameter.
        """
        left = dict(values)
        own = {name: left.pop(name) for name in _OWN if name in left}
        declared = own_declarations(Reading)
        reading = {
            name: declared[name].checked(left.pop(name)) for name in declared if name in left
        }
        asked = (parameters or SolverParameters()).updated(engine_values(left))
        return cls(**own, reading=Reading(**reading), parameters=asked)

    def limits(self) -> dict[str, float | int | None]:
        """Return time_limit, node_limit and memory_limit; None for no limit."""
        limits = {name: getattr(self.parameters, name) for name in _LIMITS}
        return {name: None if limit == math.inf else limit for name, limit in limits.items()}

    def key(self) -> str:
        """Return the digest of the job by which its row is recognised.

        It is of the job's name, of the contents and the names of its files, and of the parameters
        of its run apart from limits.

        The folders that the files are in do not count, so that a batch can be moved.
        """
        # A new parameter leaves the digests of old rows as they are: its default is not in them.
        values: dict[str, Any] = {"name": self.name, "k": self.k} | {
            declaration.path: value
            for part in (self.reading, self.parameters)
            for declaration, value in declared_values(part)
            if not isinstance(value, Parameters) and value != declaration.default
        }
        for name in _LIMITS:
            values.pop(name, None)
        files = {name: getattr(self, name) for name in ("data", "constraints")}
        files["known_classes"] = self.reading.known_classes
        for name, path in files.items():
            values[name] = None if path is None else [os.path.basename(path), _digest(path)]
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_OWN = ("data", "name", "k", "constraints")
_LIMITS = ("time_limit", "node_limit", "memory_limit")

_ENGINE = {
    declaration.path: declaration
    for declaration in declarations(SolverParameters)
    if not isinstance(declaration.default, Parameters) and declaration.path not in NOT_OF_JOBS
}
KEYS = {
    **{name: own_declarations(Job)[name] for name in _OWN},
    **own_declarations(Reading),
    **{name: _ENGINE[name] for name in ("gap", "seed", "bounding")},
    **{name: _ENGINE[path] for name, path in SHORT_NAMES.items()},
    **{name: _ENGINE[name] for name in _LIMITS},
    **_ENGINE,
}
"""Keys of a manifest, the common ones first, each with the declaration of its value."""


def engine_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the paths of parameters, from values by the keys of a manifest."""
    return {SHORT_NAMES.get(key, key): value for key, value in values.items()}


def name_problem(name: str) -> str | None:
    """Return why a name cannot be one of a job, or None."""
    if not name or name in (".", "..") or any(letter in name for letter in "/\\\0"):
        return "expected a valid file name, without / or \\"
    if len(os.fsencode(name)) > LONGEST_NAME:
        return f"expected a name of at most {LONGEST_NAME} bytes"
    return None


def _digest(path: str) -> str | None:
    """Return the digest of a file's contents; None where there is no regular file to be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None

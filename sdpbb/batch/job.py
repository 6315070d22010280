"""An instance of a batch: its files, and what is asked for it."""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from sdpbb.bounds.sdp.parameters import SdpParameters, SdpSolver
from sdpbb.errors import ParameterError
from sdpbb.parameters import Bounding, SolverParameters
from sdpbb.problem.files.constraint_formats import check_format
from sdpbb.problem.textfile import shown

LONGEST_NAME = 200
"""Bytes of a job's name, which also names a file."""

_LIMITS = ("time_limit", "node_limit", "memory_limit")


@dataclass(frozen=True)
class Job:
    """One instance and what is asked for it.

    Parameters
    ----------
    data, constraints : paths of the files, as `read_instance` takes them
    name : what reports call it; different from those of the other jobs of its batch, and a name
        that a file can have, as its labels are written to one
    k : number of clusters; None for what the data file says
    constraints_format, one_based, index_column, drop : how the files are to be read, as
        `read_instance` takes them
    gap, seed, bounding : as in `SolverParameters`
    sdp_solver : as `SdpParameters.solver`
    time_limit, node_limit, memory_limit : likewise; None for no limit

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    data: str
    name: str
    k: int | None = None
    constraints: str | None = None
    constraints_format: str | None = None
    one_based: bool = False
    index_column: str | None = None
    drop: tuple[str, ...] = ()
    gap: float = 1e-4
    seed: int = 0
    bounding: Bounding = "hybrid"
    sdp_solver: SdpSolver = "admm"
    time_limit: float | None = None
    node_limit: int | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        if problem := name_problem(self.name):
            raise ParameterError(f"name = {shown(self.name)}: {problem}")
        if self.k is not None and not (_is_integer(self.k) and self.k >= 1):
            raise ParameterError(f"k = {self.k!r}: expected an integer >= 1")
        if self.constraints_format is not None:
            check_format(self.constraints_format)
        if self.sdp_solver not in (solvers := get_args(SdpSolver)):
            expected = f"expected one of {', '.join(solvers)}"
            raise ParameterError(f"sdp_solver = {self.sdp_solver!r}: {expected}")
        checked = self.solver_parameters()
        limits = {name: _finite_or_none(getattr(checked, name)) for name in _LIMITS}
        plain = {"gap": checked.gap, "seed": checked.seed, "drop": tuple(self.drop), **limits}
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def solver_parameters(self) -> SolverParameters:
        """What the engine is asked for: one process, so that a row is repeatable."""
        limits = {name: getattr(self, name) for name in _LIMITS}
        return SolverParameters(
            gap=self.gap,
            seed=self.seed,
            bounding=self.bounding,
            sdp=SdpParameters(solver=self.sdp_solver),
            **{name: limit for name, limit in limits.items() if limit is not None},
        )

    def limits(self) -> dict[str, float | int | None]:
        """time_limit, node_limit and memory_limit."""
        return {name: getattr(self, name) for name in _LIMITS}

    def key(self) -> str:
        """What tells whether a row is of this job: a digest of its name, of the contents and the
        names of its files, and of what is asked for it apart from limits.

        The folders that the files are in do not count, so that a batch can be moved.
        """
        values: dict[str, Any] = asdict(self)
        for limit in _LIMITS:
            del values[limit]
        for file in ("data", "constraints"):
            path = values[file]
            values[file] = None if path is None else [os.path.basename(path), _digest(path)]
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` takes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Job:
        """The job of such values."""
        return cls(**values)


FIELDS = tuple(field.name for field in fields(Job))
"""The names of a job's parameters, which are the keys of a manifest."""


def name_problem(name: str) -> str | None:
    """Why a name cannot be one of a job, or None."""
    if not name or name in (".", "..") or any(letter in name for letter in "/\\\0"):
        return "expected a name that a file can have, without / or \\"
    if len(os.fsencode(name)) > LONGEST_NAME:
        return f"expected a name of at most {LONGEST_NAME} bytes"
    return None


def _digest(path: str) -> str | None:
    """Of a file's contents; None where there is no regular file to be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def _finite_or_none(limit: float | int | None) -> float | int | None:
    return None if limit == math.inf else limit


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)

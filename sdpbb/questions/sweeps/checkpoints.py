"""Checkpoints of a sweep that is resumed: they must be of the runs that are asked for."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Origin
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.archive.encoding import Encoder
from sdpbb.runtime.files import shown_path

# Parameters that do not decide what a result means.
MAY_CHANGE = ("time_limit", "node_limit", "memory_limit", "workers", "dask", "mpi")


def check_checkpoint(
    path: str, instance: Instance, parameters: SolverParameters, certified: bool
) -> None:
    """Check that a checkpoint is of a run of this instance with these parameters, but for limits.

    Raises
    ------
    ArchiveError
        If it is none, damaged, or of another version.
    ParameterError
        If it is of another run.
    """
    saved = read_checkpoint(path)
    asked = parameters.for_certificates() if certified else parameters
    names = [
        field.name
        for field in fields(asked)
        if field.name not in MAY_CHANGE
        and getattr(saved.parameters, field.name) != getattr(asked, field.name)
    ]
    differing = f"parameters ({', '.join(names)}; limits and workers may change)" if names else ""
    if not is_same_instance(saved.instance, instance):
        differing = "data, k or constraints"
    if differing:
        raise ParameterError(
            f"resume = True: {shown_path(path)} is of a run with other {differing}; expected the "
            "same, or a new folder"
        )


def is_same_instance(one: Instance, other: Instance) -> bool:
    """Return whether two instances state the same, whatever their rows and files are called."""
    first, second = (
        Encoder(replace(instance, origin=Origin(), name="")) for instance in (one, other)
    )
    return first.document == second.document and all(
        map(np.array_equal, first.arrays, second.arrays)
    )

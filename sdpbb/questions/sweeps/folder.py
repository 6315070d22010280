"""Folder of a sweep: a checkpoint and a certificate for each k, and tables of all."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace

import numpy as np

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Origin
from sdpbb.problem.files.labels import encoded
from sdpbb.questions.sweeps.report import SweepReport
from sdpbb.questions.sweeps.tasks import without_limits
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.archive.encoding import Encoder
from sdpbb.runtime.files import FilePath, name_problem, shown_path, write_atomically

TABLE, VALUES, LABELS = "sweep.csv", "sweep.json", "labels.csv"
CHECKPOINT, CERTIFICATE = ".checkpoint", ".cert"


@dataclass(frozen=True)
class SweepFolder:
    """Folder of the files of a sweep."""

    path: str

    def checkpoint(self, k: int) -> str:
        """Return the path of the checkpoint of k."""
        return os.path.join(self.path, f"k{k}{CHECKPOINT}")

    def certificate(self, k: int) -> str:
        """Return the path of the certificate of k."""
        return os.path.join(self.path, f"k{k}{CERTIFICATE}")

    def write_tables(self, report: SweepReport) -> None:
        """Write `sweep.csv`, `sweep.json` and `labels.csv`, each wholly or not at all.

        Raises
        ------
        OSError
            If one of them cannot be written.
        """
        for name, content in (
            (TABLE, report.to_csv()),
            (VALUES, report.to_json()),
            (LABELS, encoded(report.labels_csv(), report.origin)),
        ):
            write_atomically(os.path.join(self.path, name), content)


def open_folder(path: FilePath, resume: bool) -> SweepFolder:
    """Return the folder at path, made if it is not there.

    Raises
    ------
    InstanceError
        If there can be none; or if it holds a sweep, and should not.
    """
    folder = os.fspath(path)
    if problem := name_problem(folder):
        raise InstanceError(problem)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise InstanceError(
            f"{shown_path(folder)}: is not a folder; expected a folder, or a new name"
        )
    try:
        os.makedirs(folder, exist_ok=True)
        names = os.listdir(folder)
    except OSError as error:
        raise InstanceError(f"{shown_path(folder)}: {error.strerror or error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InstanceError(f"{shown_path(folder)}: the folder is not writable")
    ours = [name for name in names if name == TABLE or name.endswith(CHECKPOINT)]
    if ours and not resume:
        raise InstanceError(
            f"{shown_path(folder)}: holds a sweep ({shown_path(min(ours))}); resume it with "
            "--resume (resume=True), or name a new folder"
        )
    return SweepFolder(folder)


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
    differing = "" if is_same_instance(saved.instance, instance) else "data, k or constraints"
    asked = without_limits(parameters.for_certificates() if certified else parameters)
    if not differing and without_limits(saved.parameters) != asked:
        names = _differing(without_limits(saved.parameters), asked)
        differing = f"parameters ({', '.join(names)}; limits and workers may change)"
    if differing:
        raise ParameterError(
            f"resume = True: {shown_path(path)} is of a run with other {differing}; expected the "
            "same, or a new folder"
        )


def _differing(one: SolverParameters, other: SolverParameters) -> list[str]:
    return [
        field.name
        for field in fields(one)
        if getattr(one, field.name) != getattr(other, field.name)
    ]


def is_same_instance(one: Instance, other: Instance) -> bool:
    """Return whether two instances state the same, whatever their rows and files are called."""
    first, second = (
        Encoder(replace(instance, origin=Origin(), name="")) for instance in (one, other)
    )
    return first.document == second.document and all(
        map(np.array_equal, first.arrays, second.arrays)
    )

"""From a table of a manifest to its jobs: patterns and placeholders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from sdpbb.batch.entry import Entry
from sdpbb.batch.errors import BatchError
from sdpbb.batch.job import Job
from sdpbb.errors import ParameterError
from sdpbb.files import shown_path
from sdpbb.problem.textfile import shown

LONGEST_PATH = 4096
"""Letters; no system opens a longer one."""


def expand(entry: Entry, folder: str, overrides: Mapping[str, Any]) -> Iterator[Job]:
    """A job for each file of data that the entry names, with each of its files of constraints.

    Parameters
    ----------
    entry : with a value for "data" at least
    folder : what paths are relative to; "" for the working folder
    overrides : parameters of `Job` that take precedence

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
            try:
                yield Job(**{**values, **files})
            except ParameterError as error:
                raise BatchError(f"{entry.where}: {error}") from None


def _constraints(entry: Entry, folder: str, pattern: str | None, data: str) -> list[str | None]:
    if pattern is None:
        return [None]
    return list(_files(entry, folder, pattern, "constraints", _placeholders(data)))


def _files(
    entry: Entry, folder: str, pattern: str, key: str, placeholders: Mapping[str, str]
) -> list[str]:
    """Paths that begin with the folder; a path that is no pattern as it is."""
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


def _name(template: str | None, data: str, constraints: str | None, entry: Entry) -> str:
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

"""Exceptions of the package."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = tuple(os.path.join(_PACKAGES, name, "") for name in ("sdpbb", "heuristics"))


class SdpbbError(Exception):
    """Base of every error the package raises on purpose."""


class InstanceError(SdpbbError, ValueError):
    """The points, k or the constraints are not a valid instance.

    The message is one line that names the file and line, or the argument and index, says what is
    wrong there and what would be right.
    """


class InstanceWarning(UserWarning):
    """An instance is valid, but probably not what was meant.

    The message is one line, as for an InstanceError.
    """


class InstanceNote(InstanceWarning):
    """A file was read in a way that its user may want to know of; nothing is wrong.

    The message is one line, as for an InstanceError.
    """


class ArchiveError(InstanceError):
    """A file is not the archive it should be: foreign, damaged, of another kind or version.

    The message is one line that names the file, says what is wrong and what would be right.
    """


class CertificateError(SdpbbError):
    """A certificate cannot be written, is about another instance, or does not prove what it says.

    The message is one line that names the file, and where in its proof it fails.

    result : of what is finished and whose certificate cannot be written: the `Result` of a run, or
        the report of a gap or of a check; None where a certificate was to be checked
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ParameterError(SdpbbError, ValueError):
    """A parameter is outside of its domain."""


class FileInUse(ParameterError):
    """A file to write is being written by another run or batch."""


class BackendUnavailable(SdpbbError):
    """An optional package is not installed, or a solver is not licensed.

    extra : the extra of this package that installs it; "" for what is installed
    """

    def __init__(self, message: str, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra


class BackendFailure(SdpbbError):
    """A third-party solver ended without an answer that can be used."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that names the line outside of this package that led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

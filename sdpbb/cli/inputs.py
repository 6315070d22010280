"""Input files of the commands."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdpbb.cli.exits import of_option
from sdpbb.cli.streams import say
from sdpbb.errors import InstanceError, InstanceWarning, ParameterError
from sdpbb.files import shown_path

if TYPE_CHECKING:
    from sdpbb.problem import Instance


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Warnings of this package on standard error, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InstanceWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, InstanceWarning):
            say(f"warning: {warning.message}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


@dataclass(frozen=True)
class InputFiles:
    """The files of an instance, as the options of a command name them."""

    data: str
    k: int | None = None
    constraints: str | None = None
    constraints_format: str | None = None
    one_based: bool = False
    index_column: str | None = None
    drop: Sequence[str] | None = None

    @property
    def paths(self) -> list[str]:
        return [path for path in (self.data, self.constraints) if path is not None]

    def read(self) -> Instance:
        """The instance.

        Raises
        ------
        InstanceError, ParameterError
            On the files, and on the options that say how to read them.
        BackendUnavailable
            If a package that reads one of the files is not installed.

        What is valid but probably not what was meant is told on standard error.
        """
        from sdpbb.problem.formats import read_instance

        try:
            with warnings_as_lines():
                return read_instance(
                    self.data,
                    self.k,
                    self.constraints,
                    constraints_format=self.constraints_format,
                    one_based=self.one_based,
                    index_column=self.index_column,
                    drop=self.drop or (),
                )
        except InstanceError as error:
            if self.k is None or not str(error).startswith("k = "):
                raise
            # Less than 1 is never right, more than n is wrong for these data.
            kind = ParameterError if self.k < 1 else InstanceError
            raise kind(of_option(error)) from None

    def read_hard(self) -> Instance:
        """The instance, for the engine: soft constraints are refused.

        Raises
        ------
        InstanceError, ParameterError
            As `read`.
        """
        instance = self.read()
        if instance.has_soft_constraints:
            raise InstanceError(
                f"{shown_path(self.constraints or '')}: soft constraints (SML, SCL), and only hard "
                "ones can be solved exactly; expected ML and CL, or 'sdpbb heuristic pccc', which "
                "weighs them"
            )
        return instance

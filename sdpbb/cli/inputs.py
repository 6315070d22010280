"""Input files of the commands."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sdpbb.cli import options
from sdpbb.cli.exits import of_option
from sdpbb.cli.streams import say
from sdpbb.errors import InstanceError, InstanceWarning, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.problem import Instance
    from sdpbb.problem.formats import Constraints


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


def labels_of(instance: Instance, path: str | None) -> NDArray[np.intp] | None:
    """Return the labels (n,) of the points of an instance in a file; None without a file."""
    from sdpbb.problem.formats import read_labels

    return None if path is None else read_labels(path, instance.n_points)


def constraint_counts(constraints: Instance | Constraints) -> dict[str, int]:
    """Return the numbers of constraints on pairs by kind."""
    return {
        "must-link": len(constraints.must_link),
        "cannot-link": len(constraints.cannot_link),
        "soft must-link": len(constraints.soft_must_link),
        "soft cannot-link": len(constraints.soft_cannot_link),
    }


@options.grouped
class InstanceOptions:
    """Options on the files of an instance besides its data."""

    k: options.Clusters = None
    constraints: options.Constraints = None
    constraints_format: options.ConstraintsFormat = None
    one_based: options.OneBased = False
    index_column: options.IndexColumn = None
    drop: options.Drop = None
    weight_column: options.WeightColumn = None

    def read(self, data: str) -> Instance:
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
                    data,
                    self.k,
                    self.constraints,
                    constraints_format=self.constraints_format,
                    one_based=self.one_based,
                    index_column=self.index_column,
                    drop=self.drop or (),
                    weight_column=self.weight_column,
                )
        except InstanceError as error:
            if self.k is None or not str(error).startswith("k = "):
                raise
            # Less than 1 is never right, more than n is wrong for these data.
            kind = ParameterError if self.k < 1 else InstanceError
            raise kind(of_option(error)) from None

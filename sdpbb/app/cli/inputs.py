"""Input files of the commands."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import of_option, say
from sdpbb.errors import InstanceError, InstanceNote, InstanceWarning, ParameterError
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.reading import Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.problem import Instance
    from sdpbb.problem.formats import Constraints, PointTable
    from sdpbb.problem.origin import Origin

READING = tuple(own_declarations(Reading))
"""Names of the options of reading."""


@contextmanager
def reading_files(quiet: bool) -> Iterator[None]:
    """Context manager to read files in: within the free memory, with notes unless quiet."""
    from sdpbb.runtime.executors.memory import within_free_memory

    with warnings_as_lines(quiet), within_free_memory():
        yield


@contextmanager
def warnings_as_lines(quiet: bool = False) -> Iterator[None]:
    """Warnings of this package on standard error, one line each; notes unless quiet."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InstanceWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, InstanceNote):
            if not quiet:
                say(f"note: {warning.message}")
        elif issubclass(warning.category, InstanceWarning):
            say(f"warning: {warning.message}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def constraint_counts(constraints: Instance | Constraints) -> dict[str, int]:
    """Return the numbers of constraints on pairs by kind."""
    return {
        "must-link": len(constraints.must_link),
        "cannot-link": len(constraints.cannot_link),
        "soft must-link": len(constraints.soft_must_link),
        "soft cannot-link": len(constraints.soft_cannot_link),
    }


@options.grouped
class InstanceFiles:
    """Number of clusters, and the file of constraints."""

    k: options.Clusters = None
    constraints: options.Constraints = None


@options.declared_options(Reading, *READING, with_defaults=False, with_negatives=False)
class InstanceOptions(InstanceFiles):
    """Options on the files of an instance besides its data."""

    # Whether the instance is for several k, for which no sizes can be listed.
    of_several_k = False

    @property
    def reading(self) -> Reading:
        """The options of reading the files.

        Raises
        ------
        ParameterError
            If the value of one is outside of its domain.
        """
        return Reading.of(options.given(**{name: getattr(self, name) for name in READING}))

    def read(self, data: str, quiet: bool = False) -> Instance:
        """The instance.

        quiet : no notes on what was taken for granted; warnings are told all the same

        Errors are those of `points` and `instance`.
        """
        return self.instance(data, self.points(data, quiet), quiet)

    def points(self, data: str, quiet: bool = False) -> PointTable:
        """The points of the instance; quiet as for `read`.

        Raises
        ------
        InstanceError, ParameterError, BackendUnavailable
            As `instance`.
        """
        from sdpbb.problem.files.points import read_table

        reading = self.reading
        if reading.standardize and not quiet:
            say("note: columns are standardized: costs and distances are in these units")
        try:
            with reading_files(quiet):
                return read_table(data, reading)
        except InstanceError as error:
            raise InstanceError(of_option(error, placed=READING)) from None

    def labels(
        self, instance: Instance, path: str | None, column: str | None
    ) -> NDArray[np.intp] | None:
        """Return the labels (n,) of the points of an instance in a file; None without a file.

        column : of the file, if it is a table
        """
        if path is not None:
            return self.read_labels(path, column, instance.n_points, instance.origin)
        if column is not None:
            raise ParameterError(f"column = {column!r}: expected a file of labels with it")
        return None

    def read_labels(
        self,
        path: str,
        column: str | None,
        n_points: int,
        origin: Origin,
        quiet: bool = False,
    ) -> NDArray[np.intp]:
        """The labels (n,) of points in a file, whose rows are called as the origin says.

        quiet : as for `read`
        """
        from sdpbb.problem.formats import read_labels

        with reading_files(quiet):
            encoding = self.reading.encoding
            return read_labels(path, n_points, column, origin=origin, encoding=encoding)

    def instance(self, data: str, points: PointTable, quiet: bool = False) -> Instance:
        """The instance of points that were read; quiet as for `read`.

        Raises
        ------
        InstanceError, ParameterError
            On the files, and on the options that say how to read them.
        BackendUnavailable
            If a package that reads one of the files is not installed.

        Standard error has a warning on input that is valid but probably not meant.
        """
        from sdpbb.problem import Instance

        try:
            with reading_files(quiet):
                return Instance.from_table(
                    points, self.k, self.constraints, self.reading, data, self.of_several_k
                )
        except InstanceError as error:
            if self.k is None or not str(error).startswith("k = "):
                raise
            # Less than 1 is never right, more than n is wrong for these data.
            kind = ParameterError if self.k < 1 else InstanceError
            raise kind(of_option(error)) from None

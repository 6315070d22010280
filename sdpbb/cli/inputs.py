"""What the commands read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdpbb.cli.exit_codes import of_option
from sdpbb.errors import InstanceError, ParameterError

if TYPE_CHECKING:
    from sdpbb.problem import Instance


def instance_of(data: str, k: int | None, constraints: str | None) -> Instance:
    """The instance of two files.

    Raises
    ------
    InstanceError, ParameterError
        On the files, and on the option -k.
    """
    from sdpbb.problem.formats import read_instance

    try:
        return read_instance(data, k, constraints)
    except InstanceError as error:
        if k is None or not str(error).startswith("k = "):
            raise
        # Less than 1 is never right, more than n is wrong for these data.
        kind = ParameterError if k < 1 else InstanceError
        raise kind(of_option(error)) from None

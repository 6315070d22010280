"""What the commands read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdpbb.cli.exit_codes import of_option
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.files import shown_path

if TYPE_CHECKING:
    from sdpbb.problem import Instance


@dataclass(frozen=True)
class InputFiles:
    """The files of an instance, as the options of a command name them."""

    data: str
    k: int | None = None
    constraints: str | None = None

    @property
    def paths(self) -> list[str]:
        return [path for path in (self.data, self.constraints) if path is not None]

    def read(self) -> Instance:
        """The instance.

        Raises
        ------
        InstanceError, ParameterError
            On the files, and on the option -k.
        """
        from sdpbb.problem.formats import read_instance

        try:
            return read_instance(self.data, self.k, self.constraints)
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

"""The command `sdpbb parameters`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode
from sdpbb.app.cli.outputs import Outputs
from sdpbb.errors import ParameterError

if TYPE_CHECKING:
    from sdpbb.run.parameters import SolverParameters


def parameters(
    prefix: Annotated[
        str,
        options.argument(
            "PREFIX",
            help="Print only parameters whose names start with PREFIX, such as decomposition.",
        ),
    ] = "",
    /,
    *,
    file: options.ParametersFile = None,
    toml: Annotated[
        bool, options.flag("--toml", help="Print all parameters as TOML, for --parameters FILE.")
    ] = False,
) -> ExitCode:
    """Print all parameters of the engine: value, default, domain, meaning and reason."""
    from sdpbb.app.cli.engine import read_parameters
    from sdpbb.run.parameters import SolverParameters

    values = SolverParameters() if file is None else read_parameters(file)[0]
    if toml and prefix:
        raise ParameterError(f"--toml prints all parameters; expected no PREFIX ({prefix})")
    text = values.to_toml() if toml else "\n".join(_lines(values, prefix))
    if not text:
        raise ParameterError(f"PREFIX {prefix!r}: no parameter starts with it")
    Outputs().tell(text.rstrip())
    return ExitCode.FOUND


def _lines(parameters: SolverParameters, prefix: str) -> Iterator[str]:
    from sdpbb.runtime.declaration import Parameters, declared_values

    for declaration, value in declared_values(parameters):
        if isinstance(value, Parameters) or not declaration.path.startswith(prefix):
            continue
        yield f"{declaration.path} = {value}"
        for text in (
            declaration.help,
            declaration.reason,
            f"Default: {declaration.default}. Expected: {declaration.expected}.",
        ):
            yield from textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    ")
        yield ""

"""The command `sdpbb verify`."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdpbb.cli import options
from sdpbb.cli.exit_codes import ExitCode, one_line_errors
from sdpbb.cli.inputs import InputFiles
from sdpbb.cli.outputs import Outputs
from sdpbb.cli.streams import say
from sdpbb.errors import InstanceError
from sdpbb.files import shown_path

if TYPE_CHECKING:
    from sdpbb.checker.certificate import Certificate
    from sdpbb.checker.verdict import Verdict
    from sdpbb.problem import Instance

Data = Annotated[
    str,
    typer.Option(
        "--data", metavar="DATA", show_default=False, help="The points, as for 'sdpbb solve'."
    ),
]
Clusters = Annotated[
    int | None,
    typer.Option(
        "-k",
        metavar="K",
        help="Number of clusters.",
        show_default="as DATA says, or else the certificate",
    ),
]


@dataclass(frozen=True)
class _Rejection:
    """Why a certificate is none, for the JSON."""

    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {"verified": False, "reason": self.reason}


def verify(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="The certificate to check."),
    ],
    data: Data,
    k: Clusters = None,
    constraints: options.Constraints = None,
    constraints_format: options.ConstraintsFormat = None,
    one_based: options.OneBased = False,
    index_column: options.IndexColumn = None,
    drop: options.Drop = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Check a certificate that 'sdpbb solve --certificate' has written: prove again, without the
    solver, what it says of the instance."""
    with one_line_errors():
        inputs = InputFiles(data, k, constraints, constraints_format, one_based, index_column, drop)
        outputs = Outputs(json, None)
        outputs.check([file, *inputs.paths], None)

        from sdpbb.checker.rejection import Rejected

        content = _content(file)
        try:
            verdict = _verdict(content, inputs)
        except Rejected as error:
            outputs.write(_Rejection(str(error)), None, quiet)
            say(f"{shown_path(file)}: rejected: {error}")
            sys.exit(ExitCode.REJECTED)
        if not quiet:
            log = outputs.log(threading.Event())
            log.write(f"{verdict}\n")
            log.flush()
        outputs.write(verdict, None, quiet)
    raise typer.Exit(_exit_code(verdict))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InstanceError(f"{shown_path(path)}: {error.strerror or error}") from None


def _verdict(content: bytes, inputs: InputFiles) -> Verdict:
    from sdpbb.checker.certificate import Certificate
    from sdpbb.checker.verify import verify

    certificate = Certificate.read(content)
    instance = _instance(inputs, certificate)
    return verify(
        certificate, instance.points, instance.k, instance.must_link, instance.cannot_link
    )


def _instance(inputs: InputFiles, certificate: Certificate) -> Instance:
    """The instance, with the certificate's number of clusters where nothing else states one."""
    from sdpbb.problem.formats import read_points

    if inputs.k is None:
        file = read_points(inputs.data, index_column=inputs.index_column, drop=inputs.drop or ())
        # A certificate of more clusters than there are points is about other points.
        inputs = replace(inputs, k=file.k or min(certificate.k, len(file.points)))
    instance = inputs.read_hard()
    if instance.has_constraints_beyond_pairs:
        raise InstanceError(
            f"{shown_path(inputs.constraints or '')}: constraints on clusters that are more "
            "than cannot-links, of which certificates say nothing"
        )
    return instance.in_pairs()


def _exit_code(verdict: Verdict) -> ExitCode:
    return {
        "optimal": ExitCode.OPTIMAL,
        "feasible": ExitCode.LIMIT,
        "infeasible": ExitCode.INFEASIBLE,
        "unknown": ExitCode.LIMIT_WITHOUT_CLUSTERING,
    }[verdict.status]

"""The command `sdpbb check`."""

from __future__ import annotations

from typing import Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode, say
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import PageOutputs, check_certificate
from sdpbb.errors import CertificateError
from sdpbb.runtime.files import shown_path


@options.grouped
class CheckOutputs(PageOutputs):
    """Output files of a check."""

    certificate: Annotated[
        str | None,
        options.option(
            metavar="OUT",
            help="Write a proof that the constraints are contradictory, for 'sdpbb verify'. "
            "Without a contradiction, no file is written.",
        ),
    ] = None


def check(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    time_limit: Annotated[
        float, options.option(metavar="S", help="Stop after S seconds and report what is known.")
    ] = 60.0,
    outputs: CheckOutputs = CheckOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Check whether the constraints are consistent, and what they imply, without optimising.

    If they are contradictory, name a few constraints that already contradict each other. At least
    one of these is wrong.
    """
    check_certificate(outputs.certificate)
    outputs.check([data, inputs.constraints])
    instance = inputs.read(data, quiet)

    from sdpbb.questions.check import ConstraintReport, check_constraints

    problem, certificate = None, outputs.certificate
    try:
        report = check_constraints(instance, time_limit, certificate)
    except CertificateError as error:
        if not isinstance(error.result, ConstraintReport):
            raise
        problem, report = str(error), error.result
    if problem is None and certificate is not None and report.is_feasible is not False:
        can = "are consistent" if report.is_feasible else "may be consistent"
        problem = f"{shown_path(certificate)}: not written, as the constraints {can}"
    if not quiet:
        outputs.tell(str(report))
    outputs.write(report, outputs.page(report.document))
    if problem is not None:
        say(problem)
    if report.is_feasible is None:
        return ExitCode.LIMIT_WITHOUT_CLUSTERING
    return ExitCode.FOUND if report.is_feasible else ExitCode.INFEASIBLE

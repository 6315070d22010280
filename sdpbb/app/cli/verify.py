"""The command `sdpbb verify`."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import BufferedReader
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode, say
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import Outputs
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.checker.kernel.certificate import Certificate
    from sdpbb.problem import Instance

STATUSES = {
    "optimal": ExitCode.OPTIMAL,
    "feasible": ExitCode.LIMIT,
    "infeasible": ExitCode.INFEASIBLE,
    "unknown": ExitCode.LIMIT_WITHOUT_CLUSTERING,
}
"""Exit statuses by what a certificate proves."""

AS_FOR_THE_RUN = " (--constraints, and the options of reading the data, as for the run)"


def verify(
    file: Annotated[
        str,
        options.argument("FILE", help="The certificate to check."),
    ],
    /,
    *,
    data: Annotated[
        str, options.option("--data", metavar="DATA", help="The points, as for 'sdpbb solve'.")
    ],
    inputs: InstanceOptions = InstanceOptions(),
    labels: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            help="Labels, one per line: reject a certificate about another clustering.",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    gap: Annotated[
        float | None,
        options.option(
            metavar="G",
            help="Report the clustering as optimal if its proven gap is at most G, otherwise as "
            "feasible.",
            default="as stated in the certificate",
        ),
    ] = None,
    workers: Annotated[
        int,
        options.option(
            metavar="N",
            help="Number of threads for a certificate about subsets; each checks one subset at a "
            "time.",
        ),
    ] = 1,
    exact: Annotated[
        bool,
        options.option(
            help="Calculate with balls (python-flint) instead of rounded numbers, so that no "
            "analysis of rounding errors is relied on. Takes longer; proofs by prices are not for "
            "it."
        ),
    ] = False,
    outputs: Outputs = Outputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Check a certificate that 'sdpbb solve --certificate' wrote.

    The claim of the certificate about the instance is proven again, without the solver.
    """
    outputs.check([file, data, inputs.constraints, labels])
    if gap is not None and not 0.0 <= gap < 1.0:
        raise ParameterError(f"gap = {gap}: expected a number in [0, 1)")
    if workers < 1:
        raise ParameterError(f"workers = {workers}: expected 1 or more")

    from sdpbb.checker.kernel.certificate import Certificate
    from sdpbb.checker.kernel.rejection import Rejected
    from sdpbb.run.verification import verdict_on

    try:
        with _opened(file) as content:
            certificate = Certificate.load(content)
            instance = _instance(data, inputs, certificate, quiet)
            expected = inputs.labels(instance, labels, column)
            verdict = verdict_on(certificate, instance, workers, exact)
            if labels is not None and expected is not None:
                _check_labels(shown_path(labels), expected, certificate)
    except Rejected as error:
        outputs.write({"verified": False, "reason": str(error)})
        hint = AS_FOR_THE_RUN if str(error).startswith("is about other") else ""
        say(f"{shown_path(file)}: rejected: {error}{hint}")
        sys.exit(ExitCode.REJECTED)
    if gap is not None:
        verdict = verdict.judged(gap)
    if not quiet:
        outputs.tell(str(verdict))
    outputs.write(verdict)
    return STATUSES[verdict.status]


def _opened(path: str) -> BufferedReader:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InstanceError(f"{shown_path(path)}: {error.strerror or error}") from None


def _check_labels(path: str, expected: NDArray[np.intp], certificate: Certificate) -> None:
    """`Rejected` unless these are the clusters of a certificate that was verified; both are
    numbered by their first points."""
    from sdpbb.checker.kernel.rejection import Rejected

    if certificate.cost is None:
        raise Rejected(f"labels of {path}: the certificate is not about a clustering")
    if (certificate.labels() != expected).any():
        raise Rejected(f"labels of {path} are another clustering")


def _instance(
    data: str, inputs: InstanceOptions, certificate: Certificate, quiet: bool
) -> Instance:
    """The instance, with the certificate's number of clusters where nothing else states one."""
    from sdpbb.checker.kernel.rejection import Rejected

    stated, points = None, inputs.points(data, quiet)
    if inputs.k is None:
        stated = points.k
        # A certificate of more clusters than there are points is about other points.
        inputs = replace(inputs, k=stated or min(certificate.k, len(points.points)))
    instance = inputs.instance(data, points, quiet)
    if stated is not None and stated != certificate.k:
        raise Rejected(
            f"is about k = {certificate.k}; k is {stated} in {shown_path(data)}: "
            f"-k {certificate.k} is missing, or it is the certificate of another run"
        )
    return instance

"""`check_constraints`, with a certificate where constraints contradict each other."""

from __future__ import annotations

from typing import Any, Unpack

from sdpbb.errors import CertificateError
from sdpbb.problem import Instance
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.stated import instance_of
from sdpbb.run.explanation import check
from sdpbb.run.explanation.report import ConstraintReport
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.search.result import SolutionStatus


def check_constraints(
    instance: Any,
    time_limit: float = 60.0,
    certificate: FilePath | None = None,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> ConstraintReport:
    """Check whether constraints are consistent, why not, and what they imply.

    There is no search for good clusterings.

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame, with the others as further arguments. Soft constraints are left aside
    time_limit : seconds, > 0, after which what is known is reported; as many again for the proof
    certificate : a file for the proof that they contradict each other, which
        `sdpbb.verify_certificate` checks; it is written only if they cannot
    k : number of clusters, of points
    arguments : of points what makes an `Instance` of them, as for `sdpbb.solve`

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        If the instance is none, or the points and constraints make none.
    ParameterError
        If time_limit is not a number above 0. If a certificate is asked for where none can be
        written, or of constraints on clusters that are the user's own code.
    BackendFailure
        If the integer programming solver fails.
    CertificateError
        If they contradict each other, and there is no certificate: none was found in the time, or
        it cannot be written. The report is its attribute `result`.
    """
    instance = instance_of(instance, k, arguments, check_constraints)
    if certificate is not None:
        from sdpbb.run.checks import check_certifiable

        check_certifiable(instance, certificate)
    report = check.constraint_report(instance, time_limit)
    if certificate is not None and report.is_feasible is False:
        try:
            _certify(instance, time_limit, certificate)
        except CertificateError as error:
            raise CertificateError(str(error), report) from error.__cause__
    return report


def _certify(instance: Instance, time_limit: float, path: FilePath) -> None:
    """Have the engine find a proof of infeasibility that the checker confirms."""
    from sdpbb.run.certificates.writer import CertificateOrder
    from sdpbb.run.parameters import SolverParameters
    from sdpbb.run.solver import solve_and_certify

    # Bounds on costs are of no use where there is no clustering; column generation knows of others.
    # Prices of soft pairs it does not know.
    parameters = SolverParameters(
        bounding="hybrid" if instance.has_soft_constraints else "colgen", time_limit=time_limit
    )
    order = CertificateOrder(path, only=SolutionStatus.INFEASIBLE)
    result = solve_and_certify(instance, parameters, order=order)
    if result.status is not SolutionStatus.INFEASIBLE:
        raise CertificateError(
            f"{shown_path(path)}: not written, as no proof was found within {time_limit:g} s"
        )

"""`verify_certificate`: a certificate checked against an instance."""

from __future__ import annotations

from typing import Any, Unpack

from threadpoolctl import threadpool_limits

from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.checker.verify import verify
from sdpbb.errors import BackendUnavailable, CertificateError
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import foreign_constraints, stated_instance
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.runtime.files import FilePath, name_problem, shown_path
from sdpbb.runtime.version import install_command


def verify_certificate(
    path: FilePath,
    instance: Any,
    workers: int = 1,
    exact: bool = False,
    *,
    k: int | None = None,
    **arguments: Unpack[InstanceArguments],
) -> CertificateVerdict:
    """Prove the claim of a certificate about an instance again, without the engine.

    Parameters
    ----------
    path : a file that `sdpbb.solve(certificate=...)` has written
    instance : the `Instance` that was solved; or points alone, an array (n, d) or a data frame,
        with further arguments
    workers : number of threads, each of which checks one subset at a time; for certificates about
        subsets
    exact : whether bounds are proven in balls (python-flint), which needs no analysis of rounding
        errors; proofs by prices do not support it
    k : number of clusters, if instance is points
    arguments : constraints and weights, if instance is points, as for `sdpbb.solve`

    Returns
    -------
    sdpbb.CertificateVerdict: status, cost, lower_bound, gap, and counts of what was checked. All
    values are proven, with the rounding of every number counted. `print` shows it for people.

    Raises
    ------
    CertificateError
        If the file cannot be read, is about another instance, or does not prove its claim; one
        line names the file and the step. Also if the instance has constraints on clusters of the
        user's own class, which certificates do not cover.
    TypeError
        If the function has no argument of a name.
    InstanceError
        If the instance, or the points with the arguments, are not valid.
    BackendUnavailable
        If python-flint is needed, and not installed.
    """
    instance = instance_of(instance, k, arguments, verify_certificate)
    if problem := name_problem(path):
        raise CertificateError(problem)
    name = shown_path(path)
    if foreign := foreign_constraints(instance.cluster_constraints):
        raise CertificateError(
            f"{name}: {foreign[0]} is a constraint of your own class, which certificates do not "
            "cover; expected constraints of sdpbb only"
        )
    try:
        # Two BLAS threads have been seen to slow small eigenvalue problems down by factors.
        with open(path, "rb") as file, threadpool_limits(1):
            return verdict_on(Certificate.load(file), instance, workers, exact)
    except OSError as error:
        raise CertificateError(f"{name}: cannot be read ({error.strerror or error})") from None
    except Rejected as error:
        raise CertificateError(f"{name}: rejected: {error}") from None


def verdict_on(
    certificate: Certificate, instance: Instance, workers: int = 1, exact: bool = False
) -> CertificateVerdict:
    """Return the verdict on a certificate about an instance with covered constraints only.

    Raises `Rejected` like the checker.
    """
    try:
        return verify(certificate, stated_instance(instance), workers, exact)
    except ImportError:
        raise BackendUnavailable(
            f"exact: needs python-flint, which is not installed; {install_command('exact')}",
            extra="exact",
        ) from None

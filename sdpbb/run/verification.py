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
    """Check a certificate of an instance, without the engine.

    Parameters
    ----------
    path : a file that `sdpbb.solve(certificate=...)` has written
    instance : the solved `Instance`; or points only, an array (n, d) or a data frame, with further
        arguments
    workers : threads; each checks one subset at a time, if the certificate is about subsets
    exact : whether to prove bounds in ball arithmetic (python-flint), which needs no analysis of
        rounding errors. It does not support proofs by prices
    k : number of clusters, for points
    arguments : for points, the arguments of an `Instance`, as for `sdpbb.solve`

    Returns
    -------
    sdpbb.CertificateVerdict: status, cost, lower_bound, gap, and counts of the checked parts. All
    its numbers are rounded so that they stay proven.

    Raises
    ------
    CertificateError
        If the file cannot be read, is about another instance, or does not prove its claim. The
        message is one line with the file, the node and the step. Also if the instance has
        constraints of the user's own classes, which certificates do not cover.
    TypeError
        If an argument has an unknown name.
    InstanceError
        If the points and constraints are not a valid instance.
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
    """Return the verdict on a certificate of an instance whose constraints are all covered.

    Raises `Rejected` like the checker.
    """
    try:
        return verify(certificate, stated_instance(instance), workers, exact)
    except ImportError:
        raise BackendUnavailable(
            f"exact: needs python-flint, which is not installed; {install_command('exact')}",
            extra="exact",
        ) from None

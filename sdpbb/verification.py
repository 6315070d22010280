"""Certificates, checked against instances."""

from __future__ import annotations

import os

from sdpbb.checker.certificate import Certificate
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.verdict import Verdict
from sdpbb.checker.verify import verify
from sdpbb.errors import CertificateError
from sdpbb.files import shown_path
from sdpbb.problem import Instance
from sdpbb.problem.instance import check_instance


def verify_certificate(path: str | os.PathLike[str], instance: Instance) -> Verdict:
    """Prove again, without the engine, what a certificate says of an instance.

    path : a file that `sdpbb.solve(certificate=...)` has written

    Returns
    -------
    sdpbb.checker.verdict.Verdict: status, cost, lower_bound, gap, and what was checked. It says
    what is proven, with the rounding of every number accounted for, and prints well.

    Raises
    ------
    CertificateError
        If the file cannot be read, is about another instance, or does not prove what it says; one
        line names the file and the node and step. Also if the instance has constraints that are
        more than must-links and cannot-links.
    InstanceError
        If the instance is none.
    """
    check_instance(instance)
    name = shown_path(path)
    if instance.has_constraints_beyond_pairs:
        raise CertificateError(
            f"{name}: the instance has constraints on clusters, of which certificates say nothing; "
            "expected must-links and cannot-links"
        )
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CertificateError(f"{name}: cannot be read ({reason})") from None
    try:
        return verdict_on(Certificate.read(content), instance)
    except Rejected as error:
        raise CertificateError(f"{name}: rejected: {error}") from None


def verdict_on(certificate: Certificate, instance: Instance) -> Verdict:
    """What a certificate proves of an instance whose constraints are no more than must-links and
    cannot-links. Raises `Rejected`, as the checker does."""
    pairs = instance.in_pairs()
    return verify(certificate, pairs.points, pairs.k, pairs.must_link, pairs.cannot_link)

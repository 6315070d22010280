"""Certificate: the claim on an instance, and the log of its proof; nothing is proven yet."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .archive import FORMAT, NUMBERS, Archive
from .log import Log, digest, number, shown, whole, word
from .rejection import Rejected
from .verdict import FEASIBLE, INFEASIBLE, OPTIMAL, STATUSES

# Points, coordinates and clusters are fewer than this.
_MOST = 2**31
_REQUIRED = ("points", "must_link", "cannot_link", "rules")
# Digests that are there only where the instance has such things.
_OPTIONAL = ("weights", "soft_must_link", "soft_cannot_link")
_CLAIM = (
    *("certificate", "written_by", "n", "d", "k", *_REQUIRED),
    *("tolerance", "status", "cost", "lower_bound"),
)


@dataclass(frozen=True)
class Certificate:
    """Claim on an instance, and its proof.

    Attributes
    ----------
    digests : of the instance, by their names, as `StatedInstance` has them
    cost : of the labels, where status is "optimal" or "feasible"
    lower_bound : on the cost of every clustering; None where status is "infeasible"
    log : of the proof
    """

    n: int
    d: int
    k: int
    digests: dict[str, str]
    tolerance: float
    status: str
    cost: float | None
    lower_bound: float | None
    archive: Archive
    log: Log

    @classmethod
    def read(cls, data: bytes) -> Certificate:
        """Read a certificate from the bytes of a file; see `load`."""
        return cls.load(BytesIO(data))

    @classmethod
    def load(cls, file: BinaryIO) -> Certificate:
        """Read a certificate from a file, which stays open while its arrays are taken from it.

        Raises
        ------
        Rejected
            If it is not a certificate, saying which value is none that it may have there.
        """
        archive = Archive(file)
        log = Log(archive)
        claim = log.claim()
        for name in claim:
            if name not in (*_CLAIM, *_OPTIONAL):
                raise Rejected(f"unknown key {name[:40]!r}; expected {', '.join(_CLAIM)}")
        for name in _CLAIM:
            if name not in claim:
                raise Rejected(f"{name!r} is missing; expected it in the claim")
        if claim["certificate"] != FORMAT:
            raise Rejected(f"is in format {shown(claim['certificate'])}; expected format {FORMAT}")
        if type(claim["written_by"]) is not str:
            raise Rejected("written_by: expected text")
        n, d = (whole(claim[name], name, 1, _MOST) for name in ("n", "d"))
        status = word(claim["status"], "status", *STATUSES)
        return cls(
            n=n,
            d=d,
            k=whole(claim["k"], "k", 1, n + 1),
            digests={
                name: digest(claim[name], name)
                for name in (*_REQUIRED, *_OPTIONAL)
                if name in claim
            },
            tolerance=number(claim["tolerance"], "tolerance", 0.0, 1.0),
            status=status,
            cost=_stated(claim, "cost", status, status in (OPTIMAL, FEASIBLE)),
            lower_bound=_stated(claim, "lower_bound", status, status != INFEASIBLE),
            archive=archive,
            log=log,
        )

    def labels(self) -> NDArray[np.int64]:
        """Return the cluster of each point, (n,)."""
        return self.archive.take("labels", NUMBERS, self.n).astype(np.int64)


def _stated(claim: dict[str, Any], name: str, status: str, is_expected: bool) -> float | None:
    """Return a number that is there if it is expected, and else null."""
    if (claim[name] is not None) != is_expected:
        what = "a value" if is_expected else "null"
        raise Rejected(f"{name}: expected {what} where the status is {status!r}")
    return number(claim[name], name) if is_expected else None

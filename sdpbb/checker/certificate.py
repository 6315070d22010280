"""Certificate as values: its structure is checked here, nothing is proven yet."""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

from . import fields
from .container import CERTIFICATE, Arrays, StoredArray, read, unpack
from .document import Reader
from .fields import References
from .nodes import ProofTreeNode, Subset
from .rejection import Rejected
from .verdict import FEASIBLE, INFEASIBLE, OPTIMAL, STATUSES

# Points, coordinates and clusters are fewer than this.
_MOST = 2**31
# Digests that are there only where the instance has such things.
_OPTIONAL = ("weights", "soft_must_link", "soft_cannot_link")


@dataclass(frozen=True)
class Certificate:
    """Claim on an instance and its proof: a tree, or the trees of subsets.

    Attributes
    ----------
    points, must_link, cannot_link, rules : digests, as `digests` makes them
    labels : (n,) int32, where status is "optimal" or "feasible"
    cost : of labels
    lower_bound : on the cost of every clustering; None where status is "infeasible"
    nodes : of the tree, the root first; none where there are subsets
    subsets : whose bounds add up to that of the whole; None for a tree
    weights : digest of the weights of points; None where they have none
    soft_must_link, soft_cannot_link : digests of soft pairs; None where there are none
    """

    written_by: str
    n: int
    d: int
    k: int
    points: str
    must_link: str
    cannot_link: str
    rules: str
    tolerance: float
    status: str
    labels: StoredArray | None
    cost: float | None
    lower_bound: float | None
    nodes: tuple[ProofTreeNode, ...] = ()
    subsets: tuple[Subset, ...] | None = None
    weights: str | None = None
    soft_must_link: str | None = None
    soft_cannot_link: str | None = None

    @property
    def trees(self) -> tuple[Certificate | Subset, ...]:
        """Trees of the proof: its own, or those of the subsets."""
        return (self,) if self.subsets is None else self.subsets

    @classmethod
    def read(cls, data: bytes) -> Certificate:
        """Read a certificate from the bytes of a file.

        Raises
        ------
        Rejected
            If they are not a certificate.
        """
        return cls.of(*unpack(data))

    @classmethod
    def load(cls, file: BufferedIOBase) -> Certificate:
        """Read a certificate from a file, which stays open while its arrays are taken from it.

        Raises
        ------
        Rejected
            If it is not a certificate.
        """
        return cls.of(*read(file, CERTIFICATE))

    @classmethod
    def of(cls, document: dict[str, Any], arrays: Arrays) -> Certificate:
        """Read a certificate from what `container.unpack` returns.

        Raises
        ------
        Rejected
            Saying which value is none that a certificate may have there.
        """
        proof = "subsets" if "subsets" in document else "nodes"
        optional = [name for name in _OPTIONAL if name not in document]
        left_out = ("nodes", "subsets", *optional)
        names = [name for name in cls.__dataclass_fields__ if name not in left_out]
        names.append(proof)
        entry = dict(zip(names, fields.entries(document, *names), strict=True))
        if type(entry["written_by"]) is not str:
            raise Rejected("written_by: expected text")
        for name in ("n", "d"):
            fields.whole(entry[name], name, 1, _MOST)
        # Nothing is made of k before it is known to be one of n points.
        fields.whole(entry["k"], "k", 1, entry["n"] + 1)
        for name in ("points", "must_link", "cannot_link", "rules", *_OPTIONAL):
            if name in entry:
                fields.digest(entry[name], name)
        references = References(arrays)
        reader = Reader(entry["n"], entry["k"], references)
        certificate = cls(
            **{
                **entry,
                "tolerance": fields.number(entry["tolerance"], "tolerance", 0.0, 1.0),
                "status": fields.word(entry["status"], "status", *STATUSES),
                "labels": reader.labels(entry["labels"]),
                "cost": fields.number_or_none(entry["cost"], "cost"),
                "lower_bound": fields.number_or_none(entry["lower_bound"], "lower_bound"),
                proof: getattr(reader, proof)(entry[proof]),
            }
        )
        certificate._check_claim()
        references.require_all_used()
        return certificate

    def _check_claim(self) -> None:
        has_labels = self.status in (OPTIMAL, FEASIBLE)
        for name, value, expected in (
            ("labels", self.labels, has_labels),
            ("cost", self.cost, has_labels),
            ("lower_bound", self.lower_bound, self.status != INFEASIBLE),
        ):
            if (value is not None) != expected:
                what = "a value" if expected else "null"
                raise Rejected(f"{name}: expected {what} where the status is {self.status!r}")

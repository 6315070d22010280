"""Evidence for bounds, as the checker reads it, as types of archives."""

from __future__ import annotations

from sdpbb.checker.kernel.cuts import FORMS, Cuts
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Evidence
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.runtime.archive.stored import stored

__all__ = ["Cuts", "Enumerated", "Evidence", "Lagrangian", "Semidefinite"]

# The checker imports nothing else of this package, so it cannot register its own.
for _evidence in (Semidefinite, Lagrangian, Enumerated, Cuts, *FORMS):
    stored(_evidence)

"""Evidence for bounds, as the checker reads it, as types of archives."""

from __future__ import annotations

from sdpbb.checker.cuts import Cuts
from sdpbb.checker.evidence import Enumerated, Evidence, Lagrangian, Semidefinite
from sdpbb.runtime.archive.stored import stored

__all__ = ["Cuts", "Enumerated", "Evidence", "Lagrangian", "Semidefinite"]

# The checker imports nothing else of this package, so it cannot register its own.
for _evidence in (Semidefinite, Lagrangian, Enumerated, Cuts):
    stored(_evidence)

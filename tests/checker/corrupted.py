"""Certificates that are slightly wrong, as `scripts/attack.py` makes them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from attacks.certificate_mutations import mutations, resealed

__all__ = ["mutations", "resealed"]

"""Values that have been in an archive."""

import io
import json
from typing import Any

import numpy as np

from sdpbb.runtime.archive import Encoder, decoded


def _read(array: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    file.seek(0)
    read: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return read


def archived(value: Any) -> Any:
    """The same after its document has been text, and its arrays files."""
    encoder = Encoder(value)
    return decoded(json.loads(json.dumps(encoder.document)), [*map(_read, encoder.arrays)])

"""Exception of batches."""

from __future__ import annotations

from sdpbb.errors import InstanceError


class BatchError(InstanceError):
    """A manifest is wrong, or the folder of the results cannot be used.

    The message is one line that names the file, and the line or the table, says what is wrong there
    and what would be right.
    """

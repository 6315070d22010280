"""Tasks and their values as bytes.

Packed by the caller and unpacked inside of the task, so that whatever goes wrong with either is an
exception like any other: left to them, the libraries below take it for a broken worker, or look
for futures inside of arguments.
"""

from __future__ import annotations

import pickle
from concurrent.futures import Future
from typing import Any


def pack(value: Any) -> bytes:
    """Functions go by their name, everything else by its value."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(packed: bytes) -> Any:
    """The value that was packed."""
    return pickle.loads(packed)


def run_packed(call: bytes) -> bytes:
    """The packed value of a packed call without arguments."""
    return pack(unpack(call)())


def unpack_into(future: Future[Any], packed: bytes) -> None:
    """End a future with the value that was packed, or with why it cannot be read."""
    try:
        value = unpack(packed)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(value)

"""Version of this installation."""

from __future__ import annotations

from functools import cache


@cache
def installed_version() -> str:
    """Return the version as it was installed.

    It is slow to find out the first time, and seldom needed.
    """
    from importlib.metadata import version

    return version("sdpbb")

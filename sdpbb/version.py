"""The version of this installation."""

from __future__ import annotations

from functools import cache


@cache
def installed_version() -> str:
    """As it was installed; slow to find out for the first time, and seldom needed."""
    from importlib.metadata import version

    return version("sdpbb")

"""This installation: its version, and the packages that its extras name."""

from __future__ import annotations

import re
import shlex
from functools import cache

_OF_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


@cache
def installed_version() -> str:
    """Return the version as it was installed.

    It is slow to find out the first time, and seldom needed.
    """
    from importlib.metadata import version

    return version("sdpbb")


@cache
def requirements(extra: str = "") -> tuple[str, ...]:
    """Return what an extra needs, such as "matplotlib>=3.8"; without one what the package needs.

    Other extras that it names are left out.
    """
    from importlib.metadata import requires

    found = []
    for text in requires("sdpbb") or ():
        requirement, _, marker = text.partition(";")
        of_extra = _OF_EXTRA.search(marker)
        if (of_extra[1] if of_extra else "") == extra and not requirement.startswith("sdpbb"):
            found.append(requirement.strip())
    return tuple(found)


def install_command(extra: str) -> str:
    """Return the command that installs what an extra needs.

    It names the packages themselves: so it is right from a checkout as from an index.
    """
    return f"pip install {shlex.join(requirements(extra))}"

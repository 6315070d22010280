"""Version of this installation, and the packages of its extras."""

from __future__ import annotations

import re
import shlex
from functools import cache

_OF_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


@cache
def installed_version() -> str:
    """Return the installed version; slow at the first call."""
    from importlib.metadata import version

    return version("sdpbb")


@cache
def requirements(extra: str = "") -> tuple[str, ...]:
    """Return the packages of an extra, such as "matplotlib>=3.8".

    Other extras in the list are omitted.

    extra : its name; "": the packages that sdpbb always needs
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
    """Return the command that installs the packages of an extra.

    It names the packages, so that it works for a checkout and for an index.
    """
    return f"pip install {shlex.join(requirements(extra))}"

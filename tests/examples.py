"""How many examples property tests draw."""

import os

from hypothesis import settings

# EXAMPLES=0.2 for a first look, EXAMPLES=30 for a night.
FACTOR = float(os.environ.get("EXAMPLES", "1"))


def examples(count: int = 30, **more) -> settings:
    """Settings of a test of so many examples, times EXAMPLES.

    Without a deadline: the first example pays for imports and compilation.
    """
    return settings(max_examples=max(1, round(count * FACTOR)), deadline=None, **more)

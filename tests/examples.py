"""How many examples property tests draw, and whether anew each time."""

import os

from hypothesis import settings

# EXAMPLES=0.2 for a first look, EXAMPLES=30 for a night.
FACTOR = float(os.environ.get("EXAMPLES", "1"))
# SAME_EXAMPLES=1 where a run decides about a change: what fails there is the change, not the draw.
SAME = os.environ.get("SAME_EXAMPLES") == "1"


def examples(count: int = 30, **more) -> settings:
    """Settings of a test: this number of examples, multiplied by EXAMPLES.

    Without a deadline: the first example pays for imports and compilation.
    """
    chosen = {"derandomize": SAME, **more}
    return settings(max_examples=max(1, round(count * FACTOR)), deadline=None, **chosen)

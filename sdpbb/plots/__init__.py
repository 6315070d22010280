"""Pictures of runs and clusterings, drawn by matplotlib (the extra `plot`), and pages with them.

Each function draws on `ax`, or on new axes of a figure of their own, and returns the axes:
`axes.figure.savefig(...)` writes the picture. Nothing is shown by itself, and pyplot is not used.

>>> from sdpbb.plots import plot_bounds
>>> from sdpbb.search.events import Progress
>>> from sdpbb.search.trace import Trace
>>> trace = Trace()
>>> trace(Progress(0.5, 0, 1, 70.0, 90.0, 0.3, 9))
>>> trace(Progress(1.0, 1, 2, 80.0, 81.0, 0.1, 9))
>>> plot_bounds(trace).get_xlabel()
'Time (s)'
"""

from sdpbb.plots.pictures import (
    plot_bounds,
    plot_certainty,
    plot_clusters,
    plot_sweep,
    require_matplotlib,
)

__all__ = [
    "plot_bounds",
    "plot_certainty",
    "plot_clusters",
    "plot_sweep",
    "require_matplotlib",
]

"""Pictures of runs and clusterings, drawn by matplotlib (the extra `plot`).

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

from sdpbb.plots.clusters import plot_certainty, plot_clusters
from sdpbb.plots.style import require_matplotlib
from sdpbb.plots.sweep import plot_sweep
from sdpbb.plots.trace import plot_bounds, plot_tree

__all__ = [
    "plot_bounds",
    "plot_certainty",
    "plot_clusters",
    "plot_sweep",
    "plot_tree",
    "require_matplotlib",
]

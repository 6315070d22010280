"""Pictures of runs and clusterings, drawn by matplotlib (the extra `plot`), and pages with them.

Each function draws on `ax`, or on the axes of a new figure, and returns the axes:
`axes.figure.savefig(...)` writes the picture. Nothing is shown by itself, and pyplot is not used.
"""

from sdpbb.plots.pictures import (
    plot_bounds,
    plot_certainty,
    plot_clusters,
    plot_sweep,
    require_matplotlib,
)

__all__ = ["plot_bounds", "plot_certainty", "plot_clusters", "plot_sweep", "require_matplotlib"]

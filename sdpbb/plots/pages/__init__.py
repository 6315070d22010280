"""Documents as pages of HTML, which need no other file.

The page of a run says what was asked, what is proven and what it took, and shows the clustering,
the bounds and the tree (drawn by matplotlib, the extra `plot`).
"""

from sdpbb.plots.pages.run import html_report, write_html_report

__all__ = ["html_report", "write_html_report"]

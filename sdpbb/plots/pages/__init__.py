"""Report of a run as one HTML page, which needs no other file.

It says what was asked, what is proven and what it took, and shows the clustering, the bounds and
the tree (drawn by matplotlib, the extra `plot`).
"""

from sdpbb.plots.pages.page import html_report, write_html_report

__all__ = ["html_report", "write_html_report"]

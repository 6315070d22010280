"""Documents as pages of HTML, which need no other file.

The page of a run says what was asked, what is proven and what it took, and shows the clustering,
the bounds and the tree (drawn by matplotlib, the extra `plot`).

page.py      a page of any document, in the style of `style.py`
drawings.py  its pictures, as SVG
run.py       the document of a run with its instance
clusters.py  sections on the points: clusters, members, tight constraints, or a conflict
"""

from sdpbb.plots.pages.run import html_report, write_html_report

__all__ = ["html_report", "write_html_report"]

"""Data sets that ship with the package: Iris and Wine, with sets of constraints.

>>> from sdpbb.datasets import load_iris
>>> iris = load_iris()
>>> iris.points.shape, iris.class_names
((150, 4), ('setosa', 'versicolor', 'virginica'))
>>> iris.instance("ml_19_cl_19")
Instance(iris: n=150, d=4, k=3, 19 must-links, 19 cannot-links)
"""

from sdpbb.datasets.bundled import Dataset, load_iris, load_wine

__all__ = ["Dataset", "load_iris", "load_wine"]

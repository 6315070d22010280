"""`solve` in scikit-learn's conventions."""

from sdpbb.estimator.constrained_kmeans import ExactConstrainedKMeans
from sdpbb.estimator.errors import InvalidInstance, InvalidParameter, NoClusteringFound

__all__ = ["ExactConstrainedKMeans", "InvalidInstance", "InvalidParameter", "NoClusteringFound"]

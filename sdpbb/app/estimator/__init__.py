"""`solve` in scikit-learn's conventions."""

from sdpbb.app.estimator.constrained_kmeans import ExactConstrainedKMeans
from sdpbb.app.estimator.inputs import InvalidInstance, InvalidParameter, NoClusteringFound

__all__ = ["ExactConstrainedKMeans", "InvalidInstance", "InvalidParameter", "NoClusteringFound"]

"""`solve` in scikit-learn's conventions."""

from sdpbb.app.estimator.constrained_kmeans import ExactConstrainedKMeans
from sdpbb.app.estimator.inputs import NoClusteringFound

__all__ = ["ExactConstrainedKMeans", "NoClusteringFound"]

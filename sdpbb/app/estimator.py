"""`ExactConstrainedKMeans`: the engine as an estimator in scikit-learn's conventions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from heuristics.result import centres_of
from sdpbb.bounds.registry import Bounding
from sdpbb.errors import InstanceError, InstanceWarning, ParameterError, SdpbbError, warn_caller
from sdpbb.problem import ClusterConstraint, Instance
from sdpbb.problem.checks import StatedSizes, checked_weights
from sdpbb.problem.files.constraints import PAIRS
from sdpbb.problem.frames import check_numbers, columns_of, is_frame, with_present_rows
from sdpbb.problem.instance import instance_of
from sdpbb.problem.table import check_columns
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.report import ProgressTable
from sdpbb.run.solver import solve
from sdpbb.runtime.declaration import as_integer
from sdpbb.runtime.interruption import Interrupted
from sdpbb.runtime.reading import ClassesMay
from sdpbb.runtime.values import percent_up
from sdpbb.search.events import ignore
from sdpbb.search.result import Result, SolutionStatus, stopped_by

__all__ = ["ExactConstrainedKMeans", "NoClusteringFound"]

# Parameters of the estimator that are arguments of an instance.
OF_INSTANCE = ("min_size", "max_size", "sizes", "min_weight", "max_weight", "as_points")
NAMING = ", or to give it as index_column if it names the rows"


class NoClusteringFound(SdpbbError, RuntimeError):
    """A fit stopped before it found a clustering, or a proof that none exists."""


class ExactConstrainedKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Constrained k-means clustering, solved to proven optimality.

    `fit` minimises the sum of squared distances of the points to the means of their clusters, over
    all feasible clusterings into exactly `n_clusters` clusters (see `sdpbb.solve`). The optimum
    does not depend on the seed.

    Parameters
    ----------
    n_clusters : number of clusters
    min_size, max_size : limits on the number of points of every cluster, or None
    sizes : numbers of points of the clusters, or ranges (least, most), in any order; or a mapping
        of these by known class; or None
    min_weight, max_weight : limits on the weight of every cluster (the sum of sample_weight), or
        None
    gap : stop when (inertia_ - lower_bound_) / inertia_ is at most this
    time_limit : seconds, or None. A fit that it stops has the best clustering found, and warns
        (`ConvergenceWarning`)
    bounding : method of lower bounds: "sdp", "colgen" or "hybrid"
    n_jobs : processes. None: one, unless in a `joblib.parallel_config` context; -1: all cores. With
        one, and without a time limit, fits are repeatable
    random_state : seed of the random choices, or a `RandomState`; None: a new seed for each fit
    index_column : the column of a data frame with the names of its rows, or None
    absent_rows : what to do with pairs whose names are not in the data frame: "refuse" them, or
        "drop" them, as needed for cross-validation, whose folds have only a part of the rows
    as_points : whether X may be a square symmetric table with a zero diagonal. Otherwise it is
        refused, as it looks like a matrix of distances
    verbose : whether to print the progress

    Attributes
    ----------
    labels_ : (n,) clusters 0 to n_clusters - 1 of the points, numbered by their first point
    cluster_centers_ : means of the clusters, (n_clusters, d), weighted if points have weights
    inertia_ : sum of squares of the clustering, weighted if points have weights, plus the weights
        of violated soft constraints
    lower_bound_ : proven lower bound on inertia_ of every feasible clustering
    gap_ : (inertia_ - lower_bound_) / inertia_
    status_ : "optimal": proven within the gap; "feasible": stopped before
    result_ : the whole result, a `sdpbb.Result`
    n_features_in_, feature_names_in_ : as scikit-learn defines them, without index_column

    Examples
    --------
    >>> import numpy as np
    >>> from sdpbb import ExactConstrainedKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = ExactConstrainedKMeans(n_clusters=2).fit(X, cannot_link=[(0, 1)])
    >>> model.labels_.tolist(), model.status_
    ([0, 1, 1, 1], 'optimal')
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        min_size: int | None = None,
        max_size: int | None = None,
        sizes: StatedSizes = None,
        min_weight: float | None = None,
        max_weight: float | None = None,
        gap: float = 1e-4,
        time_limit: float | None = None,
        bounding: Bounding = "hybrid",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        index_column: str | None = None,
        absent_rows: Literal["refuse", "drop"] = "refuse",
        as_points: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_size = min_size
        self.max_size = max_size
        self.sizes = sizes
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.gap = gap
        self.time_limit = time_limit
        self.bounding = bounding
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.index_column = index_column
        self.absent_rows = absent_rows
        self.as_points = as_points
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Iterable[Any] | None = None,
        cannot_link: Iterable[Any] | None = None,
        soft_must_link: Iterable[Any] | None = None,
        soft_cannot_link: Iterable[Any] | None = None,
        cluster_constraints: Iterable[ClusterConstraint] | None = None,
        known_classes: Any = None,
        known_weight: float | None = None,
        classes_may: ClassesMay | None = None,
    ) -> ExactConstrainedKMeans:
        """Find the best clustering of the points, and prove it.

        Parameters
        ----------
        X : array (n, d), or a data frame of pandas or polars
        y : ignored, with a warning: use known_classes for classes
        sample_weight : (n,) positive weights of the points; None: 1 each. The weighted sum of
            squares is minimised
        must_link, cannot_link : pairs of rows: names in index_column, if given; otherwise labels of
            the index of a pandas frame, or row numbers from 0. In a `Pipeline`, rows of the output
            of the previous step: an array, unless `set_output` changes that
        soft_must_link, soft_cannot_link : triples of two such rows and a weight >= 0, in squared
            units of X: the cost of violating the pair
        cluster_constraints : constraints on every cluster; need bounding "colgen" or "hybrid"
        known_classes : (n,) classes of the rows, numbers or texts; -1, None, nan or "": unknown.
            Rows of the same class share a cluster, rows of different classes do not.
            Cross-validation splits them into folds
        known_weight : cost of each pair of rows that contradicts the known classes, > 0; None:
            classes are hard
        classes_may : "share": different classes may share a cluster; "split": rows of one class
            may be in several clusters; None: neither

        Raises
        ------
        InstanceError
            If X or the constraints are wrong, or infeasible; with the proof.
        ParameterError
            If a parameter of the estimator is wrong.
        NoClusteringFound
            (Also a RuntimeError.) If the time limit stops the fit before any clustering.
        Interrupted
            (A KeyboardInterrupt.) After Ctrl-C. The attributes are set before, if a clustering was
            found.
        """
        parameters = self._parameters()
        if y is not None and known_classes is None:
            warn_caller(
                "y is ignored; known_classes=y would make rows of the same class share a cluster",
                InstanceWarning,
            )
        if is_frame(X):
            check_columns(columns_of(X), [("index_column", self.index_column)])
        points = validate_data(self, features_of(X, self.index_column), dtype=np.float64)
        if self.n_clusters > len(points):
            raise InstanceError(
                f"n_samples={len(points)} should be >= n_clusters={self.n_clusters}"
            )
        given: dict[str, Any] = {
            "must_link": must_link,
            "cannot_link": cannot_link,
            "soft_must_link": soft_must_link,
            "soft_cannot_link": soft_cannot_link,
            "cluster_constraints": cluster_constraints,
            "weights": sample_weight,
            "known_classes": known_classes,
            "known_weight": known_weight,
            "classes_may": classes_may,
            **{name: getattr(self, name) for name in OF_INSTANCE},
        }
        if self.absent_rows not in ("refuse", "drop"):
            raise ParameterError(f"absent_rows = {self.absent_rows!r}: expected 'refuse' or 'drop'")
        if is_frame(X):
            points, given["index_column"] = X, self.index_column
            for name in PAIRS.values() if self.absent_rows == "drop" else ():
                given[name] = with_present_rows(given[name], X, self.index_column)
        instance = instance_of(points, int(self.n_clusters), given)
        try:
            result = solve(instance, parameters, ProgressTable() if self.verbose else ignore)
        except Interrupted as stopped:
            self._keep(stopped.result, instance)
            raise
        self._keep(result, instance)
        if result.infeasibility is not None:
            proof = result.conflict.line if result.conflict else result.infeasibility
            raise InstanceError(f"no clustering satisfies the constraints: {proof}")
        if result.partition is None:
            raise NoClusteringFound(
                f"stopped by {stopped_by(result.termination)}; found neither a clustering nor a "
                "proof that none exists; allow more time or fewer constraints"
            )
        if result.status is SolutionStatus.FEASIBLE:
            warn_caller(
                f"stopped by {stopped_by(result.termination)}; the clustering is not proven "
                f"optimal (gap {percent_up(result.gap)})",
                ConvergenceWarning,
            )
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the cluster of the nearest centre for each point, (n,).

        X : array (n, d), or a data frame, with or without index_column
        """
        nearest = pairwise_distances_argmin(self._points(X), self.cluster_centers_)
        return np.asarray(nearest, np.intp)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distances of points to the centres, (n, n_clusters).

        X : array (n, d), or a data frame, with or without index_column
        """
        points = self._points(X)
        return np.asarray(pairwise_distances(points, self.cluster_centers_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of squared distances of points to their nearest centres.

        y : ignored
        """
        squares = self.transform(X).min(axis=1) ** 2
        weights = checked_weights(sample_weight, squares[:, None])
        return -float(squares.sum() if weights is None else weights @ squares)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of `transform`, as scikit-learn asks for it."""
        return len(self.cluster_centers_)

    def _points(self, X: Any) -> NDArray[np.float64]:
        """Return points with the features of the fit, (n, d), of which there must be one."""
        check_is_fitted(self)
        features = features_of(X, self.index_column)
        return np.asarray(validate_data(self, features, dtype=np.float64, reset=False))

    def _parameters(self) -> SolverParameters:
        k = self.n_clusters
        if (as_integer(k) or 0) < 1:
            raise ParameterError(f"n_clusters = {k!r}: expected an integer >= 1")
        if self.n_jobs is not None and not as_integer(self.n_jobs):
            raise ParameterError(f"n_jobs = {self.n_jobs!r}: expected a nonzero integer or None")
        seed = self.random_state
        state = check_random_state(seed)
        return SolverParameters(
            gap=self.gap,
            time_limit=math.inf if self.time_limit is None else self.time_limit,
            bounding=self.bounding,
            workers=effective_n_jobs(self.n_jobs),
            seed=seed if isinstance(seed, numbers.Integral) else state.randint(2**31 - 1),
        )

    def _keep(self, result: Result, instance: Instance) -> None:
        """Set the attributes, if the result has a clustering."""
        if result.partition is None:
            return
        self.labels_ = result.partition.labels.copy()
        self.cluster_centers_ = centres_of(instance, self.labels_)
        self.inertia_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.status_ = result.status.value
        self.result_ = result


def features_of(X: Any, index_column: str | None) -> Any:
    """Return X without the column that names the rows.

    Raises
    ------
    InstanceError
        If a column of a data frame holds anything but numbers, or has the name of another one.
    """
    if not is_frame(X):
        if index_column is not None:
            kind = type(X).__name__
            raise InstanceError(
                f"index_column = {index_column!r}: X is of type {kind}; expected a data frame"
            )
        return X
    remedy = "to leave the column out" + (NAMING if index_column is None else "")
    columns = columns_of(X)
    for column in columns:  # which scikit-learn tells apart by name
        if columns.count(column) > 1:
            raise InstanceError(f"X: two columns are called {column!r}; expected different")
    features = [at for at, column in enumerate(columns) if column != index_column]
    check_numbers(X, features, remedy)
    return X if index_column is None else X[[columns[at] for at in features]]

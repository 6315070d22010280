import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sdpbb
from sdpbb.app.estimator import ExactConstrainedKMeans, NoClusteringFound
from sdpbb.errors import InstanceError, InstanceWarning, ParameterError
from sdpbb.problem import Infeasibility, InfeasibilityKind, MaximumSize, Partition
from sdpbb.search.result import Result, Termination
from tests.enumeration import optimum
from tests.test_result import INFEASIBLE, OPTIMAL, UNKNOWN

POINTS = np.array([[0.0], [0.1], [5.0], [5.1]])
PAIRS = {"must_link": [(0, 3)], "cannot_link": [(0, 1)]}
# Of the points 0, 5.1 and 5.0 around their mean.
COST = 5.1**2 + 5.0**2 - 10.1**2 / 3


def without_zero_weights(estimator):
    """Checks that ask for weights of 0, which are refused: a point that may be anywhere is none."""
    reason = "weights are positive"
    return {
        "check_all_zero_sample_weights_error": reason,
        "check_sample_weight_equivalence_on_dense_data": reason,
    }


@parametrize_with_checks([ExactConstrainedKMeans()], expected_failed_checks=without_zero_weights)
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:y is ignored")
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_attributes():
    model = ExactConstrainedKMeans(2).fit(POINTS, **PAIRS)
    assert model.labels_.tolist() == [0, 1, 0, 0]
    assert model.cluster_centers_ == pytest.approx(np.array([[10.1 / 3], [0.1]]))
    assert model.inertia_ == pytest.approx(COST)
    assert model.inertia_ - model.lower_bound_ <= 1e-4 * model.inertia_
    assert (model.gap_, model.status_) == (model.result_.gap, "optimal")
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")
    assert model.fit_predict(POINTS, **PAIRS).tolist() == [0, 1, 0, 0]
    assert model.predict([[-1.0], [4.0], [1.0]]).tolist() == [1, 0, 1]


def test_parameters_reach_the_engine():
    model = ExactConstrainedKMeans(
        2, gap=0.01, time_limit=50, bounding="colgen", n_jobs=2, random_state=7
    )
    model.fit(POINTS, cluster_constraints=[MaximumSize(2)])
    asked = model.result_.parameters
    assert (asked["gap"], asked["time_limit"], asked["bounding"]) == (0.01, 50.0, "colgen")
    assert (asked["workers"], asked["seed"]) == (2, 7)
    assert sorted(np.bincount(model.labels_)) == [2, 2]


def test_seeds():
    def seed(random_state) -> int:
        return (
            clone(model)
            .set_params(random_state=random_state)
            .fit(POINTS)
            .result_.parameters["seed"]
        )

    model = ExactConstrainedKMeans(2)
    assert seed(np.int64(5)) == 5
    assert seed(np.random.RandomState(3)) == seed(np.random.RandomState(3))
    generator = np.random.RandomState(3)
    model.set_params(random_state=generator)
    assert model.fit(POINTS).result_.parameters != model.fit(POINTS).result_.parameters


def test_a_time_limit_warns():
    points = np.random.default_rng(0).normal(size=(150, 4))
    model = ExactConstrainedKMeans(9, time_limit=0.01)
    with pytest.warns(ConvergenceWarning, match=r"^stopped by the time limit; .*\(gap [\d.]+%\)$"):
        model.fit(points)
    assert model.status_ == "feasible"
    assert model.gap_ > 1e-4
    assert len(np.unique(model.labels_)) == 9


@pytest.fixture
def ends_as(monkeypatch):
    """Have the engine come to a result."""

    def ends_as(**fields):
        result = Result(**fields)
        monkeypatch.setattr("sdpbb.app.estimator.solve", lambda *arguments: result)

    return ends_as


def test_no_clustering_in_time(ends_as):
    ends_as(**UNKNOWN)
    for kind in (NoClusteringFound, sdpbb.SdpbbError, RuntimeError):
        with pytest.raises(kind, match=r"^stopped by the time limit; found neither a clustering"):
            ExactConstrainedKMeans(2).fit(POINTS)


def test_interrupts(monkeypatch):
    """Ctrl-C reaches the caller; what was found is there."""

    def ends_by_ctrl_c(**fields):
        def solve(*arguments):
            raise sdpbb.Interrupted("", Result(**fields))

        monkeypatch.setattr("sdpbb.app.estimator.solve", solve)

    model = ExactConstrainedKMeans(2)
    ends_by_ctrl_c(**UNKNOWN | {"termination": Termination.INTERRUPTED})
    with pytest.raises(sdpbb.Interrupted):
        model.fit(POINTS)
    assert not hasattr(model, "labels_")
    interrupted = {
        "status": sdpbb.SolutionStatus.FEASIBLE,
        "termination": Termination.INTERRUPTED,
        "partition": Partition(np.array([0, 0, 1, 1])),
    }
    ends_by_ctrl_c(**OPTIMAL | interrupted)
    with pytest.raises(sdpbb.Interrupted) as ended:
        model.fit(POINTS)
    assert ended.value.result is model.result_
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.status_ == "feasible"
    assert model.predict(POINTS).tolist() == [0, 0, 1, 1]


def test_infeasible_without_an_explanation(ends_as):
    ends_as(**INFEASIBLE | {"infeasibility": Infeasibility(InfeasibilityKind.EXHAUSTED, n_nodes=3)})
    twice = "no clustering satisfies the constraints: " * 2
    message = f"^{twice.removesuffix(': ')} on clusters, proven by branching over 3 nodes$"
    with pytest.raises(InstanceError, match=message):
        ExactConstrainedKMeans(2).fit(POINTS)


def test_verbose(capsys):
    ExactConstrainedKMeans(2, verbose=True).fit(POINTS)
    assert "Status          proven optimal" in capsys.readouterr().out
    ExactConstrainedKMeans(2).fit(POINTS)
    assert capsys.readouterr() == ("", "")


NAMES = ["ann", "bob", "cyn", "dan"]
NAMED = {"must_link": [("ann", "dan")], "cannot_link": [("bob", "ann")]}


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return pytest.importorskip(request.param)


def test_a_column_names_the_rows(library):
    frame = library.DataFrame({"id": NAMES, "x": POINTS[:, 0]})
    model = ExactConstrainedKMeans(2, index_column="id").fit(frame, **NAMED)
    assert model.labels_.tolist() == [0, 1, 0, 0]
    assert (model.feature_names_in_.tolist(), model.n_features_in_) == (["x"], 1)
    assert model.inertia_ == pytest.approx(COST)
    assert model.predict(frame).tolist() == model.predict(frame[["x"]]).tolist()
    with pytest.raises(
        InstanceError, match=r"^cannot_link\[1\]: names row 'bop', .*; did you mean 'bob'"
    ):
        model.fit(frame, cannot_link=[("ann", "bob"), ("bop", "ann")])
    with pytest.raises(InstanceError, match=r": ML ann bob \(must_link\[0\]\), CL ann bob "):
        model.fit(frame, must_link=[("ann", "bob")], cannot_link=[("bob", "ann")])
    with pytest.raises(InstanceError, match=r"^index_column = 'name': there is no such column"):
        model.set_params(index_column="name").fit(frame[["x"]])


def test_the_index_names_the_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": POINTS[:, 0]}, index=NAMES)
    assert ExactConstrainedKMeans(2).fit(frame, **NAMED).labels_.tolist() == [0, 1, 0, 0]
    # Rows that were drawn from a larger frame keep their numbers.
    drawn = frame.set_axis([7, 3, 5, 0])
    model = ExactConstrainedKMeans(2).fit(drawn, must_link=[(7, 0)], cannot_link=[(3, 7)])
    assert model.labels_.tolist() == [0, 1, 0, 0]


def test_weights_of_points_are_those_of_sample_weight():
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(12, 2)), rng.uniform(0.1, 4.0, 12)
    model = ExactConstrainedKMeans(3, gap=1e-9).fit(X, sample_weight=weights)
    instance = sdpbb.Instance(X, 3, weights=weights)
    assert model.inertia_ == pytest.approx(optimum(instance), rel=1e-8)
    for cluster, centre in enumerate(model.cluster_centers_):
        of = model.labels_ == cluster
        np.testing.assert_allclose(centre, np.average(X[of], axis=0, weights=weights[of]))
    with pytest.raises(ValueError, match=r"weights\[0\] is 0.0; every weight must be positive"):
        ExactConstrainedKMeans(3).fit(X, sample_weight=np.arange(12))


def groups(n_each=10):
    rng = np.random.default_rng(1)
    centres = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], n_each, axis=0)
    return centres + rng.normal(size=(3 * n_each, 2))


def test_distances_to_centres_and_the_score():
    points = groups()
    model = ExactConstrainedKMeans(3).fit(points)
    distances = model.transform(points)
    assert distances.shape == (30, 3)
    assert np.array_equal(distances.argmin(axis=1), model.labels_)
    assert model.score(points) == pytest.approx(-model.inertia_)
    assert np.array_equal(ExactConstrainedKMeans(3).fit_transform(points), distances)
    weights = np.arange(1.0, 31.0)
    weighted = ExactConstrainedKMeans(3).fit(points, sample_weight=weights)
    assert weighted.score(points, sample_weight=weights) == pytest.approx(-weighted.inertia_)
    with pytest.raises(ValueError, match=r"weights\[0\] is 0"):
        model.score(points, sample_weight=np.zeros(30))


def test_a_y_is_ignored_with_one_warning():
    points, y = groups(3), [0, -1, 1, 0, -1, -1, 1, -1, -1]
    with pytest.warns(InstanceWarning, match="y is ignored; known_classes=y would make") as caught:
        model = ExactConstrainedKMeans(3).fit(points, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.labels_.tolist() == ExactConstrainedKMeans(3).fit(points).labels_.tolist()
    known = ExactConstrainedKMeans(3).fit(points, y, known_classes=y)  # no warning
    assert known.labels_[0] == known.labels_[3] != known.labels_[2] == known.labels_[6]


def test_grid_search_over_a_pipeline():
    """Known classes are split with the rows; pairs of names are kept as far as a fold has them."""
    from sklearn.model_selection import GridSearchCV

    pd = pytest.importorskip("pandas")
    points = groups(8)
    frame = pd.DataFrame(points, columns=["x", "y"], index=[f"p{i}" for i in range(24)])
    classes = np.full(24, -1)
    classes[[0, 1, 8, 9, 16]] = [0, 0, 1, 1, 2]
    with sklearn.config_context(enable_metadata_routing=True):
        model = ExactConstrainedKMeans(gap=1e-3, absent_rows="drop")
        model.set_fit_request(known_classes=True, must_link=True, cannot_link=True)
        pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
        search = GridSearchCV(pipeline, {"exactconstrainedkmeans__n_clusters": [3, 4]}, cv=3)
        search.fit(
            frame, known_classes=classes, must_link=[("p2", "p3")], cannot_link=[("p4", "p20")]
        )
    best = search.best_estimator_[-1]
    assert best.n_clusters in (3, 4)
    labels = dict(zip(frame.index, best.labels_, strict=True))
    assert labels["p2"] == labels["p3"]
    assert labels["p4"] != labels["p20"]
    assert labels["p0"] == labels["p1"] != labels["p8"]


def test_pairs_of_absent_rows_are_refused_unless_dropped():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(POINTS, columns=["x"], index=list("abcd"))
    with pytest.raises(InstanceError, match="names row 'e', but"):
        ExactConstrainedKMeans(2).fit(frame, must_link=[("a", "e")])
    model = ExactConstrainedKMeans(2, absent_rows="drop")
    model.fit(frame, must_link=[("a", "e")], soft_cannot_link=[("a", "b", 100.0)])
    assert model.labels_[0] != model.labels_[1]
    with pytest.raises(ParameterError, match="absent_rows = 'keep': expected 'refuse' or 'drop'"):
        ExactConstrainedKMeans(2, absent_rows="keep").fit(frame)

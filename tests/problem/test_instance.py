from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sdpbb.problem import Instance, Partition, SoftPairs
from sdpbb.problem.coordinates import pairs_closer_than, pairs_farther_than
from sdpbb.problem.graph import distinct_edges

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])


def test_arrays_are_read_only_copies():
    given = SQUARE.copy(), np.array([[1, 0]]), np.array([0.5])
    points, pairs, weights = given
    soft = SoftPairs(pairs, weights)
    instance = Instance(points, 2, pairs, soft_must_link=soft, soft_cannot_link=soft)
    for array in given:
        array[0] = 3
    assert instance.points[0, 0] == 0.0
    arrays = [instance.points, instance.must_link, Partition(np.array([0, 1])).labels]
    for own in (instance.soft_must_link, instance.soft_cannot_link):
        assert (own.pairs.tolist(), own.weights.tolist()) == ([[0, 1]], [0.5])
        arrays += [own.pairs, own.weights]
    assert instance.must_link.tolist() == [[0, 1]]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (1, 2)],
        {(0, 1), (1, 2)},
        zip([0, 1], [1, 2], strict=True),
        (pair for pair in [(0, 1), (1, 2)]),
        {(0, 1): "x", (1, 2): "y"}.keys(),
        np.array([[0, 1], [1, 2]], dtype=np.uint8),
        np.array([[0, 1], [1, 2]], dtype=object),
        np.ma.array([[1, 0], [2, 1]]),
    ],
    ids=lambda pairs: type(pairs).__name__,
)
def test_any_iterable_of_pairs_will_do(pairs):
    links = Instance(SQUARE, 2, must_link=pairs).must_link
    assert sorted(links.tolist()) == [[0, 1], [1, 2]]
    assert links.dtype == np.intp


@pytest.mark.parametrize("nothing", [None, [], (), set(), iter(()), np.empty((0, 2)), np.empty(0)])
def test_no_pairs(nothing):
    assert Instance(SQUARE, 2, cannot_link=nothing).cannot_link.shape == (0, 2)


class Frame:
    """What data frames have in common."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __iter__(self):
        return iter(["a column's name"])


def test_data_frames_and_exact_numbers_will_do():
    instance = Instance(Frame(SQUARE), 2, must_link=Frame([[0, 1]]))
    assert np.array_equal(instance.points, SQUARE)
    assert instance.must_link.tolist() == [[0, 1]]
    exact = Instance([[Fraction(1, 2), 1], [Decimal("0.25"), True]], 1)
    assert exact.points.tolist() == [[0.5, 1.0], [0.25, 1.0]]


@pytest.mark.parametrize("scale", [1e-99, 1e99])
def test_extreme_scales_neither_overflow_nor_lose_their_digits(scale):
    instance = Instance(SQUARE * scale, 2)
    squares = (instance.centred**2).sum()
    assert squares == pytest.approx(((SQUARE - SQUARE.mean(axis=0)) ** 2).sum() * scale**2)


def test_points_may_coincide():
    assert not Instance([[1e-300]] * 3, 1).centred.any()


@pytest.mark.parametrize("shape", [(7, 3), (4, 4), (5, 40)])
def test_centred_is_an_isometric_copy_around_the_origin(shape):
    points = np.random.default_rng(0).normal(size=shape) + 1e3
    centred = Instance(points, 2).centred
    assert centred.shape == (shape[0], min(shape))
    np.testing.assert_allclose(centred.mean(axis=0), 0.0, atol=1e-12)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(np.linalg.norm(centred[:, None] - centred, axis=2), distances)
    assert not centred.flags.writeable


@pytest.mark.parametrize("d", [1, 2, 9])
@pytest.mark.parametrize("whole", [True, False])
def test_distances_are_compared_as_if_one_by_one(d, whole, monkeypatch):
    """To the last bit, with points that are equal and distances that occur."""
    monkeypatch.setattr("sdpbb.problem.coordinates.LARGEST_CELL", 8)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(60, d)) * 10.0 ** rng.uniform(-90, 90)
        points = np.round(2 * rng.normal(size=(60, d))) if whole else points
        each = [np.sqrt(((points - point) ** 2).sum(axis=1)) for point in points]
        distances = np.triu(np.array(each), 1)
        upper = np.triu(np.ones((60, 60), bool), 1)
        limit = float(distances[tuple(sorted(rng.choice(60, size=2, replace=False)))])
        far, near = (distances > limit) & upper, (distances < limit) & upper
        assert np.array_equal(pairs_farther_than(points, limit), np.argwhere(far))
        assert np.array_equal(pairs_closer_than(points, limit), np.argwhere(near))


def test_distances_of_many_points_are_not_compared_one_by_one():
    points = np.random.default_rng(0).normal(size=(100_000, 2))
    far = pairs_farther_than(points, 8.5)
    assert 0 < len(far) < 1000
    assert (np.linalg.norm(points[far[:, 0]] - points[far[:, 1]], axis=1) > 8.5).all()
    assert len(pairs_closer_than(points, 1e-5)) < 1000


def test_distinct_edges_are_sorted():
    pairs = np.array([[3, 1], [0, 2], [1, 3], [0, 2]])
    assert distinct_edges(pairs).tolist() == [[0, 2], [1, 3]]
    assert distinct_edges(pairs[:0]).shape == (0, 2)

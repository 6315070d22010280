import numpy as np
import pytest

from sdpbb.errors import InstanceError
from sdpbb.problem import Instance
from sdpbb.problem.instance import pairs_closer_than, pairs_farther_than

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])


def test_arrays_are_read_only_copies():
    points = SQUARE.copy()
    instance = Instance(points, 2, must_link=[(1, 0)])
    points[0] = 9.0
    assert instance.points[0, 0] == 0.0
    assert instance.must_link.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        instance.points[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        instance.must_link[0, 0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": [1.0, 2.0]}, "points: an array of shape"),
        ({"points": np.empty((0, 2))}, "points: an array of shape"),
        ({"points": [[1.0], [1.0, 2.0]]}, "points: not a rectangular table"),
        ({"points": [["a"], ["b"]]}, "points: not a rectangular table"),
        ({"points": [[0.0, 1.0], [2.0, np.nan]]}, r"points\[1, 1\] is nan"),
        ({"points": [[np.inf, 1.0], [2.0, 0.0]]}, r"points\[0, 0\] is inf"),
        ({"points": [[1e200], [0.0]]}, "overflow"),
        ({"points": [[1e308], [-1e308]] * 40}, "overflow"),
        ({"k": 0}, "k = 0"),
        ({"k": 5}, "k = 5"),
        ({"k": 2.0}, "must be an integer"),
        ({"k": True}, "must be an integer"),
        ({"must_link": [(0, 4)]}, r"must_link\[0\] = \(0, 4\): rows are 0 to 3"),
        ({"must_link": [(0, 1), (-1, 2)]}, r"must_link\[1\] = \(-1, 2\)"),
        ({"cannot_link": [(0, 1), (2, 2)]}, r"cannot_link\[1\] = \(2, 2\): a point paired"),
        ({"cannot_link": [(0, 1, 2)]}, "cannot_link: expected pairs"),
        ({"cannot_link": [(0, 1), (2,)]}, "cannot_link: expected pairs"),
        ({"cannot_link": [(0.0, 1.0)]}, "row numbers must be integers"),
        ({"cannot_link": [(False, True)]}, "row numbers must be integers"),
        ({"cannot_link": None}, "cannot_link: expected pairs"),
    ],
)
def test_what_is_not_an_instance_is_refused_in_one_line(arguments, message):
    with pytest.raises(InstanceError, match=message) as caught:
        Instance(**{"points": SQUARE, "k": 2, **arguments})
    assert "\n" not in str(caught.value) or "points" in arguments


@pytest.mark.parametrize("shape", [(7, 3), (4, 4), (5, 40)])
def test_centred_is_an_isometric_copy_around_the_origin(shape):
    points = np.random.default_rng(0).normal(size=shape) + 1e3
    centred = Instance(points, 2).centred
    assert centred.shape == (shape[0], min(shape))
    np.testing.assert_allclose(centred.mean(axis=0), 0.0, atol=1e-12)
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(np.linalg.norm(centred[:, None] - centred, axis=2), distances)
    assert not centred.flags.writeable


def test_distance_constraints_are_strict():
    assert pairs_farther_than(SQUARE, 3.0).tolist() == [[0, 3], [1, 2]]
    assert pairs_closer_than(SQUARE, 3.0).tolist() == [[0, 1], [2, 3]]
    assert pairs_closer_than(SQUARE[:1], 3.0).shape == (0, 2)


def test_repr_states_the_sizes():
    text = repr(Instance(SQUARE, 2, cannot_link=[(0, 3)], name="square"))
    assert text == "Instance(square: n=4, d=2, k=2, 0 must-links, 1 cannot-links)"

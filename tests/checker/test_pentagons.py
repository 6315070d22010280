"""Lists that are no estimates of pentagons are refused."""

from dataclasses import replace

import numpy as np
import pytest

from sdpbb.checker.cuts.pentagons import Pentagons, pentagon_terms
from sdpbb.checker.rejection import Rejected

SIZES = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
NONE = np.zeros((5, 5), bool)
SOUND = Pentagons(
    np.arange(5, dtype=np.int32)[None],
    np.array([0, 3]),
    np.array([[0, 2, 2], [2, 2, 1], [15, 1, 2]], np.int32),
)


def rows(*changed: tuple[int, int, int]) -> dict:
    return {"estimates": np.array(changed, np.int32), "start": np.array([0, len(changed)])}


def test_terms_by_hand():
    """Edge 0-1: of block 2 two points by block 0 and one by itself. Chord 0-2: block 1 by block 0,
    and the four other points of blocks 0, 2, 3, 4 that are free by the pair itself."""
    SOUND.check(3, SIZES, NONE, None)
    apart = np.zeros((5, 5), bool)
    apart[0, 4] = apart[4, 0] = True
    owner, i, j, weight = pentagon_terms(SOUND, SIZES, apart)
    assert (owner == 0).all()
    B = np.zeros((5, 5))
    np.add.at(B, (np.minimum(i, j), np.maximum(i, j)), weight)
    expected = np.zeros((5, 5))
    expected[0, 1], expected[0, 2], expected[0, 0] = -2.0, -2.0, 2.0
    expected[0, 2] += -1.0
    expected[1, 2] += -1.0
    expected[2, 2] += 1.0
    expected[0, 1] += 2.0
    expected[0, 2] += 8.0 - 1.0 - 2.0  # all but block 4, and block 1
    expected[1, 3], expected[2, 4] = 8.0, 7.0
    expected[0, 3] += 8.0 - 1.0
    expected[1, 4] += 8.0 - 1.0
    np.testing.assert_array_equal(B, expected)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cycles": np.zeros((1, 4), np.int32)}, "pentagons of shape"),
        ({"cycles": np.array([[0, 1, 2, 3, 5]], np.int32)}, r"outside of 0\.\.4"),
        ({"cycles": np.array([[0, 1, 2, 3, -1]], np.int32)}, r"outside of 0\.\.4"),
        ({"cycles": np.arange(5.0)[None]}, "pentagons of shape"),
        ({"estimates": np.zeros((3, 2), np.int32)}, "estimates of shape"),
        ({"estimates": np.ones((3, 3))}, "estimates of shape"),
        ({"start": np.array([0])}, "one for each cut"),
        ({"start": np.array([1, 3])}, "begins with 0"),
        ({"start": np.array([0, 2])}, "do not fit"),
        ({"start": np.array([0, 4])}, r"estimates: expected numbers in 0\.\.3"),
        (rows((30, 0, 1)), "a place that there is not"),
        (rows((-1, 0, 1)), "a place that there is not"),
        (rows((17, 0, 1)), "a place that there is not"),
        (rows((0, 5, 1)), r"outside of 0\.\.4"),
        (rows((0, 0, 0)), "for no points"),
        (rows((0, 0, -1)), "for no points"),
        (rows((0, 0, 2)), "for more than a block has"),
        (rows((0, 2, 2), (1, 2, 2)), "for more points than a block has"),
        (rows((15, 2, 3), (15, 2, 1)), "for more points than a block has"),
    ],
)
def test_what_is_no_pentagon_is_rejected(changes, why):
    with pytest.raises(Rejected, match=why):
        replace(SOUND, **changes).check(3, SIZES, NONE, None)


def test_two_pentagons_have_their_own_points():
    both = Pentagons(
        np.repeat(SOUND.cycles, 2, axis=0),
        np.array([0, 3, 6]),
        np.concatenate([SOUND.estimates, SOUND.estimates]),
    )
    both.check(3, SIZES, NONE, None)

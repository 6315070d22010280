"""Digests by which a certificate names its instance."""

import hashlib
import struct

import numpy as np

from sdpbb.checker.kernel import digests


def test_digests_are_those_of_equal_instances():
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert digests.of_points(points) == digests.of_points(np.asfortranarray(points))
    assert digests.of_points([[-0.0]]) == digests.of_points([[0.0]])
    assert digests.of_points(points) != digests.of_points(points.T)
    assert digests.of_points([[0.1]]) != digests.of_points([[np.float32(0.1)]])
    assert digests.of_pairs([(3, 1), (0, 2), (1, 3)]) == digests.of_pairs([(0, 2), (1, 3)])
    assert digests.of_pairs([]) == digests.of_pairs(np.empty((0, 2), np.int32))
    assert digests.of_pairs([(0, 1)]) != digests.of_pairs([(0, 2)])


def test_digests_are_of_the_bytes_that_are_stated():
    points = hashlib.sha256(struct.pack("<4d", 0.0, 1.0, 2.0, 3.0)).hexdigest()
    assert digests.of_points([[-0.0, 1.0], [2.0, 3.0]]) == points
    pairs = hashlib.sha256(struct.pack("<4q", 0, 2, 1, 3)).hexdigest()
    assert digests.of_pairs([(3, 1), (0, 2)]) == pairs

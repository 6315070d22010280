"""Components that distances keep apart, against all clusterings in rational arithmetic."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.distance import components_apart
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.problem import Contraction, Instance, contract
from tests.any_instance import any_instance
from tests.enumeration import Truth

FAR = any_instance("equal points", always=["far groups"], far=17)


@given(FAR, st.floats(1e-3, 2.0), st.data())
def test_no_cheaper_clustering_has_a_cluster_across(instance, part, data):
    contraction, truth = contract(instance), Truth(instance)
    cutoff = part * data.draw(st.sampled_from(truth.costs.tolist()))
    certified = CertifiedBounding(SdpBounding(), instance.points)
    for found in (
        components_apart(contraction, instance.points, cutoff),
        certified.components_apart(contraction, instance, cutoff, lambda: False)[0],
    ):
        components = contraction.lift(found)
        for labels in truth.labels[truth.costs < cutoff * (1.0 - 1e-15)]:
            for cluster in np.unique(labels):
                assert len(np.unique(components[labels == cluster])) == 1


def test_links_and_distances_add_up():
    """Only both together keep the last two points from the others; 2 is near 0 through 1."""
    points = np.array([[0.0], [3.0], [6.0], [9.0], [12.0]])
    links = [(2, 3)]
    for far, expected in ((links, [0, 0, 0, 1, 1]), ([], [0, 0, 0, 0, 0])):
        contraction = contract(Instance(points, 2, cannot_link=far))
        found = components_apart(contraction, points, 5.0)
        assert found[contraction.block_of].tolist() == expected


def test_blocks_count_with_their_points_and_scatter():
    points = np.array([[-1.0], [1.0], [4.0]])
    contraction = contract(Instance(points, 1 + 1, must_link=[(0, 1)]))
    # The three together cost 2 + 2 / 3 * 16.
    assert components_apart(contraction, points, 12.66).tolist() == [0, 1]
    assert components_apart(contraction, points, 12.67).tolist() == [0, 0]


def test_components_are_around_their_own_means():
    points = np.array([[0.0, 1.0], [2.0, 1.0], [1e17, 0.0], [1e17, 4.0], [1e17, 8.0]])
    components = np.array([0, 0, 1, 1, 1])
    contraction = contract(Instance(points, 3), components=components)
    assert isinstance(contraction, Contraction)
    assert np.array_equal(contraction.means, [[-1, 0], [1, 0], [0, -4], [0, 0], [0, 4]])
    assert len(contraction.cannot_link) == 6
    assert contraction.total == 34.0

"""Columns of categories become columns of 0 and 1, from files and from frames alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem.formats import read_points

pd = pytest.importorskip("pandas")
NAMES = st.lists(st.sampled_from(["red", "green", "blue", "1", "x=2"]), min_size=2, max_size=8)


@given(NAMES, st.floats(0.01, 100.0), st.booleans())
def test_rows_of_different_categories_are_as_far_apart_as_asked(names, weight, standardize):
    numbers = np.arange(len(names)) ** 1.5
    frame = pd.DataFrame({"x": numbers, "colour": names})
    options = {"one_hot": [f"colour={weight!r}"], "standardize": standardize}
    instance = sdpbb.Instance.from_points(frame, 1, **options)
    own = numbers / (numbers.std() if standardize else 1.0)
    apart = np.array(names)[:, None] != np.array(names)
    expected = (own[:, None] - own) ** 2 + weight * apart
    points = instance.points
    assert np.allclose(((points[:, None] - points) ** 2).sum(axis=2), expected)
    named = instance.origin.feature_names
    assert named == ("x", *(f"colour={name}" for name in sorted(set(names))))
    # In the user's units, a mean has the share of each category.
    share = instance.origin.in_user_units(points.mean(axis=0)[None])[0]
    assert share[0] == pytest.approx(numbers.mean())
    assert share[1:] == pytest.approx(
        [names.count(name) / len(names) for name in sorted(set(names))]
    )


def test_categories_alone_are_enough(tmp_path):
    (tmp_path / "plans.csv").write_text("plan\nfull\nbasic\nfull\nbasic\n")
    table = read_points(tmp_path / "plans.csv", one_hot=["plan"])
    assert table.points.shape == (4, 2)
    result = sdpbb.solve(pd.DataFrame({"plan": list("abba")}), 2, one_hot=["plan"])
    assert result.labels.tolist() == [0, 1, 1, 0]
    assert result.objective == 0.0

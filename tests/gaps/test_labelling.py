import re

import numpy as np
import pytest

from sdpbb.errors import InstanceError
from sdpbb.questions.gaps.gap import label_numbers

# Labels of -1 are noted, which tests/problem/test_wrong_turns.py looks at.
pytestmark = pytest.mark.filterwarnings("ignore:labels.* are -1:sdpbb.errors.InstanceNote")

LABELS = [7, -1, 7, 3, -1]
NUMBERS = [0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, np.int8),
        np.array(LABELS, float),
        np.array(LABELS, object),
        [str(label) for label in LABELS],
        np.array(LABELS).astype(str),
        ["7", "", "7", 7, ""],
        [True, False, True, 2, 0],
        map(float, LABELS),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_kind(labels):
    numbers = label_numbers(labels, 5)
    assert numbers.dtype == np.intp
    assert numbers.tolist() == NUMBERS


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_series(library):
    series = pytest.importorskip(library).Series
    for values in (LABELS, [str(label) for label in LABELS]):
        assert label_numbers(series(values), 5).tolist() == NUMBERS


ONE = "expected one integer, number or text per point"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0], "labels: 3 of them; expected 5, one per point"),
        ([0, 1, None, 0, 1], f"labels[2] is of type NoneType; {ONE}"),
        ([0, 1, 0, float("nan"), 1], f"labels[3] is nan; {ONE}"),
        (None, f"labels: of type NoneType; {ONE}"),
        ([0, [1], 0, 0, 1], f"labels[1] is of type list; {ONE}"),
        (np.zeros((5, 1)), "labels: an array of shape (5, 1); expected (n,)"),
        (np.array(3), "labels: an array of shape (); expected (n,)"),
        ("01001", f"labels: of type str; {ONE}"),
        ({0: 1}, f"labels: of type dict; {ONE}"),
        (5, f"labels: of type int; {ONE}"),
    ],
)
def test_what_labels_are_not(labels, message):
    with pytest.raises(InstanceError, match=f"^{re.escape(message)}$"):
        label_numbers(labels, 5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_no_column(library):
    frame = pytest.importorskip(library).DataFrame({"cls": LABELS})
    with pytest.raises(InstanceError, match=r"frame; expected one column of it, \['cls'\] say$"):
        label_numbers(frame, 5)

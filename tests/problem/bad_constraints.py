"""Files of constraints that are not what they should be, each with the one line that says why.

For data with four points, unless it is said otherwise.
"""

from __future__ import annotations

from tests.problem.bad_files import FROM_ONE, OTHER_DATA, UNREADABLE, BadFile

_LINE = "expected i j 1 (must-link) or i j -1 (cannot-link), i and j being row numbers"
_KEYS = "expected an object with lists ml, cl, sml, scl, sml_proba, scl_proba"
_ENTRY = "expected 1 (must-link), -1 (cannot-link) or 0 (neither)"

BAD_CCCG = [
    *UNREADABLE,
    BadFile("two fields", "0 1 1\n\n0 1\n", 3, f"'0 1'; {_LINE}"),
    BadFile("keyword", "ML 0 1\n", 1, f"'ML 0 1'; {_LINE}"),
    BadFile("value 2", "0 1 2\n", 1, f"'0 1 2'; {_LINE}"),
    BadFile("value 0", "0 1 0\n", 1, f"'0 1 0'; {_LINE}"),
    BadFile("fraction", "0 1.0 1\n", 1, f"'0 1.0 1'; {_LINE}"),
    BadFile("i = j", "2 2 -1\n", 1, "'2 2 -1' pairs a point with itself; expected i != j"),
    BadFile(
        "from one",
        "1 4 1\n",
        1,
        f"'1 4 1' names row 4, but the data has rows 0 to 3; {FROM_ONE}",
    ),
    BadFile(
        "other data",
        "0 9 1\n",
        1,
        f"'0 9 1' names row 9, but the data has rows 0 to 3; {OTHER_DATA}",
    ),
]

BAD_MATRICES = [
    *UNREADABLE,
    BadFile("empty", "", None, "the matrix has 0 rows; expected 4, one per point of the data"),
    BadFile(
        "one row less",
        "1 0 0 0\n0 1 0 0\n0 0 1 0\n",
        None,
        "the matrix has 3 rows; expected 4, one per point of the data",
    ),
    BadFile(
        "one row more",
        "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n\n0 0 0 0\n",
        6,
        "one row too many; expected 4, one per point of the data",
    ),
    BadFile(
        "ragged",
        "1 0 0 0\n0 1 0\n",
        2,
        "the row has 3 entries; expected 4, one per point of the data",
    ),
    BadFile("entry 2", "1 0 2 0\n", 1, f"column 3 is '2'; {_ENTRY}"),
    BadFile("nan entry", "1 0 nan 0\n", 1, f"column 3 is 'nan'; {_ENTRY}"),
    BadFile("word", "1 0 x 0\n", 1, f"column 3 is 'x'; {_ENTRY}"),
    BadFile(
        "diagonal 0",
        "1 0 0 0\n0 0 0 0\n",
        2,
        "column 2, on the diagonal, is '0'; expected 1, as a point is in its own cluster",
    ),
    BadFile(
        "diagonal -1",
        "-1 0 0 0\n",
        1,
        "column 1, on the diagonal, is '-1'; expected 1, as a point is in its own cluster",
    ),
    BadFile(
        "contradiction",
        "1 0 0 -1\n0 1 1 0\n0 1 1 0\n1 0 0 1\n",
        4,
        "column 1 is 1, but column 4 of line 1, which is for the same pair, is -1; expected a "
        "symmetric matrix",
    ),
]

BAD_PCCC = [
    *UNREADABLE,
    BadFile("empty", "", 1, f"is not JSON (Expecting value, column 1); {_KEYS}"),
    BadFile("no JSON", "ML 0 1", 1, f"is not JSON (Expecting value, column 1); {_KEYS}"),
    BadFile(
        "cut off",
        '{"ml":\n [[0, 1]',
        2,
        f"is not JSON (Expecting ',' delimiter, column 9); {_KEYS}",
    ),
    BadFile(
        "list",
        "[[0, 1]]",
        None,
        "the JSON is not an object; expected one with lists ml, cl, sml, scl, sml_proba, scl_proba",
    ),
    BadFile("deep", "[" * 200_000, None, f"'nested too deeply'; {_KEYS}"),
    BadFile(
        "twice", '{"ml": [], "ml": [[0, 1]]}', None, f"\"the key 'ml' appears twice\"; {_KEYS}"
    ),
    BadFile("nan", '{"sml_proba": [NaN]}', None, f"'NaN is not a number of JSON'; {_KEYS}"),
    BadFile(
        "unknown key",
        '{"must_link": []}',
        None,
        "unknown key 'must_link'; expected ml, cl, sml, scl, sml_proba, scl_proba",
    ),
    BadFile("no list", '{"ml": {"0": 1}}', None, 'ml is {"0": 1}; expected a list'),
    BadFile(
        "triple",
        '{"ml": [[0, 1], [0, 1, 2]]}',
        None,
        "ml[1] is [0, 1, 2]; expected two row numbers",
    ),
    BadFile("number", '{"cl": [3]}', None, "cl[0] is 3; expected two row numbers"),
    BadFile("fraction", '{"cl": [[0, 1.0]]}', None, "cl[0] is [0, 1.0]; expected two row numbers"),
    BadFile("words", '{"cl": [["0", "1"]]}', None, 'cl[0] is ["0", "1"]; expected two row numbers'),
    BadFile(
        "booleans",
        '{"scl": [[false, true]]}',
        None,
        "scl[0] is [false, true]; expected two row numbers",
    ),
    BadFile(
        "huge",
        '{"ml": [[0, 99999999999999999999]]}',
        None,
        "ml[0] is [0, 99999999999999999999]; expected two row numbers",
    ),
    BadFile(
        "i = j",
        '{"sml": [[2, 2]]}',
        None,
        "sml[0] is [2, 2], which pairs a point with itself; expected i != j",
    ),
    BadFile(
        "from one",
        '{"ml": [[1, 4]]}',
        None,
        f"ml[0] is [1, 4], which names row 4, but the data has rows 0 to 3; {FROM_ONE}",
    ),
    BadFile(
        "negative",
        '{"ml": [[-1, 2]]}',
        None,
        f"ml[0] is [-1, 2], which names row -1, but the data has rows 0 to 3; {OTHER_DATA}",
    ),
    BadFile(
        "confidences without pairs",
        '{"sml_proba": [0.5]}',
        None,
        "sml_proba has 1 entries; expected one per pair of sml, 0",
    ),
    BadFile(
        "too few confidences",
        '{"scl": [[0, 1], [1, 2]], "scl_proba": [0.5]}',
        None,
        "scl_proba has 1 entries; expected one per pair of scl, 2",
    ),
    BadFile(
        "confidence 0",
        '{"sml": [[0, 1]], "sml_proba": [0]}',
        None,
        "sml_proba[0] is 0; expected a confidence 0 < w <= 1",
    ),
    BadFile(
        "confidence in words",
        '{"sml": [[0, 1]], "sml_proba": ["high"]}',
        None,
        'sml_proba[0] is "high"; expected a confidence 0 < w <= 1',
    ),
]

_UNKNOWN = (
    "does not match any format; expected a line ML i j or CL i j (pc-sos-sdp), i j 1 or i j -1 "
    "(cccg), JSON (pccc), 5 entries 1, -1 or 0 (matrix), or a heading i,j,value or type,i,j "
    "(csv); --constraints-format selects one"
)

# With five points, or three.
TOLD_NOT = [
    BadFile("pairs alone", "\n# pairs\n0 1\n2 3\n", 3, f"'0 1' {_UNKNOWN}"),
    BadFile("four numbers", "0 1 2 3\n", 1, f"'0 1 2 3' {_UNKNOWN}"),
    BadFile("one number", "5\n", 1, f"'5' {_UNKNOWN}"),
    BadFile(
        "matrix for six",
        "1 0 0 0 0 -1\n",
        1,
        "the row has 6 entries; expected 5, one per point of the data",
    ),
    BadFile(
        "three points, both",
        "1 0 1\n0 1 -1\n1 0 1\n",
        None,
        "can be read as i j 1 or i j -1 (cccg) and as 3 entries 1, -1 or 0 (matrix); "
        "--constraints-format selects one",
    ),
    BadFile(
        "three points, neither",
        "1 0 5\n",
        None,
        "cannot be read as i j 1 or i j -1 (cccg) or as 3 entries 1, -1 or 0 (matrix); "
        "--constraints-format selects one",
    ),
]

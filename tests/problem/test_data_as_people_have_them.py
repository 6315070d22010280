"""Exports of spreadsheets, R and pandas, as they come: what is certain is read."""

from __future__ import annotations

import gzip
import io
import re
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote, ParameterError
from sdpbb.problem import AllOf, AnyOf, Instance, MaximumOverlap, SoftCannotLinks
from sdpbb.problem.formats import read_constraints, read_instance, read_labels, read_points
from sdpbb.problem.origin import Scaling, standardization
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.reading import Reading

EXPECTED = [[1.5, 2.0], [3.0, 4.25], [-5.0, 60.0]]
COMMA = "x,y\n1.5,2\n3,4.25\n-5,6e1\n"
EURO = "x;y\n1,5;2\n3;4,25\n-5;60,0\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("data")


def file(folder: Path, content: str | bytes, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "name", "options"),
    [
        (COMMA, "a.csv", {}),
        (COMMA.replace("\n", "\r\n"), "a.csv", {}),
        (COMMA.replace("\n", "\r"), "a.csv", {}),
        (COMMA.replace("\n", "\n\n"), "a.csv", {}),
        (COMMA.replace("\n", ",\n"), "a.csv", {}),
        (COMMA.replace("\n", ",,\n") + ",,,\n,,,\n", "a.csv", {}),
        (COMMA.replace("x,y\n", ""), "a.csv", {}),
        (COMMA.replace("x,y\n", "").replace("\n", ",\n"), "a.csv", {}),
        ('"x, in cm","y\n(long)"\n"1.5","2"\n3,4.25\n-5,60\n', "a.csv", {}),
        (EURO, "a.csv", {}),
        (EURO, "a.txt", {}),
        (EURO, "a.csv", {"decimal": ",", "separator": "semicolon"}),
        ("sep=;\n" + EURO, "a.csv", {}),
        (EURO.replace("x;y", "Höhe, cm;Breite, cm"), "a.csv", {}),
        (EURO.replace("x;y\n", ""), "a.csv", {}),
        (EURO.replace(";", "\t"), "a.csv", {}),
        (EURO.replace(";", "\t"), "a.tsv", {}),
        (EURO.replace(";", "\t"), "a.txt", {}),
        (EURO.replace(";", "|"), "a.csv", {"separator": "|"}),
        ('x,y\n"1,5","2"\n"3","4,25"\n"-5","60,0"\n', "a.csv", {}),
        (COMMA.replace(",", "|"), "a.csv", {}),
        (COMMA.replace(",", "\t"), "a.csv", {"separator": "tab"}),
        ("3 2\n1,5 2\n3 4,25\n-5 60\n", "a.txt", {}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_spellings_of_the_same_points(tmp_path, content, name, options, encoding, is_compressed):
    data = content.encode(encoding)
    path = file(tmp_path, gzip.compress(data) if is_compressed else data)
    path = path.rename(tmp_path / (f"{name}.gz" if is_compressed else name))
    assert read_points(path, **options).points.tolist() == EXPECTED


def test_an_encoding_is_told_where_no_mark_tells_it(tmp_path):
    path = file(tmp_path, "Größe;y\n1,5;2\n3;4,25\n-5;60,0\n".encode("cp1252"))
    read = read_points(path, encoding="cp1252")
    assert read.points.tolist() == EXPECTED
    assert read.feature_names == ("Größe", "y")
    with pytest.raises(ParameterError, match=r"^encoding = 'klingon': expected one that Python"):
        read_points(path, encoding="klingon")
    without_mark = file(tmp_path, COMMA.encode("utf-16-le"), "b.csv")
    assert read_points(without_mark, encoding="utf-16-le").points.tolist() == EXPECTED


# Indices


@pytest.mark.parametrize(
    ("content", "names", "note"),
    [
        (",x,y\n0,1,2\n1,3,4\n", None, ", which counts the rows from 0; it is not a feature"),
        ('"","x","y"\n"1",1,2\n"2",3,4\n', ("1", "2"), ", whose values name the rows: '1', '2'"),
        (",0,1\nanna,1,2\nb c,3,4\n", ("anna", "b c"), ", whose values name the rows: 'anna', "),
        (
            ",x,y\na,1,2\na,3,4\n",
            None,
            " that is not a feature; its values repeat, so rows are",
        ),
    ],
)
def test_a_first_column_without_a_name_is_an_index(tmp_path, content, names, note):
    path = file(tmp_path, content)
    says = f"{path}: column 1 has no name and is used as an index{note}"
    with pytest.warns(InstanceNote, match=f"^{re.escape(says)}"):
        read = read_points(path)
    assert read.points.tolist() == [[1, 2], [3, 4]]
    assert read.row_names == names


def test_an_index_without_a_name_beside_chosen_columns(tmp_path):
    path = file(tmp_path, ",id,x\n0,a,1\n1,b,3\n")
    read = read_points(path, index_column="id")
    assert (read.points.tolist(), read.row_names) == ([[1], [3]], ("a", "b"))
    empty = file(tmp_path, ",x,y\n,1,2\n,3,4\n", "empty.csv")
    assert read_points(empty).points.tolist() == [[1, 2], [3, 4]]


def test_numbers_of_rows_by_r_may_be_counted_from_one_in_constraints(tmp_path):
    points = file(tmp_path, '"","x"\n"1",1\n"2",3\n"3",9\n')
    pairs = file(tmp_path, "ML 1 2\n", "c.txt")
    for one_based in (False, True):
        with pytest.warns(InstanceNote):
            instance = read_instance(points, 2, pairs, one_based=one_based)
        assert instance.must_link.tolist() == [[0, 1]]


@pytest.mark.parametrize("name", ["id", "customer_id", "rowId", "Nr.", "Unnamed: 0", "index"])
def test_a_feature_that_tells_all_rows_apart_is_told_of(tmp_path, name):
    rows = "".join(f"{7 * i % 50},{i * i}\n" for i in range(12))
    path = file(tmp_path, f"{name},x\n{rows}")
    with pytest.warns(InstanceNote, match=f"column '{re.escape(name)}' has a different whole"):
        assert read_points(path).points.shape == (12, 2)
    assert read_points(path, drop=[name]).points.shape == (12, 1)  # without a note


@pytest.mark.parametrize("content", ["id,x\n" + "1,2\n" * 9, "age,x\n" + COMMA[4:] * 3])
def test_other_features_are_not(tmp_path, content):
    read_points(file(tmp_path, content))


# Missing values

GAPS = "name,x,y\na,1,2\nb,NA,4\nc,3,?\nd,5,9\ne,,\n"


@pytest.mark.parametrize(
    ("missing", "points"),
    [
        ("drop-rows", [[1, 2], [5, 9]]),
        ("mean", [[1, 2], [3, 4], [3, 5], [5, 9], [3, 5]]),
        ("median", [[1, 2], [3, 4], [3, 4], [5, 9], [3, 4]]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "pandas", "polars", "array", "npy", "text", "parquet"])
def test_missing_values_are_filled_in_or_their_rows_left_out(tmp_path, missing, points, kind):
    table = np.array([[1, 2], [np.nan, 4], [3, np.nan], [5, 9], [np.nan, np.nan]])
    if kind in ("pandas", "polars"):
        library = pytest.importorskip(kind)
        columns = {"name": list("abcde"), "x": table[:, 0], "y": table[:, 1]}
        frame = library.DataFrame(columns)
        with pytest.warns(InstanceNote):
            instance = Instance.from_frame(frame, 1, index_column="name", missing=missing)
    elif kind == "array":
        with pytest.warns(InstanceNote):
            instance = Instance.from_points(table, 1, missing=missing)
    else:
        path, options = tmp_path / "points.npy", {}
        if kind == "npy":
            np.save(path, table)
        elif kind == "csv":
            path, options = file(tmp_path, GAPS), {"index_column": "name"}
        elif kind == "text":
            path = file(tmp_path, "5 2\n1 2\nNA 4\n3 ?\n5 9\nnan null\n", "points.txt")
        else:
            pandas, path = pytest.importorskip("pandas"), tmp_path / "points.parquet"
            pandas.DataFrame(table, columns=["x", "y"]).to_parquet(path)
        with pytest.warns(InstanceNote) as caught:
            instance = read_instance(path, 1, missing=missing, **options)
        assert str(caught[-1].message).startswith(f"{path}: ")
    assert instance.points.tolist() == points
    if missing == "drop-rows":
        names = list("bce") if kind in ("csv", "pandas", "polars") else ["1", "2", "4"]
        assert list(instance.origin.dropped_rows) == names
        assert instance.origin.kept_rows is not None
        assert instance.origin.kept_rows.tolist() == [0, 3]
        assert instance.origin.rows([0, 1]) == (["a", "d"] if "b" in names else ["0", "3"])


def test_what_is_done_is_said(tmp_path):
    path = file(tmp_path, GAPS)
    for missing, says in (
        ("drop-rows", "3 rows of 5 dropped, as values are missing: 'b', 'c', 'e'"),
        ("mean", "4 missing values filled in by the mean of 2 columns: 'x', 'y'"),
    ):
        with pytest.warns(InstanceNote, match=f"^{re.escape(f'{path}: {says}')}$"):
            read_points(path, index_column="name", missing=missing)


def test_weights_go_with_the_rows_that_are_left(tmp_path):
    path = file(tmp_path, "x,w\n1,2\n,3\n4,\n5,6\n")
    with pytest.warns(InstanceNote):
        read = read_points(path, weight_column="w", missing="drop-rows")
    assert (read.points.tolist(), read.weights.tolist()) == ([[1], [5]], [2, 6])
    table = np.array([[1.0], [np.nan], [5.0]])
    with pytest.warns(InstanceNote):
        instance = Instance.from_points(table, 1, weights=[2.0, 3.0, 6.0], missing="drop-rows")
    assert instance.weights.tolist() == [2, 6]


CONSTRAINTS = [
    ("ML a d\nCL d f\n", "ML a b\n", ":1"),
    ("type,i,j\nml,a,d\ncl,d,f\n", "i,j,value\na,d,1\nf,c,-1\n", ":3"),
    ('{"ml": [["a", "d"]], "cl": [["d", "f"]]}', '{"cl": [["a", "d"], ["e", "a"]]}', ": cl[1]"),
    ("SML a d inf\nCL d f\n", "SML a d\nCL d f\nSCL d b 0.5\n", ":3"),
]


@pytest.mark.parametrize(("good", "bad", "place"), CONSTRAINTS)
def test_constraints_name_rows_of_the_data_and_none_that_is_left_out(tmp_path, good, bad, place):
    path, pairs = file(tmp_path, GAPS + "f,7,7\n"), file(tmp_path, good, "c.txt")
    options = {"index_column": "name", "missing": "drop-rows"}
    with pytest.warns(InstanceNote):
        instance = read_instance(path, 2, pairs, **options)
    assert instance.must_link.tolist() == [[0, 1]]
    assert instance.cannot_link.tolist() == [[1, 2]]
    pairs = file(tmp_path, bad, "c.txt")
    left_out = "which is dropped, as a value is missing; expected constraints on the other rows"
    with (
        pytest.warns(InstanceNote),
        pytest.raises(
            InstanceError, match=f"^{re.escape(f'{pairs}{place}: names row ')}"
        ) as caught,
    ):
        read_instance(path, 2, pairs, **options)
    assert left_out in str(caught.value)


def test_numbers_of_rows_are_those_of_the_data(tmp_path):
    path = file(tmp_path, "x,y\n1,2\n,4\n3,9\n5,9\n")
    pairs = file(tmp_path, "ML 0 2\nOVERLAP 1 2 3\nSCL 2 3 0.5\n", "c.txt")
    with pytest.warns(InstanceNote):
        instance = read_instance(path, 2, pairs, missing="drop-rows")
    assert instance.must_link.tolist() == [[0, 1]]
    assert instance.soft_cannot_link.pairs.tolist() == [[1, 2]]
    assert instance.cluster_constraints[0].rows() == (1, 2)
    for line in ("OVERLAP 1 2 1\n", "SML 1 2 0.5\n"):
        pairs = file(tmp_path, line, "c.txt")
        with pytest.warns(InstanceNote), pytest.raises(InstanceError, match="names row 1, which"):
            read_instance(path, 2, pairs, missing="drop-rows")
    pairs = file(tmp_path, "CL 1 4\n", "c.txt")
    with pytest.warns(InstanceNote):
        instance = read_instance(path, 2, pairs, one_based=True, missing="drop-rows")
    assert instance.cannot_link.tolist() == [[0, 2]]
    assert instance.origin.rows([0, 2]) == ["1", "4"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_constraints_of_frames_name_rows_of_the_frame(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"n": list("abcd"), "x": [1.0, None, 3.0, 5.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InstanceNote)
        by_name = Instance.from_frame(frame, 2, [("a", "c")], index_column="n", missing="drop-rows")
        by_number = Instance.from_frame(
            frame, 2, [(0, 2)], soft_cannot_link=[(2, 3, 1.0)], drop=["n"], missing="drop-rows"
        )
    assert by_name.must_link.tolist() == by_number.must_link.tolist() == [[0, 1]]
    assert by_number.soft_cannot_link.pairs.tolist() == [[1, 2]]
    message = "must_link[0]: names row 1, which is dropped, as a value is missing; expected"
    with pytest.warns(InstanceNote), pytest.raises(InstanceError, match=re.escape(message)):
        Instance.from_frame(frame, 2, [(1, 2)], drop=["n"], missing="drop-rows")


@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")
def test_constraints_on_clusters_name_rows_of_the_frame_however_deep_they_are():
    pandas = pytest.importorskip("pandas")
    options = {"frame": pandas.DataFrame({"x": [1.0, None, 3.0, 5.0]}), "k": 2}
    options["missing"] = "drop-rows"
    deep = [AnyOf([AllOf([MaximumOverlap([0, 3], 1)]), SoftCannotLinks([(2, 3)], 0)])]
    instance = Instance.from_frame(**options, cluster_constraints=deep)
    assert instance.cluster_constraints == (
        AnyOf([AllOf([MaximumOverlap([0, 2], 1)]), SoftCannotLinks([(1, 2)], 0)]),
    )
    for row, message in (
        (1, "cluster_constraints: OVERLAP: names row 1, which is dropped"),
        (4, "cluster_constraints[0]: MaximumOverlap names row 4; rows are 0 to 3"),
    ):
        wrong = [AllOf([MaximumOverlap([0, row], 1)])]
        with pytest.raises(InstanceError, match=re.escape(message)):
            Instance.from_frame(**options, cluster_constraints=wrong)


# Standardized columns


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_standardized_columns_have_mean_zero_and_variance_one(seed, weighted):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * [1e-3, 1, 1e6] + [5, 0, -1e6]
    points[:, 1] = 7.0
    weights = rng.integers(1, 5, 12).astype(float) if weighted else None
    scaling = standardization(points, weights)
    scaled = scaling.applied(points)
    repeated = np.repeat(scaled, 1 if weights is None else weights.astype(int), axis=0)
    assert np.allclose(repeated.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(repeated.std(axis=0), [1, 0, 1])
    assert np.allclose(scaling.undone(scaled), points)


def test_an_instance_knows_the_way_back(tmp_path):
    path = file(tmp_path, "name,x,y\na,1,200\nb,3,400\nc,5,900\n")
    instance = read_instance(path, 1, index_column="name", standardize=True)
    origin = instance.origin
    assert np.allclose(instance.points.std(axis=0), 1)
    assert np.allclose(origin.in_user_units(instance.points), [[1, 200], [3, 400], [5, 900]])
    assert (origin.feature_names, origin.index_name) == (("x", "y"), "name")
    assert origin.data_path == str(path)
    same = Instance.from_points([[1, 200], [3, 400], [5, 900]], 1, standardize=True)
    assert np.array_equal(same.points, instance.points)


def test_scales_are_positive():
    for means, scales in (([0.0], [0.0]), ([np.nan], [1.0]), ([0.0], [1.0, 2.0])):
        with pytest.raises(InstanceError, match=r"^scaling: expected finite means"):
            Scaling(np.array(means), np.array(scales))


# Workbooks, Feather and several arrays


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


TABLE: list[list[object]] = [["name", "x", "y"], ["a", 1, 0.1], ["b", None, 2], ["c d", 3, 4]]


def test_a_workbook_is_read_like_csv(tmp_path):
    path = workbook(tmp_path / "a.xlsx", {"Data": [*TABLE, [], [None, None, None]], "Empty": []})
    with pytest.raises(InstanceError, match=rf"^{re.escape(str(path))}:3: column 2 \('x'\) is ''"):
        read_points(path, index_column="name")
    with pytest.warns(InstanceNote, match="1 row of 3 dropped"):
        read = read_points(path, index_column="name", missing="drop-rows")
    assert (read.points.tolist(), read.row_names) == ([[1, 0.1], [3, 4]], ("a", "c d"))
    with pytest.raises(InstanceError, match=r":2: column 1 \('name'\) is 'a'; expected a finite"):
        read_points(path)


def test_a_sheet_is_chosen(tmp_path):
    sheets = {"first": [["x"], [1], [2]], "second": [["x"], [3], [4]]}
    path = workbook(tmp_path / "a.xlsx", sheets)
    note = "the sheet 'first' is read, the first one of 'first', 'second'; --table selects another"
    with pytest.warns(InstanceNote, match=re.escape(note)):
        assert read_points(path).points.tolist() == [[1], [2]]
    assert read_points(path, table="second").points.tolist() == [[3], [4]]
    with pytest.raises(InstanceError, match="there is no such sheet with cells; expected one of"):
        read_points(path, table="third")


def test_labels_and_constraints_may_be_sheets(tmp_path):
    labels = workbook(tmp_path / "l.xlsx", {"s": [["id", "label"], [0, "u"], [1, "v w"], [2, "u"]]})
    assert read_labels(labels, 3).tolist() == [0, 1, 0]
    pairs = workbook(tmp_path / "c.xlsx", {"s": [["i", "j", "value"], [0, 2, 1], [0, 1, -1]]})
    read = read_constraints(pairs, 3)
    assert (read.must_link.tolist(), read.cannot_link.tolist()) == ([[0, 2]], [[0, 1]])


def test_what_is_no_workbook_is_told(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    path = file(tmp_path, COMMA, "a.xlsx")
    with pytest.raises(InstanceError, match=r"a.xlsx: is not a workbook of Excel \("):
        read_points(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(BackendUnavailable, match="by pandas and openpyxl, which"):
        read_points(path)


def test_feather_is_read_like_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.feather"
    pandas.DataFrame({"n": ["a", "b"], "x": [1.0, 2.5]}).to_feather(path)
    read = read_points(path, index_column="n")
    assert (read.points.tolist(), read.row_names) == ([[1], [2.5]], ("a", "b"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InstanceError, match=r"a\.feather: "):
        read_points(path)


def npz(path: Path, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def test_the_only_table_of_several_arrays_holds_the_points(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array([1, 0, 1])
    path = npz(tmp_path / "a.npz", X=X, y=y)
    assert read_points(path).points.tolist() == X.tolist()
    assert read_labels(path, 3).tolist() == [0, 1, 0]
    path = npz(tmp_path / "b.npz", train=X, test=X[:2], y=y, other=y)
    with pytest.raises(InstanceError, match=r"2 of the arrays 'train' \(3, 2\), 'test' \(2, 2\)"):
        read_points(path)
    assert read_points(path, table="test").points.tolist() == X[:2].tolist()
    assert read_labels(path, column="y").tolist() == [0, 1, 0]
    with pytest.raises(InstanceError, match="table = 'Y': there is no such array; expected one of"):
        read_points(path, table="Y")


def test_a_file_of_arrays_runs_nothing_and_takes_no_more_than_it_holds(tmp_path):
    path = npz(tmp_path / "a.npz", X=np.array([[{}]], dtype=object))
    with pytest.raises(InstanceError, match=r"a.npz: "):
        read_points(path)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", stream.getvalue())
    with pytest.raises(InstanceError, match=r"a.npz: is not a file of arrays that numpy.savez"):
        read_points(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InstanceError, match=r"a.npz: is not a file of arrays that numpy.savez"):
        read_points(path)


# Labels


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("u\nv w\nu\nv w\n", "l.txt"),
        ("class\nu\nv w\nu\nv w\n", "l.txt"),
        ('"u"\n"v w"\n"u"\n"v w"\n', "l.txt"),
        ("cluster\n1\n2\n1\n2\n", "l.csv"),
        ("id,label\n0,u\n1,v w\n2,u\n3,v w\n", "l.csv"),
        ("label;id\nu;1\nv w;2\nu;3\nv w;4\n", "l.csv"),
        ("0\tu\n1\tv w\n2\tu\n3\tv w\n", "l.tsv"),
        (",0\n0,2\n1,1\n2,2\n3,1\n", "l.csv"),
    ],
)
def test_spellings_of_the_same_labels(tmp_path, content, name):
    assert read_labels(file(tmp_path, content, name), 4).tolist() == [0, 1, 0, 1]


def test_labels_beside_names_are_taken_by_name(tmp_path):
    path = file(tmp_path, "name,x\nanna b,1\ncarl,2\ndora,3\n")
    origin = read_points(path, index_column="name").origin()
    labels = file(tmp_path, "name,cluster\ndora,7\nanna b,7\ncarl,1\n", "l.csv")
    assert read_labels(labels, 3, origin=origin).tolist() == [0, 1, 0]
    assert read_labels(labels, 3, "cluster", origin=origin).tolist() == [0, 1, 0]
    foreign = file(tmp_path, "name,cluster\nx,7\ny,7\ncarl,1\n", "l.csv")
    with pytest.raises(InstanceError, match="expected --column with the name of the labels"):
        read_labels(foreign, 3, origin=origin)


def test_an_index_without_a_name_numbers_rows_that_have_names(tmp_path):
    origin = read_points(
        file(tmp_path, "name,x\nanna b,1\ncarl,2\ndora,3\n"), index_column="name"
    ).origin()
    labels = file(tmp_path, ",0\n0,5\n1,4\n2,5\n", "l.csv")
    assert read_labels(labels, 3, origin=origin).tolist() == [0, 1, 0]


def test_labels_of_all_rows_or_of_those_that_are_left(tmp_path):
    for options, names in (({"drop": ["name"]}, "0134"), ({"index_column": "name"}, "abde")):
        path = file(tmp_path, "name,x\na,1\nb,2\nc,\nd,4\ne,5\n")
        with pytest.warns(InstanceNote):
            read = read_points(path, missing="drop-rows", **options)
        origin, expected = read.origin(), [0, 0, 1, 0]
        all_names = "01234" if names[0] == "0" else "abcde"
        for lines in (
            [*"uuuvu"],
            [*"uuvu"],
            ["id,k", *(f"{one},{k}" for one, k in zip(all_names, "uuuvu", strict=True))],
            ["id,k", *(f"{one},{k}" for one, k in zip(names, "uuvu", strict=True))],
        ):
            labels = file(tmp_path, "\n".join(lines), "l.txt")
            assert read_labels(labels, 4, origin=origin).tolist() == expected
        assert origin.of_all_rows(np.array(expected)).tolist() == [0, 0, -1, 1, 0]


# Constraints


@pytest.mark.parametrize(
    "content",
    [
        'ML "anna b" carl # twins\nscl "x ""y""" "#1" 0.5\n',
        'i,j,value,weight\nanna b,carl,1,\n"x ""y""",#1,CL,0.5\n',
        'ml,anna b,carl\nSCL,"x ""y""",#1,0.5\n',
        'weight;to;from;kind\n;carl;anna b;must-link\n0.5;#1;"x ""y""";soft cannot-link\n',
    ],
)
def test_names_of_rows_may_hold_anything(tmp_path, content):
    path = file(tmp_path, content, "c.txt")
    read = read_constraints(path, 4, row_names=["anna b", "carl", 'x "y"', "#1"])
    assert np.sort(read.must_link).tolist() == [[0, 1]]
    assert np.sort(read.soft_cannot_link.pairs).tolist() == [[2, 3]]
    assert read.soft_cannot_link.weights.tolist() == [0.5]


@pytest.mark.parametrize("missing", own_declarations(Reading)["missing"].choices)
def test_complete_data_are_left_as_they_are(tmp_path, missing):
    assert read_points(file(tmp_path, COMMA), missing=missing).points.tolist() == EXPECTED


@given(
    table=st.lists(
        st.lists(st.floats(-1e300, 1e300) | st.just(float("nan")), min_size=2, max_size=2),
        min_size=1,
        max_size=6,
    ),
    separator=st.sampled_from(",;\t|"),
    decimal=st.sampled_from(".,"),
)
def test_what_is_told_is_read_to_the_last_bit(folder, table, separator, decimal):
    if separator == decimal or any(np.isnan(row).all() for row in table):
        return
    text = [
        ["" if value != value else repr(value).replace(".", decimal) for value in row]
        for row in table
    ]
    path = file(folder, "\n".join(["x1" + separator + "x2", *map(separator.join, text)]) + "\n")
    expected = np.array(table)
    expected = expected[~np.isnan(expected).any(axis=1)]
    if not len(expected):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InstanceNote)
        read = read_points(path, separator=separator, decimal=decimal, missing="drop-rows")
    assert np.array_equal(read.points, expected)


def test_one_column_with_decimal_commas(tmp_path):
    path = file(tmp_path, "x\n1,5\n2\n-0,25\n")
    assert read_points(path).points.tolist() == [[1.5], [2.0], [-0.25]]
    assert read_points(path, decimal=",").points.tolist() == [[1.5], [2.0], [-0.25]]
    with pytest.raises(InstanceError, match=":2: the row has 2 numbers; line 1 has 1"):
        read_points(file(tmp_path, "x\n1,5\n1,2,3\n"))


@pytest.mark.parametrize("written", ["utf-8", "cp1252"])
def test_an_encoding_of_data_is_no_trap_for_what_is_written_in_utf8(tmp_path, written):
    data = tmp_path / "data.csv"
    data.write_text("name;x\nM\u00fcller;1,5\nS\u00f8ren;2,5\nAnna;9\n", encoding="cp1252")
    labels, pairs = tmp_path / "labels.csv", tmp_path / "pairs.txt"
    labels.write_text("name,cluster\nS\u00f8ren,1\nM\u00fcller,0\nAnna,1\n", encoding=written)
    pairs.write_text("CL M\u00fcller S\u00f8ren\n", encoding=written)
    instance = read_instance(data, 2, pairs, index_column="name", encoding="cp1252")
    assert instance.cannot_link.tolist() == [[0, 1]]
    found = read_labels(labels, 3, origin=instance.origin, encoding="cp1252")
    assert found.tolist() == [0, 1, 1]

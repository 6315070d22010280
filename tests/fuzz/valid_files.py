"""Small valid files of every kind that is read, to begin with."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"

POINTS_TEXT = [
    b"6 2 2\n1 2\n3 4\n5 6\n7 8\n9 10\n11 12.5\n",
    b"# a comment\n\n5 1\n1\n1e-3\n-2.5\n4.\n.5\n",
    b"1 1 1\n0\n",
]
POINTS_CSV = [
    b"x,y\n1,2\n3,4\n5,6\n7,8\n",
    b"name,x,class,y\nanna,1,a,2\nbert,3,b,4\ncarl,5,a,6\n",
    b'"x","y, z"\n1,2\n3,"4"\n',
    b"1,2\n3,4\n-5e3,6\n",
]
CSV_OF_PEOPLE = [
    "Name;Größe, cm;Gewicht\nanna b;1,5;2\nbert;3;\ncarl;NA;1,25\n".encode(),
    "name;x\nü;1,5\nß;2\n".encode("cp1252"),
    "x\ty\n1,5\t2\n3\t4\n".encode("utf-16"),
    b',x,y\n0,1.0,2.0\n1,3,"4"\n',
    b'"x, ""in""","y\n(cm)",\r\n1,2,\r\n"3",4,\r\n,,\r\n',
    b"1,?,3\n4,5,6\n",
]
LABEL_TABLES = [
    b"id,class\n0,a\n1,b\n2,a\n3,c d\n4,a\n5,b\n",
    b"class\na b\nc\n",
    b'"class";"id"\n"u";1\n"v w";2\n',
]
CONSTRAINT_TABLES = [
    b"i,j,value\n0,1,1\n2,3,-1\n",
    b"type;i;j;weight\nML;0;1;\nscl;2;3;0.5\n",
    b'kind,i,j\nML,0,1\n"cannot-link",2,3\n',
    b"i,j,value\n",
]
LABELS = [b"0\n0\n1\n1\n2\n2\n", b"a\nb\nb\na\n", b"1.0\n01\n\n1e0\n-3\n"]
PC_SOS_SDP = [
    b"ML 0 1\nCL 2 3\nSML 1 4 0.5\nSCL 0 5\n",
    b"GAMMA 10\nDELTA 0.5\nMAXSIZE 3\nOVERLAP 1 0 1 2\nDIFFERENCE 2 0 1\nSOFTCL 1 0 1 2 3\n",
    b"# none\n",
]
CCCG = [b"0 1 1\n2 3 -1\n# and\n4 5 -1\n", b"0 1 1\n"]
PCCC = [
    json.dumps(
        {"ml": [[0, 1]], "cl": [[2, 3], [3, 4]], "sml": [[1, 4]], "scl": [[0, 5]]}
        | {"sml_proba": [0.5], "scl_proba": [1.0]}
    ).encode(),
    b'{"ml": [], "cl": [[0, 5]]}',
]
MATRIX = [
    b"".join(
        b" ".join(b"1" if i == j else b"-1" if i + j == 5 else b"0" for j in range(6)) + b"\n"
        for i in range(6)
    )
]
MANIFEST_TOML = [
    b'[defaults]\ntime_limit = 60\none_based = true\n\n[[instance]]\ndata = "a.txt"\n\n'
    b'[[instance]]\ndata = "*.txt"\nconstraints = "{stem}*.txt"\nname = "{parent}.{stem}"\nk = 2\n',
    b'[[instance]]\ndata = "a.csv"\ndrop = ["class"]\nk = 3\ngap = 1e-6\nbounding = "sdp"\n',
]


def npy(array: np.ndarray) -> bytes:
    """The bytes that numpy.save writes."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def points_npy() -> list[bytes]:
    return [npy(np.arange(12.0).reshape(6, 2)), npy(np.arange(6, dtype=">i2").reshape(3, 2))]


def labels_npy() -> list[bytes]:
    return [npy(np.array([0, 0, 1, 1, 2, 2])), npy(np.array(["a", "b", "b"]))]


def compressed_csv() -> list[bytes]:
    return [gzip.compress(content, mtime=0) for content in CSV_OF_PEOPLE[:4]]


def points_npz() -> list[bytes]:
    """The points among other arrays, and alone."""
    files = []
    for arrays in ({"X": np.arange(12.0).reshape(6, 2), "y": np.arange(6)}, {"a": np.eye(3)}):
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        files.append(stream.getvalue())
    return files


def points_feather() -> list[bytes]:
    files = []
    for frame in _frames():
        stream = io.BytesIO()
        frame.to_feather(stream)
        files.append(stream.getvalue())
    return files


def points_excel(folder: Path) -> list[bytes]:
    files = []
    for frame in _frames():
        frame.to_excel(folder / "valid.xlsx", index=False)
        files.append((folder / "valid.xlsx").read_bytes())
    return files


def _frames() -> list[Any]:
    """One with names of rows, a class and a gap, and one of numbers alone."""
    import pandas

    named = {"name": ["a", "b"], "x": [1.5, None], "class": ["u", "v"]}
    return [pandas.DataFrame(named), pandas.DataFrame({"x": [1.5, 2.0], "y": [3.0, 4.0]})]


def points_parquet() -> list[bytes]:
    """One of floats, and one with names of rows and a class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [
        pa.table({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.5, 6.0]}),
        pa.table({"name": ["a", "b", "c"], "x": [1, 2, 3], "class": ["u", "v", "u"]}),
    ]
    files = []
    for table in tables:
        stream = io.BytesIO()
        pq.write_table(table, stream)
        files.append(stream.getvalue())
    return files


def checkpoints(folder: Path) -> Iterator[bytes]:
    """Of runs that were left: in the search, at its end, and before it."""
    import sdpbb
    from sdpbb.bounds.sdp.parameters import SdpParameters

    points = np.random.default_rng(2).normal(size=(34, 6))
    sdp = SdpParameters(max_iterations=20)
    infeasible = sdpbb.Instance(np.arange(3.0)[:, None], 2, cannot_link=[(0, 1), (1, 2), (0, 2)])
    runs = [
        (sdpbb.Instance(points, 4), sdpbb.SolverParameters(bounding="sdp", sdp=sdp, node_limit=2)),
        (sdpbb.Instance(points[:9], 2, [(0, 1)], [(2, 3)]), sdpbb.SolverParameters()),
        (infeasible, sdpbb.SolverParameters()),
    ]
    for number, (instance, parameters) in enumerate(runs):
        path = folder / f"checkpoint-{number}"
        sdpbb.solve(instance, parameters, checkpoint=path)
        yield path.read_bytes()


def csv_points() -> list[bytes]:
    return [*POINTS_CSV, *shared("pccc/*.csv")]


def result_rows() -> list[bytes]:
    """Lines of JSON, as a batch writes them."""
    from sdpbb.questions.batch.outcome import Row
    from sdpbb.questions.study import Failure
    from sdpbb.search.result import SolutionStatus

    asked = dict.fromkeys(("constraints", "time_limit", "node_limit", "memory_limit"))
    asked |= {"name": "a", "message": "", "data": "a.txt", "bounding": "sdp", "gap_asked": 1e-4}
    asked |= {"seed": 0, "version": "0.1", "attempts": 1, "key": "0123"}
    proven = {
        "status": SolutionStatus.OPTIMAL,
        "termination": "gap_closed",
        "n_points": 3,
        "k": 2,
    }
    proven |= {"objective": 1.0, "lower_bound": 1.0, "gap": 0.0, "wall_seconds": 0.5, "n_nodes": 1}
    optimal = Row(**asked | proven)
    bad = Row(**asked | {"name": "b", "message": "it is bad", "status": Failure.BAD_INPUT})
    return ["".join(f"{json.dumps(row.to_row())}\n" for row in (optimal, bad)).encode()]


def shared(pattern: str, most: int = 3) -> list[bytes]:
    """The smallest published files of a kind, where they are."""
    files = sorted(SHARED.glob(pattern), key=lambda path: path.stat().st_size)[:most]
    return [path.read_bytes() for path in files if path.stat().st_size < 100_000]


def bundled(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "instances").glob(pattern))[:2]]

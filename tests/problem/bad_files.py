"""Files that are no valid input, each with the one line that says why."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple


class BadFile(NamedTuple):
    """content None stands for a missing file; `line` is the line number in the message, if any."""

    name: str
    content: str | bytes | None
    line: int | None
    says: str
    file_name: str = "bad.txt"

    def make(self, folder: Path) -> Path:
        path = folder / self.file_name
        if self.content is not None:
            path.write_bytes(
                self.content if isinstance(self.content, bytes) else self.content.encode()
            )
        return path

    def message(self, path: Path) -> str:
        says = self.says.replace("{path}", str(path))
        return f"{path}: {says}" if self.line is None else f"{path}:{self.line}: {says}"


class BadFolder(BadFile):
    """A folder where a file should be."""

    def make(self, folder: Path) -> Path:
        path = folder / self.file_name
        path.mkdir()
        return path


HEADER = "expected the integers n d k or n d, or commas between the numbers of a CSV file"
MISSING = "is the line n d k missing?"
CONSTRAINT = (
    "expected ML i j, CL i j, SML i j w, SCL i j w, GAMMA x, DELTA x, MINSIZE n, SIZES n n-n ..., "
    "MINWEIGHT w, MAXWEIGHT w, "
    "MAXSIZE n, "
    "OVERLAP l i j ..., DIFFERENCE l i j ... or SOFTCL l i j i j ..."
)
MAXSIZE = "expected MAXSIZE n, an integer n >= 1"
OVERLAP = "expected OVERLAP l i j ..., an integer l >= 0 and row numbers"
DIFFERENCE = "expected DIFFERENCE l i j ..., an integer l >= 0 and row numbers"
SOFTCL = "expected SOFTCL l i j i j ..., an integer l >= 0 and pairs of row numbers"
SOFT = "two row numbers and a weight w >= 0 (1 if it is left out)"
OTHER_DATA = "is the file for other data?"
FROM_ONE = "is the file for other data, or does it number rows from 1 (--one-based)?"
ENCODED = "expected UTF-8 text, or --encoding (cp1252 for files of Excel, latin-1, utf-16)"
REMEDY = (
    "expected numbers, or a treatment of missing values (--missing drop-rows, mean or median; "
    "missing= in Python; or scikit-learn's imputers)"
)

UNREADABLE = [
    BadFile("missing", None, None, "there is no such file"),
    BadFolder("folder", None, None, "is a folder; expected a text file"),
    BadFile(
        "binary",
        b"\x89PNG\r\n\x1a\n",
        None,
        f"is not UTF-8 text (byte 0x89); {ENCODED}",
    ),
    BadFile(
        "latin-1",
        "2 1 1\n1\né\n".encode("latin-1"),
        None,
        f"is not UTF-8 text (byte 0xe9); {ENCODED}",
    ),
    BadFile(
        "half a file of gzip",
        gzip.compress(b"2 1 1\n1\n2\n")[:12],
        None,
        "is a damaged gzip file (Compressed file ended before the end-of-stream marker was "
        "reached)",
    ),
    BadFile(
        "half a letter of UTF-16",
        b"\xff\xfe1",
        None,
        "is not UTF-16-LE text (byte 0x31); expected another encoding",
    ),
]

BAD_POINTS = [
    *UNREADABLE,
    BadFile("empty", "", None, "the file is empty; expected points"),
    BadFile("blank", "\n  \n", None, "the file is empty; expected points"),
    BadFile("words", "hello world\n", 1, f"the first line is 'hello world'; {HEADER}"),
    BadFile(
        "no header",
        "5.1 3.5 1.4 0.2\n",
        1,
        f"the first line is '5.1 3.5 1.4 0.2'; {HEADER}; {MISSING}",
    ),
    BadFile(
        "fraction in header", "2 1.0\n1\n2\n", 1, f"the first line is '2 1.0'; {HEADER}; {MISSING}"
    ),
    BadFile("late header", "\n\nn d k\n", 3, f"the first line is 'n d k'; {HEADER}"),
    BadFile("zero byte", "\0\0\n", 1, f"the first line is '\\x00\\x00'; {HEADER}"),
    BadFile("n = 0", "0 2\n", 1, f"n = 0, d = 2; expected n >= 1 and d >= 1; {MISSING}"),
    BadFile("negative d", "3 -2\n", 1, f"n = 3, d = -2; expected n >= 1 and d >= 1; {MISSING}"),
    BadFile("k = 0", "2 1 0\n1\n2\n", 1, f"k = 0; expected 1 <= k <= n = 2; {MISSING}"),
    BadFile("k > n", "2 1 3\n1\n2\n", 1, f"k = 3; expected 1 <= k <= n = 2; {MISSING}"),
    BadFile(
        "absurd n",
        "999999999999999 999999999999999 3\n1 2\n",
        2,
        "the row has 2 numbers; line 1 says d = 999999999999999",
    ),
    BadFile("no rows", "3 2 1\n", 1, "says n = 3, but the file has 0 rows of points"),
    BadFile(
        "too few rows",
        "900000000000000 2 1\n1 2\n\n3 4\n",
        1,
        "says n = 900000000000000, but the file has 2 rows of points",
    ),
    BadFile("too many rows", "1 2\n1 2\n\n3 4\n", 4, "one row too many; line 1 says n = 1"),
    BadFile("ragged", "2 2\n1 2\n3\n", 3, "the row has 1 numbers; line 1 says d = 2"),
    BadFile(
        "other d", "2 3\n1 2\n3 4\n", 2, f"the row has 2 numbers; line 1 says d = 3; {MISSING}"
    ),
    BadFile(
        "nan",
        "2 2\n1 2\n3 nan\n",
        3,
        f"column 2 is 'nan', and 1 row of 2 lacks a value; {REMEDY}",
    ),
    BadFile("inf", "2 2\n-inf 2\n3 4\n", 2, "column 1 is '-inf'; expected a finite number"),
    BadFile("overflow", "1 2\n1e999 2\n", 2, "column 1 is '1e999'; expected a finite number"),
    BadFile("not a number", "1 2\n1 x\n", 2, "column 2 is 'x'; expected a finite number"),
    BadFile("underscore", "1 2\n1_0 2\n", 2, "column 1 is '1_0'; expected a finite number"),
    BadFile("two commas", "1 2\n1,5,0 2\n", 2, "column 1 is '1,5,0'; expected a finite number"),
    BadFile("hidden zero byte", "1 1\n1\0\n", 2, "column 1 is '1\\x00'; expected a finite number"),
    BadFile(
        "csv class column",
        "x,class\n1,setosa\n",
        2,
        "column 2 is 'setosa'; expected a finite number, or to leave the column out (--drop "
        "'class')",
        "bad.csv",
    ),
    BadFile(
        "csv first row with text",
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",
        1,
        "column 3 is 'setosa' beside numbers; expected a row of numbers, or a heading without "
        "numbers, or --drop 3 to ignore the column",
    ),
    BadFile(
        "csv first row with a gap",
        "1,,3\n4,5,6\n",
        1,
        f"column 2 is '', and 1 row of 2 lacks a value; {REMEDY}",
    ),
    BadFile("csv gap", "1,2\n3,\n", 2, f"column 2 is '', and 1 row of 2 lacks a value; {REMEDY}"),
    BadFile(
        "csv gaps of all spellings",
        "x,y\n1,2\nNA,3\n?,null\n\n5,N/A\n",
        3,
        f"column 1 ('x') is 'NA', and 3 rows of 4 lack a value; {REMEDY}",
    ),
    BadFile(
        "csv columns of words",
        "name,x,sex,y,city\na,1,f,2,rome\nb,,m,3,rome\nc,4,f,5,oslo\n",
        2,
        "column 1 is 'a'; expected a finite number, or to leave such columns out (--drop 'name' "
        "--drop 'sex' --drop 'city'), or to name the rows by it (--index-column 'name')",
    ),
    BadFile(
        "csv one cell of text",
        "class,x,income\na,1,5\nb,2,n/a?\nc,,7\nd,4,8\n",
        2,
        "column 1 is 'a'; expected a finite number, or to leave the column out (--drop 'class'), "
        "or to name the rows by it (--index-column 'class')",
        "bad.csv",
    ),
    BadFile(
        "csv one cell of text in a column of numbers",
        "x,income\n1,5\n2,n/a?\n,7\n4,8\n",
        3,
        "column 2 is 'n/a?'; expected a finite number, as in 3 of 4 rows of 'income': correct this "
        "cell, or empty it if the value is missing, and choose what to do about missing values "
        "(--missing drop-rows, mean or median; missing= in Python)",
        "bad.csv",
    ),
    BadFile(
        "csv one cell of text without a heading",
        "1,2\n3,4x\n5,6\n",
        2,
        "column 2 is '4x'; expected a finite number, as in 2 of 3 rows: correct this cell, or "
        "empty it if the value is missing, and choose what to do about missing values (--missing "
        "drop-rows, mean or median; missing= in Python)",
        "bad.csv",
    ),
    BadFile(
        "csv dates",
        "x,day\n1,2024-02-01\n",
        2,
        "column 2 is '2024-02-01'; expected a finite number instead of a date, or to leave "
        "the column out (--drop 'day')",
    ),
    BadFile(
        "csv booleans",
        "x,old\n1,True\n2,False\n",
        2,
        "column 2 is 'True'; expected a finite number (0 and 1, say), or to leave the column out "
        "(--drop 'old')",
    ),
    BadFile(
        "csv per cent",
        "x,share\n1,5 %\n",
        2,
        "column 2 is '5 %'; expected a finite number without a per cent sign, or to leave the "
        "column out (--drop 'share')",
    ),
    BadFile(
        "csv thousands",
        'x,y\n1,"1,234"\n2,"2,345"\n',
        2,
        "column 2 is '1,234'; expected a finite number with decimal points, or --decimal ',' for "
        "decimal commas (without thousands separators); the file does not say which",
    ),
    BadFile(
        "csv millions",
        'x,y\n1,"1,234,567"\n',
        2,
        "column 2 is '1,234,567'; expected a finite number without thousands separators",
    ),
    BadFile(
        "european thousands",
        "x;y\n1,5;1.234,56\n",
        2,
        "column 2 is '1.234,56'; expected a finite number without thousands separators",
    ),
    BadFile(
        "swiss thousands",
        "x;y\n1;1'234.5\n",
        2,
        'column 2 is "1\'234.5"; expected a finite number without thousands separators',
    ),
    BadFile(
        "points and decimal commas",
        "x;y\n1,5;2.5\n",
        2,
        "column 1 is '1,5'; expected a finite number with decimal points, or --decimal ',' for "
        "decimal commas (without thousands separators); the file does not say which",
    ),
    BadFile(
        "two separators",
        "a;b,c\nx;1,y\nz;2,w\n",
        1,
        "the separator may be ',' or ';'; select one with --separator",
    ),
    BadFile(
        "an open quote",
        'x,y\n1,"2\n3,4\n',
        2,
        "a quote is not closed; expected another one",
        "bad.csv",
    ),
    BadFile(
        "a column without a name",
        "x,,z\n1,2,3\n",
        1,
        "column 2 has no name; expected one (only a first column with names or numbers of rows "
        "needs none)",
    ),
    BadFile(
        "values under a separator at the end",
        "x,y,\n1,2,\n3,4,5\n",
        3,
        "column 3 is '5', and has no name in line 1; expected one",
    ),
    BadFile("csv ragged", "1,2\n3,4,5\n", 2, "the row has 3 numbers; line 1 has 2"),
    BadFile("csv other width", "x,y,z\n3,4\n", 2, "the row has 2 numbers; line 1 has 3"),
    BadFile("csv heading only", "x,y\n", 1, "no rows after the heading; expected points"),
    BadFile(
        "other digits", "1,2\n\u0663,4\n", 2, "column 1 is '\\u0663'; expected a finite number"
    ),
    BadFile("separator", "1,2\n3\x1c,4\n", 2, "column 1 is '3\\x1c'; expected a finite number"),
    BadFile("underscore in csv", "1,2\n3,4_0\n", 2, "column 2 is '4_0'; expected a finite number"),
    BadFile("comments only", "# nothing\n", None, "the file is empty; expected points"),
    BadFile(
        "csv nan", "1,2\nNaN,3\n", 2, f"column 1 is 'NaN', and 1 row of 2 lacks a value; {REMEDY}"
    ),
]

# For data with the rows 0 to 3.
BAD_CONSTRAINTS = [
    *UNREADABLE,
    BadFile("unknown", "ML 0 1\nMUST 0 1\n", 2, f"unknown constraint 'MUST'; {CONSTRAINT}"),
    BadFile("lower case", "ml 0\n", 1, "'ML 0'; expected ML i j, two row numbers"),
    BadFile("one row", "ML 0\n", 1, "'ML 0'; expected ML i j, two row numbers"),
    BadFile("three rows", "CL 0 1 2\n", 1, "'CL 0 1 2'; expected CL i j, two row numbers"),
    BadFile("not a row", "CL 0 1.0\n", 1, "'CL 0 1.0'; expected CL i j, two row numbers"),
    BadFile(
        "out of range",
        "ML 0 1\n\nCL 2 4\n",
        3,
        f"'CL 2 4' names row 4, but the data has rows 0 to 3; {FROM_ONE}",
    ),
    BadFile(
        "negative row",
        "CL -1 2\n",
        1,
        f"'CL -1 2' names row -1, but the data has rows 0 to 3; {OTHER_DATA}",
    ),
    BadFile("i = j", "ML 2 2\n", 1, "'ML 2 2' pairs a point with itself; expected i != j"),
    BadFile("weight on ML", "ML 0 1 0.5\n", 1, "'ML 0 1 0.5'; expected ML i j, two row numbers"),
    BadFile("SML alone", "SML\n", 1, f"'SML'; expected SML i j w, {SOFT}"),
    BadFile("SCL with one row", "SCL 0\n", 1, f"'SCL 0'; expected SCL i j w, {SOFT}"),
    BadFile("SML, not a row", "SML 0 x 1\n", 1, f"'SML 0 x 1'; expected SML i j w, {SOFT}"),
    BadFile("five fields", "SCL 0 1 1 1\n", 1, f"'SCL 0 1 1 1'; expected SCL i j w, {SOFT}"),
    BadFile("negative weight", "SML 0 1 -1\n", 1, f"'SML 0 1 -1'; expected SML i j w, {SOFT}"),
    BadFile("weight nan", "SML 0 1 nan\n", 1, f"'SML 0 1 nan'; expected SML i j w, {SOFT}"),
    BadFile("weight in words", "SML 0 1 low\n", 1, f"'SML 0 1 low'; expected SML i j w, {SOFT}"),
    BadFile(
        "SCL out of range",
        "SCL 0 1 0.5\nSCL 0 4 0.5\n",
        2,
        f"'SCL 0 4 0.5' names row 4, but the data has rows 0 to 3; {FROM_ONE}",
    ),
    BadFile(
        "SML, i = j", "SML 2 2 1\n", 1, "'SML 2 2 1' pairs a point with itself; expected i != j"
    ),
    BadFile(
        "negative GAMMA",
        "GAMMA -1\n",
        1,
        "'GAMMA -1'; expected GAMMA x, a finite distance x >= 0",
    ),
    BadFile(
        "GAMMA inf", "GAMMA inf\n", 1, "'GAMMA inf'; expected GAMMA x, a finite distance x >= 0"
    ),
    BadFile("DELTA alone", "DELTA\n", 1, "'DELTA'; expected DELTA x, a finite distance x >= 0"),
    BadFile(
        "two DELTA", "DELTA 1\nDELTA 2\n", 2, "a second DELTA, after {path}:1; expected at most one"
    ),
    BadFile(
        "two MAXSIZE",
        "MAXSIZE 3\nML 0 1\nmaxsize 3\n",
        3,
        "a second MAXSIZE, after {path}:1; expected at most one",
    ),
    BadFile("MAXSIZE alone", "MAXSIZE\n", 1, f"'MAXSIZE'; {MAXSIZE}"),
    BadFile("MAXSIZE 0", "ML 0 1\nMAXSIZE 0\n", 2, f"'MAXSIZE 0'; {MAXSIZE}"),
    BadFile("MAXSIZE with rows", "MAXSIZE 2 0\n", 1, f"'MAXSIZE 2 0'; {MAXSIZE}"),
    BadFile("fraction in MAXSIZE", "MAXSIZE 2.0\n", 1, f"'MAXSIZE 2.0'; {MAXSIZE}"),
    BadFile("OVERLAP without rows", "OVERLAP 2\n", 1, f"'OVERLAP 2'; {OVERLAP}"),
    BadFile("negative OVERLAP", "OVERLAP -1 2\n", 1, f"'OVERLAP -1 2'; {OVERLAP}"),
    BadFile("DIFFERENCE in words", "DIFFERENCE 1 x\n", 1, f"'DIFFERENCE 1 x'; {DIFFERENCE}"),
    BadFile("half a pair", "SOFTCL 1 0 1 2\n", 1, f"'SOFTCL 1 0 1 2'; {SOFTCL}"),
    BadFile(
        "SOFTCL, i = j",
        "SOFTCL 1 0 1 2 2\n",
        1,
        "'SOFTCL 1 0 1 2 2' pairs a point with itself; expected i != j",
    ),
    BadFile(
        "OVERLAP out of range",
        "OVERLAP 1 0 4\n",
        1,
        f"'OVERLAP 1 0 4' names row 4, but the data has rows 0 to 3; {FROM_ONE}",
    ),
    BadFile(
        "SOFTCL out of range",
        "SOFTCL 1 -1 2\n",
        1,
        f"'SOFTCL 1 -1 2' names row -1, but the data has rows 0 to 3; {OTHER_DATA}",
    ),
]

# For data with 4 points.
BAD_LABELS = [
    *UNREADABLE,
    BadFile("empty labels", "", None, "the file is empty; expected labels"),
    BadFile(
        "too few",
        "0\n0\n1\n",
        None,
        "3 labels for 4 points; expected one per line and point",
    ),
    BadFile("too many", "0\n" * 5, None, "5 labels for 4 points; expected one per line and point"),
    BadFile("two columns", "0\n\n1 0\n", 3, "'1 0'; expected one label per line"),
    BadFile(
        "ids in another order",
        "id,label\n3,0\n2,0\n1,1\n0,1\n",
        1,
        "a table of the columns 'id', 'label'; expected --column with the name of the labels",
    ),
    BadFile(
        "three columns",
        "0,1,a\n1,1,b\n2,5,b\n3,2,b\n",
        1,
        "a table of the columns '1', '2', '3'; expected --column with the name of the labels",
    ),
    BadFile(
        "no label", "id,label\n0,a\n1,\n2,a\n3,b\n", 3, "has no label; expected one for every row"
    ),
]

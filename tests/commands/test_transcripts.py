"""Commands are transcripts: what is typed, what is printed, and what is in the files then.

Each file *.txt beside this one has cases, which read like a session in a terminal:

    # A title.
    > constraints.txt          writes a file: the indented lines that follow
      ML 1 2
    $ sdpbb check points.txt   runs the command
      what it prints
    ! what it prints to standard error
    [2]                        the exit code, if it is not 0
    $ cat labels.txt           prints a file
    $ ls folder                lists a folder, but for the files that every case begins with
    $ json out.json k gap      prints values of a JSON file, by their names

A case begins in a folder of its own with the files in `FILES`. What differs from run to run is
replaced: seconds by T, versions by VERSION, the folder by FOLDER, rows of the table of progress and
decimals after the fourth by nothing. `...` stands for any text, alone in a line for any lines.

UPDATE_TRANSCRIPTS=1 writes what is printed today, except into cases that match it already.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).parent
FILES = {
    "points.txt": "4 2 2\n0 0\n5 0\n5 1\n5 2\n",
    "points.csv": "id,x,y,class\na,0,0,u\nb,5,0,v\nc,5,1,v\nd,5,2,v\n",
    "best.txt": "x\ny\ny\ny\n",
    "worse.txt": "3\n3\n7\n7\n",
    "pairs.txt": "# known\nML 2 3\nCL 0 1\n",
    "clash.txt": "# from a survey\nML 1 2\nCL 3 1\n\nML 2 3\n",
}
REPLACED = (
    (re.compile(r"\b\d+\.\d+ s\b"), "T s"),
    (re.compile(r"^[KLSBH ] +\d+ +\d+ .*\d\.\ds\n", re.MULTILINE), ""),
    (re.compile(r"\bsdpbb \d+\.\d+\.\d+"), "sdpbb VERSION"),
    (re.compile(r"(\.\d{4})\d+"), r"\1"),
)


class Step(NamedTuple):
    """A line that is typed or written, and the lines below it."""

    line: str
    expected: str


class Case(NamedTuple):
    """A session: a title and its steps."""

    title: str
    steps: list[Step]

    def text(self) -> str:
        return "".join([f"# {self.title}\n", *(f"{line}\n{rest}" for line, rest in self.steps)])


def cases_of(path: Path) -> list[Case]:
    """The cases of a file; lines above the first title are left out."""
    cases: list[Case] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            cases.append(Case(line[2:], []))
        elif line.startswith(("$ ", "> ")):
            cases[-1].steps.append(Step(line, ""))
        elif line:
            last = cases[-1].steps.pop()
            cases[-1].steps.append(Step(last.line, f"{last.expected}{line}\n"))
    return cases


def printed(run: Any, line: str) -> str:
    """What a line that is typed prints, as it stands in a transcript."""
    program, *words = shlex.split(line)
    if program == "cat":
        return indented(replaced(Path(words[0]).read_text(encoding="utf-8")))
    if program == "ls":
        names = sorted(os.listdir(*words))
        return indented("".join(f"{name}\n" for name in names if name not in FILES))
    if program == "json":
        values = json.loads(Path(words[0]).read_text(encoding="utf-8"))
        lines = "".join(f"{name}: {value_at(values, name)}\n" for name in words[1:])
        return indented(replaced(lines))
    assert program == "sdpbb", line
    status, out, err = run(*words)
    errors = "".join(f"! {text}".rstrip() + "\n" for text in replaced(err).splitlines() if text)
    return indented(replaced(out)) + errors + (f"[{status}]\n" if status else "")


def replaced(text: str) -> str:
    """The text without what differs from run to run."""
    text = text.replace(os.getcwd(), "FOLDER")
    for pattern, other in REPLACED:
        text = pattern.sub(other, text)
    return text


def value_at(values: Any, name: str) -> str:
    """A value by its names with dots between them, or numbers of entries of a list."""
    for part in name.split("."):
        values = values[int(part)] if isinstance(values, list) else values[part]
    return json.dumps(values)


def indented(text: str) -> str:
    return "".join(f"  {line}".rstrip() + "\n" for line in text.splitlines() if line.strip())


def matches(expected: str, found: str) -> bool:
    """Whether the text found is the one that is expected."""
    pattern = re.escape(expected)
    for lines in ("  ...\n", "! ...\n"):
        pattern = pattern.replace(re.escape(lines), "(?:.*\n)*?")
    return re.fullmatch(pattern.replace(re.escape("..."), ".*"), found) is not None


def played(run: Any, case: Case) -> Iterator[tuple[Step, str]]:
    """The steps of a case with what each of them prints."""
    for step in case.steps:
        if step.line.startswith("> "):
            text = "".join(f"{line[2:]}\n" for line in step.expected.splitlines())
            Path(step.line[2:]).write_text(text, encoding="utf-8")
            yield step, step.expected
        else:
            yield step, printed(run, step.line[2:])


ALL = [
    pytest.param(path, number, id=f"{path.stem}: {case.title}")
    for path in sorted(HERE.glob("*.txt"))
    for number, case in enumerate(cases_of(path))
]


@pytest.mark.parametrize(("path", "number"), ALL)
def test_a_session(run, tmp_path, monkeypatch, path, number):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    cases = cases_of(path)
    case = cases[number]
    steps = list(played(run, case))
    if os.environ.get("UPDATE_TRANSCRIPTS") == "1":
        kept = [Step(s.line, s.expected if matches(s.expected, x) else x) for s, x in steps]
        cases[number] = Case(case.title, kept)
        path.write_text("\n".join(each.text() for each in cases), encoding="utf-8")
        return
    for step, found in steps:
        if not matches(step.expected, found):
            pytest.fail(f"{step.line}\n--- expected\n{step.expected}--- printed\n{found}")


@pytest.mark.parametrize("path", sorted(HERE.glob("*.txt")), ids=lambda path: path.stem)
def test_titles_are_different(path):
    titles = [case.title for case in cases_of(path)]
    assert len(set(titles)) == len(titles) > 0

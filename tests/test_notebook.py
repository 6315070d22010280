"""Progress in a notebook: one output that is updated, text that is escaped."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import sdpbb
from sdpbb.run.report import (
    FIRST,
    LAST,
    NotebookStream,
    announcement,
    in_notebook,
    progress_table,
)
from sdpbb.search.events import Compiling, ignore

POINTS = [[0.0], [0.1], [5.0], [5.1]]


class Output:
    """Output of a cell, with all that it has shown."""

    def __init__(self, shown):
        self.shown = [shown]

    def update(self, shown):
        self.shown.append(shown)


@pytest.fixture
def outputs(monkeypatch):
    """The outputs of a notebook whose kernel this process seems to be."""
    made = []

    def display(shown, *, display_id):
        assert display_id is True
        made.append(Output(shown))
        return made[-1]

    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    module = ModuleType("IPython.display")
    module.HTML, module.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return made


def test_a_run_updates_one_output(outputs, capsys):
    result = sdpbb.solve(POINTS, 2, verbose=True, name="<b>")
    (output,) = outputs
    assert len(output.shown) > 2
    assert output.shown[-1].startswith("<pre style=")
    assert "&lt;b&gt;: 4 points" in output.shown[-1]
    assert "<b>" not in output.shown[-1]
    assert f"{result.objective:.12g}" in output.shown[-1]
    assert capsys.readouterr().out == ""


def test_long_tables_are_cut_in_the_middle(outputs):
    stream = NotebookStream()
    for line in range(100):
        stream.write(f"line {line}\n")
    stream.flush()
    (text,) = outputs[0].shown
    assert text.count("\n") == FIRST + LAST
    assert f"line {FIRST - 1}\n  ...\nline {100 - LAST}\n" in text


def test_compilation_is_announced(outputs):
    announce = announcement()
    announce(Compiling())
    assert "Compiling kernels" in outputs[0].shown[0]


def test_a_quiet_run_shows_nothing(outputs):
    sdpbb.solve(POINTS, 2)
    assert all("Compiling" in shown for output in outputs for shown in output.shown)


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_a_terminal_is_no_notebook(monkeypatch, capsys, shell):
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not in_notebook()
    assert announcement() is ignore
    progress_table()(Compiling())
    assert capsys.readouterr().out == "Compiling kernels: once per machine and version\n"

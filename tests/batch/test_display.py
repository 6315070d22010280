import io

import pytest
from rich.console import Console

from sdpbb.questions.batch.batch import BatchEnded, BatchStarted, JobEnded
from sdpbb.questions.batch.display import LiveDisplay, PlainLines, clock
from sdpbb.questions.batch.outcome import BatchResult, short_line, summary
from sdpbb.questions.study import AtWork, JobPutBack, JobStarted, Stopping
from sdpbb.run.report import COMPILING
from sdpbb.search.events import Compiling
from tests.batch.rows import failed, limited, row

A, BAD, LIMITED = row(name="a"), failed(name="bad"), limited(name="l")
RESULT = BatchResult((A, BAD), 2, 1.0)
PUT_BACK = "x: worker process was ended by SIGKILL; retried once, at the end and alone\n"


def test_plain_lines():
    stream = io.StringIO()
    tell = PlainLines(stream, "9.9")
    tell(BatchStarted(10, 8, 2))
    tell(JobStarted("a", 1))
    tell(Compiling())
    tell(JobEnded(A, 9, 10))
    tell(JobPutBack("x", "was ended by SIGKILL"))
    tell(JobEnded(BAD, 10, 10))
    tell(BatchEnded(RESULT))
    assert stream.getvalue() == (
        "sdpbb 9.9: batch of 10 instances, 8 of them done before, 2 workers\n"
        f"{COMPILING}\n"
        f"[ 9/10] {short_line(A)}\n"
        f"{PUT_BACK}"
        f"[10/10] {short_line(BAD)}\n"
        f"\n{summary(RESULT)}"
    )
    assert stream.getvalue().isascii()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00:00"), (59.6, "0:01:00"), (3725, "1:02:05"), (1e5, "27:46:40")]
)
def test_clock(seconds, text):
    assert clock(seconds) == text


@pytest.fixture
def now(monkeypatch):
    """Seconds that pass when they are told to."""
    time = [100.0]
    monkeypatch.setattr("sdpbb.questions.batch.display.time.monotonic", lambda: time[0])
    return time


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def display(now, stream):
    console = Console(file=stream, force_terminal=True, width=80, color_system=None)
    return LiveDisplay(console, "9.9")


def test_plain_lines_say_that_work_goes_on(stream):
    tell = PlainLines(stream, "9.9")
    tell(BatchStarted(12, 3, 2))
    tell(AtWork(2, 70.4))
    assert stream.getvalue().endswith("\n[ 3/12] 2 running, 0:01:10\n")


def test_the_live_display_says_what_is_going_on(display, now):
    display(BatchStarted(10, 2, 2))
    display(JobStarted("a", 1))
    now[0] += 3
    display(JobStarted("b", 1))
    now[0] += 1
    assert display._lines() == [
        "2/10 done, 0:00:04",
        "so far: none",
        "running: a (0:00:04), b (0:00:01)",
    ]
    display(JobEnded(A, 3, 10))
    display(JobPutBack("b", "was ended by SIGKILL"))
    assert display._lines() == [
        "3/10 done, 0:00:04, about 0:00:28 remaining",  # 4 s each
        "so far: 1 optimal",
        "running: none",
    ]
    display(Stopping())
    assert display._lines()[0] == "3/10 done, 0:00:04, interrupted: waiting for running instances"


def test_the_live_display_names_some_of_many(display):
    display(BatchStarted(20, 0, 12))
    for number in range(12):
        display(JobStarted(f"{number}", 1))
    assert display._lines()[2].endswith("7 (0:00:00), and 4 more")


def test_the_live_display_leaves_what_has_no_answer(display, stream):
    display(BatchStarted(3, 0, 1))
    display(Compiling())
    for done, one in enumerate((A, BAD, LIMITED), start=1):
        display(JobEnded(one, done, 3))
    display(JobPutBack("x", "was ended by SIGKILL"))
    text = stream.getvalue()
    assert text == (
        "sdpbb 9.9: batch of 3 instances, 1 worker\n"
        f"{COMPILING}\n{short_line(BAD)}\n{short_line(LIMITED)}\n{PUT_BACK}"
    )


def test_what_is_drawn_is_gone_at_the_end(display, stream):
    with display:
        display(BatchStarted(2, 0, 1))
        display(JobStarted("[bold]ä", 1))
        display._live.refresh()
        display(BatchEnded(RESULT))
    text = stream.getvalue()
    assert "running: '[bold]\\xe4' (0:00:00)" in text or "running: [bold]ä (0:00:00)" in text
    assert text.endswith(summary(RESULT))
    assert "\x1b[2K" in text  # lines were erased


def test_lines_are_cut_to_the_width_of_the_terminal(stream, now):
    console = Console(file=stream, force_terminal=True, width=20, color_system=None)
    with LiveDisplay(console, "9.9") as display:
        display(BatchStarted(1, 0, 1))
        display(JobStarted("x" * 50, 1))
        display._live.refresh()
    assert "running: xxxxxxxxxxx\n" in stream.getvalue().replace("\r", "\n")

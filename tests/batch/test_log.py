import io

from sdpbb.questions.batch.batch import BatchEnded, BatchLog, BatchStarted, JobEnded
from sdpbb.questions.batch.outcome import BatchResult, short_line, summary
from sdpbb.questions.study import AtWork, JobPutBack, JobStarted
from sdpbb.run.report import COMPILING
from sdpbb.search.events import Compiling
from tests.batch.rows import failed, row

A, BAD = row(name="a"), failed(name="bad")
RESULT = BatchResult((A, BAD), 2, 1.0)


def test_a_batch_is_told_in_plain_lines():
    stream = io.StringIO()
    tell = BatchLog(stream, "9.9")
    tell(BatchStarted(10, 8, 2))
    tell(JobStarted("a", 1))
    tell(Compiling())
    tell(AtWork(2, 70.4))
    tell(JobEnded(A, 9, 10))
    tell(AtWork(1, 3725.0))
    tell(JobPutBack("x", "was ended by SIGKILL"))
    tell(JobEnded(BAD, 10, 10))
    tell(BatchEnded(RESULT))
    assert stream.getvalue() == (
        "sdpbb 9.9: batch of 10 instances, 8 of them done before, 2 workers\n"
        f"{COMPILING}\n"
        "[ 8/10] 2 running, 0:01:10\n"
        f"[ 9/10] {short_line(A)}\n"
        "[ 9/10] 1 running, 1:02:05, about 1:02:05 remaining\n"
        "x: worker process was ended by SIGKILL; retried once, at the end and alone\n"
        f"[10/10] {short_line(BAD)}\n"
        f"\n{summary(RESULT)}"
    )
    assert stream.getvalue().isascii()

"""Workers, whatever they do."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sdpbb.batch.crew import FAILED_STARTS, Completion, Ending, crew
from sdpbb.batch.process import _BEGIN
from sdpbb.batch.worker import LOST_PARENT
from sdpbb.errors import BackendFailure
from tests.batch.misbehaving import INTERRUPTED, RESULT

WORK = "tests.batch.misbehaving"
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")


def task(path):
    return {"data": str(path)}


def wait_for(workers, n=1, seconds=60.0):
    """The next n completions."""
    found: list[Completion] = []
    deadline = time.monotonic() + seconds
    while len(found) < n:
        assert time.monotonic() < deadline, found
        found += workers.wait(0.05)
    return found


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_worker_stays_and_gets_one_task_after_the_other():
    with crew(1, WORK, "", 1.0) as workers:
        pids = set()
        for number in range(3):
            assert workers.n_free == 1
            workers.submit(number, task("echo"))
            assert (workers.n_free, workers.running) == (0, [number])
            (done,) = wait_for(workers)
            assert (done.key, done.ending) == (number, Ending.DONE)
            assert done.value["task"] == task("echo")
            assert done.value["threads"] == "1"
            pids.add(done.value["pid"])
        assert len(pids) == 1
        assert pids != {os.getpid()}
    assert not psutil.pid_exists(pids.pop())


def test_the_first_worker_shows_that_it_can_work_before_others_are_started(tmp_path):
    with crew(3, WORK, "", 1.0) as workers:
        assert workers.n_free == 1
        workers.submit(0, task("echo"))
        assert workers.n_free == 0
        wait_for(workers)
        assert workers.n_free == 3
        for number in range(3):
            workers.submit(number, task(tmp_path / f"waits-{number}"))
        assert workers.n_free == 0
        wait_until(lambda: len(list(tmp_path.iterdir())) == 3)  # all at the same time


def test_a_death_is_told_of_its_own_task_only(tmp_path):
    reasons = {
        "exits": "ended with exit status 3: the reason",
        "segfault": "was ended by SIGSEGV",
        "once": "was ended by SIGKILL (by somebody, or by the system if memory ran out)",
    }
    with crew(2, WORK, "", 1.0) as workers:
        workers.submit(0, task("echo"))
        wait_for(workers)
        workers.submit(1, task(tmp_path / "waits"))
        wait_until((tmp_path / "waits").exists)
        for number, action in enumerate(reasons, start=2):
            workers.submit(-number, task("echo"))  # its worker has said something before
            (done,) = wait_for(workers)
            assert (done.key, done.ending) == (-number, Ending.DONE)
            workers.submit(number, task(tmp_path / action))
            assert wait_for(workers) == [Completion(number, Ending.DIED, None, reasons[action])]
        workers.submit(0, task("echo"))
        (done,) = wait_for(workers)
        assert (done.key, done.ending) == (0, Ending.DONE)
        assert workers.running == [1]


def test_a_worker_that_dies_idle_is_replaced():
    with crew(1, WORK, "", 1.0) as workers:
        workers.submit(0, task("echo"))
        (done,) = wait_for(workers)
        os.kill(done.value["pid"], signal.SIGKILL)
        assert workers.wait(0.5) == []
        workers.submit(1, task("echo"))
        (again,) = wait_for(workers)
        assert again.ending is Ending.DONE
        assert again.value["pid"] != done.value["pid"]


def test_what_does_not_come_back_in_time_is_killed(tmp_path):
    with crew(1, WORK, "", 0.2) as workers:
        workers.submit(0, task(tmp_path / "hang"), 0.3)
        (pid,) = (child.pid for child in psutil.Process().children() if is_worker(child))
        assert wait_for(workers) == [Completion(0, Ending.OVERDUE)]
        assert not psutil.pid_exists(pid)
        assert workers.n_free == 1


def test_time_counts_from_the_last_step():
    with crew(1, WORK, "", 0.4) as workers:
        workers.submit(0, task("steps"), 0.3)
        assert wait_for(workers) == [Completion(0, Ending.DONE, RESULT)]


def test_a_task_without_a_limit_may_take_as_long_as_it_likes(tmp_path):
    with crew(1, WORK, "", 0.0) as workers:
        workers.submit(0, task(tmp_path / "hang"))
        wait_until((tmp_path / "hang").exists)
        assert workers.wait(0.5) == []
        assert workers.running == [0]


def test_an_interrupt_ends_what_heeds_it_and_kills_what_does_not(tmp_path):
    with crew(2, WORK, "", 1.0) as workers:
        workers.submit(0, task("echo"))
        wait_for(workers)
        workers.submit(1, task(tmp_path / "waits"))
        workers.submit(2, task(tmp_path / "hang"))
        wait_until(lambda: {1, 2} <= {*workers.running} and len(list(tmp_path.iterdir())) == 2)
        workers.wait(0.2)  # for what they say as they begin
        workers.interrupt()
        ended = {done.key: done for done in wait_for(workers, 2)}
        assert ended[1] == Completion(1, Ending.DONE, INTERRUPTED)
        assert ended[2] == Completion(2, Ending.OVERDUE)


def test_an_interrupt_ends_what_has_not_begun_at_once():
    with crew(1, WORK, "", 60.0) as workers:
        workers.submit(0, task("hang"))
        workers.interrupt()
        assert workers.wait(0.0) == [Completion(0, Ending.NOT_BEGUN)]


def test_workers_that_cannot_start_are_given_up():
    def start(workers, number):
        workers.submit(number, task("echo"))
        return wait_for(workers)

    with crew(1, WORK, "broken", 1.0) as workers:
        for number in range(FAILED_STARTS - 1):
            assert [done.ending for done in start(workers, number)] == [Ending.NOT_BEGUN]
        with pytest.raises(BackendFailure) as caught:
            start(workers, FAILED_STARTS)
    assert str(caught.value) == (
        "worker processes die while they start: ended with exit status 1: works"
    )


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("subprocess.Popen", BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")),
        ("tempfile.TemporaryFile", OSError(errno.ENOSPC, "Resource temporarily unavailable")),
        ("threading.Thread.start", RuntimeError("Resource temporarily unavailable")),
    ],
)
def test_what_the_system_refuses_a_worker_is_told(monkeypatch, place, error):
    def refuse(*args, **kwargs):
        raise error

    def n_open():
        return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

    before = n_open(), len(psutil.Process().children())
    with crew(1, WORK, "", 1.0) as workers:
        monkeypatch.setattr(f"sdpbb.batch.process.{place}", refuse)
        with pytest.raises(BackendFailure) as caught:
            workers.submit(0, task("echo"))
        monkeypatch.undo()
        assert (n_open(), len(psutil.Process().children())) == before
        assert workers.running == []
    assert str(caught.value) == (
        "worker processes cannot start: Resource temporarily unavailable; expected memory, "
        "processes and temporary files for them (fewer workers need less)"
    )


def test_a_worker_says_that_it_compiles():
    said = []
    with crew(1, WORK, "slow", 1.0, lambda: said.append(True)) as workers:
        workers.submit(0, task("echo"))
        wait_for(workers)
    assert said == [True]


def test_a_worker_that_has_grown_leaves():
    with crew(1, WORK, "", 1.0) as workers:
        workers.submit(0, task("grows"))
        (done,) = wait_for(workers)
        assert done.ending is Ending.DONE
        workers.submit(1, task("echo"))
        (other,) = wait_for(workers)
        assert other.value["pid"] != done.value["pid"]


def test_signals_to_all_processes_of_a_command_are_left_to_the_first():
    with crew(1, WORK, "", 1.0) as workers:
        workers.submit(0, task("echo"))
        (done,) = wait_for(workers)
        pid = done.value["pid"]
        assert os.getpgid(pid) != os.getpgid(0)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
        workers.submit(1, task("echo"))
        (again,) = wait_for(workers)
        assert again.value["pid"] == pid


def test_workers_end_with_their_parent(tmp_path):
    path = tmp_path / "hang"
    script = (
        "import time\n"
        "from sdpbb.batch.crew import crew\n"
        f"with crew(1, {WORK!r}, '', 1.0) as workers:\n"
        f"    workers.submit(0, {{'data': {str(path)!r}}})\n"
        "    while True:\n"
        "        workers.wait(0.1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT) as parent:
        wait_until(path.exists)
        (worker,) = filter(is_worker, psutil.Process(parent.pid).children())
        parent.kill()
    wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, 10.0)


def test_a_torn_message_is_the_end_of_the_parent():
    command = [sys.executable, "-c", _BEGIN, json.dumps(sys.path), WORK, ""]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        try:
            assert json.loads(worker.stdout.readline()) == {"ready": True}
            worker.stdin.write(b'{"task": {"da')
            worker.stdin.close()
            assert worker.wait(timeout=60) == LOST_PARENT
        finally:
            worker.kill()


def is_worker(process):
    return any("sdpbb.batch.worker" in argument for argument in process.cmdline())

"""Processes that start at once: forks of one that has imported everything and loaded the kernels.

    python -m tests.warm SOCKET

forks for each call, until its standard input ends: a call is the command `sdpbb` of the script that
`shim` writes, a script, or a worker process; `WarmProcess` starts these two. What any of them
prints, reads and exits with is what it does in a process of its own. tests/executors and
tests/test_end_to_end.py have them start by themselves.
"""

import atexit
import contextlib
import functools
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]

# Exits with the status that comes back after the process id.
SHIM = """#!{python} -IS
import json, os, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect({path!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), None]).encode()
socket.send_fds(there, [call], [0, 1, 2])
_, status = there.makefile()
sys.exit(int(status))
"""


@contextlib.contextmanager
def warm_process(folder: Path):
    """The socket in the folder where calls are answered, within the block."""
    path = folder / "socket"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        yield path
        process.stdin.close()


def shim(folder: Path, path: Path) -> None:
    """Write the script `sdpbb` that has its calls answered at a socket."""
    script = folder / "sdpbb"
    script.write_text(SHIM.format(python=sys.executable, path=str(path)))
    script.chmod(0o755)


class WarmProcess:
    """A script with its arguments, or a worker instead of that of `executors.processes`."""

    def __init__(self, path: Path, errors, arguments=None):
        there = socket.socket(socket.AF_UNIX)
        there.connect(str(path))
        source, stdin = os.pipe()
        stdout, channel = os.pipe()
        call = json.dumps(
            [arguments, os.getcwd(), dict(os.environ), sys.path], default=str
        ).encode()
        socket.send_fds(there, [call], [source, channel, errors.fileno()])
        os.close(source)
        os.close(channel)
        self._there, self._answers = there, there.makefile()
        self.process = psutil.Process(int(self._answers.readline()))
        self.pid = self.process.pid
        self.stdin, self.stdout = open(stdin, "wb"), open(stdout, "rb")  # noqa: SIM115
        self._status: int | None = None

    def kill(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.kill()

    def poll(self) -> int | None:
        with contextlib.suppress(psutil.NoSuchProcess):
            if self.process.status() != psutil.STATUS_ZOMBIE:
                return None
        return self.wait()

    def wait(self) -> int:
        if self._status is None:
            self._status = int(self._answers.readline())
            self._answers.close()
            self._there.close()
        return self._status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.stdout.close()
        self.wait()


def workers_below(process: psutil.Process) -> list[psutil.Process]:
    """The processes below one, without those that stay: what workers are forks of, and what cleans
    up semaphores."""
    found = []
    for child in process.children():
        with contextlib.suppress(psutil.Error):
            command = " ".join(child.cmdline())
            if "tests.warm" not in command and "resource_tracker" not in command:
                found.append(child)
            found += child.children(recursive=True)
    return found


def eventually(holds, seconds=60.0) -> bool:
    """Whether a condition holds before the seconds have passed."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def serve(path: str) -> None:
    """Import, say that all is ready, and answer."""
    import sdpbb.run.solver  # noqa: F401
    from sdpbb.app.cli.app import main  # noqa: F401
    from sdpbb.run.kernels import exercise_all
    from sdpbb.runtime.executors import processes

    with contextlib.suppress(ImportError):
        import matplotlib.pyplot  # noqa: F401
    exercise_all()
    processes._start_process = lambda errors: WarmProcess(path, errors)  # of the commands, too
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for answers
    print("ready", flush=True)
    while server in select.select([server, sys.stdin], [], [])[0]:
        connection, _ = server.accept()
        call, descriptors, _, _ = socket.recv_fds(connection, 2**20, 3)
        if os.fork():
            for descriptor in [connection.detach(), *descriptors]:
                os.close(descriptor)
            continue
        server.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        tell_end(connection, call, descriptors)


def tell_end(connection, call, descriptors) -> None:
    """Fork for a call, tell the id of that process and how it has ended; does not return."""
    number = os.fork()
    if not number:
        connection.close()
        answer(call, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    with contextlib.suppress(OSError):  # nobody may want to know
        connection.sendall(f"{number}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        connection.sendall(f"{status}\n".encode())
    os._exit(0)


def answer(call, descriptors) -> None:
    """Be the command or the worker, in its folder and with its streams; does not return."""
    arguments, folder, environment, path = json.loads(call)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if arguments is None:
        from sdpbb.runtime.executors import worker

        sys.path[:] = path
        worker.main()
    from sdpbb.app.cli.app import main

    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        for number, mode in enumerate("rww")
    )
    is_script = arguments[:1] and arguments[0].endswith(".py")
    sys.argv = arguments if is_script else ["sdpbb", *arguments]
    status = 1
    try:
        if is_script:
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            main()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@functools.cache
def path_of_warm() -> Path:
    """The socket of a warm process that lives as long as this one."""
    with contextlib.ExitStack() as block:
        folder = block.enter_context(tempfile.TemporaryDirectory())
        path = block.enter_context(warm_process(Path(folder)))
        atexit.register(block.pop_all().close)
    return path


if __name__ == "__main__":
    serve(sys.argv[1])

"""The command `sdpbb` without its start: a fork of a process that has imported everything.

    python -m tests.warm_command SOCKET

answers calls of the script that `shim` writes, until its standard input ends. What a call prints,
reads and exits with is what the command does in a process of its own.
"""

import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path

# Exits with the status that comes back; none comes from a process that was killed.
SHIM = """#!{python} -IS
import json, os, socket, sys
there = socket.socket(socket.AF_UNIX)
there.connect({path!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(there, [call], [0, 1, 2])
sys.exit((there.recv(1) or b"\\x01")[0])
"""


def shim(folder: Path, path: Path) -> None:
    """Write the script `sdpbb` that has its calls answered at a socket."""
    script = folder / "sdpbb"
    script.write_text(SHIM.format(python=sys.executable, path=str(path)))
    script.chmod(0o755)


def serve(path: str) -> None:
    """Import, say that all is ready, and answer."""
    import sdpbb.solver  # noqa: F401
    from sdpbb.cli.app import main
    from sdpbb.compilation import load_all_kernels

    load_all_kernels()
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the answers' processes
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
        answer(main, connection, call, descriptors)


def answer(main, connection, call, descriptors) -> None:
    """Be the command, in its folder and with its streams; does not return."""
    arguments, folder, environment = json.loads(call)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        for number, mode in enumerate("rww")
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["sdpbb", *arguments]
    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([status]))
    sys.exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])

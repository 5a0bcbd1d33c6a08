"""The program `sqlpriv` as a file that shells run, in forks of a Python that has imported it.

A page shows a dozen commands. A query takes 1.4 s of processor time in a new Python, most of it for
imports, and .2 s in a fork (two cores under load). That the program starts by itself is tested
where it is called in a new Python: `tests/interfaces/cli`, and the demo of `house/test_docs.py`.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread

from support.child_processes import run_in_fork

ASKING = """#!{python} -IS
import json, os, socket, sys

server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)])
socket.send_fds(server, [request.encode()], [0, 1, 2])
sys.exit(int(server.recv(16)))
"""
"""Has a fork do the work, with its own arguments, folder, variables and streams; ends as it."""
PROGRAM = "import runpy; runpy.run_module('sqlpriv', run_name='__main__')"


@cache
def forked_program() -> Path:
    """Returns the path of a program called `sqlpriv`, which lies in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-program-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(folder / "socket"))
    listener.listen()
    atexit.register(listener.close)
    program = folder / "sqlpriv"
    program.write_text(ASKING.format(python=sys.executable, address=str(folder / "socket")))
    program.chmod(0o755)
    Thread(target=_serve, args=(listener,), daemon=True).start()
    return program


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):  # it is closed when the tests end
        while True:
            client, _ = listener.accept()
            Thread(target=_run, args=(client,), daemon=True).start()


def _run(client: socket.socket) -> None:
    """Runs what a client asks for, and tells it how that ended."""
    with client:
        message, streams, *_ = socket.recv_fds(client, 1 << 20, 3)
        arguments, folder, environment = json.loads(message)
        read, write, errors = streams
        with run_in_fork(PROGRAM, arguments, folder, environment, (read, write, errors)) as report:
            for stream in streams:
                os.close(stream)
            _, ended = map(int, report)
        client.send(b"%d" % (ended if ended >= 0 else 128 - ended))

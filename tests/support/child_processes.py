"""Python processes that have imported sqlpriv when they begin: forks of one that did nothing else.

A new Python that imports a session takes 0.6 s of processor time, a fork of one that has takes a
hundredth of that. It is a process like another: its number, its locks and its end are its own.
What a process imports, and when, is tested with a new Python.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock, Timer
from typing import IO

SERVER = """
import gc, json, os, signal, socket, sys

sys.path[:] = json.loads(sys.argv[2])
import psycopg, pytest, sqlpriv.session.dispatch, sqlpriv.publish, support.vaults

def fork_for_each_request(requests):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        message, files, *_ = socket.recv_fds(requests, 1 << 20, 4)
        if not message:
            os._exit(0)
        *streams, status = files
        if os.fork() == 0:
            break
        for file in (*streams, status):
            os.close(file)
    requests.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if (child := os.fork()) != 0:
        for file in streams:
            os.close(file)
        os.write(status, b"%d\\n" % child)
        _, ended = os.waitpid(child, 0)
        os.write(status, b"%d\\n" % os.waitstatus_to_exitcode(ended))
        os._exit(0)
    os.close(status)
    for number, file in enumerate(streams):
        os.dup2(file, number)
        os.close(file)
    request = json.loads(message)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:], sys.argv[:] = request["path"], ["-c", *request["arguments"]]
    return request["script"]

script = fork_for_each_request(socket.socket(fileno=int(sys.argv[1])))
exec(compile(script, "<child>", "exec"), {"__name__": "__main__"})
"""
"""Runs each script that it is asked for in a fork, whose number and end a second fork reports."""

_ASKING = Lock()


class ChildPython:
    """A script in a process of its own, with the environment, folder and `sys.path` of now.

    Its errors are written where ours are.

    Args:
        script: What `python -c` would run.
        arguments: What `sys.argv` holds from 1 on, as texts.

    Attributes:
        pid: The number of the process.
        returncode: None until it was waited for; -9 where it was killed so.
        stdin, stdout: Of its pipes.
    """

    def __init__(self, script: str, *arguments: object) -> None:
        (reads, stdin), (stdout, writes) = os.pipe(), os.pipe()
        listed = [*map(str, arguments)]
        self._report = run_in_fork(
            script, listed, os.getcwd(), dict(os.environ), (reads, writes, 2)
        )
        for file in (reads, writes):
            os.close(file)
        self.stdin: IO[str] = os.fdopen(stdin, "w")
        self.stdout: IO[str] = os.fdopen(stdout)
        self.pid = int(self._report.readline())
        self.returncode: int | None = None

    def communicate(self, stdin: str = "", timeout: float = 120) -> tuple[str, None]:
        """Writes what it is to read, and returns what it has written since; waits for its end.

        Raises:
            TimeoutExpired: It did not end in these seconds, and was killed.
        """
        with self._killed_after(timeout):
            if not self.stdin.closed:
                with suppress(BrokenPipeError), self.stdin:
                    self.stdin.write(stdin)
            text = "" if self.stdout.closed else self.stdout.read()
            self._wait()
        return text, None

    def wait(self, timeout: float = 120) -> int:
        """Closes its pipes; returns how it ended, as `subprocess` says it. Raises as above."""
        with self._killed_after(timeout):
            return self._wait()

    def poll(self) -> int | None:
        """Returns how it ended; None where it has not."""
        if self.returncode is None and select.select([self._report], [], [], 0)[0]:
            self._read_end()
        return self.returncode

    def kill(self) -> None:
        """Kills it, whatever it does, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _wait(self) -> int:
        for file in (self.stdin, self.stdout):
            file.close()
        if self.returncode is None:
            self._read_end()
        assert self.returncode is not None
        return self.returncode

    def _read_end(self) -> None:
        with self._report:
            self.returncode = int(self._report.readline())

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        clock = Timer(seconds, self.kill)
        clock.start()
        try:
            yield
        finally:
            is_late = clock.finished.is_set()
            clock.cancel()
        if is_late:
            raise subprocess.TimeoutExpired("a child", seconds)


def run_in_fork(
    script: str,
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
) -> IO[str]:
    """Has a fork run a script; returns where its number is written, and how it ended.

    Args:
        script: What `python -c` would run, with the `sys.path` of now.
        arguments: What `sys.argv` holds from 1 on.
        folder: Where it runs.
        environment: Its variables.
        streams: Descriptors of what it reads from, writes to, and writes errors to.
    """
    request = {
        "script": script,
        "arguments": [*arguments],
        "folder": folder,
        "environment": {**environment},
        "path": [path for path in sys.path if path],
    }
    report, status = os.pipe()
    with _ASKING:
        socket.send_fds(_server(), [json.dumps(request).encode()], [*streams, status])
    os.close(status)
    return os.fdopen(report)


@cache
def _server() -> socket.socket:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = json.dumps([path for path in sys.path if path])
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(its.fileno()), path],
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    return ours

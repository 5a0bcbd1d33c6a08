"""A Spark Connect server of the tests' own, on loopback: started once, ended by its process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

SMALL = {
    "CORES": "1",
    "JDK_JAVA_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
"""Tests ask many small statements once each: an optimizing compiler and collectors that work beside
them would take most of the processor's time."""
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "spark" / "serve.sh"


def reason_to_skip() -> str:
    """Why no server can be started here; '' where one can."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install '.[spark]'"
    return "" if shutil.which("java") else "there is no java: apt-get install default-jre-headless"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def spark_server(
    log: Path, seconds: float = 300, own: bool = False, master: str = ""
) -> Iterator[tuple[str, int]]:
    """Yields a server's URL and process id. SQLPRIV_SPARK names one that runs already, which is
    taken where the caller needs no server of its `own`, with executors where `master` says."""
    if not own and (url := os.environ.get("SQLPRIV_SPARK")):
        yield url, 0
        return
    port = free_port()
    with log.open("w") as file:
        process = subprocess.Popen(
            [str(SCRIPT), str(port)],
            env={**os.environ, "PYTHON": sys.executable, "MASTER": master, **SMALL},
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
        )
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        yield f"spark://127.0.0.1:{port}", process.pid
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)

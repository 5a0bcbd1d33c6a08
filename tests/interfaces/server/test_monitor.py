"""GET /healthz and /metrics: what a server tells whoever watches it."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from functools import partial
from http.client import HTTPConnection

import pytest

import sqlpriv
from sqlpriv.errors import InterfaceError, OperationalError
from sqlpriv.interfaces.server.endpoints import monitor

LINE = re.compile(r'# (HELP|TYPE) sqlpriv_\w+ .+|sqlpriv_\w+(\{\w+="[^"]*"\})? [-+.e\d]+')


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch):
    monkeypatch.setattr(monitor, "_SECONDS", 0.0)
    monkeypatch.setattr(monitor._Handler, "timeout", 0.5)


def get(served, path):
    host, port = served.server.monitor.address
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def sample(text, name):
    return float(re.search(rf"^sqlpriv_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)[1])


def test_budgets_and_statements_are_counted_and_nobody_is_named(served):
    assert get(served, "/healthz") == (200, "ok\n")
    before = get(served, "/metrics")[1]
    assert all(LINE.fullmatch(line) for line in before.splitlines()), before
    ada = served.connect()
    ada.execute("SET privacy_epsilon = 0.5")
    ada.execute("SELECT COUNT(*) FROM people")
    with pytest.raises(sqlpriv.Refused):
        ada.execute("SELECT secret FROM people")
    status, after = get(served, "/metrics")
    assert status == 200
    assert sample(after, "up") == 1
    assert sample(after, "budget_epsilon") == 10
    spent = sample(after, "budget_epsilon_spent") - sample(before, "budget_epsilon_spent")
    assert spent == pytest.approx(0.5)
    charges = "budget_charges_total"  # as Prometheus names what only rises
    assert sample(after, charges) == sample(before, charges) + 1
    assert 'sqlpriv_statements_total{outcome="refused"} 1' in after
    assert 'sqlpriv_statements_total{outcome="run"} 2' in after
    for private in ("ada", "secret", "hidden", "seconds_sum", "SELECT"):
        assert private not in after


def test_the_head_alone_is_answered(served):
    """Load balancers ask for it; it was 501."""
    host, port = served.server.monitor.address
    for path, status in (("/healthz", 200), ("/metrics", 200), ("/other", 404)):
        with closing(HTTPConnection(host, port, timeout=20)) as connection:
            connection.request("HEAD", path)
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (status, b"")
            assert int(answer.headers["Content-Length"]) > 0


def test_a_vault_that_is_gone_is_no_health(served):
    served.vault.rename(served.vault.with_suffix(".away"))
    status, text = get(served, "/healthz")
    assert (status, text) == (503, "OperationalError\n")
    assert sample(get(served, "/metrics")[1], "up") == 0


def test_other_paths_and_methods_are_not_answered(served):
    assert get(served, "/")[0] == get(served, "/metrics/../../etc/passwd")[0] == 404
    host, port = served.server.monitor.address
    with socket.create_connection((host, port), timeout=20) as raw:
        raw.sendall(b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"501" in raw.recv(1000)


def test_half_open_connections_do_not_keep_others_out_for_long(served, capfd):
    address = served.server.monitor.address
    held = [socket.create_connection(address, timeout=20) for _ in range(monitor._MOST + 4)]
    for raw in held[::2]:
        raw.sendall(b"GET /metr")
    ended = threading.Event()
    for _ in range(100):
        try:
            assert get(served, "/healthz") == (200, "ok\n")
            break
        except OSError:
            ended.wait(0.1)
    else:
        raise AssertionError("strangers keep the monitor for themselves")
    for raw in held:
        raw.close()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("listen", ["9464", "127.0.0.1:x", ":9464", "127.0.0.1:70000"])
def test_a_bad_address_is_said(listen, tmp_path):
    with pytest.raises(InterfaceError, match=re.escape("127.0.0.1:9464")):
        monitor.Monitor(listen, tmp_path / "v.duckdb", {})


def test_a_taken_port_is_said(served, tmp_path):
    host, port = served.server.monitor.address
    with pytest.raises(OperationalError, match="cannot be listened on"):
        monitor.Monitor(f"{host}:{port}", tmp_path / "v.duckdb", {})


@pytest.mark.parametrize("stderr", ["full", "gone", "closed"])
def test_a_server_whose_messages_nobody_can_read_serves(served, tmp_path, stderr):
    """It ended while it started, with what it could not write."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    if stderr == "gone":
        read_end, write_end = os.pipe()
        os.close(read_end)
    else:
        write_end = os.open("/dev/full", os.O_WRONLY)
    close = partial(os.close, 2) if stderr == "closed" else None
    listens = ["--listen", "grpc://127.0.0.1:0", "--monitor", f"127.0.0.1:{port}"]
    command = [sys.executable, "-m", "sqlpriv", "serve", str(served.vault), *listens]
    command += ["--audit", str(tmp_path / "audit")]
    with subprocess.Popen(command, stderr=write_end, preexec_fn=close) as process:
        os.close(write_end)
        try:
            until = time.monotonic() + 60
            while not is_healthy(port) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(0.5)  # the last line is written after the monitor listens
            assert is_healthy(port)
        finally:
            process.terminate()
    assert process.returncode == 0


def is_healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
            return answer.status == 200
    except OSError:
        return False

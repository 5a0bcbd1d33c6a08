"""`python tests/bench/throughput.py`: fresh statements per second, in process, and replays.

COUNT(*), AVG(income) and SUM(hours) by 18 groups over 2,000 rows, each at a price of its own, so
that none is replayed; then one of them again and again. Beside it stands plain DuckDB's statement
on as many threads. `--rows` and `--threads` change the table and who asks; `--clients 1 8` has as
many processes ask a server, whose answers leave when they are there (`--exact-times`): on the grid
of times that it has by default, no client is answered more than ten times a second.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import duckdb
from bench.matrix import Shape, write_table

from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.endpoints.listen import Limits, Server
from sqlpriv.session.session import Session

PLAIN = "SELECT g, count(*), avg(income), sum(hours) FROM people GROUP BY g"
PRIVATE = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) g, COUNT(*) AS n,"
    " AVG(income) AS income, SUM(hours) AS hours FROM people GROUP BY g"
)

CLIENT = """
import sys, time
import sqlpriv

url, token, query, number, clients, seconds = sys.argv[1:]
with sqlpriv.connect(url, token=token) as connection:
    turn = int(number)

    def ask():
        global turn
        connection.execute(query.format(epsilon=10 + turn / 1000)).fetchall()
        turn += int(clients)

    ask()
    print("ready", flush=True)
    sys.stdin.readline()
    began, first = time.perf_counter(), turn
    while time.perf_counter() - began < float(seconds):
        ask()
    print((turn - first) // int(clients))
"""
"""Asks a server at prices that no other client asks at."""


def per_second(ask: Callable[[int], object], threads: int, seconds: float) -> tuple[float, float]:
    """Returns how many calls end per second of the clock, and per second of processor time.

    Args:
        ask: Is given the thread's number.
        threads: How many call it, each its next when the last has ended.
        seconds: For how long.
    """
    done = [0] * threads
    began, used = time.perf_counter(), time.process_time()

    def work(number: int) -> None:
        while time.perf_counter() - began < seconds:
            ask(number)
            done[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    clock, processor = time.perf_counter() - began, time.process_time() - used
    return sum(done) / clock, sum(done) / processor


def ask_plain(cursors: Sequence[duckdb.DuckDBPyConnection], number: int) -> None:
    """Asks DuckDB's own statement."""
    cursors[number].execute(PLAIN).fetchall()


def ask_fresh(sessions: Sequence[Session], turns: Iterator[int], number: int) -> None:
    """Asks at a price that no earlier turn had."""
    sessions[number].execute(PRIVATE.format(epsilon=1 + next(turns) / 1000))


def ask_again(sessions: Sequence[Session], number: int) -> None:
    """Asks at the price of the first turn."""
    sessions[number].execute(PRIVATE.format(epsilon=1))


def per_second_of_server(vault: Path, clients: int, seconds: float) -> tuple[float, float]:
    """Returns what `per_second` does, of a server in this process and clients in their own."""
    name = f"bench{clients}"
    token = f"{name}.{users.add_user(vault, name, 'analyst', 'bench')}"
    limits = Limits(concurrency=clients, exact_times=True)
    with Server(vault, "grpc://127.0.0.1:0", limits=limits) as server:
        asked = [server.location, token, PRIVATE]
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", CLIENT, *asked, str(number), str(clients), str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(clients)
        ]
        ready = [process.stdout.readline() for process in processes if process.stdout]
        assert ready == ["ready\n"] * clients
        began, used = time.perf_counter(), time.process_time()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        done = sum(int(process.communicate()[0]) for process in processes)
        clock, processor = time.perf_counter() - began, time.process_time() - used
    return done / clock, done / processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--clients", type=int, nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    turns = itertools.count()
    print(
        f"{os.cpu_count()} cores, DuckDB {duckdb.__version__}, {given.rows:,} rows; per second of"
        " the clock, and of processor time"
    )
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "throughput.duckdb"
        write_table(vault, Shape(given.rows, "TINYINT", "INTEGER", "NOT NULL", "wide"))
        for threads in given.threads:
            with duckdb.connect(str(vault), read_only=True) as engine:
                cursors = [engine.cursor() for _ in range(threads)]
                plain = per_second(partial(ask_plain, cursors), threads, 2.0)
            sessions = [Session(vault) for _ in range(threads)]

            rows = {
                "plain DuckDB": plain,
                "fresh": per_second(partial(ask_fresh, sessions, turns), threads, given.seconds),
                "replayed": per_second(partial(ask_again, sessions), threads, given.seconds),
            }
            for what, (clock, processor) in rows.items():
                print(f"{threads} threads  {what:<13}{clock:9.1f}{processor:9.1f}", flush=True)
            for session in sessions:
                session.close()
        for clients in given.clients:
            clock, processor = per_second_of_server(vault, clients, given.seconds)
            print(f"{clients} clients  {'fresh':<13}{clock:9.1f}{processor:9.1f}", flush=True)


if __name__ == "__main__":
    main()

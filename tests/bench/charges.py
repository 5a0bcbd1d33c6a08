"""`python tests/bench/charges.py`: charges per second that servers sell from one budget.

The ledger is in a PostgreSQL server of this run's own, on a socket; each COMMIT waits for the disk.
Clients are processes with a connection each, on the vaults of two servers; each begins a
statement and charges it, again and again. The processor time that clients and PostgreSQL took does
not depend on what else the machine does. `--charges` charges were sold before. `--delay` adds so
many milliseconds to every answer of PostgreSQL's, as a network between two machines does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import psycopg
from numpy.typing import NDArray
from support import postgres_server

from sqlpriv.kernel.ledger.database import NAME
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import write_pointer

CLIENT = """
import sys, time
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Rho

ledger = Ledger(sys.argv[1])

def pay():
    with ledger.begin("IMMEDIATE"):  # as the gate does
        statement = ledger.begin_statement(sys.argv[3], "SELECT count(*) FROM people")
        ledger.charge(statement, "people", Rho(1))

pay()
print("ready", flush=True)
sys.stdin.readline()
began = last = time.perf_counter()
used = time.process_time()
times = []
while last - began < float(sys.argv[2]):
    pay()
    now = time.perf_counter()
    times.append(now - last)
    last = now
print(time.process_time() - used, *times)
"""
"""Sells itself one nano again and again, and prints the processor time of all, and how many seconds
each took."""

EARLIER = """
INSERT INTO statement (at, principal, text)
SELECT '2026-01-01T00:00:00.000+00:00', 'client' || i % 16, 'SELECT count(*) FROM people'
FROM generate_series(1, {0}) AS each(i);
INSERT INTO charge (at, statement_id, unit_table, kind, nano)
SELECT at, id, 'people', 'zcdp', 1 FROM statement ORDER BY id;
ANALYZE
"""


def seconds_of_charges(
    places: list[Path], clients: int, seconds: float, data: Path
) -> tuple[float, float, NDArray[np.float64]]:
    """Returns how long each charge took that the clients bought, in seconds; before that the
    processor time of one charge, of clients and of PostgreSQL's server at `data`."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, places[i % len(places)], str(seconds), f"client{i}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(clients)
    ]
    for process in processes:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    before = processor_seconds(data)
    for process in processes:
        process.stdin.write("\n")  # type: ignore[union-attr]  # it is a pipe, as seen above
        process.stdin.flush()  # type: ignore[union-attr]
    lines = [[float(x) for x in process.communicate()[0].split()] for process in processes]
    times = np.array([time for _, *of_one in lines for time in of_one])
    used = sum(line[0] for line in lines)
    return used / len(times), (processor_seconds(data) - before) / len(times), times


@contextmanager
def slow_network(socket: str, seconds: float) -> Iterator[int]:
    """Yields the port of a way to a socket on which every answer is late by so many seconds."""
    loop = asyncio.new_event_loop()

    async def pass_on(
        source: asyncio.StreamReader, sink: asyncio.StreamWriter, late: float
    ) -> None:
        while data := await source.read(1 << 16):
            await asyncio.sleep(late)
            sink.write(data)
        sink.close()

    async def accept(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        reader, writer = await asyncio.open_unix_connection(socket)
        await asyncio.gather(pass_on(client, writer, 0.0), pass_on(reader, answer, seconds))

    server = loop.run_until_complete(asyncio.start_server(accept, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def processor_seconds(data: Path) -> float:
    """Returns the processor time of a PostgreSQL server and of all that it started.

    Args:
        data: The server's folder.
    """
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # a process that has just ended
            fields = path.read_text().rpartition(") ")[2].split()
            if postmaster in (int(path.parent.name), int(fields[1])):
                ticks += sum(map(int, fields[11:15]))  # its own, and of those that it waited for
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--charges", type=int, nargs="+", default=[0, 100_000])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds")
    given = parser.parse_args()
    for earlier in given.charges:
        with postgres_server.serving(syncs=True) as server, tempfile.TemporaryDirectory() as folder:
            url = server.replace("bi:secret@", "bi@")
            way = slow_network(f"{url.partition('host=')[2]}/.s.PGSQL.5432", given.delay / 1000)
            with way if given.delay else nullcontext() as port:
                if port:
                    url = f"postgresql://bi@127.0.0.1:{port}/postgres"
                places = [Path(folder, name, "people.ledger") for name in ("first", "second")]
                for place in places:
                    place.parent.mkdir()
                    write_pointer(place, url)
                with closing(Ledger(places[0])) as ledger:
                    ledger.set_budget(Budget("people", Rho(10**15), 1e-9), "owner")
                with psycopg.connect(url, autocommit=True) as db:
                    db.execute(f"SET search_path = {NAME}")
                    db.execute(EARLIER.format(earlier).encode())
                data = Path(server.partition("host=")[2], "data")
                bought = seconds_of_charges(places, given.clients, given.seconds, data)
        clients_used, server_used, times = bought
        times *= 1000
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {given.clients} clients,"
            f" {earlier:,} charges before, {given.delay:g} ms of network:"
            f" {len(times) / given.seconds:.0f} charges/s, p50 {np.median(times):.0f} ms,"
            f" p99 {np.quantile(times, 0.99):.0f} ms, longest {times.max():.0f} ms; processor time"
            f" of one: clients {clients_used * 1000:.2f} ms,"
            f" PostgreSQL {server_used * 1000:.2f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()

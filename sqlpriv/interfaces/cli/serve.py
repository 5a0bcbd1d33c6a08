"""`sqlpriv serve`: a vault over the network."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click

import sqlpriv
from sqlpriv.interfaces.cli.connecting import Amount, existing_vault, vault_file
from sqlpriv.interfaces.cli.failure import end_at_once, fail
from sqlpriv.session.commands.engine_place import keep_engine_at
from sqlpriv.session.commands.ledger_place import keep_ledger_at, refuse_lone_primary

_pem = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@vault_file
@click.option(
    "--listen",
    default="grpc+tls://127.0.0.1:31337",
    show_default=True,
    help="HOST:PORT; grpc://HOST:PORT without TLS on this machine alone. Port 0 takes a free one.",
)
@click.option(
    "--postgresql",
    metavar="HOST:PORT",
    help="Speak PostgreSQL's protocol there as well, as in 127.0.0.1:5432.",
)
@click.option(
    "--ledger",
    metavar="postgresql://…",
    help="The ledger that this server shares with others; kept in mind beside the vault.",
)
@click.option(
    "--engine",
    metavar="spark://HOST:PORT",
    help="Who reads the tables FROM PARQUET and FROM ICEBERG; 'duckdb' is the default. Kept in mind"
    " beside the vault.",
)
@click.option(
    "--preview",
    "previews",
    multiple=True,
    metavar="TABLE=SYNTHETIC",
    help="PostgreSQL's protocol: show rows of the released table SYNTHETIC where a client looks at"
    " the private TABLE; without it such a preview has no rows.",
)
@click.option(
    "--monitor",
    metavar="HOST:PORT",
    help="Answer GET /healthz and /metrics (Prometheus) there, as in 127.0.0.1:9464: plain HTTP"
    " without a login, public facts alone.",
)
@click.option("--certificate", type=_pem, help="The certificate chain, in PEM.")
@click.option("--key", type=_pem, help="Its private key, in PEM.")
@click.option(
    "--audit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where it is written who asked what.  [default: beside the vault, .audit]",
)
@click.option(
    "--timeout",
    type=Amount("seconds", "--timeout 300"),
    default=300.0,
    show_default=True,
    help="Seconds that a statement may take.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Statements that one user may run at once, on each of several servers.",
)
@click.option(
    "--memory",
    type=Amount("GiB", "--memory 8", least=1),
    metavar="GIB",
    help="What the server may take beyond what it holds at its start, on Linux: a statement that"
    " would take more fails. Large reads spill to disk beyond half of it."
    "  [default: three quarters of the machine's memory]",
)
@click.option(
    "--exact-times",
    is_flag=True,
    help="Answer as soon as an answer is there. By default an analyst's answer waits for a time on"
    " a public grid (0.1, 0.2, 0.4 s, …), because how long it takes depends on private rows.",
)
def serve(
    vault: Path,
    listen: str,
    postgresql: str | None,
    ledger: str | None,
    engine: str | None,
    previews: tuple[str, ...],
    monitor: str | None,
    certificate: Path | None,
    key: Path | None,
    audit: Path | None,
    timeout: float,
    concurrency: int,
    memory: float | None,
    exact_times: bool,
) -> None:
    """Serve a vault to whom `sqlpriv user add` let in.

    The server speaks Arrow Flight SQL, and PostgreSQL's protocol with --postgresql.

    \b
    sqlpriv user add people.duckdb ada
    sqlpriv serve people.duckdb --certificate cert.pem --key key.pem
    """
    if (certificate is None) != (key is None):
        raise click.UsageError("Give both --certificate and --key.")
    try:
        from sqlpriv.interfaces.server.endpoints import memory_limit

        memory_limit.return_freed_memory()  # before DuckDB and Arrow are loaded
        from sqlpriv.interfaces.server.endpoints.listen import Limits, Server
    except ImportError:
        raise click.ClickException('protobuf is missing: pip install "sqlpriv[server]"') from None
    if memory is not None and sys.platform != "linux":
        raise click.UsageError("--memory is for Linux; limit the process's memory by other means.")
    pairs = dict(preview.partition("=")[::2] for preview in previews)
    if not all(pairs.values()) or (pairs and postgresql is None):
        raise click.UsageError("--preview takes TABLE=SYNTHETIC, and is for --postgresql.")
    tls = (certificate.read_bytes(), key.read_bytes()) if certificate and key else None
    existing_vault(vault)
    try:
        if ledger is not None:
            keep_ledger_at(vault, ledger)
        if engine is not None:
            keep_engine_at(vault, engine)
        refuse_lone_primary(vault)
        load_for_statements()
        room = memory_limit.room_for(memory)
        readers = memory_limit.readers_within(room)
        limits = Limits(timeout, concurrency, exact_times, readers)
        memory_limit.fill_blas(readers)
        most_bytes = memory_limit.limit_memory(room)  # before the first stranger can call
        server = Server(vault, listen, tls, audit, limits, postgresql, pairs, monitor)
        try:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            _tell(f"serving {vault} on {server.location}; Ctrl-C ends it")
            if server.postgresql is not None:
                host, port = server.postgresql.address
                _tell(f"psql -h {host} -p {port} -U NAME {vault.stem}")
            if server.monitor is not None:
                host, port = server.monitor.address
                _tell(f"curl http://{host}:{port}/metrics")
            if most_bytes is not None:
                gib = most_bytes / memory_limit.GIB
                _tell(f"it may take {gib:.1f} GiB of memory (--memory)")
            server.serve()
        finally:
            try:
                server.close()
            finally:  # all is closed, and Python's own end would wait for streams
                if server.is_held:
                    end_at_once(sys.exception())
    except sqlpriv.Error as error:
        fail(error)


def _tell(words: str) -> None:
    """Writes a line to stderr, where somebody may read it: a server goes on where nobody does."""
    with suppress(OSError):
        click.echo(words, err=True)


def load_for_statements() -> None:
    """Loads what statements need before the first one comes, and keeps it out of collections of
    garbage from then on: one in sixty statements was 50 ms late, while 100,000 objects that stay as
    long as the process were looked at."""
    for module in ("sqlpriv.session.dispatch", "opendp.measurements"):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()

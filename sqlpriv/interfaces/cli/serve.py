"""`sqlpriv serve` and `sqlpriv user`: a vault over the network, and who may come in."""

from __future__ import annotations

import gc
import getpass
import importlib
import re
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import end_at_once, fail
from sqlpriv.session.commands.engine_place import keep_engine_at
from sqlpriv.session.commands.ledger_place import keep_ledger_at, refuse_lone_primary
from sqlpriv.system.database_files import refuse_other_file

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_vault = click.argument("vault", type=click.Path(dir_okay=False, path_type=Path))
_pem = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@_vault
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
    type=click.FloatRange(min=0, min_open=True),
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
    type=click.FloatRange(min=0.5),
    metavar="GIB",
    help="What the server may take beyond what it holds at its start, on Linux: a statement that"
    " would take more fails. DuckDB's own limit stays half of the machine's memory: with less than"
    " two thirds, large reads may fail that would have spilled; their charge stays."
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
        from sqlpriv.interfaces.server.endpoints.listen import Limits, Server
        from sqlpriv.interfaces.server.endpoints.memory_limit import GIB, limit_memory
    except ImportError:
        raise click.ClickException('protobuf is missing: pip install "sqlpriv[server]"') from None
    if memory is not None and sys.platform != "linux":
        raise click.UsageError("--memory is for Linux; limit the process's memory by other means.")
    pairs = dict(preview.partition("=")[::2] for preview in previews)
    if not all(pairs.values()) or (pairs and postgresql is None):
        raise click.UsageError("--preview takes TABLE=SYNTHETIC, and is for --postgresql.")
    tls = (certificate.read_bytes(), key.read_bytes()) if certificate and key else None
    limits = Limits(timeout, concurrency, exact_times)
    _present(vault)
    try:
        if ledger is not None:
            keep_ledger_at(vault, ledger)
        if engine is not None:
            keep_engine_at(vault, engine)
        refuse_lone_primary(vault)
        load_for_statements()
        room = limit_memory(memory)  # before the first stranger can call
        server = Server(vault, listen, tls, audit, limits, postgresql, pairs, monitor)
        try:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            click.echo(f"serving {vault} on {server.location}; Ctrl-C ends it", err=True)
            if server.postgresql is not None:
                host, port = server.postgresql.address
                click.echo(f"psql -h {host} -p {port} -U NAME {vault.stem}", err=True)
            if server.monitor is not None:
                host, port = server.monitor.address
                click.echo(f"curl http://{host}:{port}/metrics", err=True)
            if room is not None:
                click.echo(f"it may take {room / GIB:.1f} GiB of memory (--memory)", err=True)
            server.serve()
        finally:
            try:
                server.close()
            finally:  # all is closed, and Python's own end would wait for streams
                if server.is_held:
                    end_at_once(sys.exception())
    except sqlpriv.Error as error:
        fail(error)


def load_for_statements() -> None:
    """Loads what statements need before the first one comes, and keeps it out of collections of
    garbage from then on: one in sixty statements was 50 ms late, while 100,000 objects that stay as
    long as the process were looked at."""
    importlib.import_module("sqlpriv.session.dispatch")
    gc.collect()
    gc.freeze()


@click.group()
def user() -> None:
    """Say who may log in to a server of a vault."""


@user.command()
@_vault
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["analyst", "owner"]),
    default="analyst",
    show_default=True,
    help="An analyst asks under the budget; an owner declares and loads data.",
)
@click.option("--expires", help="For how long: 12h, 90d, 4w.  [default: until removed]")
@click.option("--password", is_flag=True, help="Ask for a password, instead of making a token.")
@click.option("--timeout", type=float, help="Seconds that a statement of theirs may take.")
@click.option(
    "--concurrency", type=int, help="Statements that they may run at once, on each server."
)
@click.option("--epsilon", type=float, help="Price of a private statement that names none.")
@click.option("--daily-epsilon", type=float, help="The most that they may spend in a day (UTC).")
@click.option(
    "--only-asked-before",
    is_flag=True,
    help="Answer only what costs nothing: for dashboards, after somebody has asked each question.",
)
@click.option(
    "--error-columns",
    is_flag=True,
    help="PostgreSQL's protocol: a column NAME_error behind each noised number.",
)
def add(
    vault: Path,
    name: str,
    role: str,
    expires: str | None,
    password: bool,
    timeout: float | None,
    concurrency: int | None,
    **rules: Any,
) -> None:
    """Let NAME in, or give NAME another token; it is shown this once.

    Charges are recorded under NAME, and ALTER TABLE t SET PRIVACY BUDGET (…) FOR 'NAME' sets a
    ceiling for them alone.
    """
    from sqlpriv.interfaces.server import users
    from sqlpriv.interfaces.server.spending_rules import SpendingRules

    until = datetime.now(UTC) + _duration(expires) if expires else None
    chosen_password = None
    if password:
        chosen_password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    try:
        secret = users.add_user(
            _present(vault),
            name,
            role,
            getpass.getuser(),
            expires=until,
            secret=chosen_password,
            timeout=timeout,
            concurrency=concurrency,
            rules=SpendingRules(**rules),
        )
    except sqlpriv.Error as error:
        fail(error)
    if chosen_password is None:
        click.echo(f"{name} may log in with this token, which is not shown again:", err=True)
        click.echo(f"{name}.{secret}")


@user.command(name="list")
@_vault
def list_(vault: Path) -> None:
    """Show who may log in, as what, and until when."""
    from sqlpriv.interfaces.server import users

    everybody = users.list_users(_present(vault))
    if not everybody:
        click.echo(f"nobody yet; sqlpriv user add {vault} NAME lets somebody in", err=True)
    for each in everybody:
        limits = [f"{each.timeout:g} s a statement"] if each.timeout else []
        limits += [f"{each.concurrency} at once"] if each.concurrency else []
        rules = each.rules
        limits += [f"ε {rules.epsilon:g} a statement"] if rules.epsilon else []
        limits += [f"ε {rules.daily_epsilon:g} a day"] if rules.daily_epsilon else []
        limits += ["only what was asked before"] if rules.only_asked_before else []
        until = f"until {each.expires:%Y-%m-%d %H:%M} UTC" if each.expires else "until removed"
        click.echo("  ".join([f"{each.name:<20}", f"{each.role:<7}", until, *limits]))


@user.command()
@_vault
@click.argument("name")
def remove(vault: Path, name: str) -> None:
    """Let NAME in no more, from now on."""
    from sqlpriv.interfaces.server import users

    try:
        users.remove_user(_present(vault), name, getpass.getuser())
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"{name} may not log in any more", err=True)


def _present(vault: Path) -> Path:
    if not vault.exists():
        raise click.ClickException(f"There is no vault {vault}.")
    try:
        refuse_other_file(vault)
    except sqlpriv.Error as error:
        fail(error)
    return vault


def _duration(text: str) -> timedelta:
    parts = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if parts is None:
        raise click.UsageError(f"--expires takes 12h, 90d or 4w, not {text}.")
    return int(parts[1]) * _UNITS[parts[2]]

"""`sqlpriv user`: who may log in to a server of a vault."""

from __future__ import annotations

import getpass
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

import sqlpriv
from sqlpriv.interfaces.cli.connecting import Amount, existing_vault, vault_file
from sqlpriv.interfaces.cli.failure import fail

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@click.group()
def user() -> None:
    """Say who may log in to a server of a vault."""


@user.command()
@vault_file
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
@click.option(
    "--timeout",
    type=Amount("seconds", "--timeout 300"),
    help="Seconds that a statement of theirs may take.",
)
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
            existing_vault(vault),
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
@vault_file
def list_(vault: Path) -> None:
    """Show who may log in, as what, and until when."""
    from sqlpriv.interfaces.server import users

    try:
        everybody = users.list_users(existing_vault(vault))
    except sqlpriv.Error as error:
        fail(error)
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
@vault_file
@click.argument("name")
def remove(vault: Path, name: str) -> None:
    """Let NAME in no more, from now on."""
    from sqlpriv.interfaces.server import users

    try:
        users.remove_user(existing_vault(vault), name, getpass.getuser())
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"{name} may not log in any more", err=True)


def _duration(text: str) -> timedelta:
    parts = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if parts is None:
        raise click.UsageError(f"--expires takes 12h, 90d or 4w, not {text}.")
    return int(parts[1]) * _UNITS[parts[2]]

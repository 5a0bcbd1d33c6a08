"""What every command needs to reach a vault: a file, a server, or a name in sqlpriv.toml."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import fail
from sqlpriv.system.database_files import refuse_other_file
from sqlpriv.system.interruptible_call import LONGEST_SECONDS

if TYPE_CHECKING:
    from sqlpriv.interfaces.configuration.config_file import ConnectionSettings
    from sqlpriv.session.session_like import SessionLike

_Command = TypeVar("_Command", bound=Callable[..., Any])
SQL_DIALECTS = (
    *("duckdb", "postgres", "bigquery", "snowflake", "mysql", "tsql", "spark", "trino", "oracle"),
    *("sqlite", "redshift", "databricks", "presto"),
)
"""Those of `dialect.DIALECTS`, which would load sqlglot; a test compares."""
_file = click.Path(dir_okay=False, path_type=Path)


class Amount(click.FloatRange):
    """A finite number above a least one.

    Args:
        unit: What is counted: "seconds".
        example: Such a number, for the help of whoever wrote none.
        least: The least number that is taken; None for any positive one.
    """

    MOST = LONGEST_SECONDS  # and of GiB as many

    def __init__(self, unit: str, example: str, least: float | None = None) -> None:
        super().__init__(min=least or 0, max=self.MOST, min_open=least is None)
        start = "more than 0" if least is None else f"{least:g}"
        self._words = f"{unit} are from {start} to {self.MOST:,.0f}: write {example}"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = click.FLOAT.convert(value, param, ctx)
        # "nan" is a float to click's own ranges, and lies in each of them
        if not (self.min or 0) <= number <= self.MOST or not number:
            self.fail(f"{value} is not allowed; {self._words}", param, ctx)
        return number


priced = click.option(
    "--epsilon",
    type=float,
    help="What a private statement costs, unless it says so itself (SET privacy_epsilon).",
)
"""The option of commands that run statements."""
vault_file = click.argument("vault", type=click.Path(dir_okay=False, path_type=Path))
"""The argument VAULT of commands for a file alone."""


@dataclass(frozen=True)
class ChosenVault:
    """What a command line says of the vault, with sqlpriv.toml's defaults.

    Args:
        settings: How to connect.
        form: The format that sqlpriv.toml names for rows; '' for the usual.
    """

    settings: ConnectionSettings
    form: str

    def open(self, epsilon: float | None = None) -> SessionLike:
        """Opens a session, or ends the program with what is wrong; an owner's file may be new.

        Args:
            epsilon: What a private statement costs, unless it says so itself; None for what
                sqlpriv.toml says.
        """
        from dataclasses import replace

        from sqlpriv.interfaces.dbapi.connection import open_session

        vault = self.settings.vault
        is_new = "://" not in vault and not Path(vault).exists()
        if is_new and self.settings.role != "owner":
            raise click.UsageError(
                f"There is no vault {vault}, and no connection of that name in sqlpriv.toml."
                f" `sqlpriv demo` makes one to try; `sqlpriv shell {vault} --role owner` starts"
                " a new one of yours."
            )
        settings = self.settings
        if epsilon is not None:
            settings = replace(settings, privacy_epsilon=epsilon)
        try:
            return open_session(settings)
        except sqlpriv.Error as error:
            fail(error)


def existing_vault(vault: Path) -> Path:
    """Returns the path of a vault, or ends the program where there is none."""
    if not vault.exists():
        raise click.ClickException(f"There is no vault {vault}.")
    try:
        refuse_other_file(vault)
    except sqlpriv.Error as error:
        fail(error)
    return vault


def connecting(command: _Command) -> _Command:
    """Adds the argument VAULT and its options; the command takes them as one `vault`."""

    @functools.wraps(command)
    def with_vault(
        vault: str,
        role: str | None,
        principal: str | None,
        token_file: Path | None,
        ca: Path | None,
        dialect: str | None,
        **others: Any,
    ) -> Any:
        from sqlpriv.interfaces.configuration.config_file import ConnectionSettings, load_config

        try:
            config = load_config()
        except sqlpriv.Error as error:
            fail(error)
        configured = config.settings_of(vault)
        if "://" not in configured.vault and (token_file or ca):
            raise click.UsageError("--token-file and --ca are for a server: grpc+tls://HOST:PORT")
        chosen = ConnectionSettings(
            configured.vault, role, principal, token_file, ca, dialect=dialect
        )
        settings = _fitting(chosen.filled_from(configured), role, principal)
        return command(ChosenVault(settings, config.form), **others)

    decorated: Any = with_vault
    for option in (
        click.option("--principal", help="Whose name charges are recorded under.  [default: you]"),
        click.option(
            "--role",
            type=click.Choice(["analyst", "owner"]),
            help="An analyst asks under the budget; the owner declares and loads data."
            "  [default: analyst]",
        ),
        click.option(
            "--token-file",
            type=_file,
            help="Holds the token for a server.  [default: $SQLPRIV_TOKEN, $SQLPRIV_TOKEN_FILE]",
        ),
        click.option(
            "--ca", type=_file, help="Certificates to trust, in PEM.  [default: the system's]"
        ),
        click.option(
            "--dialect",
            type=click.Choice(SQL_DIALECTS),
            metavar="DIALECT",
            help=f"That of the statements: {', '.join(SQL_DIALECTS)}.  [default: duckdb]",
        ),
        click.argument("vault"),
    ):
        decorated = option(decorated)
    chosen_command: _Command = decorated
    return chosen_command


def _fitting(
    settings: ConnectionSettings, role: str | None, principal: str | None
) -> ConnectionSettings:
    """Returns the settings without the defaults that are for the other kind of vault."""
    from dataclasses import replace

    if "://" in settings.vault:
        return replace(settings, role=role, principal=principal)
    return replace(settings, token_file=None, ca=None)

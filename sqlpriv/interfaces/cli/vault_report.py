"""`sqlpriv report`: one page on what is protected, who asked what, and what is left."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import sqlpriv
from sqlpriv.interfaces.cli.connecting import ChosenVault, connecting
from sqlpriv.interfaces.cli.failure import fail

if TYPE_CHECKING:
    from sqlpriv.interfaces.display.report.report_page import ReportFacts
    from sqlpriv.session.session_like import SessionLike


def report_facts(session: SessionLike) -> ReportFacts:
    """Returns what a report tells, asked with a session's rights; nothing is charged."""
    from sqlpriv.interfaces.display.report.report_page import ReportFacts
    from sqlpriv.statements import quote_name

    def rows(sql: str) -> list[dict[str, Any]]:
        table = session.execute(sql).table
        return [] if table is None else table.to_pylist()

    tables = rows("SHOW PRIVACY TABLES")
    return ReportFacts(
        vault=session.vault.name,
        tables=tables,
        budgets=rows("SHOW PRIVACY BUDGET"),
        history=rows("SHOW PRIVACY BUDGET HISTORY"),
        statements=rows("SHOW PRIVACY RELEASES"),
        columns={
            t["table"]: rows(f"DESCRIBE {quote_name(t['table'])}")
            for t in tables
            if t["status"] == "private"
        },
        released=session.comments(),
    )


@click.command()
@connecting
@click.option(
    "--to",
    "page",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The HTML file to write.",
)
def report(vault: ChosenVault, page: Path) -> None:
    """Write one page on VAULT for an owner or a board.

    The page says what is protected and how, who asked what, and what is left. It holds what
    SHOW PRIVACY tells an owner, or with --role analyst somebody who may not use every table, in
    plain words and pictures. It needs no network, follows the reader's choice of light or dark,
    and can be printed.
    """
    from sqlpriv.interfaces.display.report.report_page import report_page
    from sqlpriv.system.database_files import refuse_database
    from sqlpriv.system.whole_files import building, into_place

    settings = vault.settings
    if settings.role is None and Path(settings.vault).exists():  # a file, not a server
        vault = replace(vault, settings=replace(settings, role="owner"))
    built = building(page)
    try:
        refuse_database(page)
        _refuse_other_kinds(page)
        with vault.open() as session:
            text = report_page(report_facts(session), dt.datetime.now(dt.UTC).date())
        built.write_text(text, encoding="utf-8")
        into_place(built, page)
    except sqlpriv.Error as error:
        fail(error)
    except FileNotFoundError:
        raise click.UsageError(
            f"{page} cannot be written: there is no folder {page.parent}; mkdir -p makes it."
        ) from None
    except OSError as error:
        raise click.UsageError(f"{page} cannot be written: {error.strerror}.") from None
    click.echo(f"wrote {page}", err=True)


def _refuse_other_kinds(page: Path) -> None:
    if page.suffix.lower() not in ("", ".html", ".htm"):
        raise click.UsageError(
            f"the page is HTML, not {page.suffix[1:]}: write --to {page.with_suffix('.html')}"
            " (a browser prints it as a PDF)."
        )

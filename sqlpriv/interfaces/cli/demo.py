"""`sqlpriv demo`: the whole way from a table to a published synthetic one, on generated people."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from sqlpriv import errors
from sqlpriv.interfaces.cli import demo_people
from sqlpriv.interfaces.dbapi.connection import Connection, connect
from sqlpriv.interfaces.display.footnote import footnote, text_width
from sqlpriv.interfaces.display.progress_bar import reporting
from sqlpriv.interfaces.display.table import console_for, print_table

MARK = "ABOUT.txt"
ABOUT = """\
Made by `sqlpriv demo`, which may remove and make anew every file named here:
people.duckdb (the vault), people.ledger (budget and answers), people.release.duckdb (to be shared).
Nobody in them exists: the people are generated, only the sizes of the groups are real.
"""
OWN_FILES = (
    "people.parquet",
    "people.duckdb",
    "people.duckdb.wal",
    "people.ledger",
    "people.ledger-wal",
    "people.ledger-shm",
    "people.ledger.mark",
    "people.ledger.intents",
    "people.audit",
    "people.release.duckdb",
    "people.release.duckdb.lock",
    "people.release.duckdb.wal",
)
"""All that the demo leaves or may leave in its directory, beside `MARK` and `OWN_FOLDER`."""
OWN_FOLDER = "people.models"
"""Models that are kept with synthetic tables."""

LOAD = """\
CREATE TABLE people (person_id BIGINT PRIMARY KEY, SEX INTEGER, RAC1P INTEGER, AGEP INTEGER,
                     SCHL INTEGER, ESR INTEGER, WKHP INTEGER, PINCP INTEGER);
INSERT INTO people SELECT * FROM read_parquet(?)"""

DECLARE = """\
ALTER TABLE people ADD PRIVACY_KEY (person_id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN SEX SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN RAC1P SET PRIVACY DOMAIN IN (1, 2, 3, 4, 5, 6, 7, 8, 9);
ALTER TABLE people ALTER COLUMN AGEP SET PRIVACY DOMAIN BETWEEN (0, 95);
ALTER TABLE people ALTER COLUMN SCHL SET PRIVACY DOMAIN BETWEEN (1, 24) OR NULL;
ALTER TABLE people ALTER COLUMN ESR SET PRIVACY DOMAIN IN (1, 3, 6, NULL);
ALTER TABLE people ALTER COLUMN WKHP SET PRIVACY DOMAIN BETWEEN (1, 99) OR NULL;
ALTER TABLE people ALTER COLUMN PINCP SET PRIVACY DOMAIN BETWEEN (0, 200000) OR NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);"""

BY_GROUP = """\
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)
       SEX, RAC1P, COUNT(*) AS n, AVG(PINCP) AS income
FROM people STRATIFY BY SEX, RAC1P"""

BY_STATUS = """\
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.25)
       SEX, ESR, COUNT(*) AS n
FROM people WHERE AGEP >= 16 GROUP BY ESR STRATIFY BY SEX"""

SYNTHETIC = """\
CREATE OR REPLACE SYNTHETIC TABLE people_synth AS
SELECT SEX, RAC1P, AGEP, SCHL, ESR, WKHP, PINCP FROM people
STRATIFY BY SEX, RAC1P USING mst OPTIONS (epsilon = 1)"""

PLAIN = """\
SELECT SEX, COUNT(*) AS people, ROUND(AVG(AGEP), 1) AS age, ROUND(AVG(PINCP)) AS income,
       ROUND(CORR(SCHL, PINCP), 2) AS schooling_and_income
FROM people_synth GROUP BY SEX ORDER BY SEX"""


@dataclass(frozen=True)
class _Tour:
    """Where the demo's files are and where its words go."""

    directory: Path
    console: Console

    @property
    def vault(self) -> Path:
        return self.directory / "people.duckdb"

    @property
    def release(self) -> Path:
        return self.directory / "people.release.duckdb"

    def title(self, text: str) -> None:
        self.console.print(Text(f"\n{text}", style="bold"))

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def show(self, connection: Connection, sql: str) -> None:
        """Prints a statement, runs it, prints what it gave."""
        self.console.print(Text("\n".join(f"  {line}" for line in sql.splitlines()), style="cyan"))
        with reporting() as report:
            result = connection.session.execute(sql, progress=report)
        print_table(result, self.console)
        self.say(footnote(result, width=text_width(sys.stdout)))


def run(directory: Path, rows: int = demo_people.PEOPLE) -> None:
    """Runs the demo, printing to stdout.

    Args:
        directory: Where its files go. One that holds other things than an earlier demo is refused.
        rows: How many people to generate.

    Raises:
        Error: The directory cannot be used, or a statement failed.
    """
    begun = time.perf_counter()
    tour = _Tour(directory, console_for(sys.stdout))
    _claim(directory)
    _make_vault(tour, rows)
    _declare(tour)
    with connect(tour.vault, role="analyst") as analyst:
        _ask(tour, analyst)
    with connect(tour.vault, role="owner") as owner:
        _publish(tour, owner)
    _read_plainly(tour)
    _say_what_next(tour, time.perf_counter() - begun)


def _claim(directory: Path) -> None:
    """Makes the directory ours, or removes what an earlier demo left; nothing else is touched."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()) and not (directory / MARK).exists():
            raise errors.InterfaceError(
                f"{directory} holds files that are not the demo's; nothing was touched.\n"
                "Hint: sqlpriv demo --dir ANOTHER"
            )
        (directory / MARK).write_text(ABOUT, encoding="utf-8")
        for name in OWN_FILES:
            (directory / name).unlink(missing_ok=True)
        shutil.rmtree(directory / OWN_FOLDER, ignore_errors=True)
    except OSError as error:
        raise errors.OperationalError(
            f"{directory} cannot be used ({error.strerror}).\nHint: sqlpriv demo --dir ANOTHER"
        ) from None


def _make_vault(tour: _Tour, rows: int) -> None:
    tour.title(f"1. A vault of {rows:,} generated people")
    tour.say(
        "They are made up: nobody in this vault exists. Only the sizes of the groups by sex and\n"
        "race are real, those of New York in the census survey of 2018; some hold two or three."
    )
    source = tour.directory / "people.parquet"
    pq.write_table(demo_people.generate(rows), source)
    tour.console.print(Text(_indent(LOAD), style="cyan"))
    with connect(tour.vault, role="owner") as owner:
        create, insert = owner.session.statements(LOAD)
        owner.execute(create)
        owner.execute(insert, [str(source)])
    source.unlink()


def _declare(tour: _Tour) -> None:
    tour.title("2. The owner says, once, whom the table protects and what its columns may hold")
    tour.console.print(Text(_indent(DECLARE), style="cyan"))
    with connect(tour.vault, role="owner") as owner:
        owner.execute(DECLARE)


def _ask(tour: _Tour, analyst: Connection) -> None:
    tour.title("3. An analyst sees what may be spent ...")
    tour.show(analyst, "SHOW PRIVACY BUDGET")
    tour.title("4. ... what an answer would cost and how good it would be, for nothing ...")
    tour.show(analyst, f"EXPLAIN PRIVACY {BY_GROUP}")
    tour.title("5. ... and asks: every group and, in the last row, everybody, at one price")
    tour.show(analyst, BY_GROUP)
    tour.title("6. The same question again is free; another is not")
    tour.show(analyst, BY_GROUP + " LIMIT 2")
    tour.show(analyst, BY_STATUS)


def _publish(tour: _Tour, owner: Connection) -> None:
    tour.title("7. A whole synthetic table, group by group, for everybody and for ever")
    tour.show(owner, SYNTHETIC)
    tour.title("8. What is left of the budget")
    tour.show(owner, "SHOW PRIVACY BUDGET")


def _read_plainly(tour: _Tour) -> None:
    tour.title(f"9. Plain DuckDB reads {tour.release.name}: hand it to any BI tool")
    tour.console.print(Text(_indent(PLAIN), style="cyan"))
    with duckdb.connect(str(tour.release), read_only=True) as plain:
        tour.say(str(plain.sql(PLAIN)))


def _say_what_next(tour: _Tour, seconds: float) -> None:
    tour.title(f"Done in {seconds:.0f} s. Now you:")
    vault = tour.vault
    tour.say(
        f"  sqlpriv shell {vault}\n"
        f"  sqlpriv budget {vault}\n"
        f'  sqlpriv query {vault} "SET privacy_epsilon = 0.1; SELECT RAC1P, AVG(WKHP) AS hours'
        ' FROM people STRATIFY BY RAC1P" --format csv\n'
        f'  sqlpriv query {vault} "SELECT * FROM people_synth LIMIT 5"\n'
        f'  duckdb {tour.release} "SELECT * FROM people_synth LIMIT 5"'
    )


def _indent(sql: str) -> str:
    return "\n".join(f"  {line}" for line in sql.splitlines())

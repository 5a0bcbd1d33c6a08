"""Vaults with the suites' tables and random rows of few units, as a file and in memory."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import duckdb
from suites.vault import DECLARATIONS, TABLES

from sqlpriv.session.session import Session
from support.private_tables import (
    BUDGETS,
    FAMILIES,
    MORE_DECLARATIONS,
    MORE_TABLES,
    PAID,
    owners_of,
)
from support.random_vaults import VALUES

EMPTIED = [*dict.fromkeys(name for family in PAID for name, _ in owners_of(family))]
"""The private tables."""
WINDOWS = (
    "ALTER TABLE stays SET PRIVACY WINDOW (day, closed_before = DATE '2023-02-01');"
    " ALTER TABLE sales SET PRIVACY WINDOW (sold, closed_before = DATE '2023-01-01')"
)
Rows = dict[str, list[tuple[str, str]]]
"""By table: each row's unit, and the row as SQL's VALUES have it."""


def make_empty_vault(path: Path, kind: str) -> Path:
    """Makes a vault without private rows, whose budgets are of a kind in `BUDGETS`."""
    with Session(path, role="owner", principal="owner") as owner:
        owner.execute(TABLES)
        owner.execute(MORE_TABLES)
        owner.execute(emptied(EMPTIED))
        owner.execute(kind_of(DECLARATIONS + MORE_DECLARATIONS, kind))
        if kind == "periods":
            owner.execute(WINDOWS)
    return path


def kind_of(declarations: str, kind: str) -> str:
    """Declarations with the budgets of a kind."""
    lines = [line for line in declarations.splitlines() if "PRIVACY BUDGET" not in line]
    lines += [f"ALTER TABLE {table} SET PRIVACY BUDGET {BUDGETS[kind]};" for table in PAID]
    return "\n".join(lines)


def emptied(tables: Sequence[str]) -> str:
    return "; ".join(f"DELETE FROM {table}" for table in reversed(tables))


@cache
def usual_rows() -> tuple[dict[str, dict[str, str]], dict[str, list[tuple[str, ...]]]]:
    """By private table: its columns with their types, and rows as literals."""
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        engine.execute(TABLES + MORE_TABLES)
        columns: dict[str, dict[str, str]] = defaultdict(dict)
        for table, column, type_ in engine.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
            " ORDER BY table_name, column_index"
        ).fetchall():
            columns[table][column] = type_
        rows = {}
        for table in EMPTIED:
            texts = ", ".join(f"CAST({column} AS VARCHAR)" for column in columns[table])
            rows[table] = [
                tuple("NULL" if x is None else "'" + x.replace("'", "''") + "'" for x in row)
                for row in engine.execute(f"SELECT {texts} FROM {table} ORDER BY ALL").fetchall()
            ]
        return columns, rows


def random_rows(rng: random.Random) -> Rows:
    """Rows of a few units of each family; some have very many rows, some none."""
    columns, usual = usual_rows()
    rows: Rows = {table: [] for table in EMPTIED}
    for family in PAID:
        (_, own), *linked = owners_of(family)
        places = [[*columns[family]].index(c) for c in own.split(", ")]
        units = list(dict.fromkeys(tuple(row[i] for i in places) for row in usual[family]))
        units = rng.sample(units, min(len(units), rng.randint(2, 5)))
        weights = [rng.choice([0.2, 1, 1, 6]) for _ in units]
        logins: list[tuple[str, str]] = []
        if len(FAMILIES[family]) and own in ("id", "cid", "mid", "firm, badge"):
            for row in usual[family]:  # one row of each unit
                if (unit := tuple(row[i] for i in places)) in units:
                    rows[family].append((str(unit), hostile(rng, family, row)))
        else:
            linked = [(family, own), *linked]
        for table, column in linked:
            for row in rng.sample(usual[table], min(len(usual[table]), rng.randint(4, 18))):
                changed, names = list(row), [*columns[table]]
                if column == "lid":
                    if not logins:
                        continue
                    unit_name, login = rng.choice(logins)
                    changed[names.index("lid")] = login
                else:
                    unit = rng.choices(units, weights)[0]
                    unit_name = str(unit)
                    for name, value in zip(column.split(", "), unit, strict=True):
                        changed[names.index(name)] = value
                    if table == "logins":
                        logins.append((unit_name, changed[names.index("lid")]))
                rows[table].append((unit_name, hostile(rng, table, tuple(changed))))
    return rows


NAMED = {"id", "cid", "sid", "mid", "lid", "bid", "nr", "firm", "badge", "person", "u"}
"""Columns that name rows and units."""


def hostile(rng: random.Random, table: str, row: tuple[str, ...]) -> str:
    """A row, one value of which is replaced by a hostile one now and then."""
    columns, _ = usual_rows()
    values = []
    at = rng.randrange(len(row)) if rng.random() < 0.3 else -1
    for i, ((name, type_), value) in enumerate(zip(columns[table].items(), row, strict=True)):
        if i == at and name not in NAMED and type_ in VALUES:
            value = rng.choice(VALUES[type_])
        values.append(f"CAST({value} AS {type_})")
    return "(" + ", ".join(values) + ")"


def written(rows: Rows, families: Sequence[str], without: str = "") -> str:
    """SQL that puts these rows in place of all that tables of some families hold.

    Args:
        rows: The rows.
        families: Whose tables are written.
        without: A unit whose rows are left out.
    """
    tables = [table for family in families for table, _ in owners_of(family)]
    lines = [emptied(tables)]
    for table in dict.fromkeys(tables):
        if kept := [row for unit, row in rows[table] if unit != without]:
            lines.append(f"INSERT INTO {table} VALUES {', '.join(kept)}")
    return "; ".join(lines)


def units_of(rows: Rows, family: str) -> list[str]:
    """The units of a family that have rows."""
    return sorted({unit for table, _ in owners_of(family) for unit, _ in rows[table]})

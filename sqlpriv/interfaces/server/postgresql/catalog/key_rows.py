"""Rows of pg_constraint, and of pg_index with a relation for each key but the foreign ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlpriv.statements import quote_name

FIRST_TABLE = 16_384
"""The first object number of a table; those of a table's columns and keys follow from it."""


class KeyRows(NamedTuple):
    """Rows of the tables `constraints`, `indexes` and, of the indexes' relations, `classes`."""

    constraints: list[tuple[Any, ...]]
    indexes: list[tuple[Any, ...]]
    classes: list[tuple[Any, ...]]


def key_rows(
    keys: Sequence[Mapping[str, Any]],
    oids: Mapping[str, int],
    numbers: Mapping[tuple[str, str], int],
) -> KeyRows:
    """Returns the rows of some keys.

    Args:
        keys: Rows of duckdb_constraints(): primary, unique and foreign keys.
        oids: Table → its object number; keys of other tables are left out.
        numbers: (Table, column) → the column's place, from 1.
    """
    rows = KeyRows([], [], [])
    index_of = {
        (key["table_name"], *key["constraint_column_names"]): _key_number(at) + 1
        for at, key in enumerate(keys)
        if key["constraint_type"] != "FOREIGN KEY"
    }
    for at, key in enumerate(keys):
        table, columns = key["table_name"], key["constraint_column_names"]
        if table not in oids:
            continue
        oid = _key_number(at)
        kind = {"PRIMARY KEY": "p", "UNIQUE": "u", "FOREIGN KEY": "f"}[key["constraint_type"]]
        joined = "_".join(columns)
        suffix = {"p": "pkey", "u": f"{joined}_key", "f": f"{joined}_fkey"}[kind]
        name, listed = f"{table}_{suffix}", _identifiers(columns)
        parent, index = 0, oid + 1
        about = f"{key['constraint_type']} ({listed})"
        conkey, confkey = [numbers[table, column] for column in columns], None
        if kind == "f":
            parent_table, parents = key["referenced_table"], key["referenced_column_names"]
            parent = oids.get(parent_table, 0)
            index = index_of.get((parent_table, *parents), 0)
            confkey = [numbers[parent_table, column] for column in parents]
            about += f" REFERENCES {_identifier(parent_table)}({_identifiers(parents)})"
        else:
            target = f"public.{_identifier(table)} USING btree ({listed})"
            sql = f"CREATE UNIQUE INDEX {_identifier(name)} ON {target}"
            rows.classes.append((index, name, 2200, "i", len(columns)))
            rows.indexes.append((index, oids[table], kind == "p", conkey, sql, list(columns)))
        owner = oids[table]
        rows.constraints.append(
            (oid, name, 2200, kind, owner, index, parent, conkey, confkey, about)
        )
    return rows


def _key_number(at: int) -> int:
    """Returns the number of a key; the next is that of its index."""
    return FIRST_TABLE + 10_000 + 2 * at


def _identifier(name: str) -> str:
    """Returns a name as PostgreSQL writes it: in quotes where it needs them.

    >>> [_identifier(name) for name in ("person_id", "Person id")]
    ['person_id', '"Person id"']
    """
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quote_name(name)


def _identifiers(names: Sequence[str]) -> str:
    return ", ".join(map(_identifier, names))

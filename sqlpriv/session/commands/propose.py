"""What an owner could declare of tables, read from their rows: for the owner to edit and confirm.

Domains and bounds that are read from data tell of the data. So nothing here declares anything: the
result is a text of statements, each with what it would leave out, and it says so at its top.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlpriv.kernel.sql.quoting import literal, name

Fetch = Callable[[str], list[tuple[Any, ...]]]
"""Runs plain SQL for the owner; returns its rows."""

MOST_LEVELS = 50
"""A column with more values is proposed as an interval, or not at all."""
MOST_ROWS = 100
"""A column whose values have more rows each, on average, hardly names units."""
ROWS_KEPT = 0.99
"""A bound on a unit's rows is proposed that this share of the units does not exceed."""
SMALL_TABLE = 1_000
"""A table that no unit is in and that has at most so many rows may be a public list of codes."""
_NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
)
_NAMING = ("INTEGER", "BIGINT", "HUGEINT", "VARCHAR", "UUID")
"""Types of a column that is different in every row because it names the row."""
_IDENTIFIER = re.compile(
    r"(^|_)(id|key|no|nr|num|number|code|uuid|ssn|email|person|patient|customer|client|user|member"
    r"|household|employee|student|subject|participant|respondent)$|(id|key|no)$",
    re.IGNORECASE,
)

HEADER = """\
-- Proposed by `sqlpriv init`. Read every line before you run it.
--
-- Domains and bounds below were read from the rows, so they tell of the rows: a largest income that
-- is declared is public. Put in what is known without the data (the form, the law, the codebook)
-- wherever you can. Whom a table protects is your decision alone.
"""


@dataclass(frozen=True)
class ColumnProfile:
    """What the rows say of one column.

    Attributes:
        distinct: How many different values there are, NULL not counted.
        least, greatest: NULL and NaN not counted; None where there is nothing else.
    """

    name: str
    type: str
    rows: int
    present: int
    distinct: int
    least: Any
    greatest: Any

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.rows > 0 and self.present == self.rows == self.distinct

    @property
    def is_number(self) -> bool:
        return self.type.split("(")[0] in _NUMBERS


@dataclass(frozen=True)
class TableProfile:
    """A table's columns, and the columns of its PRIMARY KEY or UNIQUE constraint of one column."""

    table: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    keys: frozenset[str]

    def unit_column(self) -> ColumnProfile | None:
        """Returns the column that most probably names who a row is about; None if there is none."""
        alike = [
            c for c in self.columns if _IDENTIFIER.search(c.name) and not c.type.startswith("D")
        ]
        constrained = [c for c in self.columns if c.name in self.keys]
        repeated = [c for c in alike if c.distinct > max(MOST_LEVELS, c.rows / MOST_ROWS)]
        unique = [c for c in self.columns if c.is_unique and c.type in _NAMING]
        unique = unique if self.rows > MOST_LEVELS else []
        for candidates in (constrained, [c for c in alike if c.is_unique], repeated, unique):
            if candidates:
                return candidates[0]
        return None


def propose(fetch: Fetch, tables: Sequence[str]) -> str:
    """Returns statements that would declare these tables, with a comment on what each leaves out.

    Args:
        fetch: Reads the vault as its owner.
        tables: Names of the tables, as in the catalog.
    """
    profiles = [_profile(fetch, table) for table in tables]
    links = {p.table: link for p in profiles if (link := _link(fetch, p, profiles)) is not None}
    parts = [HEADER]
    # A table comes after the one that it links to.
    for profile in sorted(profiles, key=lambda p: (p.table in links, p.table)):
        lines = _table_lines(fetch, profile, links.get(profile.table), profiles, links)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _profile(fetch: Fetch, table: str) -> TableProfile:
    described = fetch(f"DESCRIBE {name(table)}")
    columns = [(str(row[0]), str(row[1])) for row in described]
    sums = ["count(*)"]
    for column, of_type in columns:
        c = name(column)
        value = f"CASE WHEN isnan({c}) THEN NULL ELSE {c} END" if of_type in _FLOATS else c
        ends = f"min({value}), max({value})" if _is_ordered(of_type) else "NULL, NULL"
        sums.append(f"count({value}), count(DISTINCT {value}), {ends}")
    (numbers,) = fetch(f"SELECT {', '.join(sums)} FROM {name(table)}")
    rows, rest = numbers[0], numbers[1:]
    profiles = tuple(
        ColumnProfile(column, of_type, rows, *rest[4 * i : 4 * i + 4])
        for i, (column, of_type) in enumerate(columns)
    )
    keys = {str(row[0]) for row in described if row[3] in ("PRI", "UNI")}
    keys = keys if len(keys) == 1 else {c.name for c in profiles if c.name in keys and c.is_unique}
    return TableProfile(table, rows, profiles, frozenset(keys))


_FLOATS = ("FLOAT", "DOUBLE")


def _is_ordered(of_type: str) -> bool:
    return not any(mark in of_type for mark in ("[", "STRUCT", "MAP", "UNION", "BLOB", "JSON"))


@dataclass(frozen=True)
class _Link:
    column: str
    parent: str
    parent_column: str


def _link(fetch: Fetch, profile: TableProfile, others: Sequence[TableProfile]) -> _Link | None:
    """Returns the column that refers to another table's unique one; the largest table wins."""
    candidates = []
    for parent in others:
        for key in parent.columns:
            if (
                parent.table == profile.table
                or not key.is_unique
                or parent.rows <= SMALL_TABLE // 100
            ):
                continue
            for column in profile.columns:
                if column.type == key.type and _same_name(column.name, key.name, parent.table):
                    candidates.append((parent.rows, _Link(column.name, parent.table, key.name)))
    for _, link in sorted(candidates, key=lambda pair: -pair[0]):
        missing = fetch(
            f"SELECT count(*) FROM {name(profile.table)} WHERE {name(link.column)} NOT IN"
            f" (SELECT {name(link.parent_column)} FROM {name(link.parent)})"
        )[0][0]
        own = profile.unit_column()
        if missing == 0 and not (own and own.name == link.column and own.is_unique):
            return link
    return None


def _same_name(column: str, key: str, parent: str) -> bool:
    """Returns whether a column's name says that it refers to a table's key.

    >>> [_same_name(c, "id", "customers") for c in ("customer_id", "customerid", "order_id")]
    [True, True, False]
    >>> _same_name("o_custkey", "c_custkey", "customer")
    True
    """
    left, right = column.lower(), key.lower()
    stem = parent.lower().rstrip("s")
    bare = [re.sub(r"^[a-z]{1,2}_", "", part) for part in (left, right)]
    by_name = left == right and right not in ("id", "key", "no", "code")
    return (
        by_name
        or (bare[0] == bare[1] and len(bare[0]) > 4)
        or left in (f"{stem}_{right}", f"{stem}{right}")
    )


def _table_lines(
    fetch: Fetch,
    profile: TableProfile,
    link: _Link | None,
    profiles: Sequence[TableProfile],
    links: dict[str, _Link],
) -> list[str]:
    t = name(profile.table)
    lines = [f"-- {profile.table}: {profile.rows} rows"]
    budget = f"ALTER TABLE {t} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);"
    is_parent = any(other.parent == profile.table for other in links.values())
    unit = profile.unit_column()
    if link is not None:
        target = f"{name(link.parent)}({name(link.parent_column)})"
        lines += _bound_lines(fetch, profile, link.column)
        lines.append(f"ALTER TABLE {t} ADD PRIVACY_LINK ({name(link.column)}) REFERENCES {target};")
        skipped = link.column
    elif unit is None:
        return [
            *lines,
            "-- No column seems to name whom a row is about: every row is taken for a unit.",
            f"-- If nobody is in this table, write instead: ALTER TABLE {t} SET PUBLIC;",
            f"CREATE OR REPLACE TABLE {t} AS SELECT row_number() OVER () AS row_id,"
            f" COLUMNS(lambda c: c <> 'row_id') FROM {t};",
            f"ALTER TABLE {t} ADD PRIMARY KEY (row_id);",
            f"ALTER TABLE {t} ADD PRIVACY_KEY (row_id);",
            f"ALTER TABLE {t} SET PRIVACY BOUND (rows_per_unit = 1);",
            f"ALTER TABLE {t} SET PU;",
            *(line for c in profile.columns for line in _domain_lines(fetch, profile.table, c)),
            budget,
        ]
    elif profile.rows <= SMALL_TABLE and not is_parent and len(profiles) > 1:
        lines.append(f"-- A short list. If it is about nobody: ALTER TABLE {t} SET PUBLIC;")
        return lines
    else:
        lines.append(f"ALTER TABLE {t} ADD PRIVACY_KEY ({name(unit.name)});")
        if unit.is_unique and unit.name not in profile.keys:
            lines += [
                f"-- Every {unit.name} has one row. If that is so for good, add, too:",
                f"-- ALTER TABLE {t} ADD PRIMARY KEY ({name(unit.name)});",
            ]
        lines += _bound_lines(fetch, profile, unit.name)
        lines.append(f"ALTER TABLE {t} SET PU;")
        skipped = unit.name
    for column in profile.columns:
        if column.name != skipped:
            lines += _domain_lines(fetch, profile.table, column)
    if link is None:
        lines.append(budget)
    return lines


def _bound_lines(fetch: Fetch, profile: TableProfile, column: str) -> list[str]:
    """Returns the bound on a unit's rows that hardly a unit exceeds, and what it leaves out."""
    t, c = name(profile.table), name(column)
    counts = f"SELECT count(*) AS n FROM {t} WHERE {c} IS NOT NULL GROUP BY {c}"
    most, usual = fetch(
        f"SELECT coalesce(max(n), 1), coalesce(quantile_disc(n, {ROWS_KEPT}), 1) FROM ({counts})"
    )[0]
    bound = most if most <= 3 else usual
    left_out = fetch(f"SELECT coalesce(sum(greatest(n - {bound}, 0)), 0) FROM ({counts})")[0][0]
    nobodys = fetch(f"SELECT count(*) FROM {t} WHERE {c} IS NULL")[0][0]
    remarks = [f"{left_out} row(s) beyond it are left out"] if left_out else []
    remarks += [f"{nobodys} row(s) without {column} are never read"] if nobodys else []
    remark = f"  -- {'; '.join(remarks)}" if remarks else ""
    return [f"ALTER TABLE {t} SET PRIVACY BOUND (rows_per_unit = {bound});{remark}"]


def _domain_lines(fetch: Fetch, table: str, column: ColumnProfile) -> list[str]:
    """Returns the domain of a column, or a comment on why none is proposed."""
    alter = f"ALTER TABLE {name(table)} ALTER COLUMN {name(column.name)} SET PRIVACY DOMAIN"
    nulls = column.present < column.rows
    if not column.distinct or not _is_ordered(column.type):
        return [f"-- {column.name}: {column.type}, no domain"]
    if column.distinct <= MOST_LEVELS and column.type not in (*_FLOATS, "TIMESTAMP"):
        c = name(column.name)
        levels = fetch(f"SELECT DISTINCT {c} FROM {name(table)} WHERE {c} IS NOT NULL ORDER BY 1")
        values = [_value_literal(row[0]) for row in levels]
        if all(value is not None for value in values):
            listed = ", ".join([*(str(value) for value in values), *(["NULL"] if nulls else [])])
            return [f"{alter} IN ({listed}){'' if nulls else ' NOT NULL'};"]
    ends = _outward(column)
    if ends is None:
        if moments := _type_of_moments(fetch, table, column):
            retyped = f"ALTER TABLE {name(table)} ALTER COLUMN {name(column.name)} TYPE {moments};"
            return [
                f"-- {column.name}: text that holds moments; run this, then propose anew:",
                f"-- {retyped}",
            ]
        return [f"-- {column.name}: {column.distinct} different values; list those to group by"]
    promise = " OR NULL" if nulls else " NOT NULL"
    return [f"{alter} BETWEEN ({_value_literal(ends[0])}, {_value_literal(ends[1])}){promise};"]


def _type_of_moments(fetch: Fetch, table: str, column: ColumnProfile) -> str:
    """Returns DATE or TIMESTAMP, where every text of a column can be read as one; else ''."""
    for type_ in ("DATE", "TIMESTAMP"):
        c = name(column.name)
        same = f"TRY_CAST({c} AS {type_}) IS NOT NULL AND (length({c}) = 10) = ('{type_}' = 'DATE')"
        rows = f"SELECT bool_and({same}) FROM {name(table)} WHERE {c} IS NOT NULL"
        if column.type == "VARCHAR" and fetch(rows)[0][0]:
            return type_
    return ""


def _value_literal(value: Any) -> str | None:
    """Returns a value as a literal of a declaration; None for types that have none."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float() | Decimal():
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        case str():
            return literal(value)
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo is None else None
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
    return None


def _outward(column: ColumnProfile) -> tuple[Any, Any] | None:
    """Returns round ends that hold every value; None for types that have no interval."""
    low, high = column.least, column.greatest
    if column.is_number:
        low, high = round_down(float(low)), -round_down(-float(high))
        whole = not any(column.type.startswith(t) for t in ("FLOAT", "DOUBLE", "DECIMAL"))
        return (int(low), int(high)) if whole else (low, high)
    if column.type == "DATE":
        return datetime.date(low.year, 1, 1), datetime.date(high.year, 12, 31)
    if column.type.startswith("TIMESTAMP") and high.year < datetime.MAXYEAR:
        return datetime.datetime(low.year, 1, 1), datetime.datetime(high.year + 1, 1, 1)
    return None


def round_down(value: float) -> float:
    """Returns the nearest round number (1, 2, 2.5 or 5 times a power of ten) that is not above.

    >>> [round_down(x) for x in (17.0, 0.0, -90.0, -7.2, 1234.0)]
    [10.0, 0.0, -100.0, -10.0, 1000.0]
    """
    if value == 0 or not math.isfinite(value):
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(value)))
    steps = [s * power for s in (1.0, 2.0, 2.5, 5.0, 10.0)]
    if value > 0:
        return max((s for s in steps if s <= value), default=power)
    return -min((s for s in steps if s >= -value), default=10 * power)

"""The domain of a column as it is proposed, with what it would leave out or read as something else.

A domain that is declared as it stands here loses no value without a remark: codes of missing values
are inside, and a narrower domain stands beside the statement that makes them NULL.
"""

from __future__ import annotations

import datetime
from typing import Any

from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.kernel.terms.contract import MAX_INTEGER
from sqlpriv.session.proposals.domain_ends import outward_ends, value_literal
from sqlpriv.session.proposals.missing_codes import (
    MissingCodes,
    find_missing_codes,
    is_written_as_code,
)
from sqlpriv.session.proposals.table_profiles import (
    FLOATS,
    MOST_LEVELS,
    ColumnProfile,
    Fetch,
    end_condition,
    is_ordered,
)
from sqlpriv.session.proposals.text_remarks import (
    spelling_remark,
    text_remark,
    thousands_remark,
)
from sqlpriv.statements import alter_text, written_name
from sqlpriv.system.count_text import count_text

FEWEST_HOLDERS = 10
"""A value that fewer rows hold is not listed: a list is public, and tells that it occurs."""
_MOST_NAMED = 4
"""Values that no domain holds, at most, that a remark names one by one."""


def domain_lines(fetch: Fetch, table: str, column: ColumnProfile) -> list[str]:
    """Returns the domain of a column, or a comment on why none is proposed.

    Args:
        fetch: Reads the vault as its owner.
        table: The table.
        column: One of its columns.
    """
    if not is_ordered(column.type):
        return [f"-- {column.name}: {column.type}, no domain"]
    outside = _values_outside(fetch, table, column)
    if column.least is None:
        if outside:
            return _outside_remark(table, column, outside, "no domain holds them")
        return [f"-- {column.name}: no row has a value, no domain"]
    if (
        column.distinct == 1
        and column.type.startswith(("DATE", "TIMESTAMP"))
        and is_written_as_code(column.least)
    ):
        return [
            f"-- {column.name}: every value is {column.least}, which may stand for none, no domain"
        ]
    codes = None if column.is_in_key else find_missing_codes(fetch, table, column)
    if lines := _list_lines(fetch, table, column, codes, outside):
        return lines
    if outward_ends(column) is None:
        if column.type == "VARCHAR" and (remark := text_remark(fetch, table, column.name)):
            return remark
        values = count_text(column.distinct, "different value")
        return [f"-- {column.name}: {values}; list those to group by"]
    return _interval_lines(fetch, table, column, codes, outside)


def _list_lines(
    fetch: Fetch,
    table: str,
    column: ColumnProfile,
    codes: MissingCodes | None,
    outside: dict[str, int],
) -> list[str]:
    """Returns the list of a column's values; no lines where it has none that could be public."""
    if column.distinct > MOST_LEVELS or column.type in (*FLOATS, "TIMESTAMP"):
        return []
    levels = _levels(fetch, table, column)
    # The values of a BOOLEAN or an ENUM are in the catalog, which is public.
    fewest = 0 if column.type.startswith(("BOOLEAN", "ENUM")) else FEWEST_HOLDERS
    common = [value for value, n in levels if n >= fewest]
    is_listed = outward_ends(column) is None or len(common) == len(levels)
    if not common or not is_listed or any(value is None for value, _ in levels):
        return []
    texts = [value for value, _ in levels if column.type == "VARCHAR"]
    lines = spelling_remark(table, column.name, [t[1:-1] for t in texts])
    if codes:
        lines += [
            f"{_codes_text(column, codes)} if that is so, run this, then propose anew:",
            *_null_lines(table, column, _in_codes(column, codes)),
        ]
    lines += _outside_remark(table, column, outside, "in no group")
    lines += text_remark(fetch, table, column.name) if texts else []
    if rare := [n for _, n in levels if n < fewest]:
        lines.append(
            f"-- {column.name}: {count_text(len(rare), 'value')} of fewer than {fewest}"
            f" rows ({count_text(sum(rare), 'row')}) left out of the list, which is public"
        )
    has_null = column.present < column.rows
    listed = ", ".join([*common, *(["NULL"] if has_null else [])])
    is_whole = not (has_null or rare or outside)
    alter = f"{alter_text(table, column.name)} SET PRIVACY DOMAIN"
    return [*lines, f"{alter} IN ({listed}){' NOT NULL' if is_whole else ''};"]


def _interval_lines(
    fetch: Fetch,
    table: str,
    column: ColumnProfile,
    codes: MissingCodes | None,
    outside: dict[str, int],
) -> list[str]:
    """Returns the interval that holds all values, and the one without codes as a comment."""
    alter = f"{alter_text(table, column.name)} SET PRIVACY DOMAIN"
    has_zone = column.type == "TIMESTAMP WITH TIME ZONE"
    fate = "count as NULL or as its nearer end" if has_zone else "count as its nearer end"
    lines = _outside_remark(table, column, outside, f"no domain holds them; they {fate}")
    lines += thousands_remark(fetch, table, column.name) if column.type == "DOUBLE" else []
    ends = outward_ends(column)
    assert ends is not None
    if column.is_whole_number and max(-column.least, column.greatest) >= MAX_INTEGER:
        lines += [
            f"-- {column.name}: some values are beyond ±2^62, where domains of whole numbers end,"
            " and count as the nearer end. To keep them, run this, then propose anew:",
            f"-- {alter_text(table, column.name)} TYPE DOUBLE;",
        ]
    if codes is None:
        has_null = column.present < column.rows or outside
        return [
            *lines,
            f"{alter} {_between_clause(ends)}{' OR NULL' if has_null else ' NOT NULL'};",
        ]
    narrow = outward_ends(codes.others)
    assert narrow is not None  # of the same type
    if narrow == ends:
        return [
            *lines,
            f"{_codes_text(column, codes)} if that is so, run this, too:",
            *_null_lines(table, column, _in_codes(column, codes)),
            f"{alter} {_between_clause(ends)} OR NULL;",
        ]
    return [
        *lines,
        f"{_codes_text(column, codes)} the domain holds them until you know. If that is so, run"
        " what stands below it, too, for less noise:",
        f"{alter} {_between_clause(ends)} OR NULL;",
        *_null_lines(table, column, _in_codes(column, codes)),
        f"-- {alter} {_between_clause(narrow)} OR NULL;",
    ]


def _between_clause(ends: tuple[Any, Any]) -> str:
    return f"BETWEEN ({value_literal(ends[0])}, {value_literal(ends[1])})"


def _codes_text(column: ColumnProfile, codes: MissingCodes) -> str:
    """Returns the beginning of a remark on codes of missing values."""
    listed = " and ".join(
        f"{code} ({count_text(rows, 'row')})" for code, rows in codes.rows.items()
    )
    stands = "stands" if len(codes.rows) == 1 else "stand"
    return (
        f"-- {column.name}: {listed} {stands} apart from the others, as codes of missing values do;"
    )


def _in_codes(column: ColumnProfile, codes: MissingCodes) -> str:
    """Returns the condition, as SQL, of a column's codes."""
    return f"{written_name(column.name)} IN ({', '.join(map(_stored_literal, codes.rows))})"


def _stored_literal(value: Any) -> str:
    """Returns a value as a literal of DuckDB; a moment of a zone has none in declarations."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return f"TIMESTAMPTZ '{value.isoformat(sep=' ')}'"
    return str(value_literal(value))


def _null_lines(table: str, column: ColumnProfile, condition: str) -> list[str]:
    """Returns the statement, as a comment, that makes values of a column NULL."""
    set_null = f"-- UPDATE {written_name(table)} SET {written_name(column.name)} = NULL"
    drop = [f"-- {alter_text(table, column.name)} DROP NOT NULL;"] if not column.takes_null else []
    return [*drop, f"{set_null} WHERE {condition};"]


def _values_outside(fetch: Fetch, table: str, column: ColumnProfile) -> dict[str, int]:
    """Returns the values that no end can be, as texts, with the rows of each, most rows first: of
    numbers the infinite ones, since NaN counts as NULL."""
    c = name(column.name)
    if column.type in FLOATS:
        condition = f"isinf({c})"
    elif column.type.startswith(("DATE", "TIMESTAMP")):
        condition = f"NOT ({end_condition(c, column.type)})"
    else:
        return {}
    rows = fetch(
        f"SELECT {c}::VARCHAR, count(*) FROM {name(table)} WHERE {condition}"
        " GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {str(value): int(n) for value, n in rows}


def _outside_remark(
    table: str, column: ColumnProfile, outside: dict[str, int], fate: str
) -> list[str]:
    """Returns a remark on values that no end can be, with the statement that makes them NULL."""
    if not outside:
        return []
    named = [f"{value} ({count_text(n, 'row')})" for value, n in outside.items()]
    if rest := sum(list(outside.values())[_MOST_NAMED:]):
        named[_MOST_NAMED:] = [f"others ({count_text(rest, 'row')})"]
    c = written_name(column.name)
    listed = ", ".join(f"{literal(value)}::{column.type}" for value in outside)
    condition = f"NOT ({end_condition(c, column.type)})" if rest else f"{c} IN ({listed})"
    return [
        f"-- {column.name}: {' and '.join(named)}: {fate}. If they stand for missing values, run"
        " this, then propose anew:",
        *_null_lines(table, column, condition),
    ]


def _levels(fetch: Fetch, table: str, column: ColumnProfile) -> list[tuple[Any, int]]:
    """Returns each value of a column, as a literal or None, and how many rows hold it."""
    c = name(column.name)
    condition = end_condition(c, column.type)
    rows = fetch(f"SELECT {c}, count(*) FROM {name(table)} WHERE {condition} GROUP BY 1 ORDER BY 1")
    return [(value_literal(value), n) for value, n in rows]

"""What an owner could declare of tables, read from their rows: for the owner to edit and confirm.

Domains and bounds that are read from data tell of the data. So nothing here declares anything: the
result is a text of statements, each with what it would leave out, and it says so at its top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlpriv.kernel.rows_in_files import FORM
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.session.proposals.domain_ends import outward_ends, value_literal
from sqlpriv.session.proposals.missing_codes import MissingCodes, find_missing_codes
from sqlpriv.session.proposals.table_links import TableLink, find_links
from sqlpriv.session.proposals.table_profiles import (
    FLOATS,
    MOST_LEVELS,
    ColumnProfile,
    Fetch,
    TableProfile,
    end_condition,
    is_code_list,
    is_ordered,
    profile_table,
)
from sqlpriv.session.proposals.text_remarks import (
    number_key_remark,
    spelling_remark,
    text_remark,
    thousands_remark,
    whole_key_remarks,
)
from sqlpriv.session.proposals.unit_statements import (
    bound_lines,
    link_lines,
    shared_unit_remarks,
    unit_name,
)
from sqlpriv.statements import written_name
from sqlpriv.system.count_text import count_text

FEWEST_HOLDERS = 10
"""A value that fewer rows hold is not listed: a list is public, and tells that it occurs."""

HEADER = """\
-- Proposed by `sqlpriv init`. Read every line before you run it.
--
-- Domains and bounds below were read from the rows, so they tell of the rows: a largest income that
-- is declared is public. Put in what is known without the data (the form, the law, the codebook)
-- wherever you can. Whom a table protects is your decision alone.
"""


def propose(fetch: Fetch) -> str:
    """Returns statements that would declare a vault's tables, with a comment on what each leaves
    out. Tables that are read in place, which are views of one form, are among them.

    Args:
        fetch: Reads the vault as its owner.
    """
    of_files = f"NOT internal AND schema_name = 'main' AND regexp_full_match(sql, {literal(FORM)})"
    tables = fetch(
        "SELECT table_name, false FROM duckdb_tables() WHERE NOT internal UNION ALL"
        f" SELECT view_name, true FROM duckdb_views() WHERE {of_files} ORDER BY 1"
    )
    profiles = [
        replace(profile_table(fetch, table), is_of_files=is_of_files)
        for table, is_of_files in tables
    ]
    links = find_links(fetch, profiles)
    by_name = {profile.table: profile for profile in profiles}
    parts = [HEADER]
    for table in (*(p.table for p in profiles if p.table not in links), *links):
        lines = _table_lines(fetch, by_name[table], by_name, links)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _table_lines(
    fetch: Fetch,
    profile: TableProfile,
    profiles: Mapping[str, TableProfile],
    links: Mapping[str, TableLink],
) -> list[str]:
    t, link = written_name(profile.table), links.get(profile.table)
    lines = [f"-- {profile.table}: {count_text(profile.rows, 'row')}"]
    lines += whole_key_remarks(fetch, profile.table)
    budget = f"ALTER TABLE {t} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);"
    is_parent = any(other.parent == profile.table for other in links.values())
    unit = profile.unit_column()
    if link is not None:
        lines += bound_lines(fetch, profile, unit_name(profile.table, profiles, links), links)
        lines += link_lines(profile.table, link, profiles[link.parent])
        skipped = link.column
    elif is_code_list(profile) and not is_parent and len(profiles) > 1:
        lines.append(f"-- A short list. If it is about nobody: ALTER TABLE {t} SET PUBLIC;")
        return lines
    elif unit is None:
        return [
            *lines,
            "-- No column seems to name whom a row is about: every row is taken for a unit.",
            *_nested_unit(profile),
            *_short_units(profile),
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
    else:
        lines += shared_unit_remarks(profile, profiles, links)
        lines.append(f"ALTER TABLE {t} ADD PRIVACY_KEY ({written_name(unit.name)});")
        if unit.is_unique and unit.name not in profile.keys and not profile.is_of_files:
            lines += [
                f"-- Every {unit.name} has one row. If that is so for good, add, too:",
                f"-- ALTER TABLE {t} ADD PRIMARY KEY ({written_name(unit.name)});",
            ]
        lines += _other_units(profile, unit) + number_key_remark(fetch, profile.table, unit)
        lines += bound_lines(fetch, profile, unit.name, links)
        lines.append(f"ALTER TABLE {t} SET PU;")
        skipped = unit.name
    for column in profile.columns:
        if column.name != skipped:
            lines += _domain_lines(fetch, profile.table, column)
    if link is None:
        lines.append(budget)
    return lines


def _nested_unit(profile: TableProfile) -> list[str]:
    """Returns how a field that may name units becomes a column; nothing where there is none."""
    nested = profile.nested_identifier()
    if nested is None:
        return []
    t, new = written_name(profile.table), written_name("_".join(nested))
    field = ".".join(map(name, nested))
    return [
        f"-- {'.'.join(nested)} may do so. If that is who is to be protected, run this, then"
        " propose anew:",
        f"-- CREATE OR REPLACE TABLE {t} AS SELECT *, {field} AS {new} FROM {t};",
    ]


def _short_units(profile: TableProfile) -> list[str]:
    """Returns a remark on columns that may name units, and are taken for lists of codes."""
    columns = profile.short_identifiers()
    if not columns:
        return []
    t, column = written_name(profile.table), written_name(columns[0].name)
    named = ", ".join(f"{written_name(c.name)} ({c.distinct} values)" for c in columns)
    return [
        f"-- {named}: called as units are, and so few that they are taken for codes. If one of them"
        " is who is to be protected, write instead:",
        f"-- ALTER TABLE {t} ADD PRIVACY_KEY ({column});"
        f" ALTER TABLE {t} SET PRIVACY BOUND (rows_per_unit = …);",
    ]


def _other_units(profile: TableProfile, unit: ColumnProfile) -> list[str]:
    """Returns a remark where a column names every row, and others may name who has several."""
    repeated = [written_name(c.name) for c in profile.repeated_identifiers() if c.present]
    if not unit.is_unique or not repeated:
        return []
    return [
        f"-- {', '.join(repeated)}: several rows each. If that is who is to be protected, write ADD"
        f" PRIVACY_KEY ({repeated[0]}) instead, and a bound on the rows of each.",
    ]


def _domain_lines(fetch: Fetch, table: str, column: ColumnProfile) -> list[str]:
    """Returns the domain of a column, or a comment on why none is proposed."""
    altered = f"{written_name(table)} ALTER COLUMN {written_name(column.name)}"
    alter = f"ALTER TABLE {altered} SET PRIVACY DOMAIN"
    nulls = column.present < column.rows
    if column.least is None and is_ordered(column.type):
        return [f"-- {column.name}: no row has a value, no domain"]
    if not is_ordered(column.type):
        return [f"-- {column.name}: {column.type}, no domain"]
    codes = find_missing_codes(fetch, table, column)
    ends = outward_ends(codes.others if codes else column)
    if column.distinct <= MOST_LEVELS and column.type not in (*FLOATS, "TIMESTAMP"):
        levels = _levels(fetch, table, column)
        # The values of a BOOLEAN or an ENUM are in the catalog, which is public.
        fewest = 0 if column.type.startswith(("BOOLEAN", "ENUM")) else FEWEST_HOLDERS
        common = [value for value, n in levels if n >= fewest]
        is_listed = ends is None or len(common) == len(levels)
        if common and is_listed and all(value is not None for value, _ in levels):
            texts = [value for value, _ in levels if column.type == "VARCHAR"]
            lines = spelling_remark(table, column.name, [t[1:-1] for t in texts])
            lines += _codes_remark(table, column.name, codes, "run this, then propose anew")
            lines += text_remark(fetch, table, column.name) if texts else []
            if rare := [n for _, n in levels if n < fewest]:
                lines.append(
                    f"-- {column.name}: {count_text(len(rare), 'value')} of fewer than {fewest}"
                    f" rows ({count_text(sum(rare), 'row')}) left out of the list, which is public"
                )
            listed = ", ".join([*common, *(["NULL"] if nulls else [])])
            return [*lines, f"{alter} IN ({listed}){'' if nulls or rare else ' NOT NULL'};"]
    if ends is None:
        if column.type == "VARCHAR" and (remark := text_remark(fetch, table, column.name)):
            return remark
        return [f"-- {column.name}: {column.distinct} different values; list those to group by"]
    promise = " OR NULL" if nulls or codes else " NOT NULL"
    remark = _codes_remark(table, column.name, codes, "run this, too")
    remark += thousands_remark(fetch, table, column.name) if column.type == "DOUBLE" else []
    return [
        *remark,
        f"{alter} BETWEEN ({value_literal(ends[0])}, {value_literal(ends[1])}){promise};",
    ]


def _codes_remark(table: str, column: str, codes: MissingCodes | None, then: str) -> list[str]:
    """Returns a remark on codes of missing values, with the statement that makes them NULL."""
    if codes is None:
        return []
    listed = " and ".join(
        f"{code} ({count_text(rows, 'row')})" for code, rows in codes.rows.items()
    )
    values = ", ".join(str(value_literal(code)) for code in codes.rows)
    t, c = written_name(table), written_name(column)
    stands = "stands" if len(codes.rows) == 1 else "stand"
    return [
        f"-- {column}: {listed} {stands} apart from the others, as codes of missing values do;"
        f" if that is so, {then}:",
        f"-- UPDATE {t} SET {c} = NULL WHERE {c} IN ({values});",
    ]


def _levels(fetch: Fetch, table: str, column: ColumnProfile) -> list[tuple[Any, int]]:
    """Returns each value of a column, as a literal or None, and how many rows hold it."""
    c = name(column.name)
    condition = end_condition(c, column.type)
    rows = fetch(f"SELECT {c}, count(*) FROM {name(table)} WHERE {condition} GROUP BY 1 ORDER BY 1")
    return [(value_literal(value), n) for value, n in rows]

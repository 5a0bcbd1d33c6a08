"""What an owner could declare of tables, read from their rows: for the owner to edit and confirm.

Domains and bounds that are read from data tell of the data. So nothing here declares anything: the
result is a text of statements, each with what it would leave out, and it says so at its top.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlpriv.kernel.rows_in_files import FORM
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.session.proposals.domain_lines import domain_lines
from sqlpriv.session.proposals.table_links import TableLink, find_links
from sqlpriv.session.proposals.table_profiles import (
    ColumnProfile,
    Fetch,
    TableProfile,
    is_code_list,
    profile_table,
)
from sqlpriv.session.proposals.text_remarks import number_key_remark, whole_key_remarks
from sqlpriv.session.proposals.unit_statements import (
    bound_lines,
    link_lines,
    shared_unit_remarks,
    unit_name,
)
from sqlpriv.statements import written_name
from sqlpriv.system.count_text import count_text

_CHANGE = re.compile(r"-- (UPDATE|DELETE|CREATE OR REPLACE|ALTER TABLE .* TYPE) ")
"""How remarks begin that change rows."""

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
    in_main = "NOT internal AND NOT temporary AND schema_name = 'main'"
    tables = fetch(
        f"SELECT table_name, false FROM duckdb_tables() WHERE {in_main} UNION ALL SELECT view_name,"
        f" true FROM duckdb_views() WHERE {in_main} AND regexp_full_match(sql, {literal(FORM)})"
        " ORDER BY 1"
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
    passed_over = fetch(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
        " AND schema_name <> 'main' AND NOT temporary ORDER BY ALL"
    )
    parts += [_elsewhere_remark(schema, table) for schema, table in passed_over]
    return "\n".join(parts)


def _elsewhere_remark(schema: str, table: str) -> str:
    """Returns a remark on a table in another schema, which cannot be declared."""
    t, new = f"{written_name(schema)}.{written_name(table)}", written_name(f"{schema}_{table}")
    return (
        f"-- {t}: in another schema than main, so nobody can ask about it. To declare it, run this,"
        f" then propose anew:\n-- CREATE TABLE {new} AS FROM {t};\n"
    )


def _table_lines(
    fetch: Fetch,
    profile: TableProfile,
    profiles: Mapping[str, TableProfile],
    links: Mapping[str, TableLink],
) -> list[str]:
    """Returns the statements and remarks on one table.

    Rows that are read in place cannot be changed. Where a remark proposes that, it says first how
    a table of the same name comes to hold them.
    """
    lines = _declaration_lines(fetch, profile, profiles, links)
    if profile.is_of_files and any(map(_CHANGE.match, lines)):
        lines[1:1] = _copy_remark(profile.table)
    return lines


def _copy_remark(table: str) -> list[str]:
    t, copy = written_name(table), written_name(f"{table}_here")
    return [
        "-- Its rows are read in place, and cannot be changed there. Before you change them as said"
        " below, hold them here:",
        f"-- CREATE TABLE {copy} AS FROM {t}; DROP TABLE {t}; ALTER TABLE {copy} RENAME TO {t};",
    ]


def _declaration_lines(
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
    elif unit is None and profile.is_of_files:
        return [
            *lines,
            "-- No column seems to name whom a row is about. To number the rows, propose anew when"
            " the vault holds them:",
            *_copy_remark(profile.table)[1:],
            *_nested_unit(profile),
            *_short_units(profile),
            f"-- If nobody is in this table, write: ALTER TABLE {t} SET PUBLIC;",
        ]
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
            budget,
            *(line for c in profile.columns for line in domain_lines(fetch, profile.table, c)),
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
        lines += [f"ALTER TABLE {t} SET PU;", budget]
        skipped = unit.name
    for column in profile.columns:
        if column.name != skipped:
            lines += domain_lines(fetch, profile.table, column)
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

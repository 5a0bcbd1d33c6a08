"""Statements that say whose the rows of a table are: the bound on a unit's rows, and links."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.proposals.table_links import TableLink, plain_name, root_of, unit_rows_text
from sqlpriv.session.proposals.table_profiles import Fetch, TableProfile
from sqlpriv.statements import written_name
from sqlpriv.system.count_text import count_text

ROWS_KEPT = 0.99
"""A bound on a unit's rows is proposed that this share of the units does not exceed."""


def unit_name(
    table: str, profiles: Mapping[str, TableProfile], links: Mapping[str, TableLink]
) -> str:
    """Returns the column that names units in the table that a table's links lead to."""
    unit = profiles[root_of(table, links)].unit_column()
    assert unit is not None  # or no link leads there
    return unit.name


def link_lines(table: str, link: TableLink, parent: TableProfile) -> list[str]:
    """Returns the link, and the key that it leads over where it does not name a unit itself."""
    t, p = written_name(table), written_name(link.parent)
    column, key = written_name(link.column), written_name(link.parent_column)
    fate = f"each such {link.column} is a unit of its own" if link.names_unit else "never read"
    remark = f"  -- {count_text(link.orphans, 'row')} of nobody there: {fate}"
    line = (
        f"ALTER TABLE {t} ADD PRIVACY_LINK ({column}) REFERENCES {p}({key});"
        f"{remark if link.orphans else ''}"
    )
    if link.names_unit or link.parent_column in parent.keys:
        return [line]
    if parent.is_of_files:
        return [
            f"-- A link to {p}({key}) needs UNIQUE ({key}) there, and {p} is read in place. Copy"
            f" its rows into the vault, CREATE TABLE {p}_here AS FROM {p}, and propose anew."
        ]
    if parent.keys:
        return [
            f"-- A link to {p}({key}) needs UNIQUE ({key}) there. Make that table anew with it,"
            " then run this:",
            f"-- {line}",
        ]
    return [
        f"ALTER TABLE {p} ADD PRIMARY KEY ({key});  -- the link leads over its rows, to their unit",
        line,
    ]


def bound_lines(
    fetch: Fetch, profile: TableProfile, unit: str, links: Mapping[str, TableLink]
) -> list[str]:
    """Returns the bound on a unit's rows that hardly a unit exceeds, and what it leaves out."""
    t = name(profile.table)
    column = links[profile.table].column if profile.table in links else unit
    rows, of = unit_rows_text(profile.table, unit, links)
    counts = f"SELECT count(*) AS n FROM {rows} WHERE {of} IS NOT NULL GROUP BY {of}"
    most, usual = fetch(
        f"SELECT coalesce(max(n), 1), coalesce(quantile_disc(n, {ROWS_KEPT}), 1) FROM ({counts})"
    )[0]
    bound = most if most <= 3 else usual
    left_out = fetch(f"SELECT coalesce(sum(greatest(n - {bound}, 0)), 0) FROM ({counts})")[0][0]
    nobodys = fetch(f"SELECT count(*) FROM {t} WHERE {name(column)} IS NULL")[0][0]
    remarks = [f"{count_text(left_out, 'row')} beyond it, left out"] if left_out else []
    remarks += [f"{count_text(nobodys, 'row')} without {column}, never read"] if nobodys else []
    remark = f"  -- {'; '.join(remarks)}" if remarks else ""
    table = written_name(profile.table)
    return [f"ALTER TABLE {table} SET PRIVACY BOUND (rows_per_unit = {bound});{remark}"]


def shared_unit_remarks(
    profile: TableProfile, profiles: Mapping[str, TableProfile], links: Mapping[str, TableLink]
) -> list[str]:
    """Returns a remark where an earlier table, that is not linked either, seems to have the same
    units: two budgets over the same people would add up."""
    unit = profile.unit_column()
    if unit is None or unit.name.lower() in ("id", "key", "no", "code"):
        return []
    column, lines = written_name(unit.name), list[str]()
    for other in profiles.values():
        theirs = other.unit_column()
        if other.table >= profile.table or other.table in links or theirs is None:
            continue
        if plain_name(theirs.name) != plain_name(unit.name):
            continue
        lines.append(
            f"-- {column} is the unit of {other.table}, too. If it names the same people there, two"
            " budgets over them add up."
        )
        if theirs.type != unit.type:
            lines.append(
                f"-- It is {unit.type} here and {theirs.type} there: make both of one type, and"
                " propose anew."
            )
            continue
        rows = " UNION ".join(
            f"SELECT {c} FROM {written_name(t)} WHERE {c} IS NOT NULL"
            for t, c in ((other.table, written_name(theirs.name)), (profile.table, column))
        )
        lines += [
            "-- To have one, make a table of them, to which both are linked, and propose anew:",
            f"-- CREATE TABLE units ({column} {unit.type} PRIMARY KEY); INSERT INTO units {rows};",
        ]
    return lines

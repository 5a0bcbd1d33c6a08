"""Which column of a table says whose its rows are, where that stands in another table.

Trips have a patient_id, and legs a trip_id: legs belong to patients, over trips.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.proposals.table_profiles import (
    SMALL_TABLE,
    ColumnProfile,
    Fetch,
    TableProfile,
    is_code_list,
)

MOST_ORPHANS = 0.1
"""A column refers to another table although this share of the rows names nobody there."""
_HOUSEHOLD = re.compile(r"household|famil(y|ia)|m[ée]nage|haushalt|hogar|famiglia", re.IGNORECASE)
"""Whom people belong to as a whole, in names of columns."""
_INTEGER = re.compile("U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
"""Types of which two values are equal whichever of them each is of."""


@dataclass(frozen=True)
class TableLink:
    """A column whose values are those of another table's unique column, but for `orphans` rows.

    Attributes:
        names_unit: Whether the unique column is the unit of that table. If not, the link leads to a
            row there, and on from it.
    """

    column: str
    parent: str
    parent_column: str
    names_unit: bool = True
    orphans: int = 0


def find_links(fetch: Fetch, profiles: Sequence[TableProfile]) -> dict[str, TableLink]:
    """Returns the link of each table that has one, by the table; a parent comes before its child.

    Args:
        fetch: Reads the vault as its owner.
        profiles: The tables.
    """
    links: dict[str, TableLink] = {}
    for profile in profiles:
        link = _find_link(fetch, profile, profiles)
        if link is not None and not _leads_to(link.parent, profile.table, links):
            links[profile.table] = link
    links = {
        table: replace(link, names_unit=_names_unit(link, links, profiles))
        for table, link in links.items()
    }
    return {table: links[table] for table in sorted(links, key=lambda t: (_depth(t, links), t))}


def unit_rows_text(table: str, unit: str, links: Mapping[str, TableLink]) -> tuple[str, str]:
    """Returns the rows of a table with the unit that each is of: (FROM's text, the unit's).

    Args:
        table: The table.
        unit: The column of its own unit, or of the table that its links lead to.
        links: Of all tables.
    """
    source, at = f"{name(table)} AS t0", 0
    while (link := links.get(table)) is not None:
        if link.names_unit:
            return source, f"t{at}.{name(link.column)}"
        child, at = f"t{at}.{name(link.column)}", at + 1
        source += (
            f" JOIN {name(link.parent)} AS t{at} ON {child} = t{at}.{name(link.parent_column)}"
        )
        table = link.parent
    return source, f"t{at}.{name(unit)}"


def root_of(table: str, links: Mapping[str, TableLink]) -> str:
    """Returns the table that a table's links lead to: itself where it has none."""
    while table in links:
        table = links[table].parent
    return table


def _find_link(
    fetch: Fetch, profile: TableProfile, others: Sequence[TableProfile]
) -> TableLink | None:
    """Returns the column that refers to another table's unique one.

    Tables of people win, then those that are no lists of codes, then the largest. Where the table
    has a column of its own that names people, only their household says so, too: no list of
    districts, and not the doctor's number.
    """
    own = profile.unit_column()
    candidates = []
    for parent in others:
        is_itself = parent.table == profile.table
        if is_itself or parent.rows <= SMALL_TABLE // 100 or parent.unit_column() is None:
            continue
        rank = parent.is_of_people, not is_code_list(parent), parent.rows
        for key in parent.columns:
            for column in profile.columns:
                own_people = own is not None and own.names_people and own.name != column.name
                if (
                    key.is_unique
                    and _same_type(column, key)
                    and _same_name(column.name, key.name, parent.table)
                    and parent.identifies_by(key)
                    and (_HOUSEHOLD.search(column.name) or not own_people)
                ):
                    candidates.append((rank, TableLink(column.name, parent.table, key.name)))
    for _, link in sorted(candidates, key=lambda pair: pair[0], reverse=True):
        orphans = fetch(
            f"SELECT count(*) FROM {name(profile.table)} WHERE {name(link.column)} NOT IN"
            f" (SELECT {name(link.parent_column)} FROM {name(link.parent)})"
        )[0][0]
        # Of two tables with one row for each of a unit, neither belongs to the other; but a visit's
        # bill is about whom the visit is about.
        is_own = own is not None and own.name == link.column and own.is_unique
        is_own = is_own and _names_unit(link, {}, others)
        if orphans <= MOST_ORPHANS * profile.rows and not is_own:
            return replace(link, orphans=orphans)
    return None


def _names_unit(
    link: TableLink, links: Mapping[str, TableLink], profiles: Sequence[TableProfile]
) -> bool:
    (parent,) = (profile for profile in profiles if profile.table == link.parent)
    unit = parent.unit_column()
    return link.parent not in links and unit is not None and unit.name == link.parent_column


def _leads_to(table: str, target: str, links: Mapping[str, TableLink]) -> bool:
    while table != target and table in links:
        table = links[table].parent
    return table == target


def _depth(table: str, links: Mapping[str, TableLink]) -> int:
    return 1 + _depth(links[table].parent, links) if table in links else 0


def _same_type(column: ColumnProfile, key: ColumnProfile) -> bool:
    """Returns whether a column may link to a key: a CSV's BIGINT may to a Parquet file's INTEGER.

    >>> bool(_INTEGER.fullmatch("BIGINT")), bool(_INTEGER.fullmatch("INTERVAL"))
    (True, False)
    """
    are_integers = _INTEGER.fullmatch(column.type) and _INTEGER.fullmatch(key.type)
    return column.type == key.type or are_integers is not None


def plain_name(column: str) -> str:
    """Returns the letters and digits of a name: two files may write one name in two ways.

    >>> plain_name("Person-ID"), plain_name("PersonId"), plain_name("person_id")
    ('personid', 'personid', 'personid')
    """
    return re.sub(r"[\W_]+", "", column).lower()


def _same_name(column: str, key: str, parent: str) -> bool:
    """Returns whether a column's name says that it refers to a table's key.

    >>> [_same_name(c, "id", "customers") for c in ("customer_id", "customerid", "order_id")]
    [True, True, False]
    >>> _same_name("o_custkey", "c_custkey", "customer"), _same_name("patient", "id", "patients")
    (True, True)
    >>> _same_name("person_id", "Person-ID", "personen_2025")
    True
    """
    left, right = plain_name(column), plain_name(key)
    stem = plain_name(parent).rstrip("s")
    bare = [re.sub(r"^[a-z]{1,2}_", "", part.lower()) for part in (column, key)]
    by_name = left == right and right not in ("id", "key", "no", "code")
    return (
        by_name
        or (bare[0] == bare[1] and len(bare[0]) > 4)
        or left == f"{stem}{right}"
        or (left == stem and right in ("id", f"{stem}id"))
    )

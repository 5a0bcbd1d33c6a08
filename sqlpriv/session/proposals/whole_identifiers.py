"""Identifiers that a program wrote as fractions: whole numbers in a DOUBLE or DECIMAL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.proposals.table_profiles import FLOATS, IDENTIFIER, Fetch

_EXACT = {"FLOAT": 2**24, "DOUBLE": 2**53}
"""Below, every whole number is one of its own."""


@dataclass(frozen=True)
class WholeNumbers:
    """A column that is called as units are and holds whole numbers in a type of fractions.

    Attributes:
        integer: The type of integers that holds them; '' where several may have become one, as in
            a DOUBLE beyond 2^53.
    """

    column: str
    type: str
    integer: str


def whole_identifiers(fetch: Fetch, table: str) -> list[WholeNumbers]:
    """Returns a table's identifiers in a DOUBLE or DECIMAL, which programs write that have no
    missing integers, or no integers. Such types name no unit."""
    identifiers = []
    for column, of_type in [(str(row[0]), str(row[1])) for row in fetch(f"DESCRIBE {name(table)}")]:
        if not IDENTIFIER.search(column) or not of_type.startswith((*FLOATS, "DECIMAL")):
            continue
        c = name(column)
        ((are_whole, greatest),) = fetch(
            f"SELECT bool_and(isfinite({c}::DOUBLE) AND {c} = trunc({c})), max(abs({c}::DOUBLE))"
            f" FROM {name(table)}"
        )
        if are_whole and greatest < 1e38:
            integer = "BIGINT" if greatest < 2**62 else "HUGEINT"
            is_inexact = of_type in FLOATS and greatest >= _EXACT[of_type]
            identifiers.append(WholeNumbers(column, of_type, "" if is_inexact else integer))
    return identifiers

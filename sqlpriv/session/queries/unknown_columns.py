"""DuckDB's complaint about a column that is not there, as a refusal with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlpriv.errors import ProgrammingError, Refused, meant_among
from sqlpriv.statements import tree as t

_COMPLAINTS = re.compile(
    r'Binder Error: (?:Referenced column "(.+)" not found'
    r'|Values list ".+" does not have a column named "(.+)")'
)


def unknown_column(
    error: ProgrammingError, query: t.Origin, columns: Iterable[str]
) -> Refused | None:
    """Returns the refusal of a column of a tail that none of its answers has; None of other errors.

    Args:
        error: What DuckDB says of the tail.
        query: The statement, as it was written.
        columns: The answers' columns.
    """
    complaint = _COMPLAINTS.match(str(error))
    if complaint is None:
        return None
    name = complaint[1] or complaint[2]
    column_names = [column for column in dict.fromkeys(columns) if not column.startswith("__")]
    listed = ", ".join(column_names) or "none by name"
    hint = f"{meant_among(name, column_names)}FROM has {listed}"
    return Refused.at(query.place_of(name), f'there is no column "{name}" in FROM', hint)

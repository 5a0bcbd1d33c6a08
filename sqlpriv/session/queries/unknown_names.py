"""DuckDB's complaint about a name that nothing has, as a refusal with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlpriv.errors import ProgrammingError, Refused, meant_among
from sqlpriv.statements import tree as t

_COLUMN = re.compile(
    r'Binder Error: (?:Referenced column "(.+)" not found'
    r'|(?:Values list|Table) ".+" does not have a column named "(.+)")'
)
_TABLE = re.compile(r'Binder Error: Referenced table "(.+)" not found')
_FUNCTION = re.compile(
    r"Catalog Error: \w+ (?:Macro )?Function with name \"?(\w+)\"? does not exist!"
    r'(?:\s+Did you mean "(\w+)")?'
)


def unknown_name(
    error: ProgrammingError, query: t.Origin, columns: Iterable[str]
) -> Refused | None:
    """Returns the refusal of a column, a table or a function of a tail that is not there; None of
    other errors.

    Args:
        error: What DuckDB says of the tail.
        query: The statement, as it was written.
        columns: The answers' columns.
    """
    hint = None
    if (complaint := _COLUMN.match(str(error))) is not None:
        name = complaint[1] or complaint[2]
        listed = [column for column in dict.fromkeys(columns) if not column.startswith("__")]
        hint = f"{meant_among(name, listed)}FROM has {', '.join(listed) or 'none by name'}"
        message = f'there is no column "{name}" in FROM'
    elif (complaint := _TABLE.match(str(error))) is not None:
        name, message = complaint[1], f'there is no table "{complaint[1]}" in FROM'
        hint = "write the alias that FROM gives, or the column alone"
    elif (complaint := _FUNCTION.match(str(error))) is not None:
        name, message = complaint[1], f"there is no function {complaint[1]}"
        hint = f"did you mean {complaint[2]}?" if complaint[2] else None
    else:
        return None
    return Refused.at(query.place_of(name), message, hint)

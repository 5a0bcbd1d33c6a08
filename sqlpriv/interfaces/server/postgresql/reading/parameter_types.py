"""The types of parameters that a client named no type for: by what they are compared to."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.errors import DataError
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan

_CASTS = {
    "INT": types.INT4,
    "INTEGER": types.INT4,
    "INT4": types.INT4,
    "BIGINT": types.INT8,
    "INT8": types.INT8,
    "SMALLINT": types.INT2,
    "INT2": types.INT2,
    "FLOAT8": types.FLOAT8,
    "DOUBLE": types.FLOAT8,
    "FLOAT": types.FLOAT8,
    "REAL": types.FLOAT4,
    "NUMERIC": types.NUMERIC,
    "DECIMAL": types.NUMERIC,
    "BOOLEAN": types.BOOL,
    "BOOL": types.BOOL,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMPTZ": types.TIMESTAMPTZ,
    "UUID": types.UUID,
    "OID": types.OID,
    "TIME": types.TIME,
    "VARCHAR": types.TEXT,
    "TEXT": types.TEXT,
}
"""Words of a type → its number."""
_BETWEEN = {
    "AND",
    "BETWEEN",
    "IN",
    "NOT",
    "(",
    ",",
    "=",
    "<",
    ">",
    "<=",
    ">=",
    "<>",
    "!=",
    "+",
    "-",
}


def _parameter_type(scan: StatementScan, at: int, column_types: Mapping[str, str]) -> int:
    """Returns the type of the parameter at a place: its cast's, a count's, or a column's.

    The column is the next one to the left that only comparisons and other parameters stand
    between, or the one that the parameter is compared to on its right.
    """
    words, tokens = scan.words, scan.tokens
    if at + 2 < len(words) and words[at + 1] == "::":
        last = at + 2
        if tokens[last].name.lower() == "pg_catalog" and words[last + 1 : last + 2] == (".",):
            last = min(last + 2, len(tokens) - 1)
        kind = _CASTS.get(tokens[last].name.upper(), types.TEXT)
        return types.array_of(kind) if words[last + 1 : last + 2] == ("[",) else kind
    if words[max(0, at - 2) : at] in (("ANY", "("), ("ALL", "(")):
        compared = column_types.get(tokens[at - 4].name.lower(), "") if at >= 4 else ""
        return types.array_of(_oid_of(compared))
    if at and words[at - 1] in ("LIMIT", "OFFSET"):
        return types.INT8
    for back in range(at - 1, max(-1, at - 200), -1):
        if tokens[back].name and words[back] not in _BETWEEN:
            return _oid_of(column_types.get(tokens[back].name.lower(), ""))
        if words[back] not in _BETWEEN and tokens[back].kind not in ("parameter", "number"):
            break
    if at + 2 < len(words) and words[at + 1] in _BETWEEN:
        return _oid_of(column_types.get(tokens[at + 2].name.lower(), ""))
    return types.TEXT


def _oid_of(sql_type: str) -> int:
    """Returns the number of PostgreSQL's type for DuckDB's; text where it has none."""
    return _CASTS.get(sql_type.split("(")[0].split(" ")[0].upper(), types.TEXT)


def parameter_types(scan: StatementScan, count: int, column_types: Mapping[str, str]) -> list[int]:
    """Returns a type for each parameter: of the column that it is compared to, or text.

    Args:
        scan: The statement.
        count: How many parameters the client has named types for, or more in the text.
        column_types: Column in lower case → DuckDB's name of its type.

    Raises:
        DataError: There are more than a statement takes.
    """
    numbers = [int(t.text[1:]) for t in scan.tokens if t.kind == "parameter"]
    if max(numbers, default=0) > 1_000:
        raise DataError("a statement takes at most 1000 parameters")
    kinds = [types.TEXT] * max([count, *numbers])
    for at, token in enumerate(scan.tokens):
        if token.kind == "parameter":
            kinds[int(token.text[1:]) - 1] = _parameter_type(scan, at, column_types)
    return kinds

"""Names, literals and levels as SQL text, quoted: no text from outside can end where it stands."""

import datetime as dt
import math
from collections.abc import Sequence

from sqlpriv.errors import KernelError
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import Type, Value


def name(identifier: str) -> str:
    """Returns a quoted identifier."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """Returns a literal whose type DuckDB reads as the algebra does."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return f"({value})" if abs(value) < 2**63 else f"({value})::HUGEINT"
        case float() if math.isfinite(value):
            return f"({value!r}{'' if 'e' in repr(value) else 'e0'})"
        case str() if "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
    raise KernelError("this value has no literal")


def alike(values: Sequence[Value], type_: Type) -> Sequence[Value]:
    """Returns a list for a comparison; among whole numbers, 1.0 as 1.

    Python calls In(x, (2.0,)) and In(x, (2,)) equal, and losses add up by equal relations: so both
    have one text. Next to a double the integers 2^53 and 2^53 + 1 would meet.
    """
    if type_ is not Type.INTEGER:
        return values
    return [
        int(v) if isinstance(v, float) and v.is_integer() and abs(v) <= 2**126 else v
        for v in values
    ]


def levels(key: a.Key, text: str, whole: bool = False) -> str:
    """Returns the 0-based number of a key's value (a BIGINT if `whole`) in its list; else NULL."""
    known = [v for v in key.values if v is not None]
    null = key.values.index(None) if None in key.values else None
    first = known[0] if known and type(known[0]) is int else None
    if first is not None and key.values[: len(known)] == (*range(first, first + len(known)),):
        at, low = text if whole else f"TRY_CAST({text} AS BIGINT)", literal(first)  # no rounding
        same = "" if whole else f"AND {at} = {text} "  # 0.3 is not 0
        found = f"CASE WHEN {at} BETWEEN {low} AND {literal(known[-1])} {same}THEN {at} - {low} END"
    else:
        found = f"list_position([{', '.join(map(literal, key.values))}], {text}) - 1"
    return found if null is None else f"CASE WHEN {text} IS NULL THEN {null} ELSE {found} END"

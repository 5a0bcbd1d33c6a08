"""Names, literals and levels as SQL text, quoted: no text from outside can end where it stands."""

import datetime as dt
import math
from collections.abc import Sequence

from sqlpriv.errors import KernelError
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value


def name(identifier: str) -> str:
    """Returns a quoted identifier.

    >>> print(name('a "quoted" name'))
    "a ""quoted"" name"
    """
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


def levels(*keys: tuple[a.Key, str, str | None]) -> str:
    """Returns the 0-based row-major number of keys' values in their lists; NULL if one is unlisted.
    Of no keys, it is 0 in every row.

    Claim: nothing overflows. A difference is taken where all tests hold: it is below the length of
    its list, and there is a cell, or a number, for each of the product of the lengths.

    >>> levels((a.Key(a.Col("sex"), ("f", "m")), "sex", None))
    "list_position(['f', 'm'], sex) - 1"

    Args:
        keys: Each with the text of its value, and the type if that is stored as a number.
    """
    tests, number = [], ""
    for key, text, held in keys:
        values = key.values[:-1] if key.values[-1:] == (None,) else key.values
        code, test = f"list_position([{', '.join(map(literal, key.values))}], {text}) - 1", ""
        if values and type(low := values[0]) is int and values == (*range(low, low + len(values)),):
            at = text if held in ("INTEGER", "BIGINT") else f"TRY_CAST({text} AS BIGINT)"
            code = f"{at} - {literal(low)}"  # no rounding: 0.3 is not 0
            test = f"{at} BETWEEN {literal(low)} AND {literal(values[-1])}"
            test += f" AND {at} = {text}" if at != text else ""
        if None in key.values:
            other = f"WHEN {test} THEN {code}" if test else f"ELSE {code}"
            code, test = f"CASE WHEN {text} IS NULL THEN {key.values.index(None)} {other} END", ""
        tests += [test] if test else []
        number = f"({number}) * {len(key.values)} + {code}" if number else code
    return f"CASE WHEN {' AND '.join(tests)} THEN {number} END" if tests else number or "0"

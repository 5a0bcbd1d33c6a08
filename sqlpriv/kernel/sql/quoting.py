"""Names, literals and levels as SQL text, quoted: no text from outside can end where it stands."""

from collections.abc import Sequence

from sqlpriv.kernel.sql.dialect import DUCKDB, Dialect
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value

name, literal = DUCKDB.identifier, DUCKDB.literal
"""For texts of DuckDB alone: what reads tables of any engine asks its `Dialect`."""


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


def levels(*keys: tuple[a.Key, str, str | None], dialect: Dialect = DUCKDB) -> str:
    """Returns the 0-based row-major number of keys' values in their lists; NULL if one is unlisted.
    Of no keys, it is 0 in every row.

    Claim: lists that Python calls equal put every row in the same place, because losses add up by
    equal strata. They have one text: whole numbers are written as such, 2.0 as 2 (`alike`). Beside
    a double the engine would round a stored 2^53 + 1 to 2^53, and beside an integer it does not.

    Claim: nothing overflows. A difference is taken where all tests hold: it is below the length of
    its list, and there is a cell, or a number, for each of the product of the lengths. A bin's
    number is NULL or one of all its bins: where all are listed, it is the place in the list.

    >>> levels((a.Key(a.Col("sex"), ("f", "m")), "sex", None))
    "list_position(['f', 'm'], sex) - 1"

    Args:
        keys: Each with the text of its value, and the type if that is stored as a number.
    """
    tests, number = [], ""
    for key, text, held in keys:
        values = alike(key.values[:-1] if key.values[-1:] == (None,) else key.values, Type.INTEGER)
        code = test = ""
        if key.has_all_bins:
            code = text  # written once: that of many bins is long, and the engine plans each
        elif (
            values
            and type(low := values[0]) is int
            and abs(low) < 2**62
            and values == [*range(low, low + len(values))]
        ):
            at = text if held in ("INTEGER", "BIGINT") else dialect.form("whole", text)
            code = f"{at} - ({low})"  # no rounding: 0.3 is not 0
            test = f"{at} BETWEEN ({low}) AND ({low + len(values) - 1})"
            test += f" AND {at} = {text}" if at != text else ""
        else:
            code = dialect.form(
                "position", ", ".join(map(dialect.literal, alike(key.values, Type.INTEGER))), text
            )
        if None in key.values:
            other = f"WHEN {test} THEN {code}" if test else f"ELSE {code}"
            code, test = f"CASE WHEN {text} IS NULL THEN {key.values.index(None)} {other} END", ""
        tests += [test] if test else []
        number = f"({number}) * {len(key.values)} + {code}" if number else code
    return f"CASE WHEN {' AND '.join(tests)} THEN {number} END" if tests else number or "0"

"""Columns that were read as something else than what they hold: what to run before declaring.

A file says 1.234,50 or NA, and all of its column is text; or 1.234 for a thousand and more, and its
column is of small fractions. Nothing is changed here: an owner knows what was meant.
"""

from __future__ import annotations

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.declarations.table_profiles import Fetch

_MOSTLY = 0.8
"""Texts are taken for numbers where this share of them are."""
_COMMA_THOUSANDS = r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|[+-]?[0-9]+(\.[0-9]+)?"
_POINT_THOUSANDS = r"[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?|[+-]?[0-9]+(,[0-9]+)?"


def text_remark(fetch: Fetch, table: str, column: str) -> list[str]:
    """Returns a remark on a text column that holds moments or numbers; nothing for another one.

    Args:
        fetch: Reads the vault as its owner.
        table, column: Which.
    """
    c = name(column)
    for type_ in ("DATE", "TIMESTAMP"):
        same = f"TRY_CAST({c} AS {type_}) IS NOT NULL AND (length({c}) = 10) = ('{type_}' = 'DATE')"
        if _share(fetch, table, c, same) == 1:
            return _retyping(table, column, "text that holds moments", type_)
    ways = (
        ("", f"regexp_full_match({c}, '{_COMMA_THOUSANDS}')", f"replace({c}, ',', '')"),
        (
            "",
            f"regexp_full_match({c}, '{_POINT_THOUSANDS}')",
            f"replace(replace({c}, '.', ''), ',', '.')",
        ),
        (" but for texts that become NULL", f"TRY_CAST({c} AS DOUBLE) IS NOT NULL", c),
    )
    for exception, is_number, number in ways:
        share = _share(fetch, table, c, is_number)
        if share == 1 or (exception and share >= _MOSTLY):
            using = f"DOUBLE USING TRY_CAST({number} AS DOUBLE)"
            return _retyping(table, column, f"text that holds numbers{exception}", using)
    return []


def thousands_remark(fetch: Fetch, table: str, column: str) -> list[str]:
    """Returns a remark on fractions that may be thousands: below 1000, of three decimals."""
    c = name(column)
    thousands = f"abs({c} * 1000 - round({c} * 1000)) < 1e-6 AND abs({c}) < 1000"
    finer = f"abs({c} * 100 - round({c} * 100)) > 1e-6"
    if _share(fetch, table, c, thousands) < 1 or _share(fetch, table, c, finer) < _MOSTLY:
        return []
    using = f"BIGINT USING round({c} * 1000)::BIGINT"
    return _retyping(table, column, "three decimals each; if 1.234 means 1234", using)


def _share(fetch: Fetch, table: str, column: str, condition: str) -> float:
    rows = f"SELECT avg(({condition})::INTEGER) FROM {name(table)} WHERE {column} IS NOT NULL"
    return float(fetch(rows)[0][0] or 0)


def _retyping(table: str, column: str, about: str, type_: str) -> list[str]:
    return [
        f"-- {column}: {about}; run this, then propose anew:",
        f"-- ALTER TABLE {name(table)} ALTER COLUMN {name(column)} TYPE {type_};",
    ]

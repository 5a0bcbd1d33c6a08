"""Columns that were read as something else than what they hold: what to run before declaring.

A file says 1.234,50 or NA, and all of its column is text; or days in two formats; or 1.234 for a
thousand and more, and its column is of small fractions. Nothing is changed here: an owner knows
what was meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.session.proposals.table_profiles import ColumnProfile, Fetch
from sqlpriv.session.proposals.whole_identifiers import whole_identifiers
from sqlpriv.statements import alter_text, written_name
from sqlpriv.system.count_text import count_text

_MOSTLY = 0.8
"""Texts are taken for numbers, or days, where this share of them are."""
_FEW = 0.02
"""Rows that do not fit the others are taken for none of the table where they are so few."""
_COMMA_THOUSANDS = r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|[+-]?[0-9]+(\.[0-9]+)?"
_POINT_THOUSANDS = r"[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?|[+-]?[0-9]+(,[0-9]+)?"
_SIGNS = "$€£¥% "
"""What stands beside numbers and is not part of them."""
_ACCOUNTING = r"-|\(?[$€£¥ ]*[0-9][0-9,]*(\.[0-9]+)?[$€£¥ ]*\)?"
"""Numbers as accountants write them: (1,234.50) is negative, a dash is nothing."""
_CODE = "0[0-9]+"
_DAY_FIRST = tuple(
    (day, day.replace("%y", "%Y"))  # %Y takes 25 for the year 25, so %y is tried first
    for day in ("%d/%m/%y", "%d.%m.%y", "%d-%m-%y", "%d %b %y", "%d-%b-%y", "%d %B %y", "%b %d, %y")
)
_FORMATS = (("%Y-%m-%d",), ("%Y/%m/%d",), *_DAY_FIRST, ("%B %d, %Y",))
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
_SAMPLE = 1000
"""Texts that are looked at to find the next format."""


def text_remark(fetch: Fetch, table: str, column: str) -> list[str]:
    """Returns a remark on a text column that holds moments or numbers; nothing for another one.

    Args:
        fetch: Reads the vault as its owner.
        table, column: Which.
    """
    c, written = name(column), written_name(column)
    if not _share(fetch, table, c, f"regexp_matches({c}, '[0-9]')"):
        return []
    if _share(fetch, table, c, f"regexp_full_match({c}, '{_CODE}')"):
        if _share(fetch, table, c, f"regexp_full_match({c}, '[0-9]+')") < 1:
            return []
        return [f"-- {column}: digits with a 0 in front, so a code; list those to group by"]
    for type_ in ("DATE", "TIMESTAMP"):
        same = f"TRY_CAST({c} AS {type_}) IS NOT NULL AND (length({c}) = 10) = ('{type_}' = 'DATE')"
        if _share(fetch, table, c, same) == 1:
            return _retyping(table, column, "text that holds moments", type_)
    share = _share(fetch, table, c, f"trim({c}, {literal(_SIGNS)}) <> {c}")
    number, bare = (f"trim({x}, {literal(_SIGNS)})" if share else x for x in (c, written))
    is_negative = _share(fetch, table, c, f"{c} LIKE '(%)'")
    if is_negative and _share(fetch, table, c, f"regexp_full_match({c}, '{_ACCOUNTING}')") == 1:
        signed = f"translate({written}, '($€£¥ ,)', '-')"
        using = f"DOUBLE USING TRY_CAST({signed} AS DOUBLE)"
        return _retyping(table, column, "text that holds numbers, negative in brackets", using)
    ways = (
        (f"TRY_CAST({number} AS DOUBLE) IS NOT NULL", bare),
        (f"regexp_full_match({number}, '{_COMMA_THOUSANDS}')", f"replace({bare}, ',', '')"),
        (
            f"regexp_full_match({number}, '{_POINT_THOUSANDS}')",
            f"replace(replace({bare}, '.', ''), ',', '.')",
        ),
    )
    shares = [_share(fetch, table, c, is_number) for is_number, _ in ways]
    if (share := max(shares)) >= _MOSTLY:
        exception = " but for texts that become NULL" if share < 1 else ""
        using = f"DOUBLE USING TRY_CAST({ways[shares.index(share)][1]} AS DOUBLE)"
        return _retyping(table, column, f"text that holds numbers{exception}", using)
    return _moments_remark(fetch, table, column)


def thousands_remark(fetch: Fetch, table: str, column: str) -> list[str]:
    """Returns a remark on fractions that may be thousands: below 1000, of three decimals."""
    c = name(column)
    thousands = f"abs({c} * 1000 - round({c} * 1000)) < 1e-6 AND abs({c}) < 1000"
    finer = f"abs({c} * 100 - round({c} * 100)) > 1e-6"
    if _share(fetch, table, c, thousands) < 1 or _share(fetch, table, c, finer) < _MOSTLY:
        return []
    using = f"BIGINT USING round({written_name(column)} * 1000)::BIGINT"
    return _retyping(table, column, "three decimals each; if 1.234 means 1234", using)


def spelling_remark(table: str, column: str, values: Sequence[str]) -> list[str]:
    """Returns a remark on a list in which values differ in case or blanks alone."""
    if len({value.strip().upper() for value in values}) == len(values):
        return []
    t, c = written_name(table), written_name(column)
    return [
        f"-- {column}: some values differ in case or blanks alone; run this, then propose anew:",
        f"-- UPDATE {t} SET {c} = upper(trim({c}));",
    ]


def number_key_remark(fetch: Fetch, table: str, unit: ColumnProfile) -> list[str]:
    """Returns a remark on a key of which all but few are numbers: a total below the rows, say."""
    c = name(unit.name)
    others = f"TRY_CAST({c} AS HUGEINT) IS NULL"
    share = _share(fetch, table, c, others) if unit.type == "VARCHAR" else 0.0
    if not 0 < share <= _FEW:
        return []
    t, c = written_name(table), written_name(unit.name)
    rest = f"{c} IS NOT NULL AND TRY_CAST({c} AS HUGEINT) IS NULL"
    return [
        f"-- {unit.name}: {count_text(round(share * unit.present), 'row')} without a number in it,"
        " unlike the rest; a total below the rows? If so, run this, then propose anew:",
        f"-- DELETE FROM {t} WHERE {rest};",
    ]


def whole_key_remarks(fetch: Fetch, table: str) -> list[str]:
    """Returns remarks on columns that are called as units are and are no integers."""
    lines = []
    for key in whole_identifiers(fetch, table):
        if key.integer:
            lines += _retyping(table, key.column, f"whole numbers in a {key.type}", key.integer)
        else:
            lines.append(
                f"-- {key.column}: numbers so large that several may have become one in a"
                f" {key.type}: load the file anew, that column as text"
            )
    return lines


def _moments_remark(fetch: Fetch, table: str, column: str) -> list[str]:
    """Returns a remark on texts that are days or moments in one format or several."""
    formats, missed = _formats_of(fetch, table, column, _FORMATS)
    months_first = [tuple(f.replace("%d/%m", "%m/%d") for f in pair) for pair in _FORMATS]
    others, others_missed = _formats_of(fetch, table, column, months_first)
    if min(missed, others_missed) > 1 - _MOSTLY:
        return []
    about = "text that holds moments"
    if missed == others_missed and formats != others:
        about += ", read day first (if months come first, swap %d and %m)"
    if others_missed < missed:
        formats, missed = others, others_missed
    about += ", but for texts that become NULL" if missed else ""
    type_ = "TIMESTAMP" if any(":%M" in each for each in formats) else "DATE"
    listed = ", ".join(map(literal, formats))
    using = f"{type_} USING try_strptime({written_name(column)}, [{listed}])"
    return _retyping(table, column, about, using)


def _formats_of(
    fetch: Fetch, table: str, column: str, days: Sequence[Sequence[str]]
) -> tuple[list[str], float]:
    """Returns the formats that a text column's values are in, and the share that is in none.

    The format that reads most of what the formats so far do not is added, until none reads any.
    """
    c, kept = name(column), list[str]()
    candidates = [[day + time for day in pair] for pair in days for time in _TIMES]

    def reads(formats: Sequence[str]) -> str:
        return f"try_strptime({c}, [{', '.join(map(literal, formats))}])"

    while True:
        missed = f"{c} IS NOT NULL AND {reads(kept)} IS NULL" if kept else f"{c} IS NOT NULL"
        counts = ", ".join(f"count({reads(formats)})" for formats in candidates)
        rows = f"(SELECT {c} FROM {name(table)} WHERE {missed} LIMIT {_SAMPLE})"
        read = fetch(f"SELECT {counts} FROM {rows}")[0]
        if not max(read):
            return kept, _share(fetch, table, c, missed)
        kept += candidates[read.index(max(read))]


def _share(fetch: Fetch, table: str, column: str, condition: str) -> float:
    rows = f"SELECT avg(({condition})::INTEGER) FROM {name(table)} WHERE {column} IS NOT NULL"
    return float(fetch(rows)[0][0] or 0)


def _retyping(table: str, column: str, about: str, type_: str) -> list[str]:
    return [
        f"-- {column}: {about}; run this, then propose anew:",
        f"-- {alter_text(table, column)} TYPE {type_};",
    ]

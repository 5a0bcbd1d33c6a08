"""Functions of row expressions by name: of one number, and what to write instead of others."""

from __future__ import annotations

from sqlpriv.errors import meant_among

_SAME_NAMES = "abs cbrt ceil exp floor ln log10 log2 sign sqrt trunc"
ONE_NUMBER = {
    **{name: name for name in _SAME_NAMES.split()},
    "@": "abs",
    "ceiling": "ceil",
    "log": "log10",
}
OPERATORS = {"mod": "%", "fmod": "%", "divide": "//", "add": "+", "subtract": "-", "multiply": "*"}

_PATTERN = "the pattern is a literal, as in name LIKE 'a%'"
WHOLE_VALUES = (
    "compare whole values: region IN ('north', 'south'), or CASE region WHEN 'north' THEN …"
)
HINTS = {
    **dict.fromkeys(
        (
            "||",
            "concat",
            "lower",
            "upper",
            "initcap",
            "regexp_matches",
            "suffix",
            "length",
            "trim",
            "replace",
            "left",
            "right",
            "~",
            "similar_to",
            "glob",
        ),
        WHOLE_VALUES,
    ),
    **dict.fromkeys(("like", "ilike", "contains", "starts_with", "prefix"), _PATTERN),
    **dict.fromkeys(("substring", "substr"), "write SUBSTRING(x, start, length) with numbers"),
    "date_trunc": "write date_trunc('month', d)",
    **dict.fromkeys(("date_diff", "datediff"), "write date_diff('day', first, last)"),
    **dict.fromkeys(
        ("now", "current_timestamp", "get_current_timestamp"),
        "write current_date or date_trunc('day', now()): with the time of day every asking is a new"
        " question, and paid anew",
    ),
    **dict.fromkeys(("make_date", "make_timestamp"), "write date_trunc('month', d)"),
    "to_char": "write strftime(d, '%Y-%m'), or SET privacy_dialect = 'postgres'",
    "<<": "write x * 2 for x << 1",
    ">>": "write x // 2 for x >> 1",
    "random": "noise is added by the kernel, never by the statement",
}
_KNOWN = (
    "row expressions know + - * / // %, comparisons, AND/OR/NOT, IN, BETWEEN, IS NULL, CASE, IF, "
    "COALESCE, NULLIF, LEAST, GREATEST, abs, floor, ceil, round, sqrt, ln, exp, pow, date parts; "
    "any function of columns with declared lists of values"
)
_OTHERS = ("coalesce", "round", "pow", "year", "month", "count", "sum", "avg", "median")


def function_hint(name: str) -> str:
    """Returns what to write instead of a function or operator that rows cannot have."""
    return HINTS.get(name) or meant_among(name, (*ONE_NUMBER, *_OTHERS)) + _KNOWN

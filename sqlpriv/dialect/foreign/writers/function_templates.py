"""Functions of other dialects as DuckDB's expressions: one line each, compared with the manuals.

A line has dialects, names that are written alike there, arguments, and what DuckDB writes. A name
behind @ is a function of DuckDB's; NAME is the function's own. What stands before an argument:

    #n    a number, which `<n>` is in the text; +n one above 0; ±n one with or without a sign
    ~x    a moment, or a day as a text: '2023-06-30'
    !i    an interval

A number stands for itself alone. Words in quotes are parts of dates, of which one is given, and
stands where a text has $. Several lines may have one name, and the first that fits is taken; with
arguments that no line has, its call is refused.
"""

from __future__ import annotations

import re
from functools import cache

import sqlglot
from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import (
    Arguments,
    Writer,
    is_number,
    parenthesize,
)
from sqlpriv.dialect.foreign.writers.moment_templates import MOMENTS
from sqlpriv.dialect.foreign.writers.moment_writers import (
    PARTS,
    UNITS,
    interval_of,
    is_bare_week,
    is_interval,
    unit_word,
    with_days_read,
)

_VALUES = """
bigquery mysql spark trino: if(p, x, y) = CASE WHEN p THEN x ELSE y END
snowflake: iff(p, x, y) = CASE WHEN p THEN x ELSE y END
tsql sqlite: iif(p, x, y) = CASE WHEN p THEN x ELSE y END
bigquery snowflake mysql spark sqlite: ifnull(x, y) = @coalesce(x, y)
snowflake spark oracle: nvl(x, y) = @coalesce(x, y)
snowflake spark oracle redshift: nvl2(x, y, z) = CASE WHEN x IS NOT NULL THEN y ELSE z END
snowflake: zeroifnull(x) = @coalesce(x, 0)
snowflake: nullifzero(x) = @nullif(x, 0)
bigquery snowflake mysql spark trino sqlite oracle: round(x) = @round(x)
postgres bigquery snowflake mysql tsql spark trino sqlite oracle: round(x, n) = @round(x, n)
postgres bigquery snowflake mysql spark trino oracle: mod(x, y) = x % y
postgres bigquery: div(x, y) = x // y
bigquery: safe_divide(x, y) = x / @nullif(y, 0)
spark: try_divide(x, y) = x / @nullif(y, 0)
snowflake: div0(x, y) = CASE WHEN y = 0 THEN 0 ELSE x / y END
snowflake: div0null(x, y) = CASE WHEN @coalesce(y, 0) = 0 THEN 0 ELSE x / y END
bigquery mysql tsql spark: log(x) = @ln(x)
snowflake tsql: square(x) = x * x
snowflake spark: position(y, x) = @strpos(x, y)
mysql: mid(x, n, m) = @substring(x, n, m)
mysql: isnull(x) = CASE WHEN x IS NULL THEN 1 ELSE 0 END
mysql spark: substring_index(x, y, 1) = @split_part(x, y, 1)
mysql spark: substring_index(x, y, -1) = @split_part(x, y, -1)
mysql tsql spark: ltrim rtrim(x) = @NAME(x)
snowflake: bitand(x, y) = x & y
snowflake: bitor(x, y) = x | y
spark: pmod(x, #y) = (x % y + y) % y
spark: array_contains(x, y) = @list_contains(x, y)
spark: array_join(x, y) = @array_to_string(x, y)
snowflake: array_to_string(x, y) = @array_to_string(x, y)
bigquery: regexp_extract(x, y) = CASE WHEN @regexp_matches(x, y) THEN @regexp_extract(x, y) END
spark: sha2(x, 256) = @sha256(x)
spark: string(x) = @same_text(x)
spark: double(x) = CAST(x AS DOUBLE)
snowflake: to_varchar(x) = @same_text(x)
snowflake oracle: to_char(x) = @same_text(x)
snowflake: to_double(x) = CAST(x AS DOUBLE)
spark: int(x) = CAST(@trunc(CAST(x AS DOUBLE)) AS INT)
spark: bround(x, n) = @round_even(x, n)
bigquery: log(x, 10) = @log10(x)
bigquery: log(x, 2) = @log2(x)
snowflake: log(10, x) = @log10(x)
snowflake: log(2, x) = @log2(x)
mysql spark tsql: ucase(x) = @upper(x)
mysql spark tsql: lcase(x) = @lower(x)
tsql: len(x) = @length(@rtrim(x, ' '))
postgres: btrim(x) = @trim(x)
bigquery spark snowflake postgres trino: trunc truncate(x) = @trunc(x)
snowflake: equal_null(x, y) = x IS NOT DISTINCT FROM y
bigquery spark mysql sqlite: instr(x, y) = @strpos(x, y)
mysql spark: locate(y, x) = @strpos(x, y)
tsql snowflake redshift: charindex(y, x) = @strpos(x, y)
bigquery: regexp_replace(x, y, z) = @regexp_replace(x, y, z, 'g')
trino: if(p, x) = CASE WHEN p THEN x END
trino: split_part(x, y, #n) = @list_extract(@string_split(x, y), n)
sqlite: total(x) = @coalesce(CAST(@sum(x) AS DOUBLE), 0)
snowflake: conditional_true_event(x) = @conditional_true_event(CASE WHEN x THEN 1 ELSE 0 END)
bigquery: approx_top_count(x, +n) = @bigquerys_top_count(x, n)
postgres oracle: initcap(x) = @title_of_letters(x)
bigquery snowflake: initcap(x) = @title_of_signs(x)
spark: initcap(x) = @title_of_blanks(x)
snowflake: floor(x) = @floor(x)
snowflake: floor(x, -1) = @floor(x / 10) * 10
snowflake: skew(x) = @skewness(x)
trino: approx_distinct(x) = @approx_count_distinct(x)
trino: approx_distinct(x, #e) = @approx_count_distinct(x)
trino: try(x) = x
spark trino: skewness(x) = @skewness(x) * (@count(x) - 2) / @sqrt(@count(x) * (@count(x) - 1))
spark: kurtosis(x) = @kurtosis_pop(x)
spark: sort_array(x) = @list_sort(x)
tsql: ifnull isnull(x, y) = @coalesce(x, y)
spark: isnull(x) = x IS NULL
spark: isnotnull(x) = x IS NOT NULL
spark: collect_set(x) = @array_agg(DISTINCT x ORDER BY x) FILTER (WHERE x IS NOT NULL)
bigquery snowflake mysql tsql spark: left right(x, #n) = @NAME(x, n)
mysql oracle snowflake postgres: trunc truncate(x, 0) = @trunc(x)
mysql oracle snowflake postgres: trunc truncate(x, #n) = @trunc(x * @pow(10, n)) / @pow(10, n)
oracle snowflake postgres: trunc(x, -1) = @trunc(x / 10) * 10
oracle snowflake postgres: trunc(x, -2) = @trunc(x / 100) * 100
oracle snowflake postgres: trunc(x, -3) = @trunc(x / 1000) * 1000
postgres bigquery snowflake mysql tsql spark trino oracle sqlite: \
    substring substr(x, +n) = @substring(x, n)
postgres bigquery snowflake mysql tsql spark trino oracle sqlite: \
    substring substr(x, +n, m) = @substring(x, n, m)
snowflake: to_decimal to_number to_numeric(x, #n, #m) = CAST(x AS DECIMAL(<n>, <m>))
mysql: format(x, #n) = @format('{:,.<n>f}', CAST(x AS DOUBLE))
"""
"""Lines of texts, numbers, conditions and aggregates."""
_LINE = re.compile(r"([\w ]+): ([\w ]+)\((.*?)\) = (.*)")
_BARE_WEEK = "bare_week"
_SETS = {"units": UNITS, "parts": PARTS, _BARE_WEEK: frozenset[str]()}
_OURS = "duckdbs_"
_MARKS = "#+±~!"


def template_writers(dialect: str) -> dict[str, Writer]:
    """Returns, by name, the writers of a dialect's functions.

    >>> call = template_writers("snowflake")["div0"]([exp.column("a"), exp.column("b")])
    >>> print(call.sql("duckdb"))
    CASE WHEN b = 0 THEN 0 ELSE a / b END
    """
    templates: dict[str, list[tuple[list[str], str]]] = {}
    for dialects, names, parameters, text in _LINE.findall(_VALUES + MOMENTS):
        if dialect in dialects.split():
            for name in names.split():
                line = parameters.split(", "), text.replace("@", _OURS).replace("NAME", name)
                templates.setdefault(name, []).append(line)
    return {name: _writer(lines) for name, lines in templates.items()}


def _writer(lines: list[tuple[list[str], str]]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        fitting = (line for line in lines if _fit(line[0], args))
        names, text = next(fitting, ([], ""))
        return _fill_in(text, dict(zip(names, args, strict=True))) if text else None

    return write


def _fill_in(text: str, arguments: dict[str, exp.Expr]) -> exp.Expr:
    """Returns a line's text with arguments, by what a line calls them, in their places."""
    by_name: dict[str, exp.Expr] = {}
    for name, arg in arguments.items():
        bare = name.lstrip(_MARKS)
        by_name[bare] = with_days_read(arg) if name.startswith("~") else arg
        if name.startswith("'"):
            text = text.replace("$", unit_word(arg))
        elif f"<{bare}>" in text:
            text = text.replace(f"<{bare}>", arg.name)

    def fill(node: exp.Expr) -> exp.Expr:
        size = node.this if isinstance(node, exp.Interval) else None
        if isinstance(size, exp.Column):
            return interval_of(by_name[size.name].copy(), node.text("unit").lower())
        if isinstance(node, exp.Column):
            arg = by_name[node.name].copy()
            is_operand = isinstance(node.parent, exp.Binary) and not is_interval(arg)
            return parenthesize(arg) if is_operand else arg
        if isinstance(node, exp.Anonymous):
            node.set("this", str(node.this).removeprefix(_OURS))
        return node

    tree: exp.Expr = _parse_text(text).transform(fill)
    return exp.Paren(this=tree) if isinstance(tree, exp.Binary) else tree


@cache
def _parse_text(text: str) -> exp.Expr:
    """Returns a line's text as a tree, without places: they are none of the user's text."""
    tree: exp.Expr = sqlglot.parse_one(text, read="duckdb")
    for node in tree.walk():
        node.meta.clear()
    return tree


def _fit(names: list[str], args: Arguments) -> bool:
    """Returns whether a call has as many arguments, each of the kind that a line has."""
    return len(names) == len(args) and all(map(_fits, names, args))


def _fits(name: str, arg: exp.Expr) -> bool:
    match name[0]:
        case "#":
            return is_number(arg)
        case "+":
            return is_number(arg) and arg.name.strip("0").isdecimal()
        case "±":
            return is_number(arg.this if isinstance(arg, exp.Neg) else arg)
        case "!":
            return is_interval(arg)
        case "~":
            return not is_number(arg)
        case "'":
            words = name.strip("'").split()
            allowed = {unit for word in words for unit in _SETS.get(word, (word,))}
            return unit_word(arg) in allowed or (_BARE_WEEK in words and is_bare_week(arg))
    return not name.lstrip("-").isdecimal() or arg.sql("duckdb") == name

"""Functions of other dialects as DuckDB's expressions: one line each, compared with the manuals.

A name behind @ is a function of DuckDB's, an argument behind # a number. A name may stand in
several lines, with other numbers of arguments; with a number that no line has, its call is refused.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from sqlpriv.dialect.foreign.function_writers import Arguments, Writer, is_number, parenthesize

_TEMPLATES = """
bigquery mysql spark: if(p, x, y) = CASE WHEN p THEN x ELSE y END
snowflake: iff(p, x, y) = CASE WHEN p THEN x ELSE y END
tsql: iif(p, x, y) = CASE WHEN p THEN x ELSE y END
bigquery snowflake mysql spark: ifnull(x, y) = @coalesce(x, y)
snowflake spark: nvl(x, y) = @coalesce(x, y)
snowflake spark: nvl2(x, y, z) = CASE WHEN x IS NOT NULL THEN y ELSE z END
tsql: isnull(x, y) = @coalesce(x, y)
snowflake: zeroifnull(x) = @coalesce(x, 0)
snowflake: nullifzero(x) = @nullif(x, 0)
bigquery snowflake mysql spark: round(x) = @round(x)
postgres bigquery snowflake mysql tsql spark: round(x, n) = @round(x, n)
postgres bigquery snowflake mysql spark: mod(x, y) = x % y
postgres bigquery: div(x, y) = x // y
bigquery: safe_divide(x, y) = x / @nullif(y, 0)
spark: try_divide(x, y) = x / @nullif(y, 0)
snowflake: div0(x, y) = CASE WHEN y = 0 THEN 0 ELSE x / y END
snowflake: div0null(x, y) = CASE WHEN @coalesce(y, 0) = 0 THEN 0 ELSE x / y END
bigquery mysql tsql spark: log(x) = @ln(x)
snowflake tsql: square(x) = x * x
bigquery mysql spark: dayofweek(x) = @dayofweek(x) + 1
mysql spark: weekday(x) = @isodow(x) - 1
snowflake: dayname(x) = @strftime(x, '%a')
snowflake: monthname(x) = @strftime(x, '%b')
snowflake spark: to_date(x) = CAST(x AS DATE)
bigquery mysql spark: date(x) = CAST(x AS DATE)
bigquery: date(y, m, d) = @make_date(y, m, d)
snowflake: date_from_parts(y, m, d) = @make_date(y, m, d)
tsql: datefromparts(y, m, d) = @make_date(y, m, d)
spark: make_date(y, m, d) = @make_date(y, m, d)
postgres: make_date(y, m, d) = @make_date(y, m, d)
postgres: to_timestamp(x) = @to_timestamp(x)
bigquery: unix_seconds(x) = @epoch(@date_trunc('second', x))
mysql spark: ucase(x) = @upper(x)
mysql spark: lcase(x) = @lower(x)
tsql: len(x) = @length(@rtrim(x, ' '))
postgres: btrim(x) = @trim(x)
snowflake: trunc(x) = @trunc(x)
snowflake: equal_null(x, y) = x IS NOT DISTINCT FROM y
snowflake mysql bigquery tsql spark: reverse(x) = @reverse(x)
bigquery spark mysql: instr(x, y) = @strpos(x, y)
mysql spark: locate(y, x) = @strpos(x, y)
tsql snowflake: charindex(y, x) = @strpos(x, y)
snowflake spark: split_part(x, y, n) = @split_part(x, y, n)
bigquery: regexp_replace(x, y, z) = @regexp_replace(x, y, z, 'g')
bigquery snowflake mysql tsql spark: left(x, #n) = @left(x, n)
bigquery snowflake mysql tsql spark: right(x, #n) = @right(x, n)
spark: date_add(x, #n) = x + n
spark: date_sub(x, #n) = x - n
"""
"""Lines of dialects: the function with its arguments, and what DuckDB writes."""
_LINE = re.compile(r"([\w ]+): (\w+)\((.*?)\) = (.*)")
_OURS = "duckdbs_"


def template_writers(dialect: str) -> dict[str, Writer]:
    """Returns, by name, the writers of a dialect's functions.

    >>> call = template_writers("snowflake")["div0"]([exp.column("a"), exp.column("b")])
    >>> print(call.sql("duckdb"))
    CASE WHEN b = 0 THEN 0 ELSE a / b END
    """
    templates: dict[str, dict[int, tuple[list[str], str]]] = {}
    for dialects, name, parameters, text in _LINE.findall(_TEMPLATES):
        names = parameters.split(", ")
        if dialect in dialects.split():
            templates.setdefault(name, {})[len(names)] = names, text.replace("@", _OURS)
    return {name: _writer(by_count) for name, by_count in templates.items()}


def _writer(by_count: dict[int, tuple[list[str], str]]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) not in by_count:
            return None
        names, text = by_count[len(args)]
        if any(n.startswith("#") and not is_number(x) for n, x in zip(names, args, strict=True)):
            return None
        by_name = {name.lstrip("#"): arg for name, arg in zip(names, args, strict=True)}

        def fill(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                arg = by_name[node.name].copy()
                return parenthesize(arg) if isinstance(node.parent, exp.Binary) else arg
            if isinstance(node, exp.Anonymous):
                node.set("this", str(node.this).removeprefix(_OURS))
            return node

        tree: exp.Expr = sqlglot.parse_one(text, read="duckdb").transform(fill)
        return exp.Paren(this=tree) if isinstance(tree, exp.Binary) else tree

    return write

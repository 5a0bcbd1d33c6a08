"""Functions of other dialects as DuckDB's expressions: one line each, compared with the manuals.

A name behind @ is a function of DuckDB's, an argument behind # a number, behind ± one with or
without a sign, a number that number alone. Words in quotes are parts of dates, of which one is
given, and stands where a text has $. A name may stand in several lines, the first that fits is
taken; with arguments that no line has, its call is refused.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import (
    Arguments,
    Writer,
    is_number,
    parenthesize,
)
from sqlpriv.dialect.foreign.writers.moment_writers import unit_word

_TEMPLATES = """
bigquery mysql spark trino: if(p, x, y) = CASE WHEN p THEN x ELSE y END
snowflake: iff(p, x, y) = CASE WHEN p THEN x ELSE y END
tsql sqlite: iif(p, x, y) = CASE WHEN p THEN x ELSE y END
bigquery snowflake mysql spark sqlite: ifnull(x, y) = @coalesce(x, y)
snowflake spark oracle: nvl(x, y) = @coalesce(x, y)
snowflake spark oracle: nvl2(x, y, z) = CASE WHEN x IS NOT NULL THEN y ELSE z END
tsql: isnull(x, y) = @coalesce(x, y)
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
bigquery mysql spark: dayofweek(x) = @dayofweek(x) + 1
mysql spark: weekday(x) = @isodow(x) - 1
snowflake: dayname(x) = @strftime(x, '%a')
snowflake: monthname(x) = @strftime(x, '%b')
bigquery spark: trunc(x) = @trunc(x)
spark snowflake: to_timestamp(x) = CAST(x AS TIMESTAMP)
bigquery: timestamp(x) = CAST(x AS TIMESTAMP)
bigquery: datetime(x) = CAST(x AS TIMESTAMP)
bigquery: unix_date(x) = @date_diff('day', DATE '1970-01-01', x)
mysql spark: unix_timestamp(x) = CAST(@epoch(@date_trunc('second', CAST(x AS TIMESTAMP))) AS BIGINT)
postgres: date_part('epoch', x) = @epoch(x)
snowflake: date_part('epoch_second', x) = CAST(@epoch(@date_trunc('second', x)) AS BIGINT)
snowflake: date_part('epoch_millisecond', x) = @epoch_ms(x)
snowflake spark: position(y, x) = @strpos(x, y)
mysql: mid(x, n, m) = @substring(x, n, m)
mysql: isnull(x) = CASE WHEN x IS NULL THEN 1 ELSE 0 END
mysql spark: substring_index(x, y, 1) = @split_part(x, y, 1)
mysql spark: substring_index(x, y, -1) = @split_part(x, y, -1)
mysql tsql spark: ltrim(x) = @ltrim(x)
mysql tsql spark: rtrim(x) = @rtrim(x)
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
mysql: week(x, 3) = @week(x)
mysql: yearweek(x, 3) = @yearweek(x)
spark: int(x) = CAST(@trunc(CAST(x AS DOUBLE)) AS INT)
spark: bround(x, n) = @round_even(x, n)
snowflake: convert_timezone(y, z, x) = @timezone(z, @timezone(y, x))
mysql: convert_tz(x, y, z) = @timezone(z, @timezone(y, x))
spark: from_utc_timestamp(x, z) = @timezone(z, @timezone('UTC', x))
spark: to_utc_timestamp(x, z) = @timezone('UTC', @timezone(z, x))
bigquery: datetime(x, z) = @timezone(z, CAST(x AS TIMESTAMPTZ))
bigquery: date(x, z) = CAST(@timezone(z, CAST(x AS TIMESTAMPTZ)) AS DATE)
bigquery: log(x, 10) = @log10(x)
bigquery: log(x, 2) = @log2(x)
snowflake: log(10, x) = @log10(x)
snowflake: log(2, x) = @log2(x)
bigquery mysql spark trino postgres: date(x) = CAST(x AS DATE)
bigquery mysql: time(x) = CAST(x AS TIME)
bigquery: date(y, m, d) = @make_date(y, m, d)
snowflake: date_from_parts(y, m, d) = @make_date(y, m, d)
tsql: datefromparts(y, m, d) = @make_date(y, m, d)
spark: make_date(y, m, d) = @make_date(y, m, d)
postgres: make_date(y, m, d) = @make_date(y, m, d)
postgres: to_timestamp(x) = @to_timestamp(x)
bigquery spark: unix_seconds(x) = CAST(@epoch(@date_trunc('second', x)) AS BIGINT)
mysql spark tsql: ucase(x) = @upper(x)
mysql spark tsql: lcase(x) = @lower(x)
tsql: len(x) = @length(@rtrim(x, ' '))
postgres: btrim(x) = @trim(x)
snowflake postgres: trunc(x) = @trunc(x)
snowflake: equal_null(x, y) = x IS NOT DISTINCT FROM y
bigquery spark mysql sqlite: instr(x, y) = @strpos(x, y)
mysql spark: locate(y, x) = @strpos(x, y)
tsql snowflake: charindex(y, x) = @strpos(x, y)
bigquery: regexp_replace(x, y, z) = @regexp_replace(x, y, z, 'g')
trino: if(p, x) = CASE WHEN p THEN x END
trino: truncate(x) = @trunc(x)
trino: to_unixtime(x) = @epoch(x)
trino: at_timezone(x, z) = @timezone(z, x)
trino: split_part(x, y, #n) = @list_extract(@string_split(x, y), n)
sqlite: total(x) = @coalesce(@sum(x), 0)
sqlite: time(x) = CAST(x AS TIME)
redshift: nvl2(x, y, z) = CASE WHEN x IS NOT NULL THEN y ELSE z END
redshift: charindex(y, x) = @strpos(x, y)
redshift: convert_timezone(y, z, x) = @timezone(z, @timezone(y, x))
postgres oracle: initcap(x) = @title_of_letters(x)
bigquery snowflake: initcap(x) = @title_of_signs(x)
spark: initcap(x) = @title_of_blanks(x)
mysql: truncate(x, 0) = @trunc(x)
mysql: truncate(x, #n) = @trunc(x * @pow(10, n)) / @pow(10, n)
mysql: year_month(x) = @year(x) * 100 + @month(x)
mysql: to_days(x) = @date_diff('day', DATE '1970-01-01', x) + 719528
bigquery mysql: week(x) = (@dayofyear(x) + 6 - @dayofweek(x)) // 7
mysql: week(x, 0) = (@dayofyear(x) + 6 - @dayofweek(x)) // 7
snowflake: convert_timezone(z, x) = @timezone(z, CAST(x AS TIMESTAMPTZ))
snowflake: skew(x) = @skewness(x)
spark: skewness(x) = @skewness(x) * (@count(x) - 2) / @sqrt(@count(x) * (@count(x) - 1))
spark: kurtosis(x) = @kurtosis_pop(x)
bigquery spark: timestamp_seconds(x) = @make_timestamp(CAST(x * CAST(1000000 AS BIGINT) AS BIGINT))
bigquery spark: timestamp_millis(x) = @make_timestamp(CAST(x * CAST(1000 AS BIGINT) AS BIGINT))
bigquery spark: timestamp_micros(x) = @make_timestamp(x)
bigquery spark: unix_millis(x) = @epoch_ms(x)
bigquery spark: unix_micros(x) = @epoch_us(x)
spark: unix_date(x) = @date_diff('day', DATE '1970-01-01', x)
spark: sort_array(x) = @list_sort(x)
spark: date_part('dayofweek dow', x) = @dayofweek(x) + 1
spark: date_part('dayofweek_iso dow_iso', x) = @isodow(x)
spark: date_part('yearofweek', x) = @isoyear(x)
spark: date_part('week', x) = @week(x)
spark trino: date_part('doy', x) = @dayofyear(x)
mysql: time_to_sec(x) = CAST(@epoch(x) AS BIGINT)
mysql: timediff(x, y) = x - y
mysql: period_diff(x, y) = (x // 100 - y // 100) * 12 + x % 100 - y % 100
mysql: makedate(y, 1) = @make_date(y, 1, 1)
mysql: makedate(y, d) = @make_date(y, 1, 1) + CAST(d - 1 AS INT)
mysql: week(x, 1) = (@dayofyear(x) + 7 - @isodow(x)) // 7 \
    + CASE WHEN @isodow(@date_trunc('year', x)) BETWEEN 2 AND 4 THEN 1 ELSE 0 END
mysql: yearweek(x, 1) = @yearweek(x)
mysql: yearweek(x) = @year(@date_trunc('week', x + INTERVAL 1 DAY) - INTERVAL 1 DAY) * 100 \
    + (@dayofyear(@date_trunc('week', x + INTERVAL 1 DAY) - INTERVAL 1 DAY) + 6) // 7
bigquery snowflake: last_day(x, 'month') = @last_day(x)
bigquery snowflake: last_day(x, 'year') = @last_day(@date_trunc('year', x) + INTERVAL 11 MONTH)
bigquery snowflake: last_day(x, 'quarter') = @last_day(@date_trunc('quarter', x) + INTERVAL 2 MONTH)
snowflake: last_day(x, 'week') = CAST(@date_trunc('week', x) + INTERVAL 6 DAY AS DATE)
bigquery snowflake spark tsql: last_day(x) = @last_day(x)
tsql: eomonth(x) = @last_day(x)
tsql: eomonth(x, ±n) = @last_day(x + INTERVAL n MONTH)
tsql: datepart('week', x) = (@dayofyear(x) + 6 + @dayofweek(@date_trunc('year', x))) // 7
tsql: datepart('weekday', x) = @dayofweek(x) + 1
tsql: datepart('dayofyear', x) = @dayofyear(x)
tsql: datepart('iso_week', x) = @week(x)
tsql: datename('month', x) = @monthname(x)
tsql: datename('weekday', x) = @dayname(x)
tsql: datename('year quarter day hour', x) = @same_text(@$(x))
tsql: date_bucket('month', 1, x) = @date_trunc('month', x)
tsql: date_bucket('week day hour minute', #n, x) = \
    @time_bucket(INTERVAL n $, x, TIMESTAMP '1900-01-01')
tsql: dayofweek(x) = @dayofweek(x) + 1
tsql: ifnull(x, y) = @coalesce(x, y)
snowflake: time_slice(x, 1, 'week month quarter year') = @date_trunc('$', x)
snowflake: time_slice(x, 1, 'week month quarter year', 'start') = @date_trunc('$', x)
snowflake: time_slice(x, #n, 'day hour minute second') = \
    @time_bucket(INTERVAL n $, x, TIMESTAMP '1970-01-01')
snowflake: time_slice(x, #n, 'day hour minute second', 'start') = \
    @time_bucket(INTERVAL n $, x, TIMESTAMP '1970-01-01')
spark: isnull(x) = x IS NULL
spark: isnotnull(x) = x IS NOT NULL
spark: collect_set(x) = @array_agg(DISTINCT x ORDER BY x) FILTER (WHERE x IS NOT NULL)
bigquery snowflake mysql tsql spark: left(x, #n) = @left(x, n)
bigquery snowflake mysql tsql spark: right(x, #n) = @right(x, n)
spark: date_add(x, ±n) = CAST(x AS DATE) + n
spark: date_sub(x, ±n) = CAST(x AS DATE) - n
spark: date_add(x, n) = CAST(x AS DATE) + CAST(n AS INT)
spark: date_sub(x, n) = CAST(x AS DATE) - CAST(n AS INT)
mysql: adddate(x, n) = x + @to_days(CAST(n AS INT))
mysql: subdate(x, n) = x - @to_days(CAST(n AS INT))
snowflake: trunc(x, 'year quarter month week day') = CAST(@date_trunc('$', x) AS DATE)
oracle snowflake postgres: trunc(x, 0) = @trunc(x)
oracle snowflake postgres: trunc(x, #n) = @trunc(x * @pow(10, n)) / @pow(10, n)
oracle snowflake postgres: trunc(x, -1) = @trunc(x / 10) * 10
oracle snowflake postgres: trunc(x, -2) = @trunc(x / 100) * 100
oracle snowflake postgres: trunc(x, -3) = @trunc(x / 1000) * 1000
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
    templates: dict[str, list[tuple[list[str], str]]] = {}
    for dialects, name, parameters, text in _LINE.findall(_TEMPLATES):
        if dialect in dialects.split():
            line = parameters.split(", "), text.replace("@", _OURS)
            templates.setdefault(name, []).append(line)
    return {name: _writer(lines) for name, lines in templates.items()}


def _writer(lines: list[tuple[list[str], str]]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        fitting = (line for line in lines if _fit(line[0], args))
        names, text = next(fitting, ([], ""))
        if not text:
            return None
        by_name = {name.lstrip("#±"): arg for name, arg in zip(names, args, strict=True)}
        words = [unit_word(arg) for name, arg in by_name.items() if name.startswith("'")]

        def fill(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                arg = by_name[node.name].copy()
                if isinstance(node.parent, exp.Interval):
                    return exp.Literal.string(arg.sql("duckdb"))
                return parenthesize(arg) if isinstance(node.parent, exp.Binary) else arg
            if isinstance(node, exp.Anonymous):
                node.set("this", str(node.this).removeprefix(_OURS))
            return node

        text = text.replace("$", words[0]) if words else text
        tree: exp.Expr = sqlglot.parse_one(text, read="duckdb").transform(fill)
        return exp.Paren(this=tree) if isinstance(tree, exp.Binary) else tree

    return write


def _fit(names: list[str], args: Arguments) -> bool:
    """Returns whether a call has as many arguments, and numbers and words where a line has them."""
    if len(names) != len(args):
        return False
    for name, arg in zip(names, args, strict=True):
        number = arg.this if name.startswith("±") and isinstance(arg, exp.Neg) else arg
        if (
            (name[0] in "#±" and not is_number(number))
            or (name.startswith("'") and unit_word(arg) not in name.strip("'").split())
            or (name.lstrip("-").isdecimal() and arg.sql("duckdb") != name)
        ):
            return False
    return True

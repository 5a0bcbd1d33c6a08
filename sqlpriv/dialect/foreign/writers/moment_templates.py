"""Functions of other dialects over dates and timestamps, in the lines of `function_templates`.

`units` and `parts` stand for the words of `UNITS` and `PARTS`; `bare_week` is BigQuery's WEEK,
which begins on Sunday, where WEEK(MONDAY) and ISOWEEK do not.
"""

from __future__ import annotations

_IN_MONTH = "(@epoch_us({0}) - @epoch_us(@date_trunc('month', {0})))"
_NEARER = f"(CASE WHEN {_IN_MONTH.format('y')} {{0}} {_IN_MONTH.format('x')} THEN 1 ELSE 0 END)"
_WHOLE_MONTHS = (
    f"CASE WHEN x <= y THEN @date_diff('month', x, y) - {_NEARER.format('<')}"
    f" ELSE @date_diff('month', x, y) + {_NEARER.format('>')} END"
)
"""The beginnings of months from x to y, less one where y is not as far in its month as x is; going
back where y comes before x. DuckDB's DATE_SUB counts a whole one from January 31st to February
28th, as Trino does."""
_DAY = "@day({0})"
_DAY_AND_TIME = (
    "(@day({0}) + @least(@greatest((@epoch({0}) - @epoch(@date_trunc('day', {0}))) / 86400, 0), 1))"
)


def _months(day: str) -> str:
    """Returns MONTHS_BETWEEN(x, y): months, and days of a 31st each; whole months between the same
    days, and between last days, of months. `day` is a moment's place in its month."""
    return (
        "@date_diff('month', y, x) + CASE WHEN @day(x) = @day(y) OR"
        " (CAST(x AS DATE) = @last_day(x) AND CAST(y AS DATE) = @last_day(y)) THEN 0"
        f" ELSE ({day.format('x')} - {day.format('y')}) / 31 END"
    )


MOMENTS = f"""
postgres snowflake spark trino: date_trunc('units', x) = @date_trunc('$', x)
tsql: datetrunc('parts second', x) = @date_trunc('$', x)
spark: trunc(x, 'units') = CAST(@date_trunc('$', x) AS DATE)
bigquery: date_trunc(x, 'bare_week') = \
    CAST(@date_trunc('week', x + INTERVAL 1 DAY) - INTERVAL 1 DAY AS DATE)
bigquery: datetime_trunc timestamp_trunc(x, 'bare_week') = \
    @date_trunc('week', x + INTERVAL 1 DAY) - INTERVAL 1 DAY
bigquery: date_trunc(x, 'year quarter month day week') = CAST(@date_trunc('$', x) AS DATE)
bigquery: date_trunc(x, 'hour minute second') = @date_trunc('$', x)
bigquery: datetime_trunc timestamp_trunc(x, 'units') = @date_trunc('$', x)
postgres: date_part datepart('parts dow doy week isodow', x) = @date_part('$', x)
snowflake: date_part('parts dow doy week second', x) = @date_part('$', x)
tsql: datepart('parts second', x) = @date_part('$', x)
spark: date_part('parts', x) = @date_part('$', x)
sqlite: date('now') = CURRENT_DATE
mysql spark databricks: datediff(~x, ~y) = @date_diff('day', y, x)
spark: date_diff(~x, ~y) = @date_diff('day', y, x)
bigquery: date_diff datetime_diff(~x, ~y, 'bare_week') = \
    @date_diff('day', @date_trunc('week', y + INTERVAL 1 DAY), \
    @date_trunc('week', x + INTERVAL 1 DAY)) // 7
bigquery: date_diff datetime_diff(~x, ~y, 'week') = \
    @date_diff('day', @date_trunc('week', y), @date_trunc('week', x)) // 7
bigquery: date_diff datetime_diff(~x, ~y, 'units') = @date_diff('$', y, x)
snowflake: datediff date_diff timestampdiff timediff('week', ~x, ~y) = \
    @date_diff('day', @date_trunc('week', x), @date_trunc('week', y)) // 7
snowflake: datediff date_diff timestampdiff timediff('units', ~x, ~y) = @date_diff('$', x, y)
tsql: datediff('week', 0, ~y) = \
    @date_diff('day', @date_trunc('week', 0 + INTERVAL 1 DAY), \
    @date_trunc('week', y + INTERVAL 1 DAY)) // 7
tsql: datediff('units', 0, ~y) = @date_diff('$', 0, y)
tsql: datediff('week', ~x, ~y) = \
    @date_diff('day', @date_trunc('week', x + INTERVAL 1 DAY), \
    @date_trunc('week', y + INTERVAL 1 DAY)) // 7
tsql: datediff('units', ~x, ~y) = @date_diff('$', x, y)
redshift: datediff date_diff('parts second', ~x, ~y) = @date_diff('$', x, y)
bigquery: timestamp_diff(~x, ~y, 'year') = @date_part('year', @age(x, y))
bigquery: timestamp_diff(~x, ~y, 'day hour minute second') = @date_sub('$', y, x)
mysql spark: timestampdiff('year', ~x, ~y) = @date_part('year', @age(y, x))
mysql spark: timestampdiff('month', ~x, ~y) = {_WHOLE_MONTHS}
mysql spark: timestampdiff('day hour minute second', ~x, ~y) = @date_sub('$', x, y)
trino: date_diff('year', ~x, ~y) = @date_part('year', @age(y, x))
trino: date_diff('day hour minute second', ~x, ~y) = @date_sub('$', x, y)
databricks: datediff('year', ~x, ~y) = @date_part('year', @age(y, x))
databricks: datediff('month', ~x, ~y) = {_WHOLE_MONTHS}
databricks: datediff('day hour minute second', ~x, ~y) = @date_sub('$', x, y)
bigquery: date_add(~x, !i) = CAST(x + i AS DATE)
bigquery: datetime_add timestamp_add(~x, !i) = x + i
bigquery: date_sub(~x, !i) = CAST(x - i AS DATE)
bigquery: datetime_sub timestamp_sub(~x, !i) = x - i
mysql: date_add adddate(~x, !i) = x + i
mysql: date_sub subdate(~x, !i) = x - i
snowflake redshift databricks tsql: dateadd('units', n, ~x) = x + INTERVAL n $
mysql: timestampadd('units', n, ~x) = x + INTERVAL n $
trino: date_add('units', n, ~x) = x + INTERVAL n $
spark: add_months(~x, n) = CAST(x + INTERVAL n MONTH AS DATE)
snowflake: add_months(~x, n) = @greatest(CAST(x + INTERVAL n MONTH AS DATE), \
    CAST(CAST(x AS DATE) + 1 + INTERVAL n MONTH AS DATE) - 1)
snowflake: months_between(~x, ~y) = {_months(_DAY)}
spark oracle: months_between(~x, ~y) = {_months(_DAY_AND_TIME)}
bigquery mysql spark tsql: dayofweek(x) = @dayofweek(x) + 1
mysql spark: weekday(x) = @isodow(x) - 1
snowflake: dayname(x) = @strftime(x, '%a')
snowflake: monthname(x) = @strftime(x, '%b')
spark snowflake: to_timestamp(x) = CAST(x AS TIMESTAMP)
bigquery: timestamp datetime(x) = CAST(x AS TIMESTAMP)
bigquery spark: unix_date(x) = @date_diff('day', DATE '1970-01-01', x)
mysql spark: unix_timestamp(x) = CAST(@epoch(@date_trunc('second', CAST(x AS TIMESTAMP))) AS BIGINT)
postgres: date_part('epoch', x) = @epoch(x)
snowflake: date_part('epoch_second', x) = CAST(@epoch(@date_trunc('second', x)) AS BIGINT)
snowflake: date_part('epoch_millisecond', x) = @epoch_ms(x)
mysql: week(x, 3) = @week(x)
mysql: yearweek(x, 3) = @yearweek(x)
snowflake redshift: convert_timezone(y, z, x) = @timezone(z, @timezone(y, x))
mysql: convert_tz(x, y, z) = @timezone(z, @timezone(y, x))
spark: from_utc_timestamp(x, z) = @timezone(z, @timezone('UTC', x))
spark: to_utc_timestamp(x, z) = @timezone('UTC', @timezone(z, x))
bigquery: datetime(x, z) = @timezone(z, CAST(x AS TIMESTAMPTZ))
bigquery: date(x, z) = CAST(@timezone(z, CAST(x AS TIMESTAMPTZ)) AS DATE)
bigquery mysql spark trino postgres sqlite: date(x) = CAST(x AS DATE)
bigquery mysql sqlite: time(x) = CAST(x AS TIME)
bigquery: date(y, m, d) = @make_date(y, m, d)
snowflake: date_from_parts(y, m, d) = @make_date(y, m, d)
tsql: datefromparts(y, m, d) = @make_date(y, m, d)
spark postgres: make_date(y, m, d) = @make_date(y, m, d)
postgres: to_timestamp(x) = @to_timestamp(x)
bigquery spark: unix_seconds(x) = CAST(@epoch(@date_trunc('second', x)) AS BIGINT)
trino: to_unixtime(x) = @epoch(x)
trino: at_timezone(x, z) = @timezone(z, x)
mysql: year_month(x) = @year(x) * 100 + @month(x)
mysql: to_days(x) = @date_diff('day', DATE '1970-01-01', x) + 719528
bigquery mysql: week(x) = (@dayofyear(x) + 6 - @dayofweek(x)) // 7
mysql: week(x, 0) = (@dayofyear(x) + 6 - @dayofweek(x)) // 7
snowflake: convert_timezone(z, x) = @timezone(z, CAST(x AS TIMESTAMPTZ))
bigquery spark: timestamp_seconds(x) = @make_timestamp(CAST(x * CAST(1000000 AS BIGINT) AS BIGINT))
bigquery spark: timestamp_millis(x) = @make_timestamp(CAST(x * CAST(1000 AS BIGINT) AS BIGINT))
bigquery spark: timestamp_micros(x) = @make_timestamp(x)
bigquery spark: unix_millis(x) = @epoch_ms(x)
bigquery spark: unix_micros(x) = @epoch_us(x)
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
snowflake: time_slice(x, 1, 'week month quarter year') = @date_trunc('$', x)
snowflake: time_slice(x, 1, 'week month quarter year', 'start') = @date_trunc('$', x)
snowflake: time_slice(x, #n, 'day hour minute second') = \
    @time_bucket(INTERVAL n $, x, TIMESTAMP '1970-01-01')
snowflake: time_slice(x, #n, 'day hour minute second', 'start') = \
    @time_bucket(INTERVAL n $, x, TIMESTAMP '1970-01-01')
spark: date_add(x, ±n) = CAST(x AS DATE) + n
spark: date_sub(x, ±n) = CAST(x AS DATE) - n
spark: date_add(x, n) = CAST(x AS DATE) + CAST(n AS INT)
spark: date_sub(x, n) = CAST(x AS DATE) - CAST(n AS INT)
mysql: adddate(x, n) = x + @to_days(CAST(n AS INT))
mysql: subdate(x, n) = x - @to_days(CAST(n AS INT))
snowflake: trunc(x, 'year quarter month week day') = CAST(@date_trunc('$', x) AS DATE)
"""
"""Lines of moments: SQL Server's 0 is a Monday, and its weeks begin on Sunday."""

"""Functions of other dialects by name: what DuckDB calls them, or how it writes them.

A function that is not named here is refused. The names were compared with each dialect's own
manual; where NULL, rounding, the base of a logarithm or the order of arguments differs from
DuckDB's function of the same name, the name is missing or a writer of the table makes it right.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.foreign import function_writers as writers
from sqlpriv.statements.keywords import words

COMMON = words(
    """count sum avg min max var_pop var_samp stddev_pop stddev_samp nullif coalesce abs floor ceil
    ceiling sqrt exp ln power pow sign lower upper row_number rank dense_rank percent_rank cume_dist
    ntile lag lead first_value last_value grouping error grouping_sets"""
)
"""Functions of the same name and meaning in every dialect; `error` is our own."""
FRACTIONAL = words(
    """var_pop var_samp stddev_pop stddev_samp stddev variance stdev stdevp var varp std sqrt exp ln
    log10 percent_rank cume_dist percentile_cont median"""
)
"""Functions whose value is no whole number's type, whatever their arguments are."""
_SAME_NAMES = {
    "postgres": """least greatest variance=var_samp stddev=stddev_samp concat length
        char_length=length log log10 percentile_cont percentile_disc mode replace starts_with corr
        covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
        regr_sxx regr_sxy regr_syy bool_and bool_or sin cos tan cot asin acos atan atan2 degrees
        radians pi cbrt trunc left right reverse strpos median quantile_cont quantile_disc
        approx_quantile approx_count_distinct count_if skewness kurtosis sem dp_interval_low
        dp_interval_high""",
    "bigquery": """variance=var_samp stddev=stddev_samp length char_length=length anon_count=count
        anon_sum=sum anon_avg=avg anon_var_pop=var_pop anon_stddev_pop=stddev_pop
        anon_percentile_cont=percentile_cont anon_quantiles=approx_quantiles
        percentile_cont=quantile_cont approx_quantiles countif=count_if log10 starts_with replace
        approx_count_distinct""",
    "snowflake": """variance=var_samp stddev=stddev_samp variance_pop=var_pop variance_samp=var_samp
        length count_if median mode percentile_cont percentile_disc replace startswith=starts_with
        contains dp_interval_low dp_interval_high""",
    "mysql": """variance=var_pop std=stddev_pop stddev=stddev_pop char_length=length
        character_length=length log10 replace""",
    "tsql": """least greatest var=var_samp varp=var_pop stdev=stddev_samp stdevp=stddev_pop concat
        log10 count_big=count""",
    "spark": """least greatest variance=var_samp stddev=stddev_samp std=stddev_samp mean=avg length
        char_length=length count_if median log10 startswith=starts_with replace mode""",
}
"""Dialect → functions that take the same arguments in the same order, with DuckDB's name behind =
where it is another; PostgreSQL's last ones are DuckDB's own or ours, of which it has none."""
_Writers = dict[str, writers.Writer]
_LEAST: _Writers = {name: writers.null_if_any(name) for name in ("least", "greatest")}
_SUBSTRING: _Writers = {
    "substring": writers.substring,
    "substr": writers.substring,
}
_DATES = {part: writers.part_of_date(part) for part in ("year", "quarter", "month", "day")}
_CLOCK = {part: writers.part_of_date(part) for part in ("hour", "minute", "second")}
_IF_NULL: _Writers = {
    "ifnull": writers.two_as_coalesce,
    "nvl": writers.two_as_coalesce,
}
_WRITTEN: dict[str, _Writers] = {
    "postgres": {
        **_SUBSTRING,
        "round": writers.round_writer(2),
        "div": writers.whole_division,
        "mod": writers.remainder,
        "date_part": writers.date_part(writers.PARTS | {"dow", "doy", "week", "isodow"}),
        "date_trunc": writers.date_trunc(writers.UNITS),
    },
    "bigquery": {
        **(_LEAST | _SUBSTRING),
        "round": writers.round_writer(1, 2),
        "concat": writers.joined_texts,
        "if": writers.if_then,
        "ifnull": writers.two_as_coalesce,
        "safe_divide": writers.safe_divide,
        "div": writers.whole_division,
        "mod": writers.remainder,
        "date_trunc": writers.date_trunc(writers.UNITS - {"week"}, unit_last=True),
        "date_diff": writers.date_diff("lfu"),
        "date_add": writers.move_by_interval("mi", exp.Add),
        "date_sub": writers.move_by_interval("mi", exp.Sub),
        "log": writers.natural_logarithm,
    },
    "snowflake": {
        **(_LEAST | _SUBSTRING | _DATES | _CLOCK | _IF_NULL),
        "round": writers.round_writer(1, 2),
        "concat": writers.joined_texts,
        "iff": writers.if_then,
        "div0": writers.div0,
        "mod": writers.remainder,
        "date_trunc": writers.date_trunc(writers.UNITS - {"week"}),
        "date_part": writers.date_part(writers.PARTS),
        "datediff": writers.date_diff("ufl"),
        "date_diff": writers.date_diff("ufl"),
        "dateadd": writers.move_by_interval("unm", exp.Add),
    },
    "mysql": {
        **(_LEAST | _SUBSTRING | _DATES | _CLOCK),
        "round": writers.round_writer(1, 2),
        "concat": writers.joined_texts,
        "if": writers.if_then,
        "ifnull": writers.two_as_coalesce,
        "mod": writers.remainder,
        "datediff": writers.date_diff("lf"),
        "date_add": writers.move_by_interval("mi", exp.Add),
        "date_sub": writers.move_by_interval("mi", exp.Sub),
        "dayofmonth": writers.part_of_date("day"),
        "log": writers.natural_logarithm,
    },
    "tsql": {
        **_DATES,
        "round": writers.round_writer(2),
        "iif": writers.if_then,
        "isnull": writers.two_as_coalesce,
        "datepart": writers.date_part(writers.PARTS | {"second"}),
        "datediff": writers.date_diff("ufl"),
        "dateadd": writers.move_by_interval("unm", exp.Add),
        "datetrunc": writers.date_trunc(writers.UNITS - {"week"}),
        "log": writers.natural_logarithm,
        "square": writers.square,
    },
    "spark": {
        **(_SUBSTRING | _DATES | _CLOCK | _IF_NULL),
        "round": writers.round_writer(1, 2),
        "concat": writers.joined_texts,
        "if": writers.if_then,
        "mod": writers.remainder,
        "date_trunc": writers.date_trunc(writers.UNITS),
        "date_part": writers.date_part(writers.PARTS),
        "datediff": writers.date_diff("lf"),
        "date_diff": writers.date_diff("lf"),
        "date_add": writers.move_by_days(exp.Add),
        "date_sub": writers.move_by_days(exp.Sub),
        "log": writers.natural_logarithm,
    },
}
BY_DIALECT: dict[str, _Writers] = {
    dialect: {
        name: writers.rename(own or name)
        for name, _, own in (entry.partition("=") for entry in _SAME_NAMES[dialect].split())
    }
    | written
    for dialect, written in _WRITTEN.items()
}
"""Dialect → function, in lower case → how DuckDB writes it."""

PARTS_OF_EXTRACT: dict[str, frozenset[str]] = {
    "postgres": writers.PARTS | {"dow", "doy", "week", "isodow", "isoyear"},
    "bigquery": writers.PARTS | {"second"},
    "snowflake": writers.PARTS | {"second"},
    "mysql": writers.PARTS | {"second"},
    "tsql": frozenset(),
    "spark": writers.PARTS,
}
"""Dialect → the parts that EXTRACT counts as DuckDB does: a second of PostgreSQL has a fraction,
and weeks begin on Sunday in some."""

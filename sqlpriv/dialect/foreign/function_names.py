"""Functions of other dialects by name: what DuckDB calls them, or how it writes them.

A function that is not named here is refused. The names were compared with each dialect's own
manual; where NULL, rounding, the base of a logarithm or the order of arguments differs from
DuckDB's function of the same name, the name is missing or a writer of the table makes it right.
"""

from __future__ import annotations

from sqlpriv.dialect.foreign.same_patterns import pattern_call
from sqlpriv.dialect.foreign.text_casts import padding
from sqlpriv.dialect.foreign.time_windows import BEGINNING, beginning_of_window
from sqlpriv.dialect.foreign.writers import function_writers as writers
from sqlpriv.dialect.foreign.writers import moment_writers as moments
from sqlpriv.dialect.foreign.writers.function_templates import template_writers
from sqlpriv.dialect.foreign.writers.moment_formats import (
    day_of_text,
    moment_format,
    moment_of_seconds,
    moment_of_text,
)
from sqlpriv.statements.keywords import words

COMMON = words(
    """count sum avg min max any_value var_pop var_samp stddev_pop stddev_samp corr covar_pop
    covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy median count_if bool_and bool_or approx_count_distinct max_by min_by string_agg
    nullif coalesce abs floor ceil ceiling sqrt cbrt exp ln log10 power pow sign sin cos
    tan cot asin acos atan atan2 degrees radians pi lower upper reverse replace repeat strpos
    starts_with translate trim split_part width_bucket row_number rank dense_rank percent_rank
    cume_dist ntile lag lead first_value last_value grouping grouping_id error grouping_sets
    dp_interval_low dp_interval_high"""
)
"""Functions of the same name and meaning in every dialect that has them; the last are our own."""
_SAME_NAMES = {
    "postgres": """least greatest variance=var_samp stddev=stddev_samp concat length
        char_length=length character_length=length octet_length=strlen log log2 percentile_cont
        percentile_disc mode every=bool_and left right quantile_cont quantile_disc
        approx_quantile skewness kurtosis sem concat_ws age now transaction_timestamp=now md5 ascii
        ltrim rtrim isfinite array_agg cardinality=len""",
    "bigquery": """variance=var_samp stddev=stddev_samp length char_length=length
        character_length=length byte_length=strlen anon_count=count anon_sum=sum anon_avg=avg
        anon_var_pop=var_pop anon_stddev_pop=stddev_pop anon_percentile_cont=percentile_cont
        anon_quantiles=approx_quantiles percentile_cont=quantile_cont approx_quantiles
        countif=count_if logical_and=bool_and logical_or=bool_or regexp_contains=regexp_matches
        dayofyear isoweek=week isoyear current_date=today ascii ltrim rtrim ends_with
        array_agg split=string_split array_length=len""",
    "snowflake": """variance=var_samp stddev=stddev_samp variance_pop=var_pop
        variance_samp=var_samp length len=length mode percentile_cont percentile_disc
        startswith=starts_with endswith=ends_with contains year quarter month day hour minute second
        dayofmonth=day dayofyear dayofweek dayofweekiso=isodow weekiso=week week weekofyear=week
        yearofweekiso=isoyear booland_agg=bool_and boolor_agg=bool_or
        hll=approx_count_distinct approx_percentile=quantile_cont current_date=today kurtosis
        md5 ascii ltrim rtrim split=string_split octet_length=strlen array_size=len
        ratio_to_report greatest_ignore_nulls=greatest least_ignore_nulls=least""",
    "mysql": """variance=var_pop std=stddev_pop stddev=stddev_pop char_length=length
        character_length=length length=strlen octet_length=strlen year quarter month day hour minute
        second dayofmonth=day dayofyear weekofyear=week dayname monthname last_day concat_ws log2
        current_date=today curdate=today now md5""",
    "tsql": """least greatest var=var_samp varp=var_pop stdev=stddev_samp stdevp=stddev_pop
        concat concat_ws count_big=count year quarter month day getdate=now
        getutcdate=now replicate=repeat percentile_cont percentile_disc hour minute dayofmonth=day
        dayofyear dayname monthname curdate=today""",
    "spark": """least greatest variance=var_samp stddev=stddev_samp std=stddev_samp mean=avg
        length len=length char_length=length character_length=length log2 startswith=starts_with
        endswith=ends_with contains mode year quarter month day hour minute second dayofmonth=day
        dayofyear weekofyear=week last_day every=bool_and some=bool_or percentile=quantile_cont
        percentile_cont percentile_disc percentile_approx=quantile_disc
        approx_percentile=quantile_disc concat_ws current_date=today md5 ascii try_sum=sum
        try_avg=avg size=len""",
    "trino": """variance=var_samp stddev=stddev_samp length concat_ws log2 md5 ltrim rtrim array_agg
        every=bool_and arbitrary=any_value histogram kurtosis cardinality=len
        approx_percentile=quantile_disc geometric_mean=geomean year quarter month day hour minute
        second day_of_month=day day_of_week=isodow dow=isodow day_of_year=dayofyear doy=dayofyear
        week week_of_year=week year_of_week=isoyear yow=isoyear last_day_of_month=last_day now""",
    "oracle": """length ltrim rtrim variance=var_samp stddev=stddev_samp last_day instr=strpos
        ratio_to_report stats_mode=mode""",
    "sqlite": "length ltrim rtrim group_concat=string_agg",
    "redshift": "nvl=coalesce getdate=now last_day len=length ratio_to_report",
    "databricks": "nvl=coalesce",
}
"""Dialect → functions that take the same arguments in the same order, with DuckDB's name behind =
where it is another; PostgreSQL's last ones are DuckDB's own or ours, of which it has none."""
_Writers = dict[str, writers.Writer]
_LEAST: _Writers = {name: writers.null_if_any(name) for name in ("least", "greatest")}
_PADDING: _Writers = {name: padding(name) for name in ("lpad", "rpad")}


def _pattern_calls(dialect: str, extract: str) -> _Writers:
    """Returns the three functions of patterns of which DuckDB's do the same.

    Args:
        dialect: Whose patterns they are.
        extract: What the dialect calls the one that returns the first match.
    """
    return {
        "regexp_like": pattern_call("regexp_matches", dialect),
        "regexp_replace": pattern_call("regexp_replace", dialect, all_matches=True),
        extract: pattern_call("regexp_extract", dialect, or_null=True),
    }


_WRITTEN: dict[str, _Writers] = {
    "postgres": {
        **_PADDING,
        "to_char": moment_format("postgres"),
        "to_date": day_of_text("postgres"),
        "to_timestamp": moment_of_text,
        "date_bin": moments.moment_bins,
        "time_bucket": moments.time_buckets,
        "regexp_replace": pattern_call("regexp_replace", "postgres"),
    },
    "bigquery": {
        **(_LEAST | _PADDING),
        "concat": writers.joined_texts,
        **dict.fromkeys(
            ("format_date", "format_datetime", "format_timestamp"),
            moment_format("bigquery", format_first=True),
        ),
        "parse_date": day_of_text("bigquery", format_first=True),
        "range_bucket": writers.bucket_between,
        "format": writers.print_call,
    },
    "snowflake": {
        **(_LEAST | _PADDING),
        "concat": writers.joined_texts,
        "decode": writers.decode,
        "to_date": day_of_text("snowflake"),
        "array_agg": writers.list_without_null,
        "concat_ws": writers.texts_joined_by,
        "listagg": writers.joined_list,
        "regexp_replace": pattern_call("regexp_replace", "snowflake", all_matches=True),
        "regexp_substr": pattern_call("regexp_extract", "snowflake", or_null=True),
        "regexp_like": pattern_call("regexp_full_match", "snowflake"),
        "next_day": moments.day_of_week(before=False),
        "previous_day": moments.day_of_week(before=True),
        "to_char": moment_format("snowflake"),
        "to_varchar": moment_format("snowflake"),
    },
    "mysql": {
        **(_LEAST | _PADDING),
        "concat": writers.joined_texts,
        "date_format": moment_format("mysql"),
        "from_unixtime": moment_of_seconds("mysql"),
        "field": writers.place_in_list,
        "elt": writers.item_in_list,
        "str_to_date": day_of_text("mysql"),
        **_pattern_calls("mysql", "regexp_substr"),
    },
    "tsql": {
        "choose": writers.item_in_list,
        "dateadd": moments.beginning_of_unit,
        "format": moment_format("tsql"),
    },
    "spark": {
        **_PADDING,
        **dict.fromkeys(("array_agg", "collect_list"), writers.list_without_null),
        "concat": writers.joined_texts,
        "next_day": moments.day_of_week(before=False),
        BEGINNING: beginning_of_window,
        "from_unixtime": moment_of_seconds("spark"),
        "date_format": moment_format("spark"),
        "to_date": day_of_text("spark"),
        "regexp_replace": pattern_call("regexp_replace", "spark", all_matches=True),
        "regexp_extract": pattern_call("regexp_extract", "spark"),
        "regexp_like": pattern_call("regexp_matches", "spark"),
        "decode": writers.decode,
    },
    "trino": {
        **(_LEAST | _PADDING),
        "concat": writers.joined_texts,
        "date_format": moment_format("mysql"),
        "format_datetime": moment_format("spark"),
        "format": writers.print_call,
        "listagg": writers.joined_list,
        **_pattern_calls("trino", "regexp_extract"),
    },
    "oracle": {
        **(_LEAST | _PADDING),
        "decode": writers.decode,
        "trunc": moments.truncated_by_word,
        "listagg": writers.joined_list,
        "to_char": moment_format("oracle"),
        "to_date": day_of_text("oracle"),
        "concat": writers.texts_without_null,
        **_pattern_calls("oracle", "regexp_substr"),
    },
    "sqlite": {
        "max": writers.one_or_several("max", "greatest"),
        "min": writers.one_or_several("min", "least"),
        "strftime": moment_format("sqlite", format_first=True),
    },
    "redshift": {
        "concat": writers.joined_texts,
        "decode": writers.decode,
        "listagg": writers.joined_list,
        "regexp_replace": pattern_call("regexp_replace", "postgres", all_matches=True),
        "regexp_substr": pattern_call("regexp_extract", "postgres"),
    },
}

FAMILY = {"redshift": "postgres", "databricks": "spark", "presto": "trino"}
"""Dialect → the one that it is like in all that is not named here of itself."""
_LEFT_OUT = {
    "redshift": words("trunc string_agg date_bin time_bucket age"),
    "databricks": words("date_diff"),
}
"""Dialect → functions of its family that it has not, or that mean another thing there."""


def _writers_by_name(dialect: str) -> _Writers:
    entries = (entry.partition("=") for entry in _SAME_NAMES.get(dialect, "").split())
    renamed = {name: writers.rename(own or name) for name, _, own in entries}
    by_template, written = template_writers(dialect), _WRITTEN.get(dialect, {})
    both = {
        name: writers.either(written[name], by_template[name])
        for name in written.keys() & by_template.keys()
    }
    family = _writers_by_name(FAMILY[dialect]) if dialect in FAMILY else {}
    kept = {name: write for name, write in family.items() if name not in _LEFT_OUT.get(dialect, ())}
    return kept | renamed | by_template | written | both


BY_DIALECT: dict[str, _Writers] = {
    dialect: _writers_by_name(dialect) for dialect in (*_SAME_NAMES, "presto")
}
"""Dialect → function, in lower case → how DuckDB writes it."""

PARTS_OF_EXTRACT: dict[str, frozenset[str]] = {
    "postgres": moments.PARTS | {"dow", "doy", "week", "isodow", "isoyear"},
    "bigquery": moments.PARTS | {"second"},
    "snowflake": moments.PARTS | {"second", "dow", "doy"},
    "mysql": moments.PARTS | {"second"},
    "tsql": frozenset(),
    "spark": moments.PARTS | {"week", "doy"},
    "trino": moments.PARTS | {"second", "week", "doy"},
    "sqlite": frozenset(),
    "oracle": moments.PARTS - {"quarter"},
}
"""Dialect → the parts that EXTRACT counts as DuckDB does: a second of PostgreSQL has a fraction,
and weeks begin on Sunday in some."""

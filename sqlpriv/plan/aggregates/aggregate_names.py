"""The names of aggregates: which are answered, as what, and what to write instead of others."""

from __future__ import annotations

from sqlpriv.plan.aggregates.moment_formulas import FORMULAS, SAME_AS
from sqlpriv.plan.aggregates.quantile_levels import RANKED
from sqlpriv.statements.keywords import words

KINDS = {
    "count": "count",
    "count_star": "count",
    "count_if": "count",
    "countif": "count",
    "sum": "sum",
    "avg": "mean",
    "mean": "mean",
    "variance": "variance",
    "var_samp": "variance",
    "var_pop": "variance",
    "stddev": "stddev",
    "stddev_samp": "stddev",
    "stddev_pop": "stddev",
    **dict.fromkeys(("median", "min", "max", "mode", *RANKED), "level"),
}

ESTIMATORS = ("laplace", "gaussian", "coinpress", "quantile", "pooled")
"""What `AVG(x USING …)` and `SUM(x USING …)` may name; see `plan.aggregates.estimators`."""
POOLED = ("variance", "stddev", "level")
"""Other kinds of aggregates whose strata `USING pooled` draws together."""
POOLED_INSTEAD = (
    "write AVG(CASE WHEN … THEN 1 ELSE 0 END USING pooled), a share of a stratum's rows"
)
"""Of counts and modes, whose strata cannot be drawn together: a mean that says it, and can."""

_HISTOGRAM = "a histogram shows it: SELECT x // 10 AS bin, COUNT(*) FROM t GROUP BY bin"
_FIRST_GROUP = "of groups it is known: SELECT y FROM t GROUP BY y ORDER BY {}(x) {} LIMIT 1"
COUNT_GROUPS = "count the groups instead: SELECT x, COUNT(*) FROM t GROUP BY x"
_LISTS = (
    "list(DISTINCT x) has the listed values that occur, histogram(x) their counts, and answers can "
    "be a list: SELECT list(x ORDER BY x) FROM (SELECT x, COUNT(*) AS n FROM t GROUP BY x)"
)
ANSWERED = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, MIN, MAX and MODE can be asked for"
_RATIO = "build it from SUM and COUNT, as in SUM(x * y) / COUNT(*)"


REFUSED = {
    "histogram": _HISTOGRAM,
    "mad": "write MEDIAN(abs(x - (SELECT MEDIAN(x) FROM t))); of groups with WHERE t.g = u.g in it",
    **dict.fromkeys(("arg_max", "max_by"), _FIRST_GROUP.format("MAX", "DESC")),
    **dict.fromkeys(("arg_min", "min_by"), _FIRST_GROUP.format("MIN", "ASC")),
    **dict.fromkeys(words("list array_agg string_agg group_concat listagg"), _LISTS),
    **dict.fromkeys(words("json_group_array json_group_object json_agg json_object_agg"), _LISTS),
    **dict.fromkeys(("entropy", "approx_top_k"), COUNT_GROUPS),
    **dict.fromkeys(
        ("product", *FORMULAS, *SAME_AS, "approx_count_distinct"),
        _RATIO,
    ),
    **dict.fromkeys(
        (
            "any_value",
            "first",
            "last",
            "arbitrary",
            "bool_and",
            "bool_or",
            "bit_and",
            "bit_or",
            "bit_xor",
        ),
        ANSWERED,
    ),
}

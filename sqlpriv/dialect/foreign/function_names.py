"""Functions of other dialects by name: what DuckDB calls them, or how it writes them.

A function that is not named here is refused. The names were compared with each dialect's own
manual; where NULL, rounding, the base of a logarithm or the order of arguments differs from
DuckDB's function of the same name, the name is missing or a writer of the table makes it right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlpriv.statements.keywords import words

Arguments = Sequence[exp.Expr]
Writer = Callable[[Arguments], exp.Expr | None]
"""Returns DuckDB's expression for a call with these arguments; None where it is not the same."""

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
_PARTS = frozenset({"year", "quarter", "month", "day", "hour", "minute"})
"""Parts of dates that every dialect counts alike."""
_UNITS = frozenset({"year", "quarter", "month", "day", "week", "hour", "minute", "second"})


def call(name: str, *args: exp.Expr) -> exp.Expr:
    """Returns a call of a function of DuckDB's."""
    return exp.Anonymous(this=name, expressions=list(args))


def parenthesize(node: exp.Expr) -> exp.Expr:
    """Returns an operand that stays together wherever it is put."""
    simple = (
        exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Null | exp.Boolean | exp.Cast
    )
    return node if isinstance(node, simple) else exp.Paren(this=node)


def _renamed(name: str) -> Writer:
    return lambda args: call(name, *args)


def _word(node: exp.Expr) -> str:
    """Returns the lower-case word of a date part, written bare or as a text."""
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        return str(node.name).lower()
    return str(node.this).lower() if isinstance(node, exp.Literal | exp.Var) else ""


def _part_of_date(part: str) -> Writer:
    return lambda args: call(part, *args) if len(args) == 1 else None


def _date_part(parts: frozenset[str]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2 or _word(args[0]) not in parts:
            return None
        return call("date_part", exp.Literal.string(_word(args[0])), args[1])

    return write


def _date_trunc(parts: frozenset[str], *, unit_last: bool = False) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2:
            return None
        moment, unit = args if unit_last else (args[1], args[0])
        if _word(unit) not in parts:
            return None
        return call("date_trunc", exp.Literal.string(_word(unit)), moment)

    return write


def _date_diff(order: str) -> Writer:
    """Writes the number of boundaries between two moments.

    Args:
        order: What the arguments are: `ufl` is (unit, first, last), `lfu` (last, first, unit), `lf`
            (last, first) in days.
    """

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != len(order):
            return None
        by_letter = dict(zip(order, args, strict=True))
        unit = _word(by_letter["u"]) if "u" in by_letter else "day"
        if unit not in ("day", "month", "quarter", "year"):
            return None  # weeks begin on different days
        return call("date_diff", exp.Literal.string(unit), by_letter["f"], by_letter["l"])

    return write


def _moved(order: str, sign: type[exp.Expr]) -> Writer:
    """Writes a moment moved by an interval; `order` as in `_date_diff`: u, n and m(oment)."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != len(order):
            return None
        by_letter = dict(zip(order, args, strict=True))
        interval = by_letter.get("i")
        if interval is None:
            unit, size = _word(by_letter["u"]), by_letter["n"]
            if unit not in _UNITS or not isinstance(size, exp.Literal | exp.Neg):
                return None
            text = size.sql("duckdb")
            interval = exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this=unit))
        if not isinstance(interval, exp.Interval):
            return None
        return exp.Paren(this=sign(this=parenthesize(by_letter["m"]), expression=interval))

    return write


def _days_moved(sign: type[exp.Expr]) -> Writer:
    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2 or not (isinstance(args[1], exp.Literal) and not args[1].is_string):
            return None
        return exp.Paren(this=sign(this=parenthesize(args[0]), expression=args[1]))

    return write


def _if(args: Arguments) -> exp.Expr | None:
    if len(args) not in (2, 3):
        return None
    otherwise = args[2] if len(args) == 3 else None
    return exp.Case(ifs=[exp.If(this=args[0], true=args[1])], default=otherwise)


def _two_as_coalesce(args: Arguments) -> exp.Expr | None:
    return call("coalesce", *args) if len(args) == 2 else None


def _safe_divide(args: Arguments) -> exp.Expr | None:
    if len(args) != 2:
        return None
    divisor = call("nullif", args[1], exp.Literal.number(0))
    return exp.Paren(this=exp.Div(this=parenthesize(args[0]), expression=divisor))


def _div0(args: Arguments) -> exp.Expr | None:
    """DIV0 gives 0 where the divisor is 0."""
    if len(args) != 2:
        return None
    zero = exp.EQ(this=parenthesize(args[1]), expression=exp.Literal.number(0))
    divided = exp.Div(this=parenthesize(args[0].copy()), expression=parenthesize(args[1].copy()))
    return exp.Case(ifs=[exp.If(this=zero, true=exp.Literal.number(0))], default=divided)


def _whole_division(args: Arguments) -> exp.Expr | None:
    if len(args) != 2:
        return None
    return exp.Paren(this=exp.IntDiv(this=parenthesize(args[0]), expression=parenthesize(args[1])))


def _remainder(args: Arguments) -> exp.Expr | None:
    if len(args) != 2:
        return None
    return exp.Paren(this=exp.Mod(this=parenthesize(args[0]), expression=parenthesize(args[1])))


def _null_if_any(name: str) -> Writer:
    """LEAST and GREATEST that are NULL where one argument is; DuckDB's skip NULL."""

    def write(args: Arguments) -> exp.Expr | None:
        tests: list[exp.Expr] = [
            exp.Not(
                this=exp.Paren(this=exp.Is(this=parenthesize(arg.copy()), expression=exp.Null()))
            )
            for arg in args
            if not isinstance(arg, exp.Literal)
        ]
        if not tests:
            return call(name, *args)
        condition = tests[0]
        for test in tests[1:]:
            condition = exp.And(this=condition, expression=test)
        return exp.Case(ifs=[exp.If(this=condition, true=call(name, *args))])

    return write


def _joined_texts(args: Arguments) -> exp.Expr | None:
    """CONCAT that is NULL where one argument is, as `||` is in DuckDB."""
    if not args:
        return None
    joined = parenthesize(args[0])
    for arg in args[1:]:
        joined = exp.DPipe(this=joined, expression=parenthesize(arg))
    return exp.Paren(this=joined)


def _round(*, one: bool = True) -> Writer:
    """ROUND; `one`: with one argument, halves go away from zero as they do in DuckDB."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) not in (1, 2) or (len(args) == 1 and not one):
            return None
        return call("round", *args)

    return write


def _substring(args: Arguments) -> exp.Expr | None:
    """A part from a position that is counted from the beginning, in every dialect alike."""
    starts = len(args) == 3 and isinstance(args[1], exp.Literal) and not args[1].is_string
    if not starts or str(args[1].this) == "0":
        return None
    return call("substring", *args)


_UNKNOWN_BASE: Writer = lambda args: call("ln", *args) if len(args) == 1 else None  # noqa: E731
_LEAST = {"least": _null_if_any("least"), "greatest": _null_if_any("greatest")}
_SKIPPING = {"least": _renamed("least"), "greatest": _renamed("greatest")}
_DATES = {part: _part_of_date(part) for part in ("year", "quarter", "month", "day")}
_CLOCK = {part: _part_of_date(part) for part in ("hour", "minute", "second")}
_SAMPLE = {"variance": _renamed("var_samp"), "stddev": _renamed("stddev_samp")}
_SUBSTRING: dict[str, Writer] = {"substring": _substring, "substr": _substring}

_POSTGRESQLS = words(
    """corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy bool_and bool_or sin cos tan cot asin acos atan atan2 degrees radians
    pi cbrt trunc left right reverse strpos"""
)
"""Functions of PostgreSQL's and of DuckDB's that take the same arguments in the same order."""
_NOT_POSTGRESQLS = words(
    """median quantile_cont quantile_disc approx_quantile approx_count_distinct count_if skewness
    kurtosis sem dp_interval_low dp_interval_high"""
)
"""Functions that PostgreSQL has none of, so that DuckDB's, or ours, is meant."""

BY_DIALECT: dict[str, dict[str, Writer]] = {
    "postgres": {
        **_SKIPPING, **_SAMPLE, **_SUBSTRING,
        **{name: _renamed(name) for name in _POSTGRESQLS | _NOT_POSTGRESQLS},
        "round": _round(one=False), "concat": _renamed("concat"), "length": _renamed("length"),
        "char_length": _renamed("length"), "div": _whole_division, "mod": _remainder,
        "date_part": _date_part(_PARTS | {"dow", "doy", "week", "isodow"}),
        "date_trunc": _date_trunc(_UNITS), "log": _renamed("log"), "log10": _renamed("log10"),
        "percentile_cont": _renamed("percentile_cont"),
        "percentile_disc": _renamed("percentile_disc"), "mode": _renamed("mode"),
        "replace": _renamed("replace"), "starts_with": _renamed("starts_with"),
    },
    "bigquery": {
        **_LEAST, **_SAMPLE, **_SUBSTRING,
        "round": _round(), "concat": _joined_texts, "length": _renamed("length"),
        "char_length": _renamed("length"), "if": _if, "ifnull": _two_as_coalesce,
        "safe_divide": _safe_divide, "div": _whole_division, "mod": _remainder,
        **{f"anon_{name}": _renamed(name) for name in
           ("count", "sum", "avg", "var_pop", "stddev_pop", "percentile_cont")},
        "anon_quantiles": _renamed("approx_quantiles"),
        "percentile_cont": _renamed("quantile_cont"),
        "approx_quantiles": _renamed("approx_quantiles"),
        "countif": _renamed("count_if"),
        "date_trunc": _date_trunc(_UNITS - {"week"}, unit_last=True),
        "date_diff": _date_diff("lfu"), "date_add": _moved("mi", exp.Add),
        "date_sub": _moved("mi", exp.Sub), "log": _UNKNOWN_BASE, "log10": _renamed("log10"),
        "starts_with": _renamed("starts_with"), "replace": _renamed("replace"),
        "approx_count_distinct": _renamed("approx_count_distinct"),
    },
    "snowflake": {
        **_LEAST, **_SAMPLE, **_SUBSTRING, **_DATES, **_CLOCK,
        "variance_pop": _renamed("var_pop"), "variance_samp": _renamed("var_samp"),
        "round": _round(), "concat": _joined_texts, "length": _renamed("length"),
        "iff": _if, "ifnull": _two_as_coalesce, "nvl": _two_as_coalesce, "div0": _div0,
        "mod": _remainder, "count_if": _renamed("count_if"), "median": _renamed("median"),
        "date_trunc": _date_trunc(_UNITS - {"week"}), "date_part": _date_part(_PARTS),
        "datediff": _date_diff("ufl"), "date_diff": _date_diff("ufl"),
        "dateadd": _moved("unm", exp.Add), "mode": _renamed("mode"),
        "percentile_cont": _renamed("percentile_cont"),
        "percentile_disc": _renamed("percentile_disc"), "replace": _renamed("replace"),
        "startswith": _renamed("starts_with"), "contains": _renamed("contains"),
        "dp_interval_low": _renamed("dp_interval_low"),
        "dp_interval_high": _renamed("dp_interval_high"),
    },
    "mysql": {
        **_LEAST, **_SUBSTRING, **_DATES, **_CLOCK,
        "variance": _renamed("var_pop"), "std": _renamed("stddev_pop"),
        "stddev": _renamed("stddev_pop"), "round": _round(), "concat": _joined_texts,
        "char_length": _renamed("length"), "character_length": _renamed("length"), "if": _if,
        "ifnull": _two_as_coalesce, "mod": _remainder, "datediff": _date_diff("lf"),
        "date_add": _moved("mi", exp.Add), "date_sub": _moved("mi", exp.Sub),
        "dayofmonth": _part_of_date("day"), "log": _UNKNOWN_BASE, "log10": _renamed("log10"),
        "replace": _renamed("replace"),
    },
    "tsql": {
        **_SKIPPING, **_DATES,
        "var": _renamed("var_samp"), "varp": _renamed("var_pop"), "stdev": _renamed("stddev_samp"),
        "stdevp": _renamed("stddev_pop"), "round": lambda args: call("round", *args)
        if len(args) == 2 else None, "concat": _renamed("concat"), "iif": _if,
        "isnull": _two_as_coalesce, "datepart": _date_part(_PARTS | {"second"}),
        "datediff": _date_diff("ufl"), "dateadd": _moved("unm", exp.Add),
        "datetrunc": _date_trunc(_UNITS - {"week"}), "log": _UNKNOWN_BASE,
        "log10": _renamed("log10"), "count_big": _renamed("count"), "square": lambda args:
        exp.Paren(this=exp.Mul(this=parenthesize(args[0]), expression=parenthesize(args[0].copy())))
        if len(args) == 1 else None,
    },
    "spark": {
        **_SKIPPING, **_SAMPLE, **_SUBSTRING, **_DATES, **_CLOCK,
        "std": _renamed("stddev_samp"), "mean": _renamed("avg"), "round": _round(),
        "concat": _joined_texts, "length": _renamed("length"), "char_length": _renamed("length"),
        "if": _if, "ifnull": _two_as_coalesce, "nvl": _two_as_coalesce, "mod": _remainder,
        "count_if": _renamed("count_if"), "median": _renamed("median"),
        "date_trunc": _date_trunc(_UNITS), "date_part": _date_part(_PARTS),
        "datediff": _date_diff("lf"), "date_diff": _date_diff("lf"),
        "date_add": _days_moved(exp.Add), "date_sub": _days_moved(exp.Sub),
        "log": _UNKNOWN_BASE, "log10": _renamed("log10"), "startswith": _renamed("starts_with"),
        "replace": _renamed("replace"), "mode": _renamed("mode"),
    },
}  # fmt: skip
"""Dialect → function, in lower case → how DuckDB writes it."""

PARTS_OF_EXTRACT: dict[str, frozenset[str]] = {
    "postgres": _PARTS | {"dow", "doy", "week", "isodow", "isoyear"},
    "bigquery": _PARTS | {"second"},
    "snowflake": _PARTS | {"second"},
    "mysql": _PARTS | {"second"},
    "tsql": frozenset(),
    "spark": _PARTS,
}
"""Dialect → the parts that EXTRACT counts as DuckDB does: a second of PostgreSQL has a fraction,
and weeks begin on Sunday in some."""

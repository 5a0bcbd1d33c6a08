"""Calls of other dialects, and what is written like a call: where they mean the same in DuckDB."""

from __future__ import annotations

from types import NoneType

from sqlglot import exp

from sqlpriv.dialect.foreign import function_names as names
from sqlpriv.dialect.foreign.same_patterns import sets_in_like
from sqlpriv.dialect.foreign.same_types import write_conversion
from sqlpriv.dialect.foreign.text_casts import CONVERSIONS, joined_number, write_text_cast
from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter
from sqlpriv.dialect.foreign.value_kinds import LOOSE, NUMERIC, is_fractional, is_whole
from sqlpriv.dialect.foreign.writers.moment_writers import UNITS, interval_of, unit_word
from sqlpriv.dialect.marks import MARK, duckdb_call, function_name, marked_name
from sqlpriv.dialect.tokens import Kind
from sqlpriv.errors import meant_among
from sqlpriv.statements.keywords import REAL_AVERAGE, SAME_REAL, SAME_TEXT, WHOLE_AVERAGE

_JOINING = ("concat", "lower", "upper")
_HALVES = "round of a half is another number for a NUMERIC than for a float8 in postgres"
_OVER_ROWS = ("conditional_true_event", "ratio_to_report")
_PARTS = ("year_month", "dayofweek", "dayofyear", "week", "isoweek", "isoyear", "dayofweekiso")
"""Parts of EXTRACT that are written as the function of that name is."""


def write_like(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """In LIKE a backslash escapes in most dialects, and [a-z] is a set in tsql."""
    rewriter.check_arguments(node, "this expression negate")
    pattern = node.args["expression"]
    if isinstance(pattern, exp.Any | exp.All):
        return _like_each(rewriter, node, pattern)
    texts = [] if isinstance(pattern, exp.Literal) else _joined_texts(rewriter, pattern)
    if texts and not any("[" in x if rewriter.dialect == "tsql" else "\\" in x for x in texts):
        return exp.ILike(**node.args) if rewriter.dialect == "sqlite" else node
    is_text = isinstance(pattern, exp.Literal) and pattern.is_string
    has_sets = is_text and rewriter.dialect == "tsql" and "[" in pattern.this
    regex = sets_in_like(pattern.this) if has_sets else None
    if regex and isinstance(node, exp.Like) and not isinstance(node.parent, exp.Escape):
        match = duckdb_call("regexp_matches", node.this, exp.Literal.string(regex))
        return exp.Not(this=match) if node.args.get("negate") else match
    if not is_text or "\\" in pattern.this or has_sets:
        unread = "brackets like these" if rewriter.dialect == "tsql" else "backslash"
        message, hint = f"a pattern is a text without {unread}", "write LIKE 'a!%' ESCAPE '!'"
        raise rewriter.refuse(pattern, message, hint)
    if rewriter.dialect == "sqlite" and isinstance(node, exp.Like):
        return exp.ILike(**node.args)
    return node


def _joined_texts(rewriter: TreeRewriter, node: exp.Expr) -> list[str]:
    """Returns the texts that a constant is joined from, parameters' among them; [] of another."""
    match node:
        case exp.Literal(is_string=True):
            return [node.this]
        case exp.Paren() | exp.Cast() if node.is_type(*exp.DataType.TEXT_TYPES) or not node.type:
            return _joined_texts(rewriter, node.this)
        case exp.Column() if (token := rewriter.token(node)).kind is Kind.PARAMETER:
            value = rewriter.cursor.binding.by_start[token.start]
            return [value or ""] if isinstance(value, str | NoneType) else []
        case exp.DPipe():
            parts = [node.left, node.right]
        case exp.Anonymous() if function_name(node) in (*_JOINING, SAME_TEXT):
            parts = node.expressions
        case _:
            return []
    texts = [_joined_texts(rewriter, part) for part in parts]
    return [text for each in texts for text in each] if all(texts) else []


def _like_each(rewriter: TreeRewriter, node: exp.Expr, patterns: exp.Expr) -> exp.Expr:
    """Writes `x LIKE ANY ('a%', 'b%')`, or of a list in brackets, as LIKE of each."""
    inside = patterns.this.unnest()
    listed = inside.expressions if isinstance(inside, exp.Tuple | exp.Array) else [inside]
    if node.args.get("negate") or isinstance(node.parent, exp.Not):
        hint = "write x NOT LIKE 'a%' AND x NOT LIKE 'b%'"
        raise rewriter.refuse(node, "NOT before LIKE ANY is read in two ways", hint)
    likes = [
        write_like(rewriter, type(node)(this=node.this.copy(), expression=pattern.copy()))
        for pattern in listed
    ]
    whole = exp.and_(*likes) if isinstance(patterns, exp.All) else exp.or_(*likes)
    return exp.Paren(this=whole)


def write_pivot(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """PIVOT (AVG(x) FOR k IN ('a', 'b')), whose columns sqlglot names as the dialect does, and
    UNPIVOT, whose titles are the columns' names as the dialect stores them."""
    if node.args.get("unpivot"):
        rewriter.check_arguments(node, "expressions fields alias unpivot include_nulls")
        for column in [x for field in node.args["fields"] for x in field.expressions]:
            if rewriter.dialect == "snowflake" and isinstance(column, exp.Column):
                title = exp.Literal.string(column.name.upper())
                column.replace(exp.PivotAlias(this=column.copy(), alias=title))
        return node
    named = "columns identify_pivot_strings prefixed_pivot_columns pivot_column_naming"
    rewriter.check_arguments(node, f"expressions fields group alias {named}")
    if rewriter.dialect == "tsql":  # IN ([a], [b]) are texts
        for value in [x for field in node.args["fields"] for x in field.expressions]:
            if isinstance(value, exp.Column):
                text = exp.Literal.string(value.name)
                value.replace(exp.PivotAlias(this=text, alias=exp.to_identifier(value.name, True)))
    return node


def write_lateral(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """LATERAL, and SQL Server's CROSS APPLY and OUTER APPLY."""
    rewriter.check_arguments(node, "this alias cross_apply")
    crosses, join = node.args.get("cross_apply"), node.parent
    if crosses is not None and isinstance(join, exp.Join):
        node.set("cross_apply", None)
        join.set("kind" if crosses else "side", "CROSS" if crosses else "LEFT")
        join.set("on", None if crosses else exp.true())
    return node


def write_moment(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Oracle's TIMESTAMP '2023-06-01 12:00:00', which sqlglot has as a call with a format."""
    text, pattern = node.this, node.args.get("format")
    written = isinstance(text, exp.Literal) and str(pattern) == "'%Y-%m-%d %H:%M:%S.%f'"
    if not written or rewriter.dialect != "oracle":
        raise rewriter.refuse_unknown(node, "a moment in a format")
    return exp.cast(text, "TIMESTAMP")


def write_extract(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this expression")
    part = str(node.this.name).lower()
    if part == "date" and rewriter.dialect == "bigquery":
        return exp.cast(node.args["expression"], "DATE")
    if part not in names.PARTS_OF_EXTRACT[rewriter.dialect]:
        function = rewriter.functions.get(part)
        written = function([node.args["expression"]]) if part in _PARTS and function else None
        if written is None and (named := rewriter.functions.get("date_part")):
            written = named([exp.Literal.string(part), node.args["expression"]])
        if written is None:
            raise rewriter.refuse_unknown(node, f"EXTRACT of {part}")
        return written
    number = duckdb_call("date_part", exp.Literal.string(part), node.args["expression"])
    number.meta[NUMERIC] = rewriter.written == "postgres"
    return number


def write_now(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """CURRENT_TIMESTAMP is now(), whose day alone may be asked (`lowering.current_day`)."""
    rewriter.check_arguments(node, "sysdate")
    return duckdb_call("now")


def write_day(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Oracle's DATE '2024-01-01', and ODBC's {d '2024-01-01'}, {ts '…'} and {t '…'}."""
    rewriter.check_arguments(node, "this")
    if not isinstance(node.this, exp.Literal):
        raise rewriter.refuse_unknown(node, "this moment")
    return exp.cast(node.this, _ODBC.get(type(node), "DATE"))


_ODBC: dict[type[exp.Expr], str] = {exp.Timestamp: "TIMESTAMP", exp.Time: "TIME"}


def write_interval(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this unit")
    if isinstance(node.this, exp.Literal | exp.Neg) or marked_name(node.this):
        return node
    unit = unit_word(node.args["unit"]) if node.args.get("unit") else ""
    if unit not in UNITS or rewriter.dialect not in ("mysql", "bigquery"):
        raise rewriter.refuse(node, "an interval is a number of units", "write INTERVAL '3' MONTH")
    return interval_of(node.this, unit)


def write_fetch(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """FETCH FIRST n ROWS ONLY is LIMIT n."""
    rewriter.check_arguments(node, "direction count limit_options")
    options = node.args.get("limit_options")
    extra = options is not None and {k for k, v in options.args.items() if v} - {"rows"}
    if extra:
        raise rewriter.refuse(node, "only whole numbers of rows can be fetched", "write LIMIT n")
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


def write_substring(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this start length")
    args = [node.args.get(name) for name in ("this", "start", "length")]
    written = names.BY_DIALECT["postgres"]["substring"]([a for a in args if a is not None])
    if written is None:
        raise rewriter.refuse_unknown(node, "SUBSTRING without a start from 1 and a length")
    return written


def write_within_group(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes `MODE() WITHIN GROUP (ORDER BY x)` as `MODE(x)`, and quantiles in the same way."""
    rewriter.check_arguments(node, "this expression")
    call, order = node.this, node.args["expression"]
    if isinstance(call, exp.Filter):  # which a writer has put there
        ordered = exp.WithinGroup(this=call.this.pop(), expression=order)
        call.set("this", write_within_group(rewriter, ordered))
        return call
    quantiles = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}
    one = isinstance(order, exp.Order) and len(order.expressions) == 1
    if not isinstance(call, exp.Anonymous) or not one:
        raise rewriter.refuse_unknown(node, "this WITHIN GROUP")
    name = quantiles.get(function_name(call), function_name(call))
    if name in ("string_agg", "array_agg") and call.expressions:
        *texts, last = call.expressions  # the separator, or DISTINCT with both
        return duckdb_call(name, *texts, exp.Order(this=last, expressions=order.expressions))
    shares = call.expressions
    if order.expressions[0].args.get("desc"):  # as far from the other end
        shares = [exp.Sub(this=exp.Literal.number(1), expression=share) for share in shares]
    quantile = duckdb_call(name, order.expressions[0].this, *shares)
    quantile.meta.update(call.meta)
    return quantile


def write_filter(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """FILTER, behind a call of which a writer has made one with a FILTER, too."""
    rewriter.check_arguments(node, "this expression")
    call = node.this
    if isinstance(call, exp.Filter):
        both = exp.and_(call.expression.this, node.expression.this)
        return exp.Filter(this=call.this, expression=exp.Where(this=both))
    return node


def write_index(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """SPLIT(x, '-')[OFFSET(0)], and APPROX_QUANTILES(x, 4)[OFFSET(1)] as all dialects have it."""
    rewriter.check_arguments(node, "this expressions offset safe")
    call, indexes = node.this, node.expressions
    if len(indexes) == 1 and str(indexes[0]).isdecimal():
        start = node.args.get("offset", 0)
        if function_name(call) == "string_split":
            place = exp.Literal.number(int(indexes[0].name) - start)  # from 0, as sqlglot counts
            return exp.Bracket(this=call, expressions=[place])
        if function_name(call) == "approx_quantiles":
            index = duckdb_call("ordinal" if start else "offset", *indexes)
            return exp.Bracket(this=call, expressions=[index])
    raise rewriter.refuse_unknown(node, "an index")


def write_call(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Functions are looked up by the name that the user wrote."""
    rewriter.check_arguments(node, "this expressions")
    name, arguments = function_name(node), node.expressions
    using = str(node.this).partition(MARK)[2]
    if name in ("grouping sets", "rollup", "cube", "all"):
        node.set("this", name.upper())
        return node
    cuts_means = name == "avg" and rewriter.written in ("tsql", "redshift")
    if cuts_means and not is_fractional(arguments[0], "tsql"):
        if is_whole(arguments[0]) or not arguments[0].find(exp.Column):
            raise rewriter.refuse(node, WHOLE_AVERAGE, REAL_AVERAGE)
        arguments = [duckdb_call(SAME_REAL, arguments[0]), *arguments[1:]]
    if name == "week" and function_name(node.parent).endswith(("_trunc", "_diff")):
        return node  # the unit of BigQuery's DATE_TRUNC(x, WEEK(MONDAY))
    is_tsql = rewriter.dialect == "tsql"
    if is_tsql and function_name(node.parent) in CONVERSIONS and node.index == 0:
        return node  # the type of CONVERT (VARCHAR(7), x, 120)
    if is_tsql and name in CONVERSIONS:
        return write_conversion(rewriter, node)
    if (
        name in ("sum", "avg")
        and rewriter.dialect in ("mysql", "sqlite")
        and isinstance(arguments[0], LOOSE)
    ):
        number = exp.DataType(this=exp.DType.INT)  # true is 1
        arguments = [exp.Cast(this=exp.Paren(this=arguments[0]), to=number), *arguments[1:]]
    if name in ("concat", "concat_ws"):
        arguments = [joined_number(rewriter, x) for x in arguments]
    if name in rewriter.functions:
        replacement = rewriter.functions[name](arguments)
        if replacement is None and (name, rewriter.dialect) == ("round", "postgres"):
            raise rewriter.refuse(node, _HALVES, "write round(x::numeric, 0)")
        if name in _OVER_ROWS and not isinstance(node.parent, exp.Window):
            raise rewriter.refuse(node, f"{name} stands before OVER", f"{name}(x) OVER (…)")
        if replacement is None:
            raise rewriter.refuse_unknown(node, f"{name} with these arguments")
    elif name in names.COMMON:
        replacement = duckdb_call(name, *arguments)
    else:
        meant = meant_among(name, (*names.COMMON, *rewriter.functions))
        raise rewriter.refuse_unknown(node, f"the function {name}", meant)
    if name == "count" and isinstance(next(iter(arguments), None), exp.Distinct):
        counted = arguments[0].expressions
        if len(counted) > 1:  # of several values, which DuckDB counts where some are NULL, too
            kept = [exp.Paren(this=exp.Is(this=x.copy(), expression=exp.Null())) for x in counted]
            whole = duckdb_call(name, exp.Distinct(expressions=[exp.Tuple(expressions=counted)]))
            present = exp.and_(*(exp.Not(this=x) for x in kept))
            return exp.Filter(this=whole, expression=exp.Where(this=present))
    if function_name(replacement) == SAME_TEXT:
        text = exp.DataType(this=exp.DType.TEXT)
        replacement = write_text_cast(rewriter, exp.Cast(this=replacement.expressions[0], to=text))
    if using:
        replacement.set("this", f"{replacement.this}{MARK}{using}")
    replacement.meta.update(node.meta)
    return replacement

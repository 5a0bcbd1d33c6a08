"""Constants and operators of other dialects: where they mean the same in DuckDB."""

from __future__ import annotations

import re

from sqlglot import exp

from sqlpriv.dialect.foreign.text_casts import joined_number
from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter
from sqlpriv.dialect.foreign.value_kinds import (
    LOOSE,
    MAYBE_WHOLE,
    dtype,
    is_fractional,
    is_nonzero,
    is_whole,
)
from sqlpriv.dialect.foreign.writers.function_writers import parenthesize
from sqlpriv.dialect.foreign.writers.moment_writers import with_days_read
from sqlpriv.dialect.marks import duckdb_call, function_name
from sqlpriv.statements.keywords import SAME_QUOTIENT, words

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
COMPARISONS = LOOSE[:9]
"""= <> < <= > >= IS IN BETWEEN"""
_TIGHT = exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Cast | exp.Subquery | exp.Filter
_OF_TEXTS = words(
    "upper lower substring left right ltrim rtrim trim replace reverse concat strftime"
)
"""Functions, as DuckDB calls them, whose value is a text."""


def write_array(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """A list in brackets, of whatever its elements are."""
    rewriter.check_arguments(node, "expressions bracket_notation struct_name_inheritance")
    node.set("struct_name_inheritance", None)
    return node


def write_time_zone(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """x AT TIME ZONE 'Europe/Berlin'; in BigQuery's dialect of a moment in UTC, whatever x is."""
    rewriter.check_arguments(node, "this zone")
    if rewriter.dialect == "bigquery":
        node.set("this", exp.Cast(this=node.this, to=exp.DataType.build("TIMESTAMPTZ")))
    return node


def write_exclusive_or(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """MySQL's XOR: of conditions, that they differ; of numbers it is another thing."""
    rewriter.check_arguments(node, "this expression")
    sides = [node.args[name].unnest() for name in ("this", "expression")]
    if not all(isinstance(side, LOOSE) for side in sides):
        raise rewriter.refuse_unknown(node, "XOR of what may be numbers")
    left, right = (exp.Paren(this=side) for side in sides)
    return exp.Paren(this=exp.NEQ(this=left, expression=right))


def write_unnest(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """UNNEST behind IN; `write_comparison` takes its list out."""
    rewriter.check_arguments(node, "expressions")
    if not isinstance(node.parent, exp.In):
        raise rewriter.refuse_unknown(node, "UNNEST")
    return node


def write_literal(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    if not node.args["is_string"] and _NUMBER.fullmatch(str(node.this)) is None:
        raise rewriter.refuse_unknown(node, "this number")
    if rewriter.dialect == "oracle" and node.args["is_string"] and not node.this:
        raise rewriter.refuse(node, "an empty text is NULL in oracle", "write x IS NULL")
    return node


def write_comparison(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Comparisons, IS, IN, BETWEEN and LIKE bind in another order in some dialects."""
    listed = node.args.get("unnest") if isinstance(node, exp.In) else None
    if isinstance(listed, exp.Unnest) and len(listed.expressions) == 1:  # IN UNNEST([1, 2])
        values = listed.expressions[0]
        if not isinstance(values, exp.Array):
            raise rewriter.refuse_unknown(listed, "this UNNEST")
        node.set("unnest", None)
        node.set("expressions", values.expressions)
    rewriter.check_arguments(node, "this expression expressions query low high negate")
    if isinstance(node.this, exp.Tuple) and not node.args.get("query"):
        return _compared_rows(rewriter, node)
    for name in ("this", "expression", "low", "high"):
        part = node.args.get(name)
        is_constant = isinstance(node, exp.Is) and name == "expression"
        if isinstance(part, exp.Expr) and isinstance(part, LOOSE) and not is_constant:
            raise rewriter.refuse(
                part, "dialects group these operators in different ways", "write parentheses"
            )
    constant = (exp.Null, exp.Boolean)
    if isinstance(node, exp.Is) and not isinstance(node.args["expression"], constant):
        raise rewriter.refuse_unknown(node.args["expression"], "IS with this behind it")
    if isinstance(node, exp.Is) and node.args.get("negate"):  # PostgreSQL's IS NOT NULL
        plain = node.copy()
        plain.set("negate", None)
        return exp.Not(this=plain)
    return node


def _compared_rows(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes `(a, b) < (1, 2)` and `(a, b) IN ((1, 2))` field by field: a NULL makes the comparison
    NULL where it decides, and in DuckDB's comparison of rows it is a value."""
    fields = [parenthesize(field) for field in node.this.expressions]
    rows: list[exp.Expr] = node.expressions or [node.args.get("expression", node)]
    if isinstance(rows[0], exp.Values):
        rows = rows[0].expressions
    strict = _STRICT.get(type(node))
    is_known = strict is not None or isinstance(node, exp.EQ | exp.NEQ | exp.In)
    is_row = [isinstance(row, exp.Tuple) and len(row.expressions) == len(fields) for row in rows]
    if not is_known or not all(is_row):
        raise rewriter.refuse_unknown(node, "a row beside what is no row of as many values")
    tests: list[exp.Expr] = []
    for row in rows:
        pairs = [(x.copy(), parenthesize(y)) for x, y in zip(fields, row.expressions, strict=True)]
        equal = exp.and_(*(exp.EQ(this=x, expression=y) for x, y in pairs))
        tests.append(_ordered_rows(type(node), strict, pairs) if strict else equal)
    whole = exp.Paren(this=exp.or_(*tests))
    return exp.Paren(this=exp.Not(this=whole)) if isinstance(node, exp.NEQ) else whole


_Pairs = list[tuple[exp.Expr, exp.Expr]]
_STRICT: dict[type[exp.Expr], type[exp.Binary]] = {
    **dict.fromkeys((exp.LT, exp.LTE), exp.LT),
    **dict.fromkeys((exp.GT, exp.GTE), exp.GT),
}


def _ordered_rows(sign: type[exp.Expr], strict: type[exp.Binary], pairs: _Pairs) -> exp.Expr:
    (one, other), *rest = pairs
    if not rest:
        return sign(this=one, expression=other)
    equal = exp.EQ(this=one.copy(), expression=other.copy())
    later = exp.and_(equal, exp.Paren(this=_ordered_rows(sign, strict, rest)))
    return exp.or_(strict(this=one, expression=other), later)


def write_sum(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """A sum; of texts in SQL Server's dialect they are joined, where one is a text that is no
    number. MySQL moves a day in a text by an interval."""
    rewriter.check_arguments(node, "this expression")
    sides = [node.args[name] for name in ("this", "expression")]
    if rewriter.dialect == "tsql" and isinstance(node, exp.Add) and any(map(_is_word, sides)):
        return exp.Paren(this=exp.DPipe(this=parenthesize(sides[0]), expression=sides[1]))
    if rewriter.dialect == "mysql" and (
        isinstance(sides[1], exp.Interval) or function_name(sides[1]).startswith("to_")
    ):
        node.set("this", with_days_read(sides[0]))
    for name in ("this", "expression"):
        part = node.args[name]
        if isinstance(part, exp.Literal) and part.args["is_string"]:
            hint = "write CONCAT(a, b), or a number"
            raise rewriter.refuse(
                part, f"a text beside + or - is not read in {rewriter.written}", hint
            )
    return node


def _is_word(node: exp.Expr) -> bool:
    """Returns whether a value is surely a text: a literal that is no number, a cast to one, joined
    texts, or a function's."""
    inside = node.unnest()
    if isinstance(inside, exp.Literal):
        return inside.is_string and not _NUMBER.fullmatch(str(inside.this).strip(" +-"))
    is_text = function_name(inside) in _OF_TEXTS or dtype(inside) is exp.DType.TEXT
    return is_text or isinstance(inside, exp.DPipe)


def _whole_literal(node: exp.Expr) -> str:
    """Returns a whole number as it is written, with its sign; '' for anything else."""
    inside, sign = (node.this, "-") if isinstance(node, exp.Neg) else (node, "")
    is_whole = isinstance(inside, exp.Literal) and str(inside.this).isdecimal()
    return f"{sign}{inside.this}" if is_whole else ""


def _interval_text(node: exp.Expr) -> exp.Expr | None:
    """Returns `'-6 day'` of `(-6 || ' day')::INTERVAL`, as Looker writes it; None of another."""
    cast = node.parent.parent if isinstance(node.parent, exp.Paren) else None
    number, unit = _whole_literal(node.this), node.args["expression"]
    is_interval = cast is not None and dtype(cast) is exp.DType.INTERVAL
    if not is_interval or not number or not isinstance(unit, exp.Literal):
        return None
    return exp.Literal.string(f"{number}{unit.this}")


def write_concatenation(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this expression safe")
    if (interval := _interval_text(node)) is not None:
        return interval
    for name in ("this", "expression"):
        part = node.args[name]
        if not isinstance(part, _TIGHT | exp.DPipe | exp.Case):
            raise rewriter.refuse(part, "dialects group || in different ways", "write parentheses")
        node.set(name, joined_number(rewriter, part))
    node.set("safe", None)
    if rewriter.dialect == "oracle":
        return duckdb_call(
            "nullif", duckdb_call("concat", node.this, node.expression), exp.Literal.string("")
        )
    return node


def write_power(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this expression")
    base, exponent = node.args["this"], node.args["expression"]
    if not isinstance(base, _TIGHT) or not isinstance(exponent, _TIGHT):
        raise rewriter.refuse(node, "dialects group ^ in different ways", "write parentheses")
    return duckdb_call("pow", base, exponent)


def write_division(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this expression typed safe")
    left, right = node.args["this"], node.args["expression"]
    fractional = any(is_fractional(side, rewriter.written) for side in (left, right))
    if node.args.get("typed") and not fractional and not any(map(_has_aggregate, (left, right))):
        whole = exp.IntDiv(this=parenthesize(left), expression=parenthesize(right))
        return exp.Paren(this=whole)  # DuckDB's // of fractions is its /
    if node.args.get("typed") and not fractional and all(map(is_whole, (left, right))):
        some = duckdb_call("nullif", right, exp.Literal.number(0))
        return duckdb_call("trunc", exp.Div(this=parenthesize(left), expression=some))
    sums = any(function_name(call) == "sum" for call in node.find_all(exp.Anonymous))
    if node.args.get("typed") and not fractional and sums and rewriter.dialect == "postgres":
        return duckdb_call(SAME_QUOTIENT, left, right)  # SUM of a BIGINT has digits there
    if node.args.get("typed") and not fractional:
        some = duckdb_call("nullif", right, exp.Literal.number(0))
        return exp.Paren(this=exp.IntDiv(this=parenthesize(left), expression=some))
    if node.args.get("safe") and not is_nonzero(right):
        zero = exp.Literal.number(0)
        node.set("expression", duckdb_call("nullif", right.copy(), zero))
    node.set("typed", None)
    node.set("safe", None)
    return node


def _has_aggregate(node: exp.Expr) -> bool:
    """Returns whether a value is made of noised numbers, whose types are not those of columns."""
    calls = {function_name(call) for call in node.find_all(exp.Anonymous)}
    return bool(calls & MAYBE_WHOLE) or node.find(exp.Subquery, exp.Window) is not None


def write_window(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Windows; RATIO_TO_REPORT(x) OVER (…) is x through its sum."""
    rewriter.check_arguments(node, "this partition_by order over spec alias")
    if (name := function_name(node.this)) == "conditional_true_event":  # counts row by row
        node.this.set("this", "sum")
        rows = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING")
        node.set("spec", node.args.get("spec") or rows)
    if name != "ratio_to_report":
        return node
    (share,) = node.this.expressions
    whole = node.copy()
    whole.set("this", duckdb_call("sum", share.copy()))
    total = duckdb_call("nullif", whole, exp.Literal.number(0))
    return exp.Paren(this=exp.Div(this=parenthesize(share), expression=total))

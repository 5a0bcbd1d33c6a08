"""Aggregates that depend on how often each value occurs alone: made of one query's counts.

    SELECT sex, histogram(age) AS h, SUM(DISTINCT hours) AS s FROM people GROUP BY sex
    ──► private: SELECT sex AS __key0, age AS __value, COUNT(*) AS __n, ERROR(COUNT(*)) AS __e
                 FROM people GROUP BY sex, age
        in the tail, where histogram(age) stood:
                 (SELECT map(list(__value), list(__n)) FROM (…) AS __counts
                  WHERE __key0 IS NOT DISTINCT FROM sex AND __n > __e)

A value is taken to occur where its noised count is above the count's half-width: at 95 %, noise
alone does not make one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.marks import call_of, duckdb_call, function_name, row_count

SEVERAL_SETS = ("rollup", "cube", "grouping sets")
VALUE, COUNTED, ERROR = "__value", "__n", "__e"
_ONE_OF = ("any_value", "arbitrary", "first", "last", "mode")
"""Aggregates that may give any of the values: the most frequent one is one."""
_ANY_TIMES = ("bool_or", "bool_and", "bit_or", "bit_and", "logical_or", "logical_and")
"""Aggregates that a value changes as much as many equal ones."""
_ENDS = ("min", "max")
_OF_COUNTS = {
    "histogram": f"map(list({VALUE} ORDER BY {VALUE}), list({COUNTED}::UBIGINT ORDER BY {VALUE}))",
    "entropy": f"log2(sum({COUNTED})) - sum({COUNTED} * log2({COUNTED})) / sum({COUNTED})",
    "approx_top_k": f"list({VALUE} ORDER BY {COUNTED} DESC, {VALUE})[:{{0}}]",
    "bigquerys_top_count": f"list({{{{'value': {VALUE}, 'count': {COUNTED}}}}}"
    f" ORDER BY {COUNTED} DESC, {VALUE})[:{{0}}]",
    **dict.fromkeys(_ONE_OF, f"arg_max({VALUE}, {COUNTED})"),
}
"""Name → what becomes of it; {0} is the second argument."""
_FIRST_ONES = {
    name: f"flatten(list(repeat([{VALUE}], least({COUNTED}, {{0}})::BIGINT) ORDER BY {VALUE}{way}))"
    "[:{0}]"
    for name, way in (("min", ""), ("max", " DESC"))
}
"""MIN(x, n) and MAX(x, n), in which equal values stand as often as they occur."""
NAMES = frozenset((*_OF_COUNTS, *_ANY_TIMES))


def is_of_frequencies(node: exp.Expr, *, ends: bool = False) -> bool:
    """Returns whether an aggregate, with its FILTER, is one of how often each value occurs.

    Args:
        node: The aggregate.
        ends: MIN and MAX are taken for such: of texts, say, which have no bounds.
    """
    name = function_name(call := call_of(node))
    if not name or not call.expressions:
        return False
    distinct = _distinct_part(call)
    if distinct is not None:
        return name != "count" or any(isinstance(x, exp.Tuple) for x in distinct.expressions[:1])
    if isinstance(call.expressions[0], exp.Order):
        return False  # the first by an order is a row's matter
    return name in NAMES or (ends and name in _ENDS)


def key_that_is_given(node: exp.Expr) -> exp.Expr | None:
    """Returns what `any_value(x)`, `min(x)` and the like give if x is a key; None of others."""
    plain = function_name(node) in (*_ONE_OF, *_ENDS) and len(node.expressions) == 1
    return node.expressions[0] if plain else None


def frequency_subquery(
    node: exp.Expr, select: exp.Select, keys: Sequence[tuple[exp.Expr, exp.Column]]
) -> tuple[exp.Subquery, exp.Select]:
    """Returns an aggregate as a scalar subquery over the counts of its values, and the query in it
    that counts them.

    Args:
        node: The aggregate, with its FILTER.
        select: The query that it stands in.
        keys: Of GROUP BY: each expression, and the answer's column that holds it.

    Raises:
        NotDivisible: It is over something else than values that are counted.
    """
    group = select.args.get("group")
    if group is not None and any(function_name(x) in SEVERAL_SETS for x in group.walk()):
        raise NotDivisible("counts of values are for one set of keys")
    call, kept = node, None
    if isinstance(node, exp.Filter):
        call, kept = node.this, node.expression.this
    distinct = _distinct_part(call)
    args = distinct.expressions if distinct is not None else call.expressions
    if not args:
        raise NotDivisible("DISTINCT of nothing")
    of = args[0].expressions if isinstance(args[0], exp.Tuple) else [args[0]]
    names = [f"{VALUE}{i}" for i in range(len(of))] if len(of) > 1 else [VALUE]
    counts = exp.Select()
    for clause in ("with_", "from_", "joins", "where"):
        part = select.args.get(clause)
        copied = [one.copy() for one in part] if isinstance(part, list) else part and part.copy()
        counts.set(clause, copied)
    if kept is not None:
        counts = counts.where(kept.copy())
    count, error = row_count(), duckdb_call("error", row_count())
    titles = [f"__key{i}" for i in range(len(keys))]
    terms = [*(key for key, _ in keys), *of]
    named = zip([*terms, count, error], [*titles, *names, COUNTED, ERROR], strict=True)
    counts.set("expressions", [exp.alias_(x.copy(), n, quoted=True) for x, n in named])
    counts.set("group", exp.Group(expressions=[term.copy() for term in terms]))
    outer = exp.select(_aggregate_of_counts(call, args, names))
    outer = outer.from_(exp.Subquery(this=counts), copy=False)
    outer = outer.where(exp.column(COUNTED) > exp.column(ERROR), copy=False)
    if distinct is None and function_name(call) != "bigquerys_top_count":  # which counts NULL
        outer = outer.where(exp.column(VALUE).is_(exp.null()).not_(), copy=False)
    for title, (_, column) in zip(titles, keys, strict=True):
        same = exp.NullSafeEQ(this=exp.column(title), expression=column)
        outer = outer.where(same, copy=False)
    return exp.Subquery(this=outer), counts


def _aggregate_of_counts(
    call: exp.Expr, args: Sequence[exp.Expr], names: Sequence[str]
) -> exp.Expr:
    """Returns the aggregate over the columns of the values and of their counts."""
    name = function_name(call)
    templates = _OF_COUNTS | _FIRST_ONES if len(args) == 2 else _OF_COUNTS
    template = templates.get(name)
    rest = [arg.name for arg in args[1:] if isinstance(arg, exp.Literal) and not arg.is_string]
    if template is not None and _distinct_part(call) is None:
        if len(args) != 1 + ("{0}" in template) or len(rest) != len(args) - 1:
            raise NotDivisible("other arguments than a value")
        return exp.maybe_parse(template.format(*rest), dialect="duckdb")
    columns = [exp.column(name) for name in names]
    value: exp.Expr = exp.Tuple(expressions=columns) if len(columns) > 1 else columns[0]
    text, written = args[0].sql("duckdb"), call.copy()
    for part in list(written.find_all(exp.Distinct)):
        values = [*part.expressions]
        if isinstance(order := part.parent, exp.Order):  # it stands behind the last argument
            order.set("this", values.pop())
            values.append(order)
        written.set("expressions", values)
    for place in [x for x in written.walk() if x.sql("duckdb") == text]:
        place.replace(value.copy())
    if any(column.name not in names for column in written.find_all(exp.Column)):
        raise NotDivisible("an order by something else than the value")
    return written


def _distinct_part(call: exp.Expr) -> exp.Distinct | None:
    """Returns the DISTINCT of an aggregate's arguments."""
    first = call.expressions[0] if call.expressions else None
    inside = first.this if isinstance(first, exp.Order) else first
    return inside if isinstance(inside, exp.Distinct) else None

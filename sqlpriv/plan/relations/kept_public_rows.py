"""`public LEFT JOIN private`: public rows without a private one are kept, in SQL and in groups.

The kernel has rows of units alone. SQL gives a public row without a partner once, its private
columns NULL; which rows these are depends on private rows. Where every aggregate is over a private
column, such a row adds nothing to it, and where every key is a public column, the row does no more
than make its group exist. The groups are listed in the public table: each has an answer whether it
has rows or not. So the statement has the answers of the inner join, over the listed groups.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial

from sqlpriv.errors import Refused
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, conjuncts, rebuild, walk, with_aliases

ReadsPrivate = Callable[[t.Node], bool]
"""Whether an expression reads a private column."""
_NULL_IF_ANY_IS = ("+", "-", "*", "/", "//", "%")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
TOLD_BY_KEYS = ("min", "max", "avg", "any_value", "mean", "median")
"""Aggregates of a public column that are its one value for each value of a key."""
_MESSAGE = (
    "a public row without a private one would count here, and which rows these are is private"
)


def check_kept_rows(
    select: t.Select,
    binder: Binder,
    private: Collection[str],
    aliases: Mapping[str, t.Node],
) -> None:
    """Raises Refused unless the inner join gives the statement the same answers.

    Args:
        select: Its FROM keeps public rows without private ones.
        binder: What names mean in it.
        private: Its private columns, lower case.
        aliases: Of its outputs.

    Raises:
        Refused: With the place that such a row would show in, and what to write instead.
    """

    def reads_private(node: t.Node) -> bool:
        names = (part for part in walk(node) if isinstance(part, t.Name))
        return any(binder.column_of(name).lower() in private for name in names)

    for node in conjuncts(select.where):
        if reads_private(node):
            if _is_null_of_null(node, reads_private):
                return  # WHERE drops the rows without a partner
            raise refuse(node, _MESSAGE, "let WHERE compare the private column, or filter in ON")
    outputs = [item.expr for item in select.items]
    nodes = [*outputs, *(term.expr for term in select.order_by)]
    calls = [call for node in (*nodes, *_present(select.having)) for call in aggregate_calls(node)]
    for call in calls:
        of = call.args[0] if call.args else None
        if isinstance(of, t.Name) and call.name in TOLD_BY_KEYS and not reads_private(of):
            continue  # `OutputWriter` takes it from the public table, or refuses it
        if isinstance(of, t.CaseWhen) and _adds_nothing(call, of):
            of = replace(of, otherwise=None)
        if of is None or not (_is_null_of_null(of, reads_private) and reads_private(of)):
            hint = "aggregate a private column: COUNT(o.id) counts rows with a partner"
            raise refuse(call, _MESSAGE, hint)
    if not calls:
        raise refuse(t.Literal(None, select.pos), _MESSAGE, "aggregate in the same SELECT")
    if select.group_all:
        keys: Iterable[t.Node] = (node for node in outputs if not any(aggregate_calls(node)))
    else:
        keys = (*select.group_by, *(select.stratify.by if select.stratify else ()))
    for key in keys:
        number = as_literal(key)
        if number is not None and type(number.value) is int and 0 < number.value <= len(outputs):
            key = outputs[number.value - 1]
        if reads_private(with_aliases(key, aliases)):
            raise refuse(key, _MESSAGE, "group by columns of the public table")


def with_nought_for_kept_rows(select: t.Select) -> t.Select:
    """Returns a statement in which SUM of 0 where there is no private row is 0, not NULL.

    A kept row adds 0 to `SUM(CASE WHEN x > 1 THEN 1 ELSE 0 END)`, and makes it no NULL.
    """

    def with_nought(node: t.Node) -> t.Node | None:
        if isinstance(node, t.FunctionCall) and node.args and _adds_nothing(node, node.args[0]):
            return t.FunctionCall("coalesce", (node, t.Literal(0, node.pos)), pos=node.pos)
        return None

    items = tuple(replace(item, expr=rebuild(item.expr, with_nought)) for item in select.items)
    having = None if select.having is None else rebuild(select.having, with_nought)
    terms = (replace(term, expr=rebuild(term.expr, with_nought)) for term in select.order_by)
    return replace(select, items=items, having=having, order_by=tuple(terms))


def refuse_public_aggregate(call: t.FunctionCall) -> Refused:
    """Returns the refusal of an aggregate of a public column that keys do not tell."""
    hint = "add the public table's own key to GROUP BY, or aggregate a private column"
    return refuse(call, _MESSAGE, hint)


def _adds_nothing(call: t.FunctionCall, of: t.Node) -> bool:
    """Returns whether a call is SUM of a CASE with ELSE 0, which a kept row has."""
    has_else = isinstance(of, t.CaseWhen) and of.otherwise == t.Literal(0)
    return has_else and call.name == "sum" and not call.distinct


def _present(node: t.Node | None) -> tuple[t.Node, ...]:
    return () if node is None else (node,)


def _is_null_of_null(node: t.Node, reads_private: ReadsPrivate) -> bool:
    """Returns whether an expression is NULL wherever a column in it is, or a CASE wherever its
    private columns are."""
    is_null = partial(_is_null_of_null, reads_private=reads_private)
    match node:
        case t.Name() | t.Literal():
            return True
        case t.Unary("-" | "not", arg) | t.Cast(arg):
            return is_null(arg)
        case t.Between(arg, low, high) if not any(map(_has_columns, (low, high))):
            return is_null(arg)
        case t.InList(arg, items) if not any(map(_has_columns, items)):
            return is_null(arg)
        case t.Binary(op, left, right) if op in (*_NULL_IF_ANY_IS, *_COMPARISONS):
            return is_null(left) and is_null(right)
        case t.CaseWhen(whens, None | t.Literal(None), None):
            return all(any(is_null(x) and reads_private(x) for x in when) for when in whens)
    return False


def _has_columns(node: t.Node) -> bool:
    return any(isinstance(part, t.Name) for part in walk(node))

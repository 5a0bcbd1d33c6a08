"""`public LEFT JOIN private`: public rows without a private one are kept, in SQL and in groups.

The kernel has rows of units alone. SQL gives a public row without a partner once, its private
columns NULL; which rows these are depends on private rows. Where every aggregate is over a private
column, such a row adds nothing to it, and where every key is a public column, the row does no more
than make its group exist. The groups are listed in the public table: each has an answer whether it
has rows or not. So the statement has the answers of the inner join, over the listed groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, conjuncts, walk, with_aliases

_NULL_IF_ANY_IS = ("+", "-", "*", "/", "//", "%")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
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
            if _is_null_of_null(node):
                return  # WHERE drops the rows without a partner
            raise refuse(node, _MESSAGE, "let WHERE compare the private column, or filter in ON")
    outputs = [item.expr for item in select.items]
    nodes = [*outputs, *(term.expr for term in select.order_by)]
    calls = [call for node in (*nodes, *_present(select.having)) for call in aggregate_calls(node)]
    for call in calls:
        if not any(_is_null_of_null(arg) and reads_private(arg) for arg in call.args[:1]):
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


def _present(node: t.Node | None) -> tuple[t.Node, ...]:
    return () if node is None else (node,)


def _is_null_of_null(node: t.Node) -> bool:
    """Returns whether an expression is NULL wherever a column in it is."""
    match node:
        case t.Name() | t.Literal():
            return True
        case t.Unary("-" | "not", arg) | t.Cast(arg):
            return _is_null_of_null(arg)
        case t.Between(arg, low, high) if not any(map(_has_columns, (low, high))):
            return _is_null_of_null(arg)
        case t.InList(arg, items) if not any(map(_has_columns, items)):
            return _is_null_of_null(arg)
        case t.Binary(op, left, right) if op in (*_NULL_IF_ANY_IS, *_COMPARISONS):
            return _is_null_of_null(left) and _is_null_of_null(right)
    return False


def _has_columns(node: t.Node) -> bool:
    return any(isinstance(part, t.Name) for part in walk(node))

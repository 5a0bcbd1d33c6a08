"""The statements of a program's steps: cut out of the one that was written, each at its price."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.relations.outer_names import looks_outside
from sqlpriv.plan.relations.subqueries import membership_subqueries
from sqlpriv.session.queries.programs.program import PrivateStep
from sqlpriv.session.queries.public_subqueries import ONE_AGGREGATE, ONE_VALUE, reads_private
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.aliases import distinct_names, output_names
from sqlpriv.statements.traverse import walk, with_aliases

ONE_COLUMN = "a subquery behind IN gives one column"


def with_price_share(select: t.Select, price: Price | None, parts: int) -> t.Select:
    """Returns the statement with one of so many equal parts of a price; None leaves it as it is."""
    if price is None:
        return select
    name = "rho" if isinstance(price, Rho) else "epsilon"
    share = type(price)(price.nano // parts)
    rest = tuple(option for option in select.options if option[0] not in ("epsilon", "rho"))
    return replace(select, options=(*rest, (name, share.value)), private=True)


def with_distinct_names(select: t.Select) -> t.Select:
    """Returns a query that plain SQL reads as a table: outputs of one name are told apart, as in
    DuckDB, by `_1` and so on behind the later ones' names."""
    names = output_names(select)
    triples = zip(select.items, names, distinct_names(names), strict=True)
    items = [item if own == name else replace(item, alias=own) for item, name, own in triples]
    return replace(select, items=tuple(items))


def with_output_names(select: t.Select) -> t.Select:
    """Returns the statement with a name for every output: values are put into them later."""
    items = []
    for item in select.items:
        holds_query = any(isinstance(part, t.Subquery | t.InQuery) for part in walk(item.expr))
        name = item.text if holds_query else default_name(item)
        items.append(replace(item, alias=item.alias or name))
    return replace(select, items=tuple(items))


def shift_awaited(step: PrivateStep, by: int) -> PrivateStep:
    """Returns a step that stands that many places further on."""
    return replace(step, awaits={part: at + by for part, at in step.awaits.items()})


def as_statement(part: t.Subquery | t.InQuery) -> t.Select:
    """Returns a private subquery as a statement.

    Raises:
        Refused: It is no SELECT of one value, or behind IN of one column.
    """
    return _list_as_statement(part) if isinstance(part, t.InQuery) else _scalar_as_statement(part)


def check_one_column(part: t.Subquery | t.InQuery, columns: int) -> None:
    """Refuses a subquery that gives several columns, as `SELECT AVG(COLUMNS(*))` may."""
    if columns != 1 and isinstance(part, t.InQuery):
        raise Refused.at(part.pos, ONE_COLUMN, "select one key")
    if columns != 1:
        raise Refused.at(part.pos, ONE_VALUE, ONE_AGGREGATE)


def _scalar_as_statement(part: t.Subquery) -> t.Select:
    """Returns a private scalar subquery as a statement.

    Raises:
        Refused: It is no SELECT of one value.
    """
    query = part.query
    grouped = isinstance(query, t.Select) and (query.group_by or query.group_all or query.sets)
    if not isinstance(query, t.Select) or len(query.items) != 1 or grouped:
        raise Refused.at(part.pos, ONE_VALUE, ONE_AGGREGATE)
    return replace(query, text=part.text)


def lists_of_answers(select: t.Select, contracts: Mapping[str, TableContract]) -> list[t.InQuery]:
    """Returns the conditions `x IN (SELECT …)` whose queries may be answered by themselves: about
    private rows, without a column of the row around them."""
    return [
        part
        for part in dict.fromkeys(membership_subqueries(select))
        if reads_private(part.query, contracts) and not looks_outside(part.query, contracts)
    ]


def _list_as_statement(part: t.InQuery) -> t.Select:
    """Returns the query behind IN as a statement; of `SELECT x FROM w`, w with x as its output.

    Raises:
        Refused: It is no SELECT of one column.
    """
    query = part.query
    if not isinstance(query, t.Select) or len(query.items) != 1:
        raise Refused.at(part.pos, ONE_COLUMN, "select one key")
    (item,) = query.items
    plain = replace(query, items=(), source=None, table="", alias="", private=False)
    match query.source:
        case t.Derived(t.Select() as inner) if plain == t.Select((), "") and isinstance(
            item.expr, t.Name
        ):
            query = _with_one_output(inner, item.expr)
    return replace(query, text=part.text)


def _with_one_output(query: t.Select, column: t.Name) -> t.Select:
    """Returns a query with the one of its outputs that has a name, the aliases of others resolved.

    Raises:
        Refused: There is no such output.
    """
    names = {(item.alias or getattr(item.expr, "name", "")).lower(): item for item in query.items}
    if column.name.lower() not in names:
        raise Refused.at(column.pos, f'the query of WITH has no output "{column.name}"')
    aliases = {item.alias.lower(): item.expr for item in query.items if item.alias}
    terms = [replace(term, expr=with_aliases(term.expr, aliases)) for term in query.order_by]
    having = with_aliases(query.having, aliases) if query.having is not None else None
    item = names[column.name.lower()]
    return replace(query, items=(item,), order_by=tuple(terms), having=having)


def placeholder(part: t.Subquery | t.InQuery, type_: pa.DataType) -> t.Node:
    """Returns what stands in a plan for a subquery whose answer, of that type, is not known yet."""
    value = t.Literal(_some_value(type_), part.pos, exponent=pa.types.is_floating(type_))
    if isinstance(part, t.InQuery):
        return t.InList(part.arg, (value,), part.negated, part.pos)
    return value


def _some_value(type_: pa.DataType) -> Value:
    if pa.types.is_boolean(type_):
        return False
    if pa.types.is_integer(type_) or (pa.types.is_decimal(type_) and type_.scale == 0):
        return 1
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return 1.0
    if pa.types.is_date(type_):
        return dt.date(2000, 1, 1)
    return dt.datetime(2000, 1, 1) if pa.types.is_timestamp(type_) else ""

"""`AVG(COLUMNS(…))`: one output for each column whose name is meant.

`COLUMNS(*)` means all columns, a text those whose names match it somewhere, a list those that it
names. Each output has its column's name, as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.expressions.facts.public_engine import public_value
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import rebuild, walk


def spell_out_columns(select: t.Select, contracts: Mapping[str, TableContract]) -> t.Select:
    """Returns a SELECT in which each column that COLUMNS(…) means has an output.

    Args:
        select: The statement.
        contracts: Of all tables, by lower-case name.

    Raises:
        Refused: It is of several tables, means no column, or its pattern cannot be read.
    """
    items = tuple(one for item in select.items for one in _items_of(item, select, contracts))
    return select if items == select.items else replace(select, items=items)


def _items_of(
    item: t.Item, select: t.Select, contracts: Mapping[str, TableContract]
) -> Iterator[t.Item]:
    calls = [x for x in walk(item.expr) if isinstance(x, t.FunctionCall) and x.name == "columns"]
    if not calls:
        yield item
        return
    contract = contracts.get(select.table.lower())
    if select.source is not None or contract is None or len({*calls}) > 1:
        hint = "write out the columns, as in COUNT(a), COUNT(b)"
        raise refuse(calls[0], "COLUMNS is read of one table, once in an output", hint)
    names = [c.name for c in contract.columns if _is_meant(c.name, calls[0])]
    if not names:
        columns = ", ".join(c.name for c in contract.columns)
        raise refuse(calls[0], "COLUMNS means no column of this table", f"it has {columns}")
    for name in names:
        column = t.Name(name, "", calls[0].pos)
        yield t.Item(_with_column(item.expr, calls[0], column), item.alias or name)


def _with_column(expr: t.Node, call: t.FunctionCall, column: t.Name) -> t.Node:
    """Returns an expression with one column where COLUMNS(…) stands."""
    return rebuild(expr, lambda node: column if node == call else None)


def _is_meant(name: str, call: t.FunctionCall) -> bool:
    match call.args:
        case ():
            return True
        case (t.FunctionCall("list_value", listed),):
            texts = [x.value for x in listed if isinstance(x, t.Literal)]
            return name.lower() in [text.lower() for text in texts if isinstance(text, str)]
        case (t.Literal(str()) as pattern,):
            matches = public_value(f"regexp_matches({sql(t.Literal(name))}, {sql(pattern)})")
            if isinstance(matches, bool):
                return matches
    raise refuse(call, "this COLUMNS is not read", "write COLUMNS(*), COLUMNS('a.*') or ['a', 'b']")

"""Names of columns, looked up as DuckDB does: case does not matter, a table may qualify them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlpriv.errors import meant_among
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import SAME_TEXT
from sqlpriv.statements.traverse import rebuild

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

_ALIKE = (Type.TEXT, Type.INTEGER, Type.DATE)
"""Types of columns whose values all dialects write as the same text."""


_INSTEAD = {
    "[]": "a list is no single value: select one element's column, or keep its elements in a table"
    " of their own that is linked to this one",
    "MAP": "keep its entries in a table of their own that is linked to this one",
    "STRUCT": "keep its fields as columns of their own",
    "TIME WITH TIME ZONE": "keep it as a TIME",
    "INTERVAL": "keep it as a number of days or seconds: a column of type INTEGER",
    "BLOB": "leave it out: there is no public list of such values",
    "BIT": "keep it as BOOLEAN columns",
    "UHUGEINT": "keep it as a HUGEINT, or as text",
}
"""What to write in place of a column of a type that row expressions do not have: by how the type
ends, or begins."""
_USABLE = "numbers, text, booleans, dates and times can be used"


def instead_of(sql_type: str) -> str:
    """Returns what to write in place of a column of a type that row expressions do not have.

    >>> instead_of("STRUCT(a INTEGER)")
    'keep its fields as columns of their own'
    """
    kind = sql_type.upper()
    by_end = (text for of, text in _INSTEAD.items() if kind.endswith(of))
    by_start = (text for of, text in _INSTEAD.items() if kind.startswith(of))
    return next(by_end, "") or next(by_start, _USABLE)


def _refuse_unread(binder: Binder, node: t.Name, column: str) -> Exception:
    """Returns the refusal of a column of a type that row expressions do not have."""
    sql_type = binder.unread[column.lower()]
    what = f'the column "{node.name}" is a {sql_type}, which is not read in private rows'
    return refuse(node, what, instead_of(sql_type))


def bind_column(binder: Binder, node: t.Name) -> a.Col:
    """Returns the column that a name means; refuses one that means none, or one of no use."""
    if binder.qualified is not None:
        name = _qualified_name(binder, node)
        if name.lower() not in binder.scope:
            raise _refuse_unread(binder, node, name)
        return a.Col(name)
    return _single_table_column(binder, node)


def _qualified_name(binder: Binder, node: t.Name) -> str:
    """Returns the column that a name means where FROM holds several tables."""
    assert binder.qualified is not None
    column: str | None
    if node.table:
        column = binder.qualified.get((node.table.lower(), node.name.lower()))
    elif node.name.lower() in binder.twice:
        raise refuse(
            node,
            f'"{node.name}" is a column of several tables',
            "write it behind its table, as in t.x",
        )
    else:
        column = binder.names.get(node.name.lower())
    if column is None:
        written_name = f"{node.table}.{node.name}" if node.table else node.name
        column_names = [f"{q}.{n}" for q, n in list(binder.qualified)[:40]]
        message = f'there is no column "{written_name}" in FROM'
        raise refuse(node, message, _columns_hint(node.name, column_names))
    return column


def missing_column(binder: Binder, node: t.Name) -> Exception:
    """Returns the refusal of a name that no column of the table has, with names like it."""
    names = list(binder.names.values())
    message = f'there is no column "{node.name}" in "{binder.table}"'
    return refuse(node, message, _columns_hint(node.name, names))


def _columns_hint(name: str, columns: Sequence[str]) -> str:
    """Returns the columns that there are, those whose names are like a wrong one first."""
    columns = [column for column in columns if "__" not in column]  # ours have two
    return f"{meant_among(name, columns)}its columns are: {', '.join(columns)}"


def _single_table_column(binder: Binder, node: t.Name) -> a.Col:
    """Returns the column that a name means where FROM is one table."""
    qualifiers = {"", (binder.alias or binder.table).lower()}
    if node.table.lower() in binder.unread:
        raise _refuse_unread(binder, t.Name(node.table, pos=node.pos), node.table)
    if node.table.lower() not in qualifiers:
        raise refuse(
            node,
            f'"{node.table}" is not the table of FROM',
            f"write {binder.alias or binder.table}.{node.name}",
        )
    name = binder.names.get(node.name.lower())
    if name is None:
        raise missing_column(binder, node)
    if name.lower() not in binder.scope:
        raise _refuse_unread(binder, node, name)
    return a.Col(name)


def plain_text_casts(binder: Binder, node: t.Node) -> t.Node:
    """Returns an expression with each `same_text(x)` as DuckDB's cast.

    Raises:
        Refused: `x` is a number with a point, a moment or a truth value.
    """

    def cast(part: t.Node) -> t.Node | None:
        if not (isinstance(part, t.FunctionCall) and part.name == SAME_TEXT):
            return None
        arg = plain_text_casts(binder, part.args[0])
        if binder.shape(arg, binder.bind(arg)).type not in _ALIKE:
            message = "dialects write numbers with a point, moments and truth in different ways"
            raise refuse(part, message, "leave the cast to text out")
        return t.Cast(arg, "VARCHAR", pos=part.pos)

    return rebuild(node, cast)


def is_zoned(binder: Binder, node: t.Node) -> bool | None:
    """Returns whether a moment is a TIMESTAMPTZ, as DuckDB types it; None where that is not known.

    The kernel has both kinds as moments in UTC, so that the written expression has to tell.
    """
    match node:
        case t.Name():
            return binder.shape(node, binder.bind(node)).zoned
        case t.Cast(_, type_):
            return {"TIMESTAMP": False, "TIMESTAMPTZ": True}.get(type_.upper())
        case t.FunctionCall("timezone", (_, inner)):
            inside = is_zoned(binder, inner)
            return None if inside is None else not inside
        case t.FunctionCall("to_timestamp"):
            return True
        case t.FunctionCall("date_trunc" | "datetrunc" | "time_bucket", (_, moment, *_)):
            return is_zoned(binder, moment)
        case t.Binary("+" | "-", moment, t.Span()) | t.Binary("+", t.Span(), moment):
            return is_zoned(binder, moment)
        case t.FunctionCall("coalesce" | "least" | "greatest", args):
            return _is_any_zoned(binder, args)
        case t.CaseWhen(whens=whens, otherwise=otherwise):
            return _is_any_zoned(binder, [*(then for _, then in whens), otherwise])
    return None


def _is_any_zoned(binder: Binder, nodes: Sequence[t.Node | None]) -> bool | None:
    """Returns whether one of several alternatives is a TIMESTAMPTZ: DuckDB casts the others."""
    kinds = [is_zoned(binder, node) for node in nodes if node is not None]
    return True if True in kinds else None if None in kinds else False

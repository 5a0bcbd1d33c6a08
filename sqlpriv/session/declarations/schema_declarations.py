"""`SET PRIVACY FROM SCHEMA`: what a table's own constraints and types say, as declarations.

A schema is no row: CHECK, ENUM, NOT NULL and foreign keys hold for every row that there could be.
It is the owner who says that they are public. Labels of an ENUM that was made of the rows
(`SELECT DISTINCT`) tell of the rows, so nothing is taken from a schema unless an owner asks for it.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from sqlpriv import dialect
from sqlpriv.errors import DeclarationError, ProgrammingError
from sqlpriv.kernel.sql.quoting import literal
from sqlpriv.kernel.terms.contract import TableContract, Type, Value
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.declarations.linking_columns import linking_columns
from sqlpriv.statements import declarations as decl
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import TURNED


@dataclass
class ColumnLimits:
    """What CHECK constraints say of one column: a list, the ends of an interval, or nothing."""

    labels: tuple[Value, ...] | None = None
    lower: Any = None
    upper: Any = None


def declarations_of_schema(access: Access, contract: TableContract) -> list[decl.Action]:
    """Returns what the schema of a table declares, of columns of which nothing is declared so far.

    Raises:
        DeclarationError: The schema says nothing that could be declared.
    """
    owner = access.owner
    assert owner is not None
    table = literal(contract.table)
    checks = owner.read_rows(
        f"SELECT expression FROM duckdb_constraints() WHERE table_name = {table}"
        " AND schema_name = 'main' AND constraint_type = 'CHECK'",
    )
    whole = {c.name.lower() for c in contract.columns if c.type in (Type.INTEGER, Type.DATE)}
    limits = limits_of_checks([str(check) for (check,) in checks], whole)
    actions = _links(owner, contract)
    for column, sql_type in owner.read_rows(
        f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = {table}"
        " AND schema_name = 'main'",
    ):
        stored = contract.column(column)
        if stored is None or stored.domain is not None:
            continue
        limit = limits.get(column.lower(), ColumnLimits())
        if str(sql_type).startswith("ENUM("):
            labels = owner.read_rows(f"SELECT unnest(enum_range(NULL::{sql_type}))")
            limit = ColumnLimits(tuple(label for (label,) in labels))
        if (action := _domain(column, limit, stored.required)) is not None:
            actions.append(action)
    access.tables.settle()
    if not actions:
        raise DeclarationError(
            f"the schema of {contract.table} says nothing new that could be declared: it would be"
            " CHECK (c IN (…)), CHECK (c BETWEEN low AND high), an ENUM, or a foreign key to a"
            " table with a PRIVACY_KEY"
        )
    return actions


def limits_of_checks(checks: Iterable[str], whole: Container[str]) -> dict[str, ColumnLimits]:
    """Returns what CHECK expressions say of columns, by lower-case name; all of them hold at once.

    What relates two columns, or is of another form, says nothing here.

    Args:
        checks: The expressions.
        whole: Columns (lower case) of whole numbers or days: `age < 100` ends them at 99.

    >>> limits_of_checks(["age >= 0 AND age < 100", "sex IN (1, 2)"], {"age", "sex"})["age"]
    ColumnLimits(labels=None, lower=0, upper=99)
    >>> limits_of_checks(["share > 0 AND share < 1"], set())["share"]
    ColumnLimits(labels=None, lower=0, upper=1)
    """
    limits: dict[str, ColumnLimits] = defaultdict(ColumnLimits)
    for check in checks:
        try:
            (statement,) = dialect.read(f"SELECT count(*) FROM t WHERE {check}")
        except ProgrammingError:
            continue
        if isinstance(statement, t.Select) and statement.where is not None:
            _add_limits(statement.where, limits, whole)
    return dict(limits)


def _add_limits(node: t.Node, limits: dict[str, ColumnLimits], whole: Container[str]) -> None:
    def narrow(column: str, sign: str, end: t.Node) -> None:
        _narrow(limits[column.lower()], sign, _constant(end), column.lower() in whole)

    match node:
        case t.Binary("and", left, right):
            _add_limits(left, limits, whole)
            _add_limits(right, limits, whole)
        case t.Between(t.Name(column), low, high, negated=False):
            narrow(column, ">=", low)
            narrow(column, "<=", high)
        case t.Binary(sign, t.Name(column), right) if sign in TURNED:
            narrow(column, sign, right)
        case t.Binary(sign, left, t.Name(column)) if sign in TURNED:
            narrow(column, TURNED[sign], left)
        case t.Binary("or" | "=") | t.InList(negated=False):
            column, labels = _listed_values(node)
            if column:
                narrower = limits[column].labels
                limits[column].labels = (
                    labels if narrower is None else tuple(v for v in narrower if v in labels)
                )


def _listed_values(node: t.Node) -> tuple[str, tuple[Value, ...]]:
    """Returns the column whose values a predicate lists, and the values; '' where it lists none."""
    match node:
        case t.InList(t.Name(column), items):
            labels = tuple(_constant(item) for item in items)
            return ("", ()) if None in labels else (column.lower(), labels)
        case t.Binary("=", t.Name(column), value) | t.Binary("=", value, t.Name(column)):
            label = _constant(value)
            return ("", ()) if label is None else (column.lower(), (label,))
        case t.Binary("or", left, right):
            (first, some), (second, more) = _listed_values(left), _listed_values(right)
            if first == second:
                return first, (*some, *more)
    return "", ()


def _constant(node: t.Node) -> Any:
    """Returns the value of a constant; None where it is none."""
    match node:
        case t.Literal(value):
            return value
        case t.Unary("-", t.Literal(value)) if isinstance(value, int | float):
            return -value
        case t.Cast(t.Literal(str(text)), "DATE"):
            return _date(text)
    return None


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _narrow(limit: ColumnLimits, sign: str, end: Any, whole: bool) -> None:
    """Narrows an interval; beyond a strict end of whole numbers or days, to the next one."""
    if end is None or isinstance(end, bool | str):
        return
    if whole and sign in ("<", ">"):
        step: Any = dt.timedelta(days=1) if isinstance(end, dt.date) else 1
        end = end - step if sign == "<" else end + step
    if sign in (">", ">="):
        limit.lower = end if limit.lower is None else max(limit.lower, end)
    else:
        limit.upper = end if limit.upper is None else min(limit.upper, end)


def _domain(column: str, limit: ColumnLimits, required: bool) -> decl.Action | None:
    """Returns the domain of a column; NULL is a level where the schema lets it in."""
    if limit.labels:
        labels = tuple(dict.fromkeys(limit.labels))
        return decl.SetDomainIn(column, labels if required else (*labels, None), required)
    if limit.lower is not None and limit.upper is not None:
        return decl.SetDomainBetween(column, limit.lower, limit.upper, not required, required)
    return None


def _links(owner: OwnerEngine, contract: TableContract) -> list[decl.Action]:
    """Returns links along the foreign keys that lead to tables with a unit."""
    keys = owner.read_rows(
        "SELECT constraint_column_names, referenced_table, referenced_column_names"
        f" FROM duckdb_constraints() WHERE table_name = {literal(contract.table)}"
        " AND schema_name = 'main' AND constraint_type = 'FOREIGN KEY'",
    )
    linked = set(map(linking_columns, contract.links))
    return [
        decl.AddPrivacyLink(
            columns[0],
            parent,
            parent_columns[0],
            tuple(zip(columns[1:], parent_columns[1:], strict=True)),
        )
        for columns, parent, parent_columns in keys
        if frozenset(map(str.lower, columns)) not in linked
        and (target := contract.others.get(parent.lower())) is not None
        and target.unit is not None
        and (
            len(columns) == 1 or {*map(str.lower, parent_columns)} == {*map(str.lower, target.key)}
        )
    ]

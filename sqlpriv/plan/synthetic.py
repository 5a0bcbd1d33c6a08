"""`CREATE SYNTHETIC TABLE … AS SELECT …` read against the contract, for the synthesizers."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price
from sqlpriv.kernel.terms.contract import Column, TableContract, Value
from sqlpriv.plan import group_keys, outputs
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, statement_price
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t


@dataclass(frozen=True)
class SyntheticPlan:
    """What a synthesizer is asked for.

    Args:
        name: Of the synthetic table.
        method: Of synthesis, lower case.
        columns: Those of the SELECT in its order; each has a declared domain.
        strata: The strata columns. Those that are not among `columns` come before them in the
            table: the rows of a stratum say which stratum they are of.
        keys: The strata as keys of queries, in the same order.
        where: Which rows take part, or None.
        price: What it may spend.
        options: Those that are not the price; the synthesizer reads and checks them.
        weights: The public table of WEIGHTS FROM, or ''.
    """

    name: str
    method: str
    columns: tuple[Column, ...]
    strata: tuple[Column, ...]
    keys: tuple[a.Key, ...]
    where: a.Expr | None
    price: Price
    options: tuple[tuple[str, Value], ...]
    weights: str = ""


def plan_synthetic(
    statement: cmd.CreateSynthetic,
    contract: TableContract,
    budget: Budget,
    session_epsilon: float | None,
) -> SyntheticPlan:
    """Returns the validated request.

    Args:
        statement: As read.
        contract: Of its table.
        budget: Of the table's privacy unit.
        session_epsilon: `SET privacy_epsilon`, or None.

    Raises:
        Refused: A column without a domain, or no price.
    """
    select = statement.select
    if contract.unit is None:
        raise refuse(
            t.Literal(None, statement.pos),
            f'"{contract.table}" has no privacy unit',
            f"the owner runs ALTER TABLE {contract.table} ADD PRIVACY_KEY (column), "
            f"then ALTER TABLE {contract.table} SET PU",
        )
    options = (*select.options, *statement.options)
    price = statement_price(options, budget, session_epsilon, statement.pos)
    binder = Binder.of(contract, select.alias)
    columns = tuple(_selected_column(item, contract, binder) for item in select.items)
    _refuse_repeated_column(columns, select)
    dimensions = group_keys.bind_strata(select, binder, {})
    strata = tuple(_declared_column(d.node, contract) for d in dimensions)
    where = outputs.bind_where(select.where, binder, {}) if select.where else None
    options = tuple((name, value) for name, value in options if name not in KNOWN_OPTIONS)
    weights = select.stratify.weights if select.stratify else ""
    return SyntheticPlan(
        statement.name,
        statement.method,
        columns,
        strata,
        tuple(d.key for d in dimensions),
        where,
        price,
        options,
        weights,
    )


def _selected_column(item: t.Item, contract: TableContract, binder: Binder) -> Column:
    """Returns a selected column, which has a declared domain."""
    if not isinstance(item.expr, t.Name):
        raise refuse(
            item.expr,
            "a synthetic table has columns of the source table",
            "compute from it later: the synthetic table is free to query",
        )
    if item.alias and item.alias.lower() != item.expr.name.lower():
        raise refuse(
            item.expr, "columns of a synthetic table keep their names", f"leave out AS {item.alias}"
        )
    binder.bind(item.expr)
    return _declared_column(item.expr, contract)


def _declared_column(node: t.Node, contract: TableContract) -> Column:
    """Returns the column of this name: it has a declared domain and is not the privacy unit's."""
    assert isinstance(node, t.Name)  # of the SELECT list and of STRATIFY BY alike
    column = contract.column(node.name)
    if contract.unit is not None and node.name.lower() == contract.unit.column.lower():
        raise refuse(
            node,
            f'"{node.name}" names the privacy unit',
            "leave it out: synthetic rows stand for nobody",
        )
    if column is None or column.domain is None:
        alter = f"ALTER TABLE {contract.table} ALTER COLUMN {node.name} SET PRIVACY DOMAIN"
        raise refuse(
            node,
            f'the column "{node.name}" has no public domain',
            f"the owner runs {alter} BETWEEN (low, high), or … IN ('a', 'b')",
        )
    return column


def _refuse_repeated_column(columns: tuple[Column, ...], select: t.Select) -> None:
    for i, column in enumerate(columns):
        if column in columns[:i]:
            raise refuse(
                select.items[i].expr,
                f'the column "{column.name}" is selected twice',
                "name it once",
            )

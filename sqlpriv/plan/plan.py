"""A private SELECT as a plan: what the kernel is asked, and what to make of its releases.

Everything here is a pure function of the statement and public facts. The output's expressions stay
surface expressions in which keys and aggregates have become names of columns; `answer` computes
those columns from releases and evaluates the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.dialect import tree as t
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.budget import Budget, Price, Rho
from sqlpriv.kernel.contract import TableContract, Value
from sqlpriv.kernel.release import Measurement
from sqlpriv.plan import keys, outputs
from sqlpriv.plan.aggregates import Aggregate
from sqlpriv.plan.bind import Binder
from sqlpriv.plan.levels import chosen
from sqlpriv.plan.literals import refuse
from sqlpriv.plan.price import shares, statement_price
from sqlpriv.plan.rules import Cells, Recipe, expand


@dataclass(frozen=True)
class Output:
    """What is made of the releases.

    Args:
        names: Of the result's columns.
        items: One expression per column, over the columns `outputs.STRATUM + i`,
            `outputs.GROUP + i`, `outputs.AGGREGATE + i` and `outputs.POPULATION`.
        strata, groups: The dimensions of the cells.
        recipes: What aggregate column i is made of.
        having, order_by, limit, offset: As in SELECT, over the same columns.
        weights: The public table of WEIGHTS FROM, or ''.
    """

    names: tuple[str, ...]
    items: tuple[t.Node, ...]
    strata: tuple[keys.Dimension, ...]
    groups: tuple[keys.Dimension, ...]
    recipes: tuple[Recipe, ...]
    having: t.Node | None = None
    order_by: tuple[t.Order, ...] = ()
    limit: t.Node | None = None
    offset: t.Node | None = None
    weights: str = ""

    @property
    def cells(self) -> int:
        """How many cells there are: none where no key was selected."""
        return math.prod(len(d.values) for d in (*self.strata, *self.groups))


SELECTIONS = 100
"""A selection of keys takes this part of the delta that the budget keeps for them."""
SHARE = 4
"""... and this part of the statement's price, which has to find the keys before it counts them."""


@dataclass(frozen=True)
class Selection:
    """Values of a key without a declared list, selected before all else: `Allowance.select_keys`.

    One selection serves all aggregates of its statement: each is then over the selected values.
    """

    source: a.Relation
    expr: a.Expr
    price: Rho
    yocto: int


@dataclass(frozen=True)
class Plan:
    """What the kernel is asked for, from whose budget, and what becomes of it.

    Args:
        measurements: Each query once, with its share of the price.
        unit_table: The table whose budget pays.
        price: The statement's price; the shares add up to it.
        output: What is made of the releases.
        selection: What has to be selected first; the plan is then made anew with its values.
    """

    measurements: tuple[Measurement, ...]
    unit_table: str
    price: Price
    output: Output
    selection: Selection | None = None


def plan(
    select: t.Select,
    contract: TableContract,
    budget: Budget,
    session_epsilon: float | None,
    known: tuple[Value, ...] | None = None,
) -> Plan:
    """Returns the plan of a private SELECT.

    Args:
        select: The statement; its table is the contract's.
        contract: What is declared of the table.
        budget: Of the table's privacy unit.
        session_epsilon: `SET privacy_epsilon`, or None.
        known: What was selected for the plan's `selection`; None before that.

    Raises:
        Refused: With the place in the text and what to write instead. Nothing is read or charged.
    """
    if contract.unit is None:
        raise refuse(
            t.Literal(None, select.pos),
            f'the table "{contract.table}" has no privacy unit',
            f"the owner runs ALTER TABLE {contract.table} ADD PRIVACY_KEY (column), "
            f"then ALTER TABLE {contract.table} SET PU",
        )
    priced = tuple(option for option in select.options if option[0] != "report")
    price = statement_price(priced, budget, session_epsilon, select.pos)
    try:
        none_yet = () if known is None and budget.keys >= SELECTIONS else known
        output = _output(select, contract, price, none_yet)
    except RecursionError:
        raise refuse(
            t.Literal(None, select.pos),
            "an expression of this statement is nested too deeply",
            "write x IN (…) for a long chain of OR",
        ) from None
    chosen_keys = next((d.key for d in output.groups if d.selected), None)
    if chosen_keys is None or not isinstance(price, Rho):
        return Plan(shares(price, output.recipes), budget.unit_table, price, output)
    part = Rho(price.nano // SHARE)
    measured = shares(Rho(price.nano - part.nano), output.recipes)
    rows = output.recipes[0].queries[0].source
    selection = Selection(rows, chosen_keys.expr, part, budget.keys // SELECTIONS)
    return Plan(measured, budget.unit_table, price, output, selection)


def source(
    where: t.Node | None, binder: Binder, aliases: Mapping[str, t.Node]
) -> tuple[a.Relation, Binder]:
    """Returns the rows that WHERE keeps, and the binder for expressions over them."""
    scan = a.Scan(binder.table)
    if where is None:
        return scan, binder
    predicate = outputs.predicate(where, binder, aliases)
    return a.Where(scan, predicate), binder.without_nulls(predicate)


def _output(
    select: t.Select, contract: TableContract, price: Price, known: tuple[Value, ...] | None
) -> Output:
    binder, aliases = Binder.of(contract, select.alias), outputs.aliases(select)
    rows, binder = source(select.where, binder, aliases)
    strata = keys.strata(select, binder, aliases)
    groups = keys.groups(select, binder, aliases, strata, known)
    writer = outputs.Writer(select, binder, aliases, strata, groups)
    items = [writer.item(i) for i in range(len(select.items))]
    shown = list(zip(outputs.names(select), items, strict=True))
    if _reports(select):
        shown = [pair for name, item in shown for pair in outputs.reported(name, item)]
    having = writer.having()
    order_by = tuple(writer.order(term) for term in select.order_by)
    limit, offset = (outputs.constant(node) for node in (select.limit, select.offset))
    cells = Cells(rows, tuple(d.key for d in strata), tuple(d.key for d in groups))
    weights = select.stratify.weights if select.stratify else ""
    recipes = chosen(_recipes(tuple(writer.aggregates), cells, select), price, bool(weights))
    return Output(
        tuple(name for name, _ in shown),
        tuple(item for _, item in shown),
        strata,
        groups,
        recipes,
        having,
        order_by,
        limit,
        offset,
        weights,
    )


def _reports(select: t.Select) -> bool:
    """Whether OPTIONS (report = true) asks for the ends of the outputs' intervals."""
    given = dict(select.options).get("report", False)
    if not isinstance(given, bool):
        raise refuse(t.Literal(None, select.pos), "report is true or false", "write report = true")
    return given


def _recipes(
    aggregates: tuple[Aggregate, ...], cells: Cells, select: t.Select
) -> tuple[Recipe, ...]:
    if not aggregates:
        raise refuse(
            t.Literal(None, select.pos),
            "this statement asks for no aggregate",
            "add COUNT(*): declared levels themselves are public (DESCRIBE t)",
        )
    return tuple(expand(aggregate, cells) for aggregate in aggregates)

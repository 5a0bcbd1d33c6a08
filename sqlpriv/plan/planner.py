"""A private SELECT as a plan: what the kernel is asked, and what to make of its releases.

Everything here is a pure function of the statement and public facts. The output's expressions stay
surface expressions in which keys and aggregates have become names of columns; `answer` computes
those columns from releases and evaluates the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from sqlpriv.dialect import tree as t
from sqlpriv.errors import DataError
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan import group_keys, outputs
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.plan.aggregates.estimators import Given, estimator, options, settled
from sqlpriv.plan.aggregates.mean_rounds import Rounds, in_order
from sqlpriv.plan.aggregates.price_shares import Paid, shares
from sqlpriv.plan.aggregates.quantile_method import chosen
from sqlpriv.plan.aggregates.rewrites import Cells, Recipe, expand
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literals import refuse
from sqlpriv.plan.expressions.traverse import everything
from sqlpriv.plan.plan import Known, Marginal, Output, Plan, Selection
from sqlpriv.plan.pricing.split import split
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, statement_price
from sqlpriv.plan.relations.contribution_bound import bounded
from sqlpriv.plan.relations.from_clause import Reader

LEVELLED = ("count", "sum", "mean")
"""Kinds that have a population figure of their own under OPTIONS (population_share = …)."""
SELECTIONS = 100
"""A selection of keys takes this part of the delta that the budget keeps for them."""
SHARE = 4
"""... and this part of the statement's price, which has to find the keys before it counts them."""


def plan(
    select: t.Select,
    contract: TableContract,
    budget: Budget,
    session_epsilon: float | None,
    known: Known | None = None,
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
    price = statement_price(select.options, budget, session_epsilon, select.pos)
    rest = tuple(x for x in select.options if x[0] not in (*KNOWN_OPTIONS, "report"))
    given = settled(options(rest, select.pos), type(price))
    try:
        none_yet: Known | None = () if known is None and budget.keys >= SELECTIONS else known
        output = _output(select, contract, price, given, none_yet)
    except RecursionError:
        raise refuse(
            t.Literal(None, select.pos),
            "an expression of this statement is nested too deeply",
            "write x IN (…) for a long chain of OR",
        ) from None
    chosen_keys = tuple(d.key.expr for d in output.groups if d.selected)
    if not chosen_keys or not isinstance(price, Rho):
        return _planned(price, price, output, given, budget)
    part = Rho(price.nano // SHARE)
    rows = output.recipes[0].queries[0].source
    selection = Selection(rows, chosen_keys, part, budget.keys // SELECTIONS)
    rest_of_it = Rho(price.nano - part.nano)
    return replace(_planned(price, rest_of_it, output, given, budget), selection=selection)


def _planned(price: Price, left: Price, output: Output, given: Given, budget: Budget) -> Plan:
    """Returns the plan whose measurements and rounds may cost what is left of the price."""
    asked = _paid(left, output, given)
    measurements = tuple(Measurement(q, p) for q, p in asked if not isinstance(q, Recipe))
    later = (Rounds(r, p, given.steps, given.sigma) for r, p in asked if isinstance(r, Recipe))
    table = budget.unit_table
    return Plan(measurements, table, price, output, rounds=in_order(later), given=given)


def _paid(price: Price, output: Output, given: Given) -> list[tuple[Paid, Price]]:
    """Returns what everything costs: the population's own figures their share, the rest theirs."""
    sizes = {recipe: m.cells for m in output.marginals for recipe in (*m.recipes, *m.own) if recipe}
    if not output.own:
        return list(shares(price, output.recipes, sizes).items())
    levels = split(price, (1 - given.population_share, given.population_share))  # type: ignore[type-var]  # one kind
    return [pair for part, recipes in zip(levels, (output.recipes, output.own), strict=True)
            for pair in shares(part, recipes, sizes).items()]  # fmt: skip


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
    select: t.Select,
    contract: TableContract,
    price: Price,
    given: Given,
    known: Known | None,
) -> Output:
    binder, aliases = Binder.of(contract, select.alias), outputs.aliases(select)
    if select.source is None and not _looks_elsewhere(select.where):
        rows, binder = source(select.where, binder, aliases)
    else:
        tables = {**contract.others, contract.table.lower(): contract}
        found = Reader(tables).of_select(select, aliases)
        rows, binder = found.relation, found.binder
    rows = bounded(rows, contract, given, select.pos)
    strata = group_keys.strata(select, binder, aliases)
    groups, sets = group_keys.groups(select, binder, aliases, strata, known)
    writer = outputs.Writer(select, binder, aliases, strata, groups)
    items = [writer.item(i) for i in range(len(select.items))]
    shown = list(zip(outputs.names(select), items, strict=True))
    if _reports(select):
        shown = [pair for name, item in shown for pair in outputs.reported(name, item)]
    having = writer.having()
    order_by = tuple(writer.order(term) for term in select.order_by)
    limit, offset = (outputs.constant(node) for node in (select.limit, select.offset))
    unit = frozenset(c for c, what in binder.named.items() if "" in what)
    listed = tuple(d.key for d in strata)
    marginals = [
        _marginal(select, one, Cells(rows, listed, tuple(groups[i].key for i in one), unit),
                  tuple(writer.aggregates), type(price), given)
        for one in sets
    ]  # fmt: skip
    weights = select.stratify.weights if select.stratify else ""
    return Output(
        tuple(name for name, _ in shown),
        tuple(item for _, item in shown),
        strata,
        groups,
        _levelled(marginals, price, bool(weights)),
        having,
        order_by,
        limit,
        offset,
        weights,
        known if sum(d.selected for d in groups) > 1 else None,
    )


def _marginal(
    select: t.Select,
    keys: tuple[int, ...],
    cells: Cells,
    aggregates: tuple[Aggregate, ...],
    price: type[Price],
    given: Given,
) -> Marginal:
    """Returns what one set of keys asks for."""
    recipes = _recipes(aggregates, cells, select, price, given)
    own: tuple[Recipe | None, ...] = ()
    if given.population_share and cells.strata:
        whole = _recipes(aggregates, replace(cells, strata=()), select, price, given)
        pairs = zip(recipes, whole, strict=True)
        own = tuple(w if w.kind in LEVELLED and r.whole is None else None for r, w in pairs)
    return Marginal(keys, math.prod(len(key.values) for key in cells.keys), recipes, own)


def _levelled(marginals: list[Marginal], price: Price, weighted: bool) -> tuple[Marginal, ...]:
    """Returns the marginals, their quantiles each by the method that is predicted to err less."""
    recipes = iter(chosen([r for m in marginals for r in m.recipes], price, weighted))
    return tuple(replace(m, recipes=tuple(islice(recipes, len(m.recipes)))) for m in marginals)


def _reports(select: t.Select) -> bool:
    """Whether OPTIONS (report = true) asks for the ends of the outputs' intervals."""
    given = dict(select.options).get("report", False)
    if not isinstance(given, bool):
        raise refuse(t.Literal(None, select.pos), "report is true or false", "write report = true")
    return given


def _looks_elsewhere(where: t.Node | None) -> bool:
    """Returns whether a condition holds subqueries."""
    return where is not None and any(
        isinstance(part, t.Exists | t.InQuery | t.Subquery) for part in everything(where)
    )


def _recipes(
    aggregates: tuple[Aggregate, ...],
    cells: Cells,
    select: t.Select,
    price: type[Price],
    given: Given,
) -> tuple[Recipe, ...]:
    if not aggregates:
        raise refuse(
            t.Literal(None, select.pos),
            "this statement asks for no aggregate",
            "add COUNT(*): declared levels themselves are public (DESCRIBE t)",
        )
    number = math.prod(len(key.values) for key in (*cells.strata, *cells.keys))
    try:
        needy = bool(cells.strata and given.population_share)
        using = [estimator(x, number, price, given, needy=needy) for x in aggregates]
    except DataError as error:
        hint = "AVG(x) takes the best that the budget has"
        raise refuse(t.Literal(None, select.pos), str(error), hint) from None
    return tuple(
        replace(expand(aggregate, cells), using=name)
        for aggregate, name in zip(aggregates, using, strict=True)
    )

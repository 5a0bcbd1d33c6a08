"""A private SELECT as a plan: what the kernel is asked, and what to make of its releases.

Everything here is a pure function of the statement and public facts. The output's expressions stay
surface expressions in which keys and aggregates have become names of columns; `answer` computes
those columns from releases and evaluates the rest.
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.kernel.proof.unit_rows import Partners
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.aggregates.estimators import (
    StatementOptions,
    read_statement_options,
    resolve_auto_share,
)
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, order_rounds
from sqlpriv.plan.aggregates.price_shares import Paid, share_price
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.aggregates.rows_left_out import units_by_rows
from sqlpriv.plan.cells.group_keys import Combinations
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.grouping_sets import check_whole_numbers
from sqlpriv.plan.output_plan import plan_output
from sqlpriv.plan.plan import Output, Plan, SelectedKeys, Selection
from sqlpriv.plan.pricing.googlesql_options import (
    GOOGLESQL_OPTIONS,
    asks_for_public_groups,
    check_googlesql_options,
    with_googlesql_options,
)
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, require_unit, statement_price
from sqlpriv.plan.pricing.tuned_constants import (
    LEFT_OUT_SHARE,
    ROWS_CHOICE_SHARE,
    SELECTION_SHARE,
    SELECTIONS,
)
from sqlpriv.statements import tree as t


def plan(
    select: t.Select,
    contract: TableContract,
    budget: Budget,
    session_epsilon: float | None,
    selected_keys: SelectedKeys | None = None,
    combinations: Combinations | None = None,
    chosen_rows: int | None = None,
    partners: Partners | None = None,
) -> Plan:
    """Returns the plan of a private SELECT.

    Args:
        select: The statement; its table is the contract's.
        contract: What is declared of the table.
        budget: Of the table's privacy unit.
        session_epsilon: `SET privacy_epsilon`, or None.
        selected_keys: What was selected for the plan's `selection`; None before that.
        combinations: Which values of columns stand in one row of a public table; None where no
            public table can be read.
        chosen_rows: What the plan's `rows_choice` chose; None before that.
        partners: Counts rows of public tables that one row meets; None where none can be read.

    Raises:
        Refused: With the place in the text and what to write instead. Nothing is read or charged.
            A missing price is said last, when everything else can be answered.
    """
    require_unit(contract, select.pos)
    select = with_googlesql_options(select, contract)
    is_priced = session_epsilon is not None or any(x in KNOWN_OPTIONS for x, _ in select.options)
    epsilon = session_epsilon if is_priced else 1.0
    price = statement_price(select.options, budget, epsilon, select.pos)
    planned = _plan_at_price(
        price, select, contract, budget, selected_keys, combinations, chosen_rows, partners
    )
    if not is_priced:
        statement_price(select.options, budget, None, select.pos)  # raises
    return planned


def _plan_at_price(
    price: Price,
    select: t.Select,
    contract: TableContract,
    budget: Budget,
    selected_keys: SelectedKeys | None,
    combinations: Combinations | None,
    chosen_rows: int | None,
    partners: Partners | None,
) -> Plan:
    check_googlesql_options(select.options, contract, budget, select.pos)
    elsewhere = (*KNOWN_OPTIONS, *GOOGLESQL_OPTIONS, "report")
    rest = tuple(x for x in select.options if x[0] not in elsewhere)
    options = resolve_auto_share(read_statement_options(rest, select.pos), type(price))
    options = options._replace(rows=options.rows if chosen_rows is None else chosen_rows)
    try:
        selected: SelectedKeys | None = (
            () if selected_keys is None and budget.keys >= SELECTIONS else selected_keys
        )
        output, rows = plan_output(
            select, contract, price, options, selected, combinations, partners
        )
    except RecursionError:
        raise refuse(
            t.Literal(None, select.pos),
            "an expression of this statement is nested too deeply",
            "write x IN (…) for a long chain of OR",
        ) from None
    if options.integers:
        check_whole_numbers(output, select.pos)
    if any(d.one_unit for d in output.groups):  # no group passes, whatever the rows are
        return Plan((), budget.unit_table, type(price)(0), output, options=options)
    of_units: Measurement | None = None
    whole_price = price
    if options.left_out or options.choose_rows:
        strata = output.strata_count
        query = units_by_rows(rows, contract, strata, select.pos, options.choose_rows)
        share = ROWS_CHOICE_SHARE if options.choose_rows else LEFT_OUT_SHARE
        of_units = Measurement(query, type(price)(price.nano // share))
        price = type(price)(price.nano - of_units.price.nano)
    chosen_keys = tuple(d.key.expr for d in output.groups if d.selected)
    if chosen_keys and asks_for_public_groups(select.options):
        raise refuse(
            t.Literal(None, select.pos),
            "a key of this statement has no public list of its values",
            "leave PUBLIC_GROUPS out, or the owner declares a PRIVACY DOMAIN of the key",
        )
    selection, to_share = None, price
    if chosen_keys and isinstance(price, Rho):
        part = Rho(price.nano // SELECTION_SHARE)
        selection = Selection(rows, chosen_keys, part, budget.keys // SELECTIONS)
        to_share = Rho(price.nano - part.nano)
    priced_plan = _with_measurements(whole_price, to_share, output, options, budget)
    measurements = (*priced_plan.measurements, *(() if of_units is None else (of_units,)))
    return replace(
        priced_plan,
        measurements=measurements,
        selection=selection,
        left_out=of_units,
        rows_choice=of_units if options.choose_rows else None,
    )


def _with_measurements(
    price: Price, left: Price, output: Output, options: StatementOptions, budget: Budget
) -> Plan:
    """Returns the plan whose measurements and rounds may cost what is left of the price."""
    priced = _priced_measurements(left, output, options)
    measurements = tuple(Measurement(q, p) for q, p in priced if not isinstance(q, Recipe))
    later = (
        MeanRounds(
            r, p, options.steps, options.sigma, both_levels=_has_both_levels(r, output, options)
        )
        for r, p in priced
        if isinstance(r, Recipe)
    )
    table = budget.unit_table
    return Plan(measurements, table, price, output, rounds=order_rounds(later), options=options)


def _has_both_levels(recipe: Recipe, output: Output, options: StatementOptions) -> bool:
    """Returns whether everybody's own sum may be measured beside the strata's.

    Public weights may be others than the table's own shares: then both are of two populations.
    """
    counted = recipe.count
    return (
        options.population_share is None
        and not output.weights
        and (recipe.kind, recipe.using) == ("mean", "quantile")
        and counted is not None
        and bool(counted.strata)
        and not counted.keys
    )


def _priced_measurements(
    price: Price, output: Output, options: StatementOptions
) -> list[tuple[Paid, Price]]:
    """Returns what everything costs: the population's own figures their share, the rest theirs."""
    sizes = {recipe: m.cells for m in output.marginals for recipe in (*m.recipes, *m.own) if recipe}
    if not output.own:
        return list(share_price(price, output.recipes, sizes).items())
    share = options.population_share or 0.0
    levels = split_price(price, (1 - share, share))
    return [
        pair
        for part, recipes in zip(levels, (output.recipes, output.own), strict=True)
        for pair in share_price(part, recipes, sizes).items()
    ]

"""A private SELECT as a plan: what the kernel is asked, and what to make of its releases.

Everything here is a pure function of the statement and public facts. The output's expressions stay
surface expressions in which keys and aggregates have become names of columns; `answer` computes
those columns from releases and evaluates the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import Partners
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan import output_half_widths, outputs
from sqlpriv.plan.aggregates.contribution_clamps import clamp_contributions
from sqlpriv.plan.aggregates.estimators import (
    StatementOptions,
    read_statement_options,
    resolve_auto_share,
)
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, order_rounds
from sqlpriv.plan.aggregates.price_shares import Paid, share_price
from sqlpriv.plan.aggregates.rewrites import GroupedRows, Recipe
from sqlpriv.plan.aggregates.rows_left_out import units_by_rows
from sqlpriv.plan.cells import computed_columns, group_keys
from sqlpriv.plan.cells.columns_of_keys import ColumnsOfKeys
from sqlpriv.plan.cells.existing_combinations import existing_combinations
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.grouping_sets import (
    check_whole_numbers,
    grouping_set,
    is_pooled,
    with_quantile_methods,
)
from sqlpriv.plan.output_types import output_types
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
from sqlpriv.plan.relations.contribution_bound import bound_contributions
from sqlpriv.plan.relations.from_clause import FromReader
from sqlpriv.plan.relations.kept_public_rows import with_nought_for_kept_rows
from sqlpriv.statements import tree as t
from sqlpriv.statements.aliases import output_aliases, output_names
from sqlpriv.statements.traverse import has_subqueries

Combinations = group_keys.Combinations


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
        output, rows = _plan_output(
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


def filtered_rows(
    where: t.Node | None, binder: Binder, aliases: Mapping[str, t.Node]
) -> tuple[a.Relation, Binder]:
    """Returns the rows that WHERE keeps, and the binder for expressions over them."""
    scan = a.Scan(binder.table)
    if where is None:
        return scan, binder
    predicate = outputs.bind_where(where, binder, aliases)
    return a.Where(scan, predicate), binder.after_where(predicate)


def _plan_output(
    select: t.Select,
    contract: TableContract,
    price: Price,
    options: StatementOptions,
    selected: SelectedKeys | None,
    combinations: Combinations | None,
    partners: Partners | None,
) -> tuple[Output, a.Relation]:
    """Returns what is made of the releases, and the rows that they are of."""
    binder, aliases = Binder.of(contract, select.alias), output_aliases(select)
    kept_columns = frozenset[str]()
    if select.source is None and not has_subqueries(select.where):
        rows, binder = filtered_rows(select.where, binder, aliases)
    else:
        tables = {**contract.others, contract.table.lower(): contract}
        from_rows = FromReader(tables, partners=partners).read_select(select, aliases)
        rows, binder = from_rows.relation, from_rows.binder
        if from_rows.keeps_public:
            select = with_nought_for_kept_rows(select)
            kept_columns = frozenset(binder.scope) - frozenset(from_rows.leaves)
    has_strata = select.stratify is not None
    rows = bound_contributions(rows, contract, options, select.pos, has_strata)
    select = clamp_contributions(select, binder, bound_of(rows, contract))
    aliases = output_aliases(select)
    strata = group_keys.bind_strata(select, binder, aliases)
    groups, sets = group_keys.bind_groups(select, binder, aliases, strata, selected)
    estimator = "gaussian" if isinstance(price, Rho) else "laplace"
    columns_of_keys = ColumnsOfKeys(groups, binder, contract, combinations, rows)
    writer = outputs.OutputWriter(
        select, binder, aliases, strata, groups, estimator, columns_of_keys, kept_columns
    )
    items = [writer.write_item(i) for i in range(len(select.items))]
    shared = output_half_widths.shared_releases(writer.aggregates)
    columns = list(zip(output_names(select), items, strict=True))
    if _wants_report(select):
        pooled = frozenset(
            i for i, one in enumerate(writer.aggregates) if is_pooled(one, bool(strata), options)
        )
        columns = [
            pair
            for name, item in columns
            for pair in output_half_widths.with_report(name, item, shared, pooled)
        ]
    having = writer.write_having()
    order_by = tuple(writer.write_order(term) for term in select.order_by)
    limit, offset = (outputs.whole_number(node) for node in (select.limit, select.offset))
    unit_columns = frozenset(c for c, identified in binder.named.items() if "" in identified)
    stratum_keys = tuple(d.key for d in strata)
    marginals = [
        grouping_set(
            select,
            one,
            GroupedRows(rows, stratum_keys, tuple(groups[i].key for i in one), unit_columns),
            tuple(writer.aggregates),
            type(price),
            options,
        )
        for one in sets
    ]
    weights = select.stratify.weights if select.stratify else ""
    output = Output(
        tuple(name for name, _ in columns),
        tuple(item for _, item in columns),
        strata,
        groups,
        with_quantile_methods(
            marginals,
            price,
            bool(weights),
            computed_columns.half_widths_in(node for _, node in columns),
        ),
        having,
        order_by,
        limit,
        offset,
        weights,
        selected if sum(d.selected for d in groups) > 1 else None,
        existing_combinations(groups, binder, contract, combinations, rows),
        output_half_widths.shared_releases(writer.aggregates),
        output_types(
            [item for _, item in columns],
            strata,
            groups,
            writer.aggregates,
            writer.calls,
            binder,
        ),
    )
    return output, rows


def _wants_report(select: t.Select) -> bool:
    """Whether OPTIONS (report = true) asks for the ends of the outputs' intervals."""
    report = dict(select.options).get("report", "report_format" in dict(select.options))
    if not isinstance(report, bool):
        raise refuse(t.Literal(None, select.pos), "report is true or false", "write report = true")
    return report

"""What is made of the releases of a SELECT, and the rows that they are of."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import Partners
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan import output_half_widths, outputs
from sqlpriv.plan.aggregates.contribution_clamps import clamp_contributions
from sqlpriv.plan.aggregates.estimators import StatementOptions
from sqlpriv.plan.aggregates.rewrites import GroupedRows
from sqlpriv.plan.cells import computed_columns, group_keys
from sqlpriv.plan.cells.axes import axes_of_sets
from sqlpriv.plan.cells.columns_of_keys import ColumnsOfKeys
from sqlpriv.plan.cells.existing_combinations import existing_combinations
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.operators import with_infinity
from sqlpriv.plan.grouping_sets import grouping_set, is_pooled, with_quantile_methods
from sqlpriv.plan.output_types import output_types
from sqlpriv.plan.plan import Output, SelectedKeys
from sqlpriv.plan.relations.contribution_bound import bound_contributions
from sqlpriv.plan.relations.from_clause import FromReader
from sqlpriv.plan.relations.kept_public_rows import with_nought_for_kept_rows
from sqlpriv.statements import tree as t
from sqlpriv.statements.aliases import output_aliases, output_names
from sqlpriv.statements.traverse import has_subqueries


def filtered_rows(
    where: t.Node | None, binder: Binder, aliases: Mapping[str, t.Node]
) -> tuple[a.Relation, Binder]:
    """Returns the rows that WHERE keeps, and the binder for expressions over them."""
    scan = a.Scan(binder.table)
    if where is None:
        return scan, binder
    predicate = outputs.bind_where(where, binder, aliases)
    return a.Where(scan, predicate), binder.binder_after_where(predicate)


def plan_output(
    select: t.Select,
    contract: TableContract,
    price: Price,
    options: StatementOptions,
    selected: SelectedKeys | None,
    combinations: group_keys.Combinations | None,
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
    existing = existing_combinations(groups, binder, contract, combinations, rows)
    axes = axes_of_sets(groups, sets, () if options.integers else existing, strata, select)
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
            along,
            GroupedRows(rows, stratum_keys, tuple(axis.key for axis in along), unit_columns),
            tuple(writer.aggregates),
            type(price),
            options,
        )
        for along in axes
    ]
    weights = select.stratify.weights if select.stratify else ""
    values = [one.of for one in writer.aggregates if one.of is not None]
    values += [dimension.key.expr for dimension in (*strata, *groups)]
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
        existing,
        output_half_widths.shared_releases(writer.aggregates),
        output_types(
            [item for _, item in columns],
            strata,
            groups,
            writer.aggregates,
            writer.calls,
            binder,
        ),
        any(with_infinity(binder, value) is not value for value in values),
    )
    return output, rows


def _wants_report(select: t.Select) -> bool:
    """Whether OPTIONS (report = true) asks for the ends of the outputs' intervals."""
    report = dict(select.options).get("report", "report_format" in dict(select.options))
    if not isinstance(report, bool):
        raise refuse(t.Literal(None, select.pos), "report is true or false", "write report = true")
    return report

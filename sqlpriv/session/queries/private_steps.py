"""The private queries of a statement, each planned at its price, as the steps of a program.

The planner raises a refusal from deep inside an expression. Here a refusal is caught once, and is a
value that is returned from then on. Each form of a query is planned once at each price; queries
that share a price are planned again at their shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import pyarrow as pa

from sqlpriv.answer.bounds.rows_choice import choose_rows
from sqlpriv.answer.rows import rehearse
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.cells.group_keys import SelectedKeys
from sqlpriv.plan.columns_by_pattern import spell_out_columns
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.statement import statement_price
from sqlpriv.plan.relations.bare_subqueries import without_bare_subquery
from sqlpriv.plan.relations.keyed_subqueries import KeyedSubquery, keyed_subquery, number_by_key
from sqlpriv.plan.relations.outer_names import looks_outside
from sqlpriv.plan.relations.subqueries import with_values
from sqlpriv.session.access.context import Access
from sqlpriv.session.queries.programs.gate_requests import (
    TARGET,
    first_replayed,
    has_lasting_plan,
    sealed_releases,
    with_price_for_target,
)
from sqlpriv.session.queries.programs.program import PrivateStep
from sqlpriv.session.queries.public_keys import PublicKeys
from sqlpriv.session.queries.public_subqueries import SettledQuery, settle_public_parts
from sqlpriv.session.queries.step_statements import (
    as_statement,
    check_one_column,
    lists_of_answers,
    placeholder,
    shift_awaited,
    with_output_names,
    with_price_share,
)
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t

_T = TypeVar("_T")


class PlannedQuery(NamedTuple):
    """One private query, and how it is answered.

    Args:
        select: The query, at its price.
        plan: How it is answered.
        contract: Of its first table.
    """

    select: t.Select
    plan: Plan
    contract: TableContract


@dataclass(frozen=True)
class StepPlanner:
    """Plans the queries of one person on one vault, as the vault is now.

    Args:
        access: What the session holds.
        contracts: What is declared of every table, by lower-case name.
    """

    access: Access
    contracts: Mapping[str, TableContract]

    def plan(
        self,
        select: t.Select,
        keys: SelectedKeys | None = None,
        of_units: Release | None = None,
    ) -> PlannedQuery | Refused:
        """Returns one private query, planned at its price, or why it cannot be answered.

        Args:
            select: The query.
            keys: What was selected for its keys without a declared list; None before that.
            of_units: What chooses how many rows of a unit count; None where it is not sealed.
        """
        return _outcome(lambda: self._planned_query(select, keys, of_units))

    def plan_again(
        self,
        select: t.Select,
        keys: SelectedKeys | None = None,
        of_units: Release | None = None,
    ) -> PlannedQuery:
        """Returns a query that was planned before, now with what was answered meanwhile.

        Raises:
            Refused: With these answers it cannot be answered.
        """
        planned = self.plan(select, keys, of_units)
        if isinstance(planned, Refused):
            raise planned
        return planned

    def _planned_query(
        self, select: t.Select, keys: SelectedKeys | None, of_units: Release | None
    ) -> PlannedQuery:
        contract, access = self._contract(select), self.access
        budget = access.tables.budget(contract, select.pos)
        if TARGET in dict(select.options):
            left = access.tables.amount_left(contract, ())
            select = with_price_for_target(access.kernel, select, contract, budget, left)
        epsilon = access.settings.get("privacy_epsilon")
        public = PublicKeys(access, self.contracts)
        listed = public.with_lists(select, contract)
        partners = access.kernel.most_partners
        plan_at_price = partial(
            plan, select, listed, budget, epsilon, keys, public.combinations, partners=partners
        )
        planned = plan_at_price()
        if planned.rows_choice is not None:
            sealed = sealed_releases(access.kernel, planned.rows_choice, contract)
            of_units = of_units or first_replayed(sealed, planned.rows_choice.price)
            if of_units is not None:
                rows = choose_rows(access.kernel, planned, of_units, contract)
                planned = plan_at_price(chosen_rows=rows)
        return PlannedQuery(select, planned, contract)

    def steps(self, select: t.Select, sharers: int = 1) -> list[PrivateStep] | Refused:
        """Returns a query's steps at one of so many equal parts of its price; itself comes last."""
        settled = _outcome(lambda: self._settle(select))
        if isinstance(settled, Refused):
            return settled
        select, scalars = settled.select, settled.scalars
        steps = self._steps_around(settled, scalars, sharers)
        if isinstance(steps, Refused) and (lists := lists_of_answers(select, self.contracts)):
            with_lists = self._steps_around(settled, [*scalars, *lists], sharers)
            steps = steps if isinstance(with_lists, Refused) else with_lists
        return steps

    def _settle(self, select: t.Select) -> SettledQuery:
        spelt_out = spell_out_columns(select, self.contracts)
        over_table = without_bare_subquery(spelt_out, self.contracts)
        return settle_public_parts(over_table, self.contracts, self.access)

    def _steps_around(
        self, settled: SettledQuery, subqueries: Sequence[t.Subquery | t.InQuery], sharers: int
    ) -> list[PrivateStep] | Refused:
        """Returns the steps of subqueries that are answered by themselves, and of what is around
        them."""
        return _outcome(lambda: self._planned_around(settled, subqueries, sharers))

    def _planned_around(
        self, settled: SettledQuery, subqueries: Sequence[t.Subquery | t.InQuery], sharers: int
    ) -> list[PrivateStep] | Refused:
        select = settled.select
        parts = sharers * (len(subqueries) + 1)
        price = self._price(select) if parts > 1 else None
        steps: list[PrivateStep] = []
        awaits: dict[t.Subquery | t.InQuery, int] = {}
        placeholders: dict[t.Node, t.Node] = {}
        for part in subqueries:
            keyed = self._keyed_subquery(part) if isinstance(part, t.Subquery) else None
            statement = as_statement(part) if keyed is None else keyed.select
            inner = self.steps(with_price_share(statement, price, parts))
            if isinstance(inner, Refused):
                return inner
            steps += [shift_awaited(step, len(steps)) for step in inner]
            awaits[part] = len(steps) - 1
            if keyed is None:
                check_one_column(part, len(inner[-1].schema))
            placeholders[part] = placeholder(part, inner[-1].schema.field(0).type)
            if keyed is not None and isinstance(part, t.Subquery):
                (marginal,) = inner[-1].plan.output.marginals
                ones = dict.fromkeys(marginal.combinations(), 1.0)
                placeholders[part] = number_by_key(part, keyed.columns, ones)
        named = with_output_names(select) if subqueries else select
        outer = with_price_share(named, price, parts)
        any_number: t.Select = with_values(outer, placeholders)
        query = self.plan(any_number)
        if isinstance(query, Refused):
            return query
        schema = rehearse(query.plan, self.weights(query.plan))
        own_select = outer if subqueries else query.select
        is_lasting = settled.is_lasting and has_lasting_plan(select)
        step = PrivateStep(
            own_select, query.plan, query.contract, schema, awaits, is_lasting=is_lasting
        )
        return [*steps, step]

    def _keyed_subquery(self, part: t.Subquery) -> KeyedSubquery | None:
        """Returns a subquery about rows of other units by a key; None of one that looks nowhere.

        Raises:
            Refused: Its key has no public list, or one of too many values.
        """
        if not looks_outside(part.query, self.contracts):
            return None
        return keyed_subquery(part, self.contracts)

    def _contract(self, select: t.Select) -> TableContract:
        named = [name for name in tables(select) if name in self.contracts]
        private = [name for name in named if self.contracts[name].unit is not None]
        table = next(iter([*private, *named, select.table]))
        return self.access.tables.private_contract(table, select.pos, self.contracts)

    def _price(self, select: t.Select) -> Price | None:
        """Returns the price of a whole query; None where it is what a target error costs."""
        if TARGET in dict(select.options):
            return None
        budget = self.access.tables.budget(self._contract(select), select.pos)
        epsilon = self.access.settings.get("privacy_epsilon")
        return statement_price(select.options, budget, epsilon, select.pos)

    def weights(self, planned: Plan) -> pa.Table | None:
        """Returns the public weights of a plan's strata; None without WEIGHTS."""
        return self.access.tables.weights_of(planned.output.weights)


def _outcome(work: Callable[[], _T]) -> _T | Refused:
    """Returns what some work returns, or the refusal that it raises."""
    try:
        return work()
    except Refused as refusal:
        return refusal

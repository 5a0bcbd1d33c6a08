"""From a statement to its program (see `program`), or to the refusal that says why there is none.

Nothing private is read and nothing charged. A statement is planned as a whole first; where that is
refused, `dialect.division` looks for private queries in it that can be answered by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlpriv.answer.rows import answer, rehearse
from sqlpriv.dialect.bracket_parts import TooManyCopies
from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.cell_count import TooManyCells
from sqlpriv.plan.columns_by_pattern import spell_out_columns
from sqlpriv.plan.expressions.conditions import row_names
from sqlpriv.plan.group_keys import SelectedKeys
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, statement_price
from sqlpriv.plan.relations.keyed_subqueries import KeyedSubquery, keyed_subquery
from sqlpriv.plan.relations.outer_names import looks_outside
from sqlpriv.plan.relations.subqueries import with_values
from sqlpriv.session.access.context import Access
from sqlpriv.session.queries.gate_requests import (
    TARGET,
    first_replayed,
    release_measurements,
    sealed_releases,
    with_price_for_target,
    zero_releases,
)
from sqlpriv.session.queries.program import PrivateStep, Program, Tail
from sqlpriv.session.queries.public_keys import PublicKeys
from sqlpriv.session.queries.public_subqueries import (
    ONE_AGGREGATE,
    ONE_VALUE,
    private_scalars,
    reads_private,
    settle_public_parts,
)
from sqlpriv.session.queries.result_columns import empty_answer
from sqlpriv.session.queries.rows_choice import choose_rows
from sqlpriv.session.queries.step_statements import (
    as_statement,
    lists_of_answers,
    placeholder,
    shift_awaited,
    with_output_names,
    with_price_share,
)
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t

if TYPE_CHECKING:
    from sqlpriv.dialect.division.parts import Division, PrivateQuery

KEYS_OF_ROWS = "which of the declared levels have such rows depends on the rows"


@dataclass(frozen=True)
class ProgramCompiler:
    """Compiles the statements of one person on one vault, as the vault is now.

    Args:
        access: What the session holds.
        contracts: What is declared of every table, by lower-case name.
    """

    access: Access
    contracts: Mapping[str, TableContract]

    def is_noised(self, statement: t.Select | cmd.Unanswerable) -> bool:
        """Returns whether a query is answered under the budget, and not exactly by DuckDB."""
        analyst = self.access.owner is None
        query = statement.statement if isinstance(statement, cmd.Unanswerable) else statement
        if isinstance(query, cmd.Plain):
            readable = query.reads_only and not any(
                table.endswith("()") or table.startswith("'") for table in query.tables
            )
            reads = readable and any(self._is_private(table.lower()) for table in query.tables)
            asks = isinstance(statement, cmd.Unanswerable) and statement.asks
            return asks or (analyst and reads)
        staged = any(getattr(stage, "private", False) for _, stage in query.stages)
        asked_for = query.private or staged
        return asked_for or (analyst and reads_private(query, self.contracts))

    def compile(self, statement: t.Select | cmd.Unanswerable) -> Program | Refused:
        """Returns the program of a query about private rows, or why it has none."""
        is_read = isinstance(statement, t.Select)
        outcome = self._steps(statement) if isinstance(statement, t.Select) else statement.why
        if not isinstance(outcome, Refused):
            return Program(tuple(outcome), outcome[-1].schema)
        if isinstance(outcome, TooManyCopies) or statement.origin is None:
            return outcome  # the parts of a query that is too large are not fewer
        divided = self._divide(statement.origin)
        if isinstance(divided, Program | TooManyCells):
            return divided  # of a part that is too large, its size is what is wrong
        return outcome if is_read or divided is None else divided

    def plan(
        self,
        select: t.Select,
        keys: SelectedKeys | None = None,
        of_units: Release | None = None,
    ) -> tuple[t.Select, Plan, TableContract]:
        """Returns the plan of one private query at its price, and the contract of its first table.

        Args:
            select: The query.
            keys: What was selected for its keys without a declared list; None before that.
            of_units: What chooses how many rows of a unit count; None where it is not sealed.

        Raises:
            Refused: It cannot be answered.
        """
        contract, access = self._contract(select), self.access
        budget = access.tables.budget(contract, select.pos)
        if TARGET in dict(select.options):
            left = access.tables.amount_left(contract, ())
            select = with_price_for_target(access.kernel, select, contract, budget, left)
        epsilon = access.settings.get("privacy_epsilon")
        public = PublicKeys(access, self.contracts)
        listed = public.with_lists(select, contract)
        partners = access.kernel.most_partners
        read_plan = partial(
            plan, select, listed, budget, epsilon, keys, public.combinations, partners=partners
        )
        planned = read_plan()
        if planned.rows_choice is None:
            return select, planned, contract
        sealed = sealed_releases(access.kernel, planned.rows_choice, contract)
        of_units = of_units or first_replayed(sealed, planned.rows_choice.price)
        if of_units is not None:
            rows = choose_rows(access.kernel, planned, of_units, contract)
            planned = read_plan(chosen_rows=rows)
        return select, planned, contract

    # --- a statement as a whole ---

    def _steps(self, select: t.Select, sharers: int = 1) -> list[PrivateStep] | Refused:
        """Returns a query's steps at one of so many equal parts of its price; itself comes last."""
        try:
            return self._planned_steps(select, sharers)
        except Refused as refusal:
            return refusal

    def _planned_steps(self, select: t.Select, sharers: int) -> list[PrivateStep]:
        select = spell_out_columns(select, self.contracts)
        select = settle_public_parts(select, self.contracts, self.access)
        scalars = private_scalars(select, self.contracts)
        try:
            return self._steps_around(select, scalars, sharers)
        except Refused as refusal:
            lists = lists_of_answers(select, self.contracts)
            if not lists:
                raise
            with suppress(Refused):
                return self._steps_around(select, [*scalars, *lists], sharers)
            raise refusal

    def _steps_around(
        self, select: t.Select, subqueries: Sequence[t.Subquery | t.InQuery], sharers: int
    ) -> list[PrivateStep]:
        """Returns the steps of subqueries that are answered by themselves, and of what is around
        them."""
        parts = sharers * (len(subqueries) + 1)
        price = self._price(select) if parts > 1 else None
        steps: list[PrivateStep] = []
        awaits: dict[t.Subquery | t.InQuery, int] = {}
        placeholders: dict[t.Node, t.Node] = {}
        for part in subqueries:
            keyed = None if isinstance(part, t.InQuery) else self._keyed_subquery(part)
            statement = as_statement(part) if keyed is None else keyed.select
            inner = self._planned_steps(with_price_share(statement, price, parts), 1)
            steps += [shift_awaited(step, len(steps)) for step in inner]
            awaits[part] = len(steps) - 1
            placeholders[part] = placeholder(part, inner[-1].schema.field(0).type)
            if keyed is not None:
                keys = [k for k in inner[-1].plan.output.groups[0].values if k is not None]
                ones = (1.0,) * len(keys)
                placeholders[part] = t.Lookup(keyed.column, tuple(keys), ones, part.pos)
        named = with_output_names(select) if subqueries else select
        outer = with_price_share(named, price, parts)
        any_number: t.Select = with_values(outer, placeholders)
        priced, planned, contract = self.plan(any_number)
        schema = rehearse(planned, self._weights(planned))
        query = outer if subqueries else priced
        return [*steps, PrivateStep(query, planned, contract, schema, awaits)]

    def _keyed_subquery(self, part: t.Subquery) -> KeyedSubquery | None:
        """Returns a subquery about rows of other units by a key; None of one that looks nowhere.

        Raises:
            Refused: Its key has no public list, or one of too many values.
        """
        if not looks_outside(part.query, self.contracts):
            return None
        return keyed_subquery(part, self.contracts)

    # --- a statement in parts ---

    def _divide(self, query: t.Origin) -> Program | Refused | None:
        from sqlpriv.dialect.division.divide import divide  # sqlglot, where needed
        from sqlpriv.dialect.division.parts import Division

        steps_of: dict[str, list[PrivateStep]] = {}
        levels_of: dict[str, pa.Table] = {}
        too_large: list[TooManyCells] = []

        def attempt(part: PrivateQuery) -> Refused | None:
            if part.keys_alone and (levels := self._public_levels(part.select)) is not None:
                levels_of[part.name] = levels
                return None
            steps = self._steps_of_part(part.select)
            if isinstance(steps, Refused):
                too_large.extend([steps] if isinstance(steps, TooManyCells) else [])
                return steps
            if part.keys_alone and steps[-1].plan.selection is None:
                return Refused(KEYS_OF_ROWS, hint="add COUNT(*): each level is counted, with noise")
            steps_of[part.name] = steps
            return None

        division = divide(
            query, self._is_private, attempt, lambda table: row_names(self.contracts.get(table))
        )
        if not isinstance(division, Division):
            return too_large[0] if too_large else division
        paid = [part for part in division.queries if part.name in steps_of]
        steps: list[PrivateStep] = []
        for part in paid:
            sharers = sum(other.price == part.price for other in paid)
            inner: list[PrivateStep] | Refused = steps_of[part.name]
            if sharers > 1:
                inner = self._steps_of_part(part.select, sharers)
            if isinstance(inner, Refused):
                return inner
            steps += [shift_awaited(step, len(steps)) for step in inner]
            steps[-1] = replace(steps[-1], name=part.name)
        return self._with_tail(steps, division, levels_of)

    def _steps_of_part(self, select: t.Select, sharers: int = 1) -> list[PrivateStep] | Refused:
        try:
            return self._steps(select, sharers)
        except ProgrammingError as error:  # what DuckDB says of a public subquery in it
            return Refused(str(error))

    def _public_levels(self, select: t.Select) -> pa.Table | None:
        """Returns the keys of a query, where they are public whatever the rows are.

        They are if each has a declared list and every row counts: of one table, without WHERE. The
        query is planned for that at any price, and nothing of it is asked.
        """
        if select.where is not None or select.source is not None:
            return None
        try:
            prices = (*KNOWN_OPTIONS, TARGET)
            options = [option for option in select.options if option[0] not in prices]
            unpriced = replace(select, options=(*options, ("epsilon", 1.0)), private=True)
            _, planned, _ = self.plan(unpriced)
        except Refused:
            return None
        if planned.selection is not None:
            return None
        return self._foreseen_rows(planned, pa.schema([]), with_keys=True)

    def _with_tail(
        self, steps: list[PrivateStep], division: Division, levels: Mapping[str, pa.Table]
    ) -> Program | Refused:
        """Returns the program; its tail is bound to the answers' columns, over no rows."""
        released = self.access.sql.released_names()
        named = [self.contracts.get(table) for table in division.tables]
        for table, contract in zip(division.tables, named, strict=True):
            if contract is None and table not in released:
                message = f'there is no released or public table "{table}"'
                return Refused(message, hint=self.access.sql.tables_hint(table))
        public = self.access.sql.public_rows(
            [c.table for c in named if c is not None], self.contracts
        )
        public |= levels
        tail = Tail(division.tail, division.parameters, public)

        def run_over_foreseen_rows(with_keys: bool) -> pa.Table:
            foreseen = {
                step.name: self._foreseen_rows(step.plan, step.schema, with_keys)
                for step in steps
                if step.name
            }
            parameters = dict(tail.parameters) or None
            return self.access.sql.run({**public, **foreseen}, tail.text, parameters)

        pivots = "PIVOT" in division.tail.upper()
        if "(SELECT" in division.tail.upper() and not pivots:
            try:
                run_over_foreseen_rows(with_keys=True)
            except ProgrammingError as error:
                # anything else may come of the zeros: what fails of them says nothing of answers
                if "More than one row" in str(error):
                    return Refused(ONE_VALUE, hint=ONE_AGGREGATE)
        return Program(tuple(steps), run_over_foreseen_rows(pivots).schema, tail)

    def _foreseen_rows(self, planned: Plan, schema: pa.Schema, with_keys: bool) -> pa.Table:
        """Returns a table like a step's answer: of no rows, or of its keys beside zeros where the
        tail makes columns of their values, as PIVOT does."""
        if not with_keys or planned.selection is not None:
            return empty_answer(planned, schema, self.access.sql)
        releases, adapted = release_measurements(planned, zero_releases)
        return answer(planned, releases, self._weights(planned), adapted).table

    # --- what is asked of whom ---

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

    def _weights(self, planned: Plan) -> pa.Table | None:
        return self.access.tables.weights_of(planned.output.weights)

    def _is_private(self, table: str) -> bool:
        contract = self.contracts.get(table)
        return contract is not None and not contract.public

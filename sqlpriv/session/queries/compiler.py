"""From a statement to its program (see `program`), or to the refusal that says why there is none.

Nothing private is read and nothing charged. A statement is planned as a whole first; where that is
refused, `dialect.division` looks for private queries in it that can be answered by themselves. All
of them are planned by `private_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from sqlpriv.answer.outputs.cell_engine import NeverComputable
from sqlpriv.answer.rows import answer
from sqlpriv.dialect.bracket_parts import TooManyCopies
from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.cells.dimensions import UnlistedKey
from sqlpriv.plan.columns_by_pattern import spell_out_columns
from sqlpriv.plan.expressions.facts.conditions import row_names
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.pricing.cell_count import TooManyCells
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS
from sqlpriv.plan.relations.derived_tables import AggregatesOverUnits
from sqlpriv.session.access.context import Access
from sqlpriv.session.queries.lasting_answers import AnotherEachTime, lasting_answer, values_of
from sqlpriv.session.queries.private_steps import StepPlanner
from sqlpriv.session.queries.programs.gate_requests import (
    TARGET,
    release_measurements,
    zero_releases,
)
from sqlpriv.session.queries.programs.program import PrivateStep, Program, Tail
from sqlpriv.session.queries.public_subqueries import ONE_AGGREGATE, ONE_VALUE, reads_private
from sqlpriv.session.queries.result_columns import empty_answer
from sqlpriv.session.queries.step_statements import shift_awaited, with_distinct_names
from sqlpriv.session.queries.tails.rehearsal import MOST_CELLS, never_runs, with_made_up_numbers
from sqlpriv.session.queries.unknown_names import unknown_name
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t
from sqlpriv.statements.divided_query import Division, PrivateQuery
from sqlpriv.system import arrow

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

    @cached_property
    def planner(self) -> StepPlanner:
        """What plans its private queries."""
        return StepPlanner(self.access, self.contracts)

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
        outcome = (
            self._steps_of_part(statement) if isinstance(statement, t.Select) else statement.refusal
        )
        if not isinstance(outcome, Refused):
            return Program(tuple(outcome), outcome[-1].schema)
        if isinstance(outcome, TooManyCopies | NeverComputable) or statement.origin is None:
            return outcome  # dividing it would make it no smaller
        try:
            divided = self._divide(statement.origin, outcome if is_read else None)
        except AnotherEachTime as refusal:
            return refusal
        if isinstance(divided, Program | TooManyCells):
            return divided  # a part has too many cells: that is what to say
        if isinstance(outcome, AggregatesOverUnits) and divided is not None:
            return divided  # what keeps that subquery from being answered before
        return outcome if is_read or divided is None else divided

    # --- a statement in parts ---

    def _divide(self, query: t.Origin, whole: Refused | None) -> Program | Refused | None:
        """Returns a program that answers the query in parts, or why there is none; `whole` is
        the refusal of the query as one, if it was tried."""
        from sqlpriv.dialect.division.divide import divide  # sqlglot, where needed
        from sqlpriv.dialect.division.rewrites.rewrite_joins import rewrite_joins
        from sqlpriv.dialect.division.row_sources.written_rows import with_written_rows
        from sqlpriv.dialect.division.terms.stored_tables import StoredTables

        steps_of: dict[str, list[PrivateStep]] = {}
        levels_of: dict[str, pa.Table] = {}
        too_large = [whole] if isinstance(whole, TooManyCells) else []
        of_parts: list[Refused] = []  # of the last part that was tried, its own reasons first
        public_queries: list[str] = []

        def run_public(
            text: str, tables: Sequence[str]
        ) -> tuple[Sequence[str], Sequence[tuple[Any, ...]], Sequence[str]] | None:
            try:
                rows = self.access.sql.public_rows(tables, self.contracts, text)
                run = partial(self.access.sql.run_alone, rows, text, None)
                answer = lasting_answer(text, run, t.Pos())
                values = [values_of(column, t.Pos()) for column in answer.columns]
            except AnotherEachTime:
                raise
            except ProgrammingError:
                return None
            public_queries.append(text)
            types = [arrow.type_of_exact(type_) for type_ in answer.schema.types]
            return answer.column_names, list(zip(*values, strict=True)), types

        def attempt(part: PrivateQuery) -> Refused | None:
            if part.keys_alone and (levels := self._public_levels(part.select)) is not None:
                levels_of[part.name] = levels
                return None
            steps = self._steps_of_part(part.select, is_table=True)
            if isinstance(steps, Refused):
                too_large.extend([steps] if isinstance(steps, TooManyCells) else [])
                if not isinstance(steps, AggregatesOverUnits | UnlistedKey):
                    of_parts.append(steps)
                return steps
            if part.keys_alone and steps[-1].plan.selection is None:
                return Refused(KEYS_OF_ROWS, hint="add COUNT(*): each level is counted, with noise")
            steps_of[part.name] = steps
            of_parts.clear()
            return None

        stored = StoredTables(
            self._is_private, self._columns_of, self._types_of, self._row_names, run_public
        )
        division = divide(query, stored, attempt, whole, rewrite_joins, with_written_rows)
        if not isinstance(division, Division):
            return next(iter((*too_large, *of_parts)), division)
        paid = [part for part in division.queries if part.name in steps_of]
        steps: list[PrivateStep] = []
        for part in paid:
            sharers = sum(other.price == part.price for other in paid)
            inner: list[PrivateStep] | Refused = steps_of[part.name]
            if sharers > 1:
                inner = self._steps_of_part(part.select, sharers, is_table=True)
            if isinstance(inner, Refused):
                return inner
            steps += [shift_awaited(step, len(steps)) for step in inner]
            steps[-1] = replace(steps[-1], name=part.name)
        if public_queries:  # run again, they may answer otherwise
            steps = [replace(step, is_lasting=False) for step in steps]
        try:
            return self._with_tail(steps, division, levels_of)
        except ProgrammingError as error:
            names = [name for step in steps if step.name for name in step.schema.names]
            public = [self.contracts[table] for table in division.tables if table in self.contracts]
            names += [column.name for contract in public for column in contract.columns]
            raise unknown_name(error, query, names) or error from None

    def _steps_of_part(
        self, select: t.Select, sharers: int = 1, is_table: bool = False
    ) -> list[PrivateStep] | Refused:
        """Returns a query's steps; a table's columns have different names."""
        try:
            if is_table:
                select = self._as_table(select)
            return self.planner.steps(select, sharers)
        except Refused as refusal:
            return refusal
        except ProgrammingError as error:  # what DuckDB says of a public subquery in it
            return Refused(str(error))

    def _as_table(self, select: t.Select) -> t.Select:
        """Returns a query whose columns have different names, each of them one that is written.

        Raises:
            Refused: COLUMNS(…) means several columns, of which the query around knows one name.
        """
        for item in select.items:
            alone = spell_out_columns(replace(select, items=(item,)), self.contracts)
            if item.alias and len(alone.items) > 1:
                message = "COLUMNS means several columns, and one is read here"
                raise Refused.at(item.expr.pos, message, "write out the columns: AVG(a), AVG(b)")
        return with_distinct_names(spell_out_columns(select, self.contracts))

    def _public_levels(self, select: t.Select) -> pa.Table | None:
        """Returns the keys of a query, where they are public whatever the rows are.

        The keys are public if each has a declared list and no row is left out: FROM is one table,
        and there is no WHERE. To find out, the query is planned at an arbitrary price; it is not
        asked.
        """
        if select.where is not None or select.source is not None:
            return None
        prices = (*KNOWN_OPTIONS, TARGET)
        options = [option for option in select.options if option[0] not in prices]
        unpriced = replace(select, options=(*options, ("epsilon", 1.0)), private=True)
        query = self.planner.plan(unpriced)
        if isinstance(query, Refused) or query.plan.selection is not None:
            return None
        return self._foreseen_rows(query.plan, pa.schema([]), with_keys=True)

    def _with_tail(
        self, steps: list[PrivateStep], division: Division, levels: Mapping[str, pa.Table]
    ) -> Program | Refused:
        """Returns the program of the steps and their tail, which DuckDB binds over foreseen
        answers: so the columns of the result are known before anything is asked."""
        released = self.access.sql.released_names()
        named = [self.contracts.get(table) for table in division.tables]
        for table, contract in zip(division.tables, named, strict=True):
            if contract is None and table not in released:
                message = f'there is no released or public table "{table}"'
                return Refused(message, hint=self.access.sql.tables_hint(table))
        public = tuple(c.table for c in named if c is not None)
        tail = Tail(division.tail, division.parameters, public, levels, None in named)
        rows = {**self.access.sql.public_rows(public, self.contracts, tail.text), **levels}

        def run_over_foreseen_rows(
            with_keys: bool, least: int | None = None, text: str = tail.text
        ) -> pa.Table:
            foreseen = {
                step.name: self._foreseen_rows(step.plan, step.schema, with_keys)
                for step in steps
                if step.name
            }
            if least is not None:
                outputs = {step.name: step.plan.output for step in steps}
                foreseen = {
                    name: with_made_up_numbers(answer_rows, outputs[name], least)
                    for name, answer_rows in foreseen.items()
                }
            parameters = dict(tail.parameters) or None
            run = self.access.sql.run if tail.reads_released else self.access.sql.run_alone
            return run({**rows, **foreseen}, text, parameters)

        pivots = "PIVOT" in division.tail.upper()
        if "(SELECT" in division.tail.upper() and not pivots:
            try:
                run_over_foreseen_rows(with_keys=True)
            except ProgrammingError as error:
                # any other error may be due to the zeros that stand for the answers
                if "More than one row" in str(error):
                    return Refused(ONE_VALUE, hint=ONE_AGGREGATE)
        schema = run_over_foreseen_rows(pivots).schema
        if not pivots and sum(step.plan.output.cells for step in steps) <= MOST_CELLS:
            runs = tuple(partial(run_over_foreseen_rows, True, n) for n in (100, 0))
            alone = partial(self.access.sql.run_alone, {})
            if (refusal := never_runs(tail.text, alone, runs)) is not None:
                return refusal
        return Program(tuple(steps), schema, tail)

    def _foreseen_rows(self, planned: Plan, schema: pa.Schema, with_keys: bool) -> pa.Table:
        """Returns a table like a step's answer: of no rows, or of its keys beside zeros where the
        tail makes columns of their values, as PIVOT does."""
        if not with_keys or planned.selection is not None:
            return empty_answer(planned, schema, self.access.sql)
        releases, adapted = release_measurements(planned, zero_releases)
        return answer(planned, releases, self.planner.weights(planned), adapted).table

    def _row_names(self, table: str) -> tuple[str, frozenset[str]]:
        return row_names(self.contracts.get(table))

    def _columns_of(self, table: str) -> frozenset[str] | None:
        contract = self.contracts.get(table)
        return None if contract is None else frozenset(c.name.lower() for c in contract.columns)

    def _types_of(self, table: str) -> dict[str, str] | None:
        """Returns the public types of a private table's columns; the labels of an ENUM are not."""
        if not self._is_private(table):
            return None
        columns = self.contracts[table].columns
        return {c.name: "VARCHAR" if _has_labels(c.sql_type) else c.sql_type for c in columns}

    def _is_private(self, table: str) -> bool:
        contract = self.contracts.get(table)
        return contract is not None and not contract.public


def _has_labels(sql_type: str) -> bool:
    """Returns whether a type is an ENUM, or holds one."""
    return "ENUM" in sql_type.upper()

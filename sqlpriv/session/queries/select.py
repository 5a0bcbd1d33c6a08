"""Queries: which of them are private, what they are made of, what they cost, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from sqlpriv import dialect
from sqlpriv.answer.rows import answer, rehearse
from sqlpriv.dialect import commands as cmd
from sqlpriv.dialect import tree as t
from sqlpriv.dialect.sources import tables
from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.statement import statement_price
from sqlpriv.plan.relations import correlated
from sqlpriv.plan.relations.subqueries import with_values
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.queries import private as private_query
from sqlpriv.session.queries import several, synthetic_tables


@dataclass
class Questions:
    """What is asked of a vault with SELECT."""

    access: Access

    def noised(self, select: t.Select, contracts: Mapping[str, TableContract]) -> bool:
        """Tells whether a query is answered under the budget, and not exactly by DuckDB."""
        asked = select.private or any(getattr(made, "private", False) for _, made in select.stages)
        return asked or (self.access.owner is None and several.is_private(select, contracts))

    def select(self, select: t.Select) -> Result:
        """Answers a query: under the budget, or exactly where nothing private is asked for.

        Raises:
            sqlpriv.Error: As it deserves; after the charge only where reading fails.
        """
        contracts = self.access.contracts()
        if not self.noised(select, contracts):
            if self.access.owner is not None:
                return self.access.exactly(select.text, select.parameters, tables(select))
            return self.access.released(select.text, tables(select), contracts, select.parameters)
        select, private = self._settled(select, contracts)
        if (why := self._unplanned(select, private, contracts)) is not None:
            return self._in_stages(select, contracts, why)
        if private:
            return self._adaptively(select, private, contracts)
        planned, contract = self.planned(select, contracts)
        weights = self.access.weights(planned.output.weights)
        rehearse(planned, weights)
        due = private_query.due(self.access.kernel, planned, contract)
        budget = self.access.budget(contract, select.pos)
        with Allowance(
            self.access.kernel, contract, due, self.access.principal, select.text
        ) as allowance:
            if (asked := planned.selection) is not None:
                found = allowance.select_keys(asked.source, asked.exprs, asked.price, asked.yocto)
                planned = plan(select, contract, budget, self._epsilon, found)
            releases, adapted = private_query.asked(planned, allowance.release)
            spent = allowance.spent
        made = answer(planned, releases, weights, adapted)
        return Result(
            made.table,
            half_widths=made.half_widths,
            price=spent,
            epsilon=epsilon_shown(spent, budget.delta),
        )

    def planned(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> tuple[Plan, TableContract]:
        """Returns the plan of a private query, and the contract of its first private table."""
        named = [name for name in tables(select) if name in contracts]
        private = [name for name in named if contracts[name].unit is not None]
        table = next(iter([*private, *named, select.table]))
        contract = self.access.private(table, select.pos, contracts)
        budget, left = self.access.budget(contract, select.pos), self.access.left(contract, ())
        select = private_query.targeted(self.access.kernel, select, contract, budget, left)
        return plan(select, contract, budget, self._epsilon), contract

    @property
    def _epsilon(self) -> float | None:
        return self.access.settings.get("privacy_epsilon")

    def columns(self, select: t.Select) -> pa.Schema:
        """Returns the columns that a noised query would give, or raises as asking it would before
        anything is read or charged."""
        contracts = self.access.contracts()
        select, private = self._settled(select, contracts)
        if (why := self._unplanned(select, private, contracts)) is not None:
            return self._staged(select, contracts, why)[2]
        if private:
            priced = several.priced(select, self._price(select, contracts), len(private) + 1)
            select = several.rehearsed(priced, private)
        planned, _ = self.planned(select, contracts)
        return rehearse(planned, self.access.weights(planned.output.weights))

    def _settled(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> tuple[t.Select, list[t.Subquery]]:
        """Returns the statement with what public subqueries give, and its private ones."""
        if select.unread is not None:
            return select, []
        select = correlated.join_correlated(select, contracts)
        public, _ = several.inner(select, contracts)
        select = self._looked_up(select, public, contracts)
        public, _ = several.inner(select, contracts)
        select = several.resolved(select, public, self._public_value) if public else select

        def members(part: t.InQuery) -> pa.Table | None:
            with suppress(ProgrammingError, Refused):  # it looks at the row around it, say
                return self.access.subquery(part, contracts)
            return None

        select = several.listed(select, contracts, members)
        private = list(dict.fromkeys(several.inner(select, contracts)[1]))
        several.check_alone(private, contracts)
        return select, private

    def _unplanned(
        self, select: t.Select, private: list[t.Subquery], contracts: Mapping[str, TableContract]
    ) -> Refused | None:
        """Returns why a statement with WITH cannot be planned as a whole, if it cannot."""
        if not select.stages or select.unread is not None:
            return select.unread
        try:
            self.planned(several.rehearsed(select, private), contracts)
            for part in private:
                self.planned(several.asked(part), contracts)
        except Refused as why:
            return why
        return None

    def _looked_up(
        self, select: t.Select, parts: list[t.Subquery], contracts: Mapping[str, TableContract]
    ) -> t.Select:
        """Returns the statement with public numbers for subqueries that look at the row around."""
        known: dict[t.Node, t.Node] = {}
        for part in parts:
            if (asked := correlated.lookup_of(part, select, contracts)) is not None:
                rows = self.access.public(tables(part.query), contracts)
                rows[asked.alias] = pa.table({asked.column.name: list(asked.values)})
                text = several.for_each(part, asked.column.name, asked.alias)
                answers = self.access.lookup(rows, text, part.parameters)
                known[part] = several.lookup(part, asked.column, answers)
        made: t.Select = with_values(select, known)
        return made

    def _public_value(self, part: t.Subquery) -> pa.Table:
        return self.access.subquery(part, self.access.contracts())

    def _price(self, select: t.Select, contracts: Mapping[str, TableContract]) -> Price:
        named = [n for n in tables(select) if n in contracts and contracts[n].unit is not None]
        contract = self.access.private((named or [select.table])[0], select.pos, contracts)
        setting = self.access.settings.get("privacy_epsilon")
        return statement_price(select.options, self.access.budget(contract, select.pos), setting,
                               select.pos)  # fmt: skip

    def _adaptively(
        self,
        select: t.Select,
        private: list[t.Subquery],
        contracts: Mapping[str, TableContract],
    ) -> Result:
        """Answers scalar subqueries first, each with an equal part of the price; see `stages`."""
        price, parts = self._price(select, contracts), len(private) + 1
        outer = several.priced(select, price, parts)
        planned, _ = self.planned(several.rehearsed(outer, private), contracts)
        rehearse(planned, self.access.weights(planned.output.weights))
        asked = {p: several.priced(several.asked(p), price, parts) for p in private}
        for query in asked.values():
            rehearse(self.planned(query, contracts)[0], None)
        made = {part: self.select(query) for part, query in asked.items()}
        rows = {part: result.table for part, result in made.items()}
        last = self.select(several.resolved(outer, private, lambda part: rows[part]))
        return self._together(last, list(made.values()), contracts, select)

    def _in_stages(
        self, select: t.Select, contracts: Mapping[str, TableContract], why: Refused
    ) -> Result:
        """Answers the queries of WITH first, and runs the rest on their rows; see `stages`."""
        asked, shown, _ = self._staged(select, contracts, why)
        made = [(name, self.select(query)) for name, query in asked]
        rows = {**shown, **{name: result.table for name, result in made}}
        last = Result(self.access.free(rows, select.body, select.parameters))
        return self._together(last, [result for _, result in made], contracts, select)

    def _staged(
        self, select: t.Select, contracts: Mapping[str, TableContract], why: Refused
    ) -> tuple[list[tuple[str, t.Select]], dict[str, pa.Table], pa.Schema]:
        """Returns the queries of WITH, priced; public tables of the rest, and its columns."""
        found = several.stages(select, contracts, why)
        (body,) = dialect.read(select.body)
        known = {name.lower() for name, _ in found}
        assert isinstance(body, t.Select | cmd.Plain)  # it was read as the end of a WITH
        named = body.tables if isinstance(body, cmd.Plain) else tables(body)
        public = [n for n in named if n not in known]
        if any(n not in contracts or not contracts[n].public for n in public) or (
            isinstance(body, cmd.Plain) and not body.reads_only
        ):
            raise why
        price = self._price(found[0][1], contracts)
        asked = [(name, several.priced(query, price, len(found))) for name, query in found]
        shown = self.access.public(public, contracts)
        empty = {}
        for stage, query in asked:
            planned, _ = self.planned(self._settled(query, contracts)[0], contracts)
            empty[stage] = pa.Table.from_pylist([], rehearse(planned, None))
        nothing = self.access.free({**shown, **empty}, select.body, select.parameters)
        return asked, shown, nothing.schema

    def _together(
        self,
        last: Result,
        before: list[Result],
        contracts: Mapping[str, TableContract],
        select: t.Select,
    ) -> Result:
        """Returns the last result with the price of all."""
        prices = [r.price for r in (*before, last) if r.price is not None]
        spent = type(prices[0])(sum(price.nano for price in prices))
        named = [n for n in tables(select) if n in contracts and contracts[n].unit is not None]
        budget = self.access.budget(contracts[named[0]], select.pos)
        return replace(last, price=spent, epsilon=epsilon_shown(spent, budget.delta))

    def explain(self, statement: cmd.Explain) -> Result:
        """Returns what a statement would do and cost. Nothing private is read, nothing charged."""
        contracts = self.access.contracts()
        match statement.statement:
            case t.Select() as select:
                if (explained := self._explained(select, contracts)) is not None:
                    return Result(explained)
                planned, contract = self.planned(select, contracts)
                rehearse(planned, self.access.weights(planned.output.weights))
                account = self.access.account(contract, select.pos)
                left = self.access.left(contract, [m.query.source for m in planned.measurements])
                delta = account.budget.delta
                return Result(
                    *private_query.explained(self.access.kernel, planned, contract, left, delta)
                )
            case cmd.CreateSynthetic() as create:
                contract = self.access.private(create.select.table, create.pos, contracts)
                account = self.access.account(contract, create.pos)
                job, _ = synthetic_tables.prepared(
                    create, contract, account.budget, self.access.settings
                )
                left = self.access.left(contract, [job.domain.source])
                delta = account.budget.delta
                return Result(
                    synthetic_tables.explained(self.access.kernel, job, contract, left, delta)
                )
            case cmd.Plain() as plain:
                raise plain.refusal

    def _explained(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> pa.Table | None:
        """Returns the rows of a statement of several questions, each with its own total."""
        settled, private = self._settled(select, contracts)
        public = settled != select
        select = settled
        why = self._unplanned(select, private, contracts)
        if why is not None:
            found = several.stages(select, contracts, why)
            price = self._price(found[0][1], contracts)
            queries = [several.priced(query, price, len(found)) for _, query in found]
        elif private:
            price, parts = self._price(select, contracts), len(private) + 1
            outer = self._foreseen(several.priced(select, price, parts), private, price, contracts)
            queries = [*(several.priced(several.asked(p), price, parts) for p in private), outer]
        elif public:
            queries = [select]
        else:
            return None
        each = (self.explain(cmd.Explain(query)).table for query in queries)
        return pa.concat_tables([table for table in each if table is not None])

    def _foreseen(
        self,
        outer: t.Select,
        private: list[t.Subquery],
        price: Price,
        contracts: Mapping[str, TableContract],
    ) -> t.Select:
        """Returns a statement as it will be asked: answers of subqueries that are sealed are known,
        for others any number stands, whose price is the same."""
        parts, known = len(private) + 1, {}
        for part in private:
            query = several.priced(several.asked(part), price, parts)
            if private_query.due(self.access.kernel, *self.planned(query, contracts)).nano:
                return several.rehearsed(outer, private)
            known[part] = self.select(query).table
        return several.resolved(outer, private, lambda part: known[part])

"""Queries: exact where nothing private is asked for, else under the budget, by their programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeGuard

import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.queries.compiler import ProgramCompiler
from sqlpriv.session.queries.plain_query import answer_plainly
from sqlpriv.session.queries.programs.kept_programs import KeptProgram, KeptPrograms, Query
from sqlpriv.session.queries.programs.program import Program
from sqlpriv.session.queries.result_columns import columns, nothing_private
from sqlpriv.session.queries.runner import ProgramRunner
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t


@dataclass(frozen=True)
class Queries:
    """What may be done with a query: answer it, tell its columns, explain it, quote its price.

    Args:
        access: What the session holds.
        kept: The programs that were compiled last.
    """

    access: Access
    kept: KeptPrograms = field(default_factory=KeptPrograms)

    def answer(self, query: Query) -> Result:
        """Answers a query.

        Raises:
            sqlpriv.Error: As it deserves; after the charge only where reading fails.
        """
        if self._is_owners_plain(query):
            return answer_plainly(query, self.access)
        compiler = self._compiler()
        if compiler.is_noised(query):
            kept = self._program(compiler, query)
            return ProgramRunner(compiler.planner, kept.answers, kept.tails).run(kept.program)
        return self._answer_exactly(query)

    def columns(self, query: Query) -> pa.Schema:
        """Returns the columns that a query would give; nothing is run or charged.

        Raises:
            sqlpriv.Error: As answering it would, before anything is read or charged.
        """
        if not self._is_owners_plain(query):
            compiler = self._compiler()
            if compiler.is_noised(query):
                return self._program(compiler, query).program.schema
        if isinstance(query, cmd.Unanswerable):
            plain, why = query.statement, query.why
            return columns(
                plain, lambda text: self._answer_exactly(cmd.Unanswerable(text, why)).table
            )
        return columns(query, lambda described: self._answer_exactly(described).table)

    def explain(self, query: Query) -> Result:
        """Returns what a query would do and cost. Nothing private is read, nothing charged."""
        compiler = self._compiler()
        if self.access.owner is None and not compiler.is_noised(query):
            self.columns(query)  # it says what is wrong with the query, and runs nothing
            return nothing_private()
        return ProgramRunner(compiler.planner).explain(self._program(compiler, query).program)

    def quote(self, query: Query) -> Quote:
        """Returns what a query would cost; nothing where it is answered exactly."""
        if self._is_owners_plain(query):
            return Quote()
        compiler = self._compiler()
        if not compiler.is_noised(query):
            return Quote()
        return ProgramRunner(compiler.planner).quote(self._program(compiler, query).program)

    def _is_owners_plain(self, query: Query) -> TypeGuard[cmd.Unanswerable]:
        """Returns whether DuckDB runs it on the vault as it is: a transaction may be open."""
        if not isinstance(query, cmd.Unanswerable) or self.access.owner is None:
            return False
        return isinstance(query.statement, cmd.Plain) and not query.asks

    def _compiler(self) -> ProgramCompiler:
        return ProgramCompiler(self.access, self.access.tables.contracts())

    def _answer_exactly(self, query: t.Select | cmd.Unanswerable) -> Result:
        if isinstance(query, cmd.Unanswerable):
            return answer_plainly(query, self.access)
        if self.access.owner is not None:
            return self.access.sql.run_exactly(query.text, query.parameters, tables(query))
        contracts = self.access.tables.contracts()
        return self.access.sql.run_released(query.text, tables(query), contracts, query.parameters)

    def _program(self, compiler: ProgramCompiler, query: Query) -> KeptProgram:
        def compile_program() -> Program:
            program = compiler.compile(query)
            if isinstance(program, Refused):
                raise program
            return program

        circumstances = (tuple(self.access.settings.items()), self.access.store.state())
        return self.kept.program_of(query, compiler.contracts, circumstances, compile_program)

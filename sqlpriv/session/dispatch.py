"""What each statement does. What it may do follows from its form, the tables that it names and the
role of who asks; anything else is refused before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlpriv.errors import PermissionDenied
from sqlpriv.publish import publish
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands.file_tables import create_file_table
from sqlpriv.session.commands.information_schema import table_info
from sqlpriv.session.commands.owner_tables import (
    alter_table,
    alter_tables,
    create_unit_table,
    explain_alter,
    quote_alter,
)
from sqlpriv.session.commands.settings import set_option
from sqlpriv.session.commands.show import describe_table, show_state
from sqlpriv.session.declarations.grants import grant_tables
from sqlpriv.session.queries.query_answers import Queries
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import declarations as decl
from sqlpriv.statements import tree as t
from sqlpriv.synth.api.progress import Report, silent

if TYPE_CHECKING:
    from sqlpriv.session.synthetic.synthetic_dispatch import SyntheticDispatch


@dataclass(frozen=True)
class Statements:
    """What a session can do, statement by statement.

    Args:
        access: What the session holds.
        files: Whether an owner may use other files than the vault, and the network.
    """

    access: Access
    files: bool

    @property
    def _vault(self) -> Path:
        return self.access.kernel.vault

    @cached_property
    def _queries(self) -> Queries:
        return Queries(self.access)

    @cached_property
    def _synthetic(self) -> SyntheticDispatch:
        """All synthesizers are loaded with it, 0.1 s of processor time, so not at a start."""
        from sqlpriv.session.synthetic.synthetic_dispatch import SyntheticDispatch

        return SyntheticDispatch(self.access)

    def run_all(self, statements: Sequence[cmd.Statement], report: Report) -> tuple[Result, ...]:
        """Does what the statements of one text say, in turn; returns the result of each.

        Raises:
            sqlpriv.Error: As a statement deserves; statements before it have been run.
        """
        results: list[Result] = []
        for are_declared_together, group in groupby(statements, _is_declared_with_others):
            if are_declared_together:
                alters = [alter for alter in group if isinstance(alter, cmd.AlterPrivacy)]
                results += alter_tables(alters, self.access)
            else:
                results += [self.run(statement, report) for statement in group]
        return tuple(results)

    def run(self, statement: cmd.Statement, report: Report) -> Result:
        """Does what one statement says.

        Raises:
            sqlpriv.Error: As the statement deserves.
        """
        match statement:
            case t.Select() | cmd.Unanswerable():
                return self._queries.answer(statement)
            case cmd.Explain():
                return self._explain(statement)
            case cmd.CreateSynthetic() | cmd.CreateSyntheticSchema() | cmd.DrawFromModel():
                return self._synthetic.make(statement, report)
            case cmd.Evaluate():
                return self._evaluate(statement, report)
            case cmd.DropSynthetic():
                return self._synthetic.drop(statement)
            case cmd.AlterPrivacy():
                is_file = isinstance(statement.action, decl.DeclareFromFile)
                self._needs_files(is_file, statement.pos)
                return alter_table(statement, self.access)
            case cmd.GrantSelect():
                return grant_tables(statement, self.access)
            case cmd.CreateUnitTable():
                return create_unit_table(statement, self.access)
            case cmd.CreateFileTable():
                self._needs_files(True, statement.pos)
                return create_file_table(statement, self.access)
            case cmd.Show():
                return show_state(statement, self.access)
            case cmd.Describe(as_pragma=True):
                return table_info(statement, self.access)
            case cmd.Describe():
                return describe_table(statement, self.access)
            case cmd.SetOption():
                return self.set(statement)
            case cmd.Publish():
                return self._publish(statement)

    def columns(self, statement: cmd.Statement) -> pa.Schema:
        """Returns the columns that a statement would give; nothing is run or charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        match statement:
            case cmd.Unanswerable(cmd.Plain(reads_only=False), asks=False):
                return pa.schema([])
            case t.Select() | cmd.Unanswerable():
                return self._queries.columns(statement)
            case cmd.Explain() | cmd.Show() | cmd.Describe():
                # free, and they read no private row
                table = self.run(statement, silent).table
                return pa.schema([]) if table is None else table.schema
        return pa.schema([])

    def quote(self, statement: cmd.Statement) -> Quote:
        """Returns what a statement would cost; nothing is read or charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        match statement:
            case t.Select() | cmd.Unanswerable():
                return self._queries.quote(statement)
            case cmd.CreateSynthetic() | cmd.CreateSyntheticSchema():
                return self._synthetic.quote(statement)
            case cmd.AlterPrivacy():
                return quote_alter(statement, self.access)
        return Quote()

    def set(self, option: cmd.SetOption) -> Result:
        """Keeps a setting, or forgets it."""
        return set_option(option, self.access)

    def _explain(self, explain: cmd.Explain) -> Result:
        if isinstance(explain.statement, cmd.CreateSynthetic | cmd.CreateSyntheticSchema):
            return self._synthetic.explain(explain.statement)
        if isinstance(explain.statement, cmd.AlterPrivacy):
            return explain_alter(explain.statement, self.access)
        return self._queries.explain(explain.statement)

    def _evaluate(self, evaluation: cmd.Evaluate, report: Report) -> Result:
        self.access.needs_owner("see how far synthetic rows are from private ones", evaluation.pos)
        self._needs_files("report" in dict(evaluation.options), evaluation.pos)
        return self._synthetic.evaluate(evaluation, report)

    def _publish(self, statement: cmd.Publish) -> Result:
        self.access.needs_owner("publish: it writes with the rights of this process", statement.pos)
        self._needs_files(True, statement.pos)
        tables, target = statement.tables, statement.target
        return Result(message=publish(self.access.store, tables, target, self._vault))

    def _needs_files(self, wanted: bool, pos: t.Pos) -> None:
        if wanted and not self.files:
            message = "this connection reaches no file but the vault"
            hint = "run it on the server's machine: sqlpriv shell VAULT --role owner"
            raise PermissionDenied.at(pos, message, hint)


def _is_declared_with_others(statement: cmd.Statement) -> bool:
    """Returns whether a statement declares something, and neither measures it, which reads rows
    that are better verified, nor reads it in a file, for which `run` asks a right."""
    alone = decl.SetDomainAuto | decl.SetBoundAuto | decl.DeclareFromFile
    return isinstance(statement, cmd.AlterPrivacy) and not isinstance(statement.action, alone)

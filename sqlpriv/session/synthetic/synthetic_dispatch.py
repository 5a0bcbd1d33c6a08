"""What statements about synthetic tables do: make them, price them, explain them, drop them.

Whoever imports this file loads all synthesizers: `dispatch` does when the first statement comes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.errors import Refused
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands.evaluate import evaluate_synthetic
from sqlpriv.session.synthetic.create_schema import create_schema, explain_schema, quote_schema
from sqlpriv.session.synthetic.create_synthetic import (
    create_synthetic,
    explain_synthetic,
    quote_synthetic,
)
from sqlpriv.session.synthetic.draw_from_model import draw_from_model, model_folder
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.api.progress import Report
from sqlpriv.synth.kept_model import forget_model


@dataclass(frozen=True)
class SyntheticDispatch:
    """What a session can do about synthetic tables.

    Args:
        access: What the session holds.
    """

    access: Access

    def make(
        self,
        statement: cmd.CreateSynthetic | cmd.CreateSyntheticSchema | cmd.DrawFromModel,
        report: Report,
    ) -> Result:
        """Publishes the table, or the tables, that a statement describes."""
        match statement:
            case cmd.CreateSynthetic():
                return create_synthetic(statement, self.access, report)
            case cmd.CreateSyntheticSchema():
                return create_schema(statement, self.access, report)
        return draw_from_model(statement, self.access)

    def quote(self, statement: cmd.CreateSynthetic | cmd.CreateSyntheticSchema) -> Quote:
        """Returns what a statement would cost; nothing is read or charged."""
        if isinstance(statement, cmd.CreateSynthetic):
            return quote_synthetic(statement, self.access)
        return quote_schema(statement, self.access)

    def explain(self, statement: cmd.CreateSynthetic | cmd.CreateSyntheticSchema) -> Result:
        """Returns what a statement would measure, and for which prices."""
        if isinstance(statement, cmd.CreateSynthetic):
            return explain_synthetic(statement, self.access)
        return explain_schema(statement, self.access)

    def evaluate(self, evaluation: cmd.Evaluate, report: Report) -> Result:
        """Returns how far a synthetic table is from the private one: for an owner's eyes."""
        contracts = self.access.tables.contracts()
        table = evaluate_synthetic(
            evaluation, self.access.kernel, self.access.store, contracts, report
        )
        return Result(table, exact=True)

    def drop(self, drop: cmd.DropSynthetic) -> Result:
        """Drops a synthetic table and its model."""
        self.access.needs_owner("drop a synthetic table", drop.pos)
        if not self.access.store.drop(drop.name) and not drop.if_exists:
            raise Refused.at(drop.pos, f'there is no synthetic table "{drop.name}"')
        forget_model(model_folder(self.access), drop.name)
        return Result(message=f"dropped {drop.name}")

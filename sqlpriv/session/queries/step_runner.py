"""One private query of a statement, asked: replayed or charged, released, made into rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from sqlpriv.answer.bounds.share_left_out import left_out_words
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds.adaptive_means import Remembered
from sqlpriv.answer.rows import answer
from sqlpriv.errors import Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.aggregates.rows_left_out import kept_rows
from sqlpriv.plan.notices import plan_notices, selection_notices
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.relations.subqueries import with_values
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.queries.private_steps import StepPlanner
from sqlpriv.session.queries.programs import gate_requests
from sqlpriv.session.queries.programs.kept_programs import Lookups, ReplayedAnswers, last_seal
from sqlpriv.session.queries.programs.program import PrivateStep
from sqlpriv.session.queries.public_subqueries import value_of
from sqlpriv.statements import tree as t


@dataclass(frozen=True)
class StepRunner:
    """Answers the steps of one program for one person on one vault.

    Args:
        planner: Plans steps anew that awaited answers.
        kept: Answers to the program's steps, by number, that were replayed before.
    """

    planner: StepPlanner
    kept: dict[int, ReplayedAnswers]

    @property
    def _access(self) -> Access:
        return self.planner.access

    def run(self, step: PrivateStep, number: int, results: Sequence[Result]) -> Result:
        """Answers a step: from what is kept of its last answer, or through the gate.

        Args:
            step, number: The step, and which one of its program it is, from 0.
            results: Of the steps before it.

        Raises:
            sqlpriv.Error: As it deserves; after the charge only where reading fails.
        """
        try:
            select, planned = self.with_answers(step, results)
        except Refused as refusal:  # what it awaited is paid for
            return self._without_numbers(step, refusal)
        ledger, principal = self._access.kernel.ledger, self._access.principal
        kept = self.kept.get(number)
        if kept is None or not kept.replay(ledger, principal, select.text):
            return self.ask(step, select, planned, number)
        weights = self._access.tables.weights_of(planned.output.weights)
        nothing = type(planned.price)(0)
        return self._result(step, planned, (kept.releases, kept.adapted), weights, nothing)

    def with_answers(self, step: PrivateStep, results: Sequence[Result]) -> tuple[t.Select, Plan]:
        """Returns a step's query and plan with the answers that it awaits in their places."""
        if not step.awaits:
            return step.select, step.plan
        answers = {part: results[number].table for part, number in step.awaits.items()}
        values: dict[t.Node, t.Node] = {
            part: value_of(part, rows, self.planner.contracts)
            for part, rows in answers.items()
            if rows is not None
        }
        query = self.planner.plan_again(with_values(step.select, values))
        return query.select, query.plan

    def _without_numbers(self, step: PrivateStep, refusal: Refused) -> Result:
        """Returns the rows of a step that cannot be asked with the answers that it awaits: its
        keys beside NULLs, for nothing.

        Raises:
            Refused: It awaits none, so that nothing was paid.
        """
        if not step.awaits:
            raise refusal
        note = f"NULL, as this cannot be asked with what was answered first: {refusal.message}"
        rows = answer(step.plan, (), self.planner.weights(step.plan))
        nothing = type(step.plan.price)(0)
        return Result(rows.table, note, price=nothing, epsilon=0.0, summed=rows.summed)

    def ask(self, step: PrivateStep, select: t.Select, planned: Plan, number: int = -1) -> Result:
        """Answers a step through the gate: charged, but for what is sealed already.

        Args:
            step: The step.
            select, planned: Its query and plan, with the answers that it awaits.
            number: Which one of its program it is, from 0: its answers are kept as this step's.
        """
        access, contract = self._access, step.contract
        ledger, lookups = access.kernel.ledger, Lookups()
        weights = access.tables.weights_of(planned.output.weights)
        remembered: Remembered = {}

        def find_seals(m: Measurement) -> Sequence[Release]:
            lookups.note([m])
            return gate_requests.sealed_releases(access.kernel, m, contract)

        def look() -> tuple[int, Price]:
            remembered.clear()
            with ledger.begin():  # all is looked for in one state of the ledger
                return last_seal(ledger), gate_requests.price_now(
                    access.kernel, planned, contract, remembered, find_seals
                )

        before, price = look()
        with ExitStack() as open_until_sealed:
            if price.nano:
                names = gate_requests.names_of_plan(planned)
                open_until_sealed.enter_context(access.intents.hold(contract.snapshot, names))
                if last_seal(ledger) != before:  # perhaps another session's, to the same question
                    before, price = look()
            selection = planned.selection
            allowance = open_until_sealed.enter_context(
                Allowance(
                    access.kernel,
                    contract,
                    price,
                    access.principal,
                    select.text,
                    # all of the price will be asked
                    whole=selection is None and not planned.awaits_rows,
                )
            )
            if selection is not None:
                keys = allowance.select_keys(
                    selection.source, selection.exprs, selection.price, selection.yocto
                )
                planned = self.planner.plan_again(select, keys).plan
            else:
                keys = None
            if planned.rows_choice is not None and planned.awaits_rows:
                (of_units,) = allowance.release([planned.rows_choice])
                planned = self.planner.plan_again(select, keys, of_units).plan
            allowance.foresee(gate_requests.foreseen_queries(planned))
            releases, adapted = gate_requests.release_measurements(
                planned, lookups.through(allowance.release), find_seals, remembered
            )
            spent = allowance.spent
        if selection is None and not step.awaits and number >= 0 and not spent.nano:
            kept = ReplayedAnswers.keep(releases, adapted, lookups, ledger, before)
            if kept is not None:
                self.kept[number] = kept
        return self._result(step, planned, (releases, adapted), weights, spent)

    def _result(
        self,
        step: PrivateStep,
        planned: Plan,
        answers: tuple[tuple[Release, ...], Mapping[Recipe, Moments]],
        weights: pa.Table | None,
        spent: Price,
    ) -> Result:
        (releases, adapted), contract = answers, step.contract
        budget = self._access.tables.budget(contract, step.select.pos)
        rows = answer(planned, releases, weights, adapted)
        epsilon = epsilon_shown(spent, budget.delta)
        left_out_notes = [
            left_out_words(
                release,
                kept_rows(
                    planned.output.recipes[0].queries[0].source,
                    contract,
                    planned.output.strata_count,
                ),
            )
            for release in releases
            if planned.left_out is not None and release.query == planned.left_out.query
        ]
        if planned.rows_choice is not None:
            chosen = f"max_rows_contributed = {planned.options.rows} was chosen"
            left_out_notes = [f"{chosen}: {words}" for words in left_out_notes]
        replayed = [release.id for release in releases if release.replayed]
        closed = self._access.closed.notes(replayed, contract)
        notices = (*selection_notices(step.plan, contract), *plan_notices(planned, contract))
        notes = "\n".join((*left_out_notes, *rows.notes, *closed, *notices))
        return Result(rows.table, notes, rows.half_widths, spent, epsilon, summed=rows.summed)

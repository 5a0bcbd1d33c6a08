"""Programs (see `program`) run, priced and explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import pyarrow as pa

from sqlpriv.answer.tails.noised_columns import TailInput
from sqlpriv.answer.tails.tail_errors import tail_half_widths
from sqlpriv.errors import ProgrammingError
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.explanation.explain import SCHEMA, total_rows
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.queries.private_steps import StepPlanner
from sqlpriv.session.queries.programs import gate_requests
from sqlpriv.session.queries.programs.kept_programs import MOST_VALUES, KeptTail, ReplayedAnswers
from sqlpriv.session.queries.programs.program import PrivateStep, Program
from sqlpriv.session.queries.result_columns import nothing_private, rows_of_all
from sqlpriv.session.queries.step_runner import StepRunner
from sqlpriv.session.queries.tails.computable_text import rescue_tail
from sqlpriv.session.queries.tails.empty_groups import empty_group_notes
from sqlpriv.session.queries.tails.joint_runs import run_variants
from sqlpriv.system import arrow

FAR_MOMENTS = "moments outside the years 1 to 9999 are NULL"
TOTALS = ("total", "budget left after", "short of budget by", "the same noise under")
"""How the rows begin that are about a whole statement, and not about one of its steps."""


@dataclass(frozen=True)
class ProgramRunner:
    """Runs programs for one person on one vault.

    Args:
        planner: Planned them; plans steps anew that awaited answers.
        kept: Answers to the program's steps, by number, that were replayed before.
        tails: What the program's tail made of the last answers; at most one.
    """

    planner: StepPlanner
    kept: dict[int, ReplayedAnswers] = field(default_factory=dict)
    tails: list[KeptTail] = field(default_factory=list)

    @property
    def _access(self) -> Access:
        return self.planner.access

    @cached_property
    def _step_runner(self) -> StepRunner:
        return StepRunner(self.planner, self.kept)

    def run(self, program: Program) -> Result:
        """Answers a program's steps, then its tail.

        Raises:
            sqlpriv.Error: As it deserves; after the charge only where reading fails.
        """
        if len(program.steps) > 1:
            self._check_covered(program)
        results: list[Result] = []
        for number, step in enumerate(program.steps):
            results.append(self._step_runner.run(step, number, results))
        if program.tail is None and len(results) == 1:
            return results[0]
        last = results[-1] if program.tail is None else self._run_tail(program, results)
        if not results:
            return last
        prices = [result.price for result in results if result.price is not None]
        epsilon = sum(charge.epsilon for charge in self._charges(program.steps, prices))
        one_kind = len({type(price) for price in prices}) == 1
        total = type(prices[0])(sum(p.nano for p in prices)) if one_kind else None
        return replace(last, price=total, epsilon=epsilon)

    def _run_tail(self, program: Program, results: Sequence[Result]) -> Result:
        """Returns what plain SQL makes of the steps' answers; it costs nothing."""
        tail = program.tail
        assert tail is not None
        steps = [pair for pair in zip(program.steps, results, strict=True) if pair[0].name]
        inputs = {
            step.name: TailInput(step.plan, result.table, result.half_widths)
            for step, result in steps
            if result.table is not None
        }
        public = self._access.sql.public_rows(tail.public, self.planner.contracts, tail.text)
        answers = {name: one.table for name, one in inputs.items()}
        rows = {**public, **tail.levels, **answers}
        parameters = dict(tail.parameters) or None
        run = self._access.sql.run if tail.reads_released else self._access.sql.run_alone

        def run_text(text: str) -> pa.Table:
            return run(rows, text, parameters)

        text = tail.text
        failures: tuple[str, ...] = ()
        try:
            table = run_text(text)
        except ProgrammingError as error:
            alone = partial(self._access.sql.run_alone, {})
            text, table, failures = rescue_tail(text, program.schema, error, alone, run_text)

        def run_over(changed: Mapping[str, pa.Table]) -> pa.Table:
            return arrow.without_far_moments(run({**rows, **changed}, text, parameters))

        def run_together(changes: Sequence[Mapping[str, pa.Table]]) -> list[pa.Table]:
            others = {name: table for name, table in rows.items() if name not in inputs}
            runs = run_variants(
                lambda stored, joint: run({**others, **stored}, joint, parameters), changes, text
            )
            return [*map(arrow.without_far_moments, runs)]

        if (near := arrow.without_far_moments(table)) is not table:
            table, failures = near, (*failures, FAR_MOMENTS)
        messages = (note for result in results for note in result.message.splitlines())
        notes = dict.fromkeys((*messages, *failures, *empty_group_notes(tail.text, inputs)))
        last_tail = next((tail for tail in self.tails if tail.is_of(inputs, table)), None)
        if last_tail is None:
            halves = tail_half_widths(table, inputs, run_over, run_together)
            summed = rows_of_all(table, {step.name: result for step, result in steps}, run_over)
            last_tail = KeptTail(inputs, table, halves, summed)
            self.tails[:] = [last_tail] if table.num_rows * table.num_columns <= MOST_VALUES else []
        return Result(table, "\n".join(notes), last_tail.half_widths, summed=last_tail.summed)

    def quote(self, program: Program) -> Quote:
        """Returns what a program would cost now, of whose budget, and how sure its outputs are."""
        steps = self._foresee(program)
        prices = [self._price_now(step) for step in steps]
        errors = {
            row["measurement"].removeprefix("output "): row["expected_error"]
            for step in steps
            for row in self._explain_step(step)[0].to_pylist()
            if row["measurement"].startswith("output ")
        }
        return Quote(tuple(self._charges(steps, prices)), errors)

    def explain(self, program: Program) -> Result:
        """Returns what each step measures and costs, and what all of them cost together."""
        steps = self._foresee(program)
        if not steps:
            return nothing_private()
        if len(steps) == 1:
            table, line = self._explain_step(steps[0])
            return Result(table, line)
        rows = [
            row
            for step in steps
            for row in self._explain_step(step)[0].to_pylist()
            if not row["measurement"].startswith(TOTALS)
        ]
        prices = [self._price_now(step) for step in steps]
        totals = [
            row
            for charge in self._charges(steps, prices)
            for row in total_rows(charge.price, charge.left, charge.delta)
        ]
        return Result(arrow.table([*rows, *totals], SCHEMA))

    def _explain_step(self, step: PrivateStep) -> tuple[pa.Table, str]:
        account = self._access.tables.account(step.contract, step.select.pos)
        sources = [m.query.source for m in step.plan.measurements]
        left = self._access.tables.amount_left(step.contract, sources)
        table, lines = gate_requests.explain_plan(
            self._access.kernel, step.plan, step.contract, left, account.budget.delta
        )
        closed = self._closed_rows_lines(step)
        return table, "\n".join((*closed, lines) if lines else closed)

    def _closed_rows_lines(self, step: PrivateStep) -> list[str]:
        """Returns what EXPLAIN says of rows that the owner declared closed."""
        kernel, closed, contract = self._access.kernel, self._access.closed, step.contract
        replayed = [
            release.id
            for m in step.plan.measurements
            for release in gate_requests.sealed_releases(kernel, m, contract)[:1]
        ]
        if replayed:
            return closed.notes(replayed, contract)
        return closed.foresight([m.query.source for m in step.plan.measurements], contract)

    def _check_covered(self, program: Program) -> None:
        """Refuses a program that a budget has less left for than all its steps cost, before the
        first one is paid. Which of them are sealed already is looked up where that matters."""
        most = self._charges(program.steps, [step.plan.price for step in program.steps])
        if not Quote(tuple(most)).is_covered:
            steps = self._foresee(program)
            prices = [self._price_now(step) for step in steps]
            Quote(tuple(self._charges(steps, prices))).check_covered()

    def _price_now(self, step: PrivateStep) -> Price:
        return gate_requests.price_now(self._access.kernel, step.plan, step.contract)

    def _foresee(self, program: Program) -> tuple[PrivateStep, ...]:
        """Returns the steps as they will be asked: answers that are sealed already are filled in,
        for others any number stands, whose price is the same."""
        steps: list[PrivateStep] = []
        results: dict[int, Result] = {}
        for number, step in enumerate(program.steps):
            if step.awaits and all(at in results for at in step.awaits.values()):
                earlier = [results.get(i, Result()) for i in range(number)]
                select, planned = self._step_runner.with_answers(step, earlier)
                step = replace(step, select=select, plan=planned, awaits={})
            awaited = any(number in later.awaits.values() for later in program.steps)
            if awaited and not step.awaits and not self._price_now(step).nano:
                results[number] = self._step_runner.ask(step, step.select, step.plan)
            steps.append(step)
        return tuple(steps)

    def _charges(self, steps: Sequence[PrivateStep], prices: Sequence[Price]) -> list[Charge]:
        """Returns what each budget pays, summed over the steps that it pays for."""
        charges: dict[str, Charge] = {}
        for step, price in zip(steps, prices, strict=True):
            budget = self._access.tables.budget(step.contract, step.select.pos)
            sources = [m.query.source for m in step.plan.measurements]
            left = self._access.tables.amount_left(step.contract, sources)
            charge = Charge(budget.unit_table, price, left, budget.delta)
            if (earlier := charges.get(budget.unit_table)) is not None:
                total = type(price)(earlier.price.nano + price.nano)
                least = min(left, earlier.left, key=lambda amount: amount.nano)
                charge = replace(charge, price=total, left=least)
            charges[budget.unit_table] = charge
        return list(charges.values())

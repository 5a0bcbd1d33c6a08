"""CREATE SYNTHETIC TABLE from its statement to the published table; its price and explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.synthetic import synthetic_tables
from sqlpriv.session.synthetic.draw_from_model import model_folder
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tables
from sqlpriv.synth.api.progress import Report
from sqlpriv.synth.job import Job
from sqlpriv.synth.kept_model import write_model


def create_synthetic(create: cmd.CreateSynthetic, access: Access, report: Report) -> Result:
    """Makes a synthetic table under the budget and publishes it.

    Raises:
        sqlpriv.Error: As it deserves; after the charge only where reading fails.
    """
    contracts = access.tables.contracts()
    access.check_new_name(create.name, "TABLE", create.or_replace, create.pos)
    contract = _contract_of(create, access, contracts)
    budget = access.tables.budget(contract, create.pos)
    job, weights = synthetic_tables.prepare_job(create, contract, budget, access.settings)
    if named := job.options.get("invariants"):
        job = synthetic_tables.with_invariants(job, access.tables.weights_of(named), named)
    shares = synthetic_tables.shares(job, access.tables.weights_of(weights), weights)
    with (
        access.intents.hold(contract.snapshot, [synthetic_tables.name_of_job(job)]),
        Allowance(
            access.kernel, contract, job.price, access.principal, create.text, repeatable=True
        ) as allowance,
    ):
        synthesis = synthetic_tables.synthesize(job, allowance, shares, report)
        spent = allowance.spent
    quality = synthesis.kept.quality
    comment = synthetic_tables.comment(create, job, budget, access.principal, quality)
    rows, store = synthesis.table, access.store
    access.check_new_name(create.name, "TABLE", create.or_replace, create.pos)  # it took a while
    store.publish(create.name, rows, comment, synthesis.types, create.or_replace)
    kept = replace(synthesis.kept, comment=comment)
    write_model(kept, model_folder(access), create.name, access.kernel.vault)
    message = f"{create.name}: {rows.num_rows} synthetic rows in {store.path.name}"
    epsilon = epsilon_shown(spent, budget.delta)
    lines = (message, *access.closed.notes(allowance.replayed, contract), *synthesis.notes)
    return Result(message="\n".join(lines), price=spent, epsilon=epsilon)


def _contract_of(
    create: cmd.CreateSynthetic, access: Access, contracts: Mapping[str, TableContract]
) -> TableContract:
    """Returns the contract of the first private table in FROM."""
    named = [name for name in tables(create.select) if name in contracts]
    private = [name for name in named if contracts[name].unit is not None]
    first = next(iter((*private, *named, create.select.table)))
    return access.tables.private_contract(first, create.pos, contracts)


def quote_synthetic(create: cmd.CreateSynthetic, access: Access) -> Quote:
    """Returns what a synthetic table would cost, and who would pay."""
    job, contract, account = _prepare(create, access)
    left = access.tables.amount_left(contract, [job.domain.source])
    return Quote((Charge(account.budget.unit_table, job.price, left, account.budget.delta),))


def explain_synthetic(create: cmd.CreateSynthetic, access: Access) -> Result:
    """Returns what each step of a synthesis would cost. Nothing is read or charged."""
    job, contract, account = _prepare(create, access)
    left = access.tables.amount_left(contract, [job.domain.source])
    delta = account.budget.delta
    rows = synthetic_tables.explain_job(access.kernel, job, contract, left, delta)
    notes = (*job.notes, *access.closed.foresight([job.domain.source], contract))
    return Result(rows, "\n".join(notes))


def _prepare(create: cmd.CreateSynthetic, access: Access) -> tuple[Job, TableContract, Account]:
    """Returns the checked job of a synthetic table, whom it is about, and who pays."""
    contracts = access.tables.contracts()
    contract = _contract_of(create, access, contracts)
    account = access.tables.account(contract, create.pos)
    job, _ = synthetic_tables.prepare_job(create, contract, account.budget, access.settings)
    return job, contract, account

"""CREATE SYNTHETIC SCHEMA: linked tables that join again, one price for all of them.

Every table is modelled by a statement of its own (`schema_tables.statement_of`) at an equal part of
the price. A child table's statement holds its parents' columns, too; drawn rows of it are dealt out
to the synthetic parents (`row_matching.match_rows`), which have new keys.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.dialect import read
from sqlpriv.errors import BudgetExhausted, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.plan.pricing.statement import KNOWN_OPTIONS, statement_price
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.synthetic import synthetic_tables
from sqlpriv.session.synthetic.schema_tables import (
    SchemaTable,
    arrange_tables,
    children_of,
    statement_of,
)
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.api.progress import Report
from sqlpriv.synth.drawing import UNASKED_ROWS
from sqlpriv.synth.job import Job
from sqlpriv.synth.kept_model import draw_rows
from sqlpriv.synth.synthesis import Synthesis

POOL = 4
"""Rows that are drawn of a child table's model for each that is wanted."""
POOL_ROWS = (20_000, 2_000_000)
"""The fewest and the most rows of a pool."""
REFUSED_OPTIONS = (
    "patterns",
    "zeros",
    "constraints",
    "totals",
    "hierarchy",
    "invariants",
    "target",
    "seed",
)
"""Options that name columns of one table, or rows of one."""


@dataclass(frozen=True)
class _Prepared:
    """One table of the schema, ready to be modelled.

    Args:
        table: What it is in the vault.
        job: How it is modelled.
        create: Its statement, as an owner could have written it.
    """

    table: SchemaTable
    job: Job
    create: cmd.CreateSynthetic


@dataclass(frozen=True)
class _Drawn:
    """Synthetic rows of one table with new keys.

    Args:
        rows: Keys, the link, and what was modelled; how many children each is to have among them.
        types: SQL type of each column.
    """

    rows: pa.Table
    types: Mapping[str, str]


def create_schema(create: cmd.CreateSyntheticSchema, access: Access, report: Report) -> Result:
    """Makes the tables of a synthetic schema under the budget and publishes them.

    Table `t` of schema `s` is published as `s_t`. The price is refused as a whole where the budget
    does not cover it; what one table's model was told is sealed, and free when asked again.

    Raises:
        sqlpriv.Error: As it deserves; after the charge only where reading fails.
    """
    prepared, price, account = _prepare(create, access)
    _check_names(create, prepared, access)
    left = _least_left(prepared, access)
    if price.nano > left.nano:
        delta = account.budget.delta
        raise BudgetExhausted(
            f"the schema costs epsilon = {epsilon_shown(price, delta):.4g}, and"
            f" {epsilon_shown(left, delta):.4g} is left; nothing was read or charged"
        )
    rng = np.random.default_rng()
    drawn: dict[str, _Drawn] = {}
    notes: list[str] = []
    spent = 0
    for part in prepared:
        synthesis, paid = _synthesize(part, access, create, report)
        spent += paid.nano
        drawn[part.table.name] = _draw(part.table, prepared, synthesis, drawn, rng)
        left_out = f"; left out: {', '.join(part.table.left_out)}" if part.table.left_out else ""
        notes.append(f"{part.table.name}: {'; '.join(synthesis.notes)}{left_out}")
    _check_names(create, prepared, access)  # to model the tables took a while
    for part in prepared:
        _publish(part, prepared, drawn[part.table.name], create, account, access)
    rows = ", ".join(
        f"{_released_name(create, part.table)}: {drawn[part.table.name].rows.num_rows} rows"
        for part in prepared
    )
    message = f"{rows} in {access.store.path.name}"
    total = type(price)(spent)
    return Result(
        message="\n".join((message, *notes)),
        price=total,
        epsilon=epsilon_shown(total, account.budget.delta),
    )


def quote_schema(create: cmd.CreateSyntheticSchema, access: Access) -> Quote:
    """Returns what a synthetic schema would cost, and who would pay."""
    prepared, price, account = _prepare(create, access)
    budget = account.budget
    return Quote((Charge(budget.unit_table, price, _least_left(prepared, access), budget.delta),))


def explain_schema(create: cmd.CreateSyntheticSchema, access: Access) -> Result:
    """Returns what each step for each table would cost. Nothing is read or charged."""
    prepared, _, account = _prepare(create, access)
    left, tables = _least_left(prepared, access), []
    for part in prepared:
        contract, delta = part.table.contract, account.budget.delta
        steps = synthetic_tables.explain_job(access.kernel, part.job, contract, left, delta)
        labels = [f"{part.table.name}: {label}" for label in steps["measurement"].to_pylist()]
        at = steps.column_names.index("measurement")
        tables.append(steps.set_column(at, steps.schema.field(at), pa.array(labels)))
    return Result(pa.concat_tables(tables))


def _prepare(
    create: cmd.CreateSyntheticSchema, access: Access
) -> tuple[tuple[_Prepared, ...], Price, Account]:
    """Returns the checked jobs of all tables, what they cost together, and who pays."""
    contracts = access.tables.contracts()
    tables = arrange_tables(create, contracts)
    for table in tables:
        access.tables.private_contract(table.name, create.pos, contracts)
    accounts = [access.tables.account(table.contract, create.pos) for table in tables]
    units = {account.budget.unit_table for account in accounts}
    if len(units) > 1:
        raise Refused.at(
            create.pos,
            f"these tables protect different units: {', '.join(sorted(units))}",
            "make a schema of the tables that are linked to one of them",
        )
    budget = accounts[0].budget
    options = [option for option in create.options if option[0] not in KNOWN_OPTIONS]
    for name, _ in options:
        if name in REFUSED_OPTIONS:
            hint = "make that table alone: CREATE SYNTHETIC TABLE … AS SELECT …"
            raise Refused.at(create.pos, f"a schema does not take the option {name}", hint)
    epsilon = access.settings.get("privacy_epsilon")
    price = statement_price(create.options, budget, epsilon, create.pos)
    parts = split_price(price, [1.0] * len(tables))
    prepared = []
    for table, part in zip(tables, parts, strict=True):
        (statement,) = read(statement_of(table, tables, create.method))
        assert isinstance(statement, cmd.CreateSynthetic)
        of_table = [o for o in options if o[0] != "rows" or table.parent is None]
        statement = replace(
            statement, options=(*statement.options, *of_table), text=create.text, pos=create.pos
        )
        job, _ = synthetic_tables.prepare_job(statement, table.contract, budget, {}, part)
        prepared.append(_Prepared(table, job, statement))
    return tuple(prepared), price, accounts[0]


def _least_left(prepared: Sequence[_Prepared], access: Access) -> Price:
    amounts = [access.tables.amount_left(p.table.contract, [p.job.domain.source]) for p in prepared]
    return min(amounts, key=lambda price: price.nano)


def _released_name(create: cmd.CreateSyntheticSchema, table: SchemaTable) -> str:
    return f"{create.name}_{table.name}"


def _check_names(
    create: cmd.CreateSyntheticSchema, prepared: Sequence[_Prepared], access: Access
) -> None:
    for part in prepared:
        name = _released_name(create, part.table)
        access.check_new_name(name, "SCHEMA", create.or_replace, create.pos)


def _synthesize(
    part: _Prepared, access: Access, create: cmd.CreateSyntheticSchema, report: Report
) -> tuple[Synthesis, Price]:
    contract, job = part.table.contract, part.job
    with (
        access.intents.hold(contract.snapshot, [synthetic_tables.name_of_job(job)]),
        Allowance(
            access.kernel, contract, job.price, access.principal, create.text, repeatable=True
        ) as allowance,
    ):
        synthesis = synthetic_tables.synthesize(job, allowance, None, report)
        return synthesis, allowance.spent


def _draw(
    table: SchemaTable,
    prepared: Sequence[_Prepared],
    synthesis: Synthesis,
    drawn: Mapping[str, _Drawn],
    rng: np.random.Generator,
) -> _Drawn:
    """Returns the rows of one table: as drawn, or dealt out to its parents' rows."""
    tables = [part.table for part in prepared]
    rows, types, links = synthesis.table, dict(synthesis.types), {}
    if table.parent is not None and table.link is not None:
        parents = drawn[table.parent.name]
        numbers = parents.rows[table.children_column].to_numpy()
        rows_each = np.maximum(np.nan_to_num(numbers), 0).astype(np.int64)
        rows_each[np.cumsum(rows_each) > UNASKED_ROWS] = 0
        owners = np.repeat(np.arange(parents.rows.num_rows), rows_each)
        shared = table.parent_columns(children_of(table.parent, tables))
        rows = _deal(parents.rows.take(pa.array(owners)), shared, synthesis, rng)
        rows = rows.drop_columns(list(shared))
        key = table.link.parent.lower()
        named = next(c for c in parents.rows.column_names if c.lower() == key)
        links[table.link.column] = parents.rows[named].take(pa.array(owners))
        types = {name: types[name] for name in rows.column_names}
        types[table.link.column] = parents.types[named]
    columns = {name: rows[name] for name in rows.column_names} | links
    for key in table.keys:
        column = table.contract.column(key)
        assert column is not None
        columns[key], types[key] = _new_keys(column.sql_type, rows.num_rows, rng)
    places = {c.name.lower(): i for i, c in enumerate(table.contract.columns)}
    ordered = sorted(columns, key=lambda name: places.get(name.lower(), len(places)))
    return _Drawn(pa.table({name: columns[name] for name in ordered}), types)


def _deal(
    parents: pa.Table, shared: Mapping[str, str], synthesis: Synthesis, rng: np.random.Generator
) -> pa.Table:
    """Returns one row of the child table's model for each of the parents' rows."""
    from sqlpriv.synth.linked.row_matching import match_rows  # pandas: seen by no other statement

    if not parents.num_rows:
        return synthesis.table.slice(0, 0)
    least, most = POOL_ROWS
    pool = draw_rows(synthesis.kept, int(np.clip(POOL * parents.num_rows, least, most)))
    slots = pa.table({name: parents[column] for name, column in shared.items()})
    return pool.take(pa.array(match_rows(slots, pool, list(shared), rng)))


def _new_keys(sql_type: str, rows: int, rng: np.random.Generator) -> tuple[pa.Array, str]:
    """Returns new values of a key, one for each row, and their SQL type."""
    kind = sql_type.upper()
    if kind == "UUID":
        numbers: NDArray[np.uint8] = rng.integers(0, 256, (rows, 16), dtype=np.uint8)
        texts = [str(uuid.UUID(bytes=n.tobytes(), version=4)) for n in numbers]
        return pa.array(texts, pa.string()), kind
    numbers_from_one = pa.array(np.arange(1, rows + 1))
    if kind.startswith("VARCHAR"):
        return numbers_from_one.cast(pa.string()), "VARCHAR"
    return numbers_from_one, "BIGINT"


def _publish(
    part: _Prepared,
    prepared: Sequence[_Prepared],
    drawn: _Drawn,
    create: cmd.CreateSyntheticSchema,
    account: Account,
    access: Access,
) -> None:
    """Publishes one table, without its numbers of children: its children tell them."""
    counts = [c.children_column for c in children_of(part.table, [p.table for p in prepared])]
    rows = drawn.rows.drop_columns(counts)
    types = {name: drawn.types[name] for name in rows.column_names}
    comment = synthetic_tables.comment(part.create, part.job, account.budget, access.principal)
    name = _released_name(create, part.table)
    access.store.publish(name, rows, comment, types, create.or_replace)

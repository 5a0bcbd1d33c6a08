"""SHOW … and DESCRIBE as tables. All of it is public: declarations, prices, names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.sql.quoting import literal
from sqlpriv.kernel.terms.budget import YOCTO, Rho
from sqlpriv.kernel.terms.contract import (
    Categories,
    Column,
    ColumnDomain,
    Interval,
    TableContract,
    Value,
)
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.access.table_grants import PUBLIC, paying_contracts
from sqlpriv.session.commands.spending import (
    budget_history,
    noised_answers,
    payers,
    statements_paid,
    table_names,
)
from sqlpriv.session.declarations.declaration_text import declaration_script
from sqlpriv.session.declarations.windows import window_table
from sqlpriv.statements import commands as cmd
from sqlpriv.system import arrow

if TYPE_CHECKING:
    from sqlpriv.synth.api.method import Option

_LONGEST = 60


def tables(contracts: Mapping[str, TableContract]) -> pa.Table:
    """SHOW PRIVACY TABLES: every table of the vault, and whom it protects."""
    written = {name: unit_as_written(contract) for name, contract in contracts.items()}
    rows = [
        {
            "table": c.table,
            "status": status(c),
            "unit_table": written[name][0] if c.unit else None,
            "privacy_key": written[name][1] or None,
            "rows_per_unit": c.unit.rows_per_unit if c.unit else None,
            "groups_per_unit": c.unit.groups_per_unit if c.unit else None,
            "columns": len(c.columns),
            "domains": sum(x.domain is not None for x in c.columns),
        }
        for name, c in contracts.items()
    ]
    fields = [
        ("table", pa.string()),
        ("status", pa.string()),
        ("unit_table", pa.string()),
        ("privacy_key", pa.string()),
        ("rows_per_unit", pa.int64()),
        ("groups_per_unit", pa.int64()),
        ("columns", pa.int64()),
        ("domains", pa.int64()),
    ]
    return _table(rows, fields)


def unit_as_written(contract: TableContract) -> tuple[str, str]:
    """Returns the table whose units a table protects, and that table's key, as they were created.

    Contracts keep names in lower case, by which they are compared.
    """
    of = contract.contract_of(contract.unit.table, on_the_way=True) if contract.unit else contract
    names = {column.name.lower(): column.name for column in of.columns}
    return of.table, ", ".join(names.get(column.lower(), column) for column in of.key)


def status(contract: TableContract) -> str:
    """Returns private, public, or undeclared (which analysts are refused)."""
    if contract.unit:
        return "private"
    return "public" if contract.public else "undeclared"


def budget(access: Access, contracts: Mapping[str, TableContract]) -> pa.Table:
    """SHOW PRIVACY BUDGET: what each unit's table may spend, has spent and has left.

    A row with a principal is a ceiling of theirs under the table's budget, and what they spent of
    it. Below the ceiling of everybody who has none, `*`, stand those whom it binds: for an owner
    all who spent something, for an analyst they themselves. epsilon_left is the most that one more
    statement could ask for, if it concerns everybody. Under zCDP epsilon_spent and epsilon_left
    add up to more than epsilon, because rho adds up and epsilon does not. Of a budget of periods,
    epsilon_spent is of this period; epsilon_in_all is what was spent since the start, and
    epsilon_total the most that may be, over all periods.
    """
    ledger = access.kernel.ledger
    rows = [
        {"unit_table": contract.table, "principal": who or holder or None, **_account(account)}
        for contract in paying_contracts(contracts)
        for holder, who in _accounts(access, contract.own_account)
        if (account := ledger.account(contract.own_account, holder, who=who))
    ]
    texts = [(n, pa.string()) for n in ("unit_table", "principal")]
    names = (
        "epsilon",
        "delta",
        "epsilon_spent",
        "epsilon_left",
        "rho",
        "rho_spent",
        "keys_delta",
        "keys_delta_spent",
    )
    numbers = [(n, pa.float64()) for n in names]
    fields = [*texts, *numbers, ("charges", pa.int64())]
    if any(row["per"] or row["until"] for row in rows):
        in_all = [(n, pa.float64()) for n in ("epsilon_in_all", "epsilon_total")]
        fields += [("per", pa.string()), *in_all, ("until", pa.string())]
    return _table([{n: row[n] for n, _ in fields} for row in rows], fields)


def _accounts(access: Access, unit_table: str) -> Iterator[tuple[str, str]]:
    """Yields the holders of a table's budget and ceilings ('' for its own), `*` once more with each
    principal whom it binds."""
    ledger = access.kernel.ledger
    holders = ledger.holders(unit_table)
    named = {holder.lower() for holder in holders}
    for holder in holders:
        yield holder, ""
        if holder == "*":
            paid = payers(ledger, unit_table) if access.owner else [access.principal]
            yield from (("*", who) for who in paid if who.lower() not in named)


def _account(account: Account) -> dict[str, object]:
    budget, spent = account.budget, account.spent
    rho, whole = isinstance(budget.total, Rho), budget.whole or None
    return {
        "epsilon": epsilon_shown(budget.total, budget.delta),
        "delta": budget.delta,
        "epsilon_spent": epsilon_shown(spent, budget.delta),
        "epsilon_left": epsilon_shown(account.left, budget.delta),
        "rho": budget.total.value if rho else None,
        "rho_spent": spent.value if rho else None,
        "keys_delta": budget.keys / YOCTO if rho else None,
        "keys_delta_spent": account.keys_spent / YOCTO if rho else None,
        "charges": account.charges,
        "per": budget.per or None,
        "epsilon_in_all": epsilon_shown(account.in_all, budget.delta),
        "epsilon_total": whole and epsilon_shown(type(spent)(whole), budget.delta),
        "until": budget.until or None,
    }


def synthesizers() -> pa.Table:
    """SHOW SYNTHESIZERS: what may be written after USING, whose it is, its options and limits."""
    from sqlpriv.synth.registry import COMMON, REGISTRY  # all of them: 0.1 s of a program's start

    rows = [
        {
            "name": m.name,
            "title": m.title,
            "paper": m.paper,
            "options": ", ".join(_option(o) for o in (*COMMON, *m.options)),
            "most_cells": m.max_cells,
            "most_strata": m.max_strata,
        }
        for m in REGISTRY.values()
    ]
    texts = [(n, pa.string()) for n in ("name", "title", "paper", "options")]
    return _table(rows, [*texts, ("most_cells", pa.int64()), ("most_strata", pa.int64())])


def _option(option: Option) -> str:
    """Returns an option as it is written in OPTIONS (…) by default, and what it means."""
    default = "…" if option.default is None else option.default
    return f"{option.name} = {default} ({option.meaning})"


def grants(contracts: Mapping[str, TableContract], access: Access) -> pa.Table:
    """SHOW GRANTS: who may use which tables. Analysts see what is said of them, and of PUBLIC."""
    rows = [
        {
            "table": contract.table,
            "principal": "PUBLIC" if principal == PUBLIC else principal,
            "may_use": allowed,
        }
        for contract in contracts.values()
        for principal, allowed in contract.grants or ((PUBLIC, True),)
        if access.owner or principal in (PUBLIC, access.principal.lower())
    ]
    texts = [(name, pa.string()) for name in ("table", "principal")]
    return _table(rows, [*texts, ("may_use", pa.bool_())])


def describe(contract: TableContract) -> pa.Table:
    """DESCRIBE t: the columns, what protects them, and the SQL of their declared domains."""
    rows = [
        {
            "column_name": c.name,
            "column_type": c.sql_type,
            "role": role(contract, c),
            "privacy_domain": domain_sql(c.domain),
        }
        for c in contract.columns
    ]
    fields = [(n, pa.string()) for n in ("column_name", "column_type", "role", "privacy_domain")]
    return _table(rows, fields)


def domain_sql(domain: ColumnDomain | None) -> str | None:
    """Returns a declared domain as it is written in SQL, long lists cut short."""
    match domain:
        case Categories(labels):
            text = f"IN ({', '.join(_plain(v) for v in labels)})"
            return (
                text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} … {len(labels)} values"
            )
        case Interval(lower, upper, nullable):
            ends = f"BETWEEN ({_plain(lower)}, {_plain(upper)})"
            return f"{ends} OR NULL" if nullable else ends
    return None


def role(contract: TableContract, column: Column) -> str | None:
    """Returns what a column is to the unit: its key, a link to it, or neither.

    A key that is declared stays so without SET PU, and then a link names whose the rows are.
    """
    for link in contract.links:
        for mine, theirs in link.pairs:
            if mine.lower() == column.name.lower():
                return f"{'part of the ' * bool(link.further)}link to {link.table}.{theirs}"
    if column.name.lower() in map(str.lower, contract.key):
        return "privacy key" if len(contract.key) == 1 else "part of the privacy key"
    return None


def show_state(show: cmd.Show, access: Access) -> Result:
    """Returns what SHOW PRIVACY … and SHOW SYNTHESIZERS give.

    Raises:
        Refused: There is no such SHOW.
    """
    contracts, ledger = access.tables.contracts(), access.kernel.ledger
    viewer = access.principal if access.tables.hides_tables() else None
    names = table_names(paying_contracts(contracts))
    match show.what:
        case "tables":
            return _or_who_grants(tables(contracts), access)
        case "budget":
            return _or_who_grants(budget(access, contracts), access)
        case "budget history":
            return Result(budget_history(ledger, names, viewer is not None))
        case "releases":
            return Result(statements_paid(ledger, names, viewer))
        case "releases details":
            return Result(noised_answers(ledger, names, viewer))
        case "windows":
            return Result(window_table(access, contracts))
        case "synthesizers":
            return Result(synthesizers())
        case "grants":
            return Result(grants(contracts, access))
        case "declarations":
            lines = declaration_script(access.kernel, contracts, access.owner is not None)
            return Result(
                _table([{"declaration": line} for line in lines], [("declaration", pa.string())])
            )
    raise unknown(show)


def _or_who_grants(table: pa.Table, access: Access) -> Result:
    """Returns rows; beside none, whom an analyst has to ask. It says the same where there is no
    table and where there is one that they may not use."""
    note = (
        f"nothing that {access.principal} may use is declared: an owner declares tables and their"
        f" budgets, and GRANT SELECT ON t TO {literal(access.principal)} says who may use one"
    )
    return Result(table, "" if table.num_rows or access.owner else note)


def describe_table(statement: cmd.Describe, access: Access) -> Result:
    """Returns what DESCRIBE gives of a table of the vault, or of a released one.

    Raises:
        Refused: There is no such table.
    """
    contract = access.tables.contracts().get(statement.table.lower())
    if contract is not None:
        return Result(describe(contract))
    if statement.table.lower() in access.sql.released_names():
        return Result(access.sql.run({}, statement.text, None))
    message = f'there is no table "{statement.table}"'
    raise Refused.at(statement.pos, message, access.sql.tables_hint(statement.table))


def unknown(show: cmd.Show) -> Refused:
    """Returns the refusal of a SHOW PRIVACY that does not exist."""
    return Refused.at(
        show.pos,
        f"there is no SHOW PRIVACY {show.what.upper()}",
        "SHOW PRIVACY TABLES, BUDGET [HISTORY], RELEASES [DETAILS], DECLARATIONS or WINDOWS",
    )


def _plain(value: Value) -> str:
    return literal(value).strip("()").removesuffix("e0")


def _table(rows: Iterable[Mapping[str, object]], fields: Sequence[tuple[str, Any]]) -> pa.Table:
    return arrow.table([*rows], pa.schema(fields))

"""OPTIONS that GoogleSQL knows and that say here what the owner has declared already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.statements import tree as t
from sqlpriv.statements.tree import Options, Pos

LEAST_UNITS = "min_privacy_units_per_group"
GOOGLESQL_OPTIONS = (
    "delta",
    "privacy_unit_column",
    "group_selection_strategy",
    "report_format",
    LEAST_UNITS,
)
_STRATEGIES = ("public_groups", "laplace_threshold")


def check_googlesql_options(
    options: Options, contract: TableContract, budget: Budget, pos: Pos
) -> None:
    """Checks that the options say nothing else than what is declared.

    Args:
        options: Of the statement.
        contract: Of its first table.
        budget: Of the privacy unit; its delta is the one that holds.
        pos: Where a refusal points.

    Raises:
        Refused: An option asks for something that the declaration does not give.
    """
    unit = ", ".join(contract.unit.columns) if contract.unit else ""
    checks: dict[str, Callable[[Value], tuple[str, str] | None]] = {
        "delta": lambda value: _delta_refusal(value, budget),
        "privacy_unit_column": lambda value: (
            None
            if str(value).lower() == unit.lower()
            else (
                f'the privacy unit of "{contract.table}" is its column {unit}',
                f"write privacy_unit_column = {unit}, or leave it out",
            )
        ),
        "group_selection_strategy": lambda value: (
            None
            if value in _STRATEGIES
            else (f"there is no strategy {value}", f"one of: {', '.join(_STRATEGIES)}")
        ),
        "report_format": lambda value: (
            None
            if str(value).lower() in ("json", "proto", "default")
            else (f"there is no report_format {value}", "write report = true")
        ),
    }
    for name, value in options:
        refusal = checks[name](value) if name in checks else None
        if refusal is not None:
            raise Refused.at(pos, *refusal)


def with_googlesql_options(select: t.Select, contract: TableContract) -> t.Select:
    """Returns a statement whose options say what GoogleSQL's mean: `kappa` is the older name of
    `max_groups_contributed`, and `min_privacy_units_per_group = n` shows the groups whose noised
    number of units is n or more, as `HAVING COUNT(DISTINCT unit) >= n` does.

    Raises:
        Refused: No column of the statement's table names the unit, or n is no whole number.
    """
    renamed = tuple(
        ("max_groups_contributed" if name == "kappa" else name, value)
        for name, value in select.options
        if value is not None or name not in ("max_groups_contributed", "kappa")  # as if left out
    )
    select = replace(select, options=renamed)
    least = dict(renamed).get(LEAST_UNITS)
    if least is None:
        return select
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        raise Refused.at(
            select.pos,
            f"{LEAST_UNITS} is a whole number from 1 on",
            f"write {LEAST_UNITS} = 10",
        )
    unit, via = contract.unit, contract.via
    alias = _alias_of(select.source or t.Table(select.table, select.alias), contract.table)
    leads_further = via is not None and unit is not None and via.table.lower() != unit.table
    if unit is None or unit.further or leads_further or not alias:
        raise Refused.at(
            select.pos,
            f'no one column of "{contract.table}" names its privacy unit',
            "join the table that has it, and write HAVING COUNT(DISTINCT its key) >= 10",
        )
    if not (select.group_by or select.group_all or select.stratify) or least == 1:
        return select
    name = t.Name(unit.column, alias, select.pos)
    units = t.FunctionCall("count", (name,), distinct=True, pos=select.pos)
    test: t.Node = t.Binary(">=", units, t.Literal(least, select.pos), select.pos)
    having = test if select.having is None else t.Binary("and", select.having, test, select.pos)
    return replace(select, having=having)


def _alias_of(source: t.Source, table: str) -> str:
    """Returns what a table is called in FROM; '' where it is not there by itself."""
    match source:
        case t.Table(name, alias) if name.lower() == table.lower():
            return alias or name
        case t.Joined(left, right):
            return _alias_of(left, table) or _alias_of(right, table)
    return ""


def asks_for_public_groups(options: Options) -> bool:
    """Returns whether keys must have public lists: `group_selection_strategy = PUBLIC_GROUPS`."""
    return dict(options).get("group_selection_strategy") == "public_groups"


def asks_for_threshold(options: Options) -> bool:
    """Returns whether groups are to be those that pass: `group_selection_strategy =
    LAPLACE_THRESHOLD`."""
    return dict(options).get("group_selection_strategy") == "laplace_threshold"


def _delta_refusal(value: Value, budget: Budget) -> tuple[str, str] | None:
    """A statement is (epsilon, delta)-DP at the budget's delta, so for every larger one too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        return "the option delta is a number from 0 to 1", "write delta = 1e-9"
    if isinstance(budget.total, Rho) and value < budget.delta:
        return (
            f"the budget is stated at delta = {budget.delta}, and {value} is less",
            f"write delta = {budget.delta}, or leave it out",
        )
    return None

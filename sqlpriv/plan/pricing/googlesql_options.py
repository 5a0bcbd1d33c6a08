"""OPTIONS that GoogleSQL knows and that say here what the owner has declared already."""

from __future__ import annotations

from collections.abc import Callable

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.statements.tree import Options, Pos

GOOGLESQL_OPTIONS = (
    "delta",
    "privacy_unit_column",
    "group_selection_strategy",
    "report_format",
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

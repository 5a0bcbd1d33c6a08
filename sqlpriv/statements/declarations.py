"""What ALTER TABLE declares of a private table: one class for each form of the statement.

The values are frozen, like those of `tree`. Names of tables and columns are kept as they were
written: nothing here has looked them up.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements.tree import Options


@dataclass(frozen=True)
class AddPrivacyKey:
    """`ADD PRIVACY_KEY (columns)`: rows of equal values there belong to one unit."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class DropPrivacyKey:
    """`DROP PRIVACY_KEY`."""


@dataclass(frozen=True)
class SetUnit:
    """`SET PU` (on=True) or `UNSET PU`."""

    on: bool


@dataclass(frozen=True)
class SetPublic:
    """`SET PUBLIC` (on=True) or `UNSET PUBLIC`."""

    on: bool


@dataclass(frozen=True)
class AddPrivacyLink:
    """`ADD PRIVACY_LINK (column, …) REFERENCES table(parent, …)`: whose rows these are.

    Args:
        column: Of this table.
        table: The parent, whose row says which unit a row of this table belongs to.
        parent: The parent's column that `column` is equal to.
        further: More such pairs, where a row is told by several columns: (this table's, the
            parent's); see `contract.Link`.
    """

    column: str
    table: str
    parent: str
    further: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The columns of this table, each with that of the parent which it is equal to."""
        return ((self.column, self.parent), *self.further)


@dataclass(frozen=True)
class DropPrivacyLink:
    """`DROP PRIVACY_LINK (columns)`."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class SetDomainIn:
    """`ALTER COLUMN c SET PRIVACY DOMAIN IN (…) [NOT NULL]`; NULL may be listed.

    `required`: NOT NULL is written, the owner's promise that the column has no NULL.
    """

    column: str
    values: tuple[Value, ...]
    required: bool = False


@dataclass(frozen=True)
class SetDomainBetween:
    """`… SET PRIVACY DOMAIN BETWEEN (low, high) [OR NULL | NOT NULL]`; numbers or ISO dates.

    `nullable`: NULL is a level of its own; `required`: the owner promises that there is none.
    """

    column: str
    lower: Value
    upper: Value
    nullable: bool = False
    required: bool = False


@dataclass(frozen=True)
class SetDomainReferences:
    """`… SET PRIVACY DOMAIN REFERENCES table(source)`: the values of a public table's column."""

    column: str
    table: str
    source: str


@dataclass(frozen=True)
class SetDomainAuto:
    """`… SET PRIVACY DOMAIN AUTO (epsilon = 0.1)`: an interval by noised counts, for that price."""

    column: str
    price: Options


@dataclass(frozen=True)
class DropDomain:
    """`ALTER COLUMN column DROP PRIVACY DOMAIN`."""

    column: str


@dataclass(frozen=True)
class SetBound:
    """`SET PRIVACY BOUND (rows_per_unit = m, groups_per_unit = g)`; None where not written."""

    rows_per_unit: int | None = None
    groups_per_unit: int | None = None


@dataclass(frozen=True)
class SetBoundAuto:
    """`SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 0.1)`: a bound by noised counts."""

    price: Options


@dataclass(frozen=True)
class SetBudget:
    """`SET PRIVACY BUDGET (epsilon = …, delta = …)` or `(rho = …)`, as written.

    `holder`: the principal of `… FOR 'team_a'`, whose ceiling it is; '' for the table's own budget.
    """

    options: Options
    holder: str = ""


@dataclass(frozen=True)
class SetWindow:
    """`SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')`: earlier rows are closed.

    Args:
        column: The column of days; '' where it is not written and stays what it is.
        closed_before: The first day whose rows may still change.
        rows: What the owner's session saw of the closed rows: their number, and a checksum of
            their texts, by which a later change is noticed. None before the session looked.
    """

    column: str
    closed_before: dt.date
    rows: tuple[int, str] | None = None


@dataclass(frozen=True)
class DropWindow:
    """`DROP PRIVACY WINDOW`."""


@dataclass(frozen=True)
class DeclareMany:
    """`SET PRIVACY (KEY (id), COLUMN sex IN (1, 2), …)`: all of these declarations, or none."""

    actions: tuple[Action, ...]


@dataclass(frozen=True)
class DeclareFromSchema:
    """`SET PRIVACY FROM SCHEMA`: what constraints and types of the table say is declared."""


@dataclass(frozen=True)
class DeclareFromFile:
    """`SET PRIVACY FROM 'dictionary.csv'`: what a data dictionary says is declared."""

    path: str


_Unit = AddPrivacyKey | DropPrivacyKey | AddPrivacyLink | DropPrivacyLink | SetUnit | SetPublic
_Domain = SetDomainIn | SetDomainBetween | SetDomainReferences | DropDomain
_Auto = SetDomainAuto | SetBoundAuto
_Many = DeclareMany | DeclareFromSchema | DeclareFromFile
_Window = SetWindow | DropWindow
Action = _Unit | _Domain | _Auto | SetBound | SetBudget | _Window | _Many

"""What ALTER TABLE declares of a private table: the actions of one statement, or of several.

As in `tree`: frozen values, names not yet looked up.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements.tree import Options


@dataclass(frozen=True)
class AddPrivacyKey:
    columns: tuple[str, ...]


@dataclass(frozen=True)
class DropPrivacyKey:
    pass


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
    """`further` are pairs of more columns, of this table and of the parent: see `kernel.Link`."""

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
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SetDomainIn:
    """`ALTER COLUMN c SET PRIVACY DOMAIN IN (…) [NOT NULL]`; NULL may be listed."""

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
    """`SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')`: rows of days before that are
    closed. `column` is '' where it is not written: that of the window in force.

    `rows` is what the owner's session saw of these rows: their number, and a sum over their texts.
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

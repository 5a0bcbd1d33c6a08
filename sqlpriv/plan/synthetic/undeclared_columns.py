"""Columns without a public domain: which of them a synthesizer can do without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.kernel.terms.contract import Column, TableContract, Type
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.columns import instead_of
from sqlpriv.plan.expressions.facts.value_facts import column_scale
from sqlpriv.statements import alter_text


@dataclass(frozen=True)
class Undeclared:
    """Which columns need no public domain.

    Args:
        made_up: Names, lower case, of those whose values are made up.
        selected: Whether the method finds values by itself, at a threshold (`is_selectable`).
    """

    made_up: frozenset[str] = frozenset()
    selected: bool = False

    def is_new(self, column: Column) -> bool:
        """Returns whether a column's values are made up, of nobody's row."""
        return column.sql_type.upper() == "UUID" or column.name.lower() in self.made_up

    def is_selected(self, kind: Type | None, sql_type: str) -> bool:
        """Returns whether the values of such a column are found by the method."""
        return self.selected and is_selectable(kind, sql_type)


def is_selectable(kind: Type | None, sql_type: str) -> bool:
    """Returns whether a threshold can find a column's values: whole numbers, text, and what whole
    numbers stand for.

    >>> is_selectable(Type.REAL, "DECIMAL(9,2)"), is_selectable(Type.REAL, "DOUBLE")
    (True, False)
    """
    decimal = kind is Type.REAL and column_scale(sql_type) is not None
    return decimal or kind in (Type.INTEGER, Type.TEXT, Type.DATE)


def column_flaw(
    column: Column,
    held: str,
    binder: Binder,
    tables: Mapping[str, TableContract],
    free: Undeclared,
) -> tuple[str, str] | None:
    """Returns why a declared column cannot be one of a synthetic table, and what to do; or None."""
    table, _ = binder.home_of(held)
    unit = tables[table.lower()].unit
    if unit is not None and column.name.lower() in unit.columns:
        what = f'"{column.name}" names the privacy unit'
        return what, "leave it out: synthetic rows stand for nobody"
    if column.type is None:
        what = f'"{column.name}" is a {column.sql_type}: no synthetic values are made of it'
        return what, instead_of(column.sql_type)
    if (
        column.domain is None
        and column.type not in (Type.TIME, Type.BOOLEAN)
        and not (free.is_new(column) or free.is_selected(column.type, column.sql_type))
    ):
        alter = f"{alter_text(table, column.name)} SET PRIVACY DOMAIN"
        what = f'the column "{column.name}" has no public domain'
        hint = f"the owner runs {alter} BETWEEN (low, high), or … IN ('a', 'b')"
        if column.type is Type.TEXT:
            hint += f"; or make it up: OPTIONS (patterns = '{column.name} = AA-###')"
        if is_selectable(column.type, column.sql_type):
            hint += "; USING stability finds the values that many units have"
        return what, hint
    return None

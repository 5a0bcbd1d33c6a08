"""Budgets and ceilings as an owner replaces them: of one kind, and one for each holder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.ledgers import pay

from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Rho
from sqlpriv.session.declarations.budgets import set_budget

ZCDP, PURE = Budget("people", Rho(1000), 1e-9), Budget("people", Epsilon(1000), 0.0)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "people.ledger")) as opened:
        yield opened


def test_the_kind_is_kept_once_it_was_drawn_on(ledger: Ledger) -> None:
    set_budget(ledger, PURE, "owner")
    set_budget(ledger, ZCDP, "owner")
    pay(ledger, 1)
    with pytest.raises(DeclarationError, match=r"zCDP .* into pure .* delta = 1e-9\)"):
        set_budget(ledger, PURE, "owner")
    assert ledger.account("people").budget == ZCDP


def test_a_ceiling_is_of_the_budgets_kind(ledger: Ledger) -> None:
    with pytest.raises(DeclarationError, match="no PRIVACY BUDGET yet"):
        set_budget(ledger, Budget("firms", Rho(9), 1e-9), "owner", "team_a")
    set_budget(ledger, PURE, "owner")
    set_budget(ledger, PURE, "owner", "team_a")
    with pytest.raises(
        DeclarationError, match="counted in pure epsilon and cannot be turned into zCDP"
    ):
        set_budget(ledger, ZCDP, "owner", "team_a")
    with pytest.raises(DeclarationError, match="its ceilings, is counted in"):
        set_budget(ledger, ZCDP, "owner")
    assert ledger.holders("people") == ["", "team_a"]
    assert ledger.account("people").budget == PURE


def test_another_case_is_the_same_ceiling(ledger: Ledger) -> None:
    set_budget(ledger, ZCDP, "owner")
    set_budget(ledger, ZCDP, "owner", "Ada")
    lower = Budget("people", Rho(400), 1e-9)
    set_budget(ledger, lower, "owner", "ada")
    assert ledger.holders("people") == ["", "Ada"]
    assert ledger.account("people", "Ada").budget == lower

"""`USING auto` takes the most accurate method that the statement is within the limits of."""

from __future__ import annotations

import pytest
from support.fake_gate import FakeGate
from support.vaults import contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.methods import aim
from sqlpriv.synth.synthesis import prepare, synthesize


def method_taken(columns: int, levels: int, price: Rho) -> str:
    names = tuple(f"c{i}" for i in range(columns))
    table = contract(
        dict.fromkeys(names, "INTEGER"), {n: Categories(tuple(range(levels))) for n in names}
    )
    return prepare(table, names, (), None, "auto", {}, price).method.name


def test_it_goes_by_columns_levels_and_price() -> None:
    price = rho_of(1.0, 1e-9)
    assert method_taken(3, 4, price) == "aim"
    assert method_taken(aim.MOST_COLUMNS, 4, price) == "aim"
    assert method_taken(aim.MOST_COLUMNS + 1, 4, price) == "mst"
    assert method_taken(50, 400, price) == "independent"  # 1,225 pairs of 160,000 cells
    assert method_taken(3, 4, Rho(5)) == "independent"


def test_it_says_what_it_took_and_spends_what_that_costs() -> None:
    table = contract(
        {"a": "INTEGER", "b": "INTEGER"}, {n: Categories((0, 1, 2)) for n in ("a", "b")}
    )
    price = rho_of(1.0, 1e-9)
    job = prepare(table, ("a", "b"), (), None, "auto", {"bins": 8}, price)
    gate = FakeGate({"a": [0, 1, 2] * 300, "b": [0, 1, 2] * 300}, table, price)
    out = synthesize(job, gate)
    assert "USING auto takes aim" in out.notes
    assert gate.spent == price.nano == sum(step.price.nano for step in steps(job))
    named = prepare(table, ("a", "b"), (), None, "aim", {}, price)
    assert [s.name for s in steps(named)] == [s.name for s in steps(job)]


def test_an_option_of_no_method_is_refused() -> None:
    table = contract({"a": "INTEGER"}, {"a": Categories((0, 1))})
    with pytest.raises(Refused, match="has no option"):
        prepare(table, ("a",), (), None, "auto", {"nosuch": 1}, Rho(10**6))

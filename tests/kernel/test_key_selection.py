"""Selections of undeclared keys: who alone has a value is not shown to have it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from support.vaults import allowed, contract, write

from sqlpriv.errors import BudgetExhausted, DeclarationError, KernelError, LedgerError, Refused
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.proof.noise import threshold, threshold_of
from sqlpriv.kernel.sql.queries import render_groups
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import YOCTO, Budget, Epsilon, Rho
from sqlpriv.kernel.vault import Kernel

MakeKernel = Callable[..., Kernel]
SCAN, WARD = a.Scan("people"), a.Col("ward")
DELTA = YOCTO // 10**7
RHO = Rho(10**7)  # sigma 7 for a unit in one group
KEYS = Budget("people", Rho(10**18), 1e-9, 3 * DELTA)


def tail(scale: float, least: int) -> Fraction:
    """P(Z >= least) of a discrete Gaussian, in rationals from its definition."""
    reach = int(12 * scale)
    weights = [Fraction(math.exp(-(z * z) / (2 * scale**2))) for z in range(-reach, reach + 1)]
    return sum(weights[reach + least :], Fraction(0)) / sum(weights)


@pytest.mark.parametrize("groups", [1, 2, 5, 100])
@pytest.mark.parametrize("yocto", [YOCTO // 20, YOCTO // 1000, DELTA])
def test_a_new_value_passes_no_more_often_than_delta_allows(groups: int, yocto: int) -> None:
    scale, least = threshold_of(groups, RHO, yocto)
    delta = Fraction(yocto, YOCTO)
    assert scale == pytest.approx(math.sqrt(groups / (2 * RHO.value)))
    assert groups * tail(scale, least - 1) <= delta
    assert groups * tail(scale, round(0.6 * least)) > delta  # and it is not far above


def test_the_measured_rate_is_within_delta() -> None:
    """4,000 values with a count of 1, at delta = 0.05: at most 200 pass, and more than 275 with
    probability 1e-7. Twin: values that two thirds of the threshold have pass far more often."""
    pick = threshold(1, RHO, YOCTO // 20)
    _, least = threshold_of(1, RHO, YOCTO // 20)
    assert len(pick([1] * 4000)) <= 275
    assert len(pick([2 * least // 3] * 4000)) > 275
    assert threshold(1, RHO, DELTA)([10**6, 1, 10**6]) == [0, 2]
    assert pick([]) == []


@pytest.mark.parametrize(("scale", "least"), [(0.9, 1.0), (1.0, 0.8)])
def test_a_threshold_that_does_not_meet_its_price_is_refused(
    monkeypatch: pytest.MonkeyPatch, scale: float, least: float
) -> None:
    wide, high = threshold_of(2, RHO, DELTA)
    monkeypatch.setattr(noise, "threshold_of", lambda *_: (wide * scale, int(high * least)))
    with pytest.raises(KernelError, match="does not meet its price"):
        threshold(2, RHO, DELTA)


def test_delta_for_keys_is_of_budgets_with_a_delta() -> None:
    with pytest.raises(DeclarationError, match="keys_delta"):
        Budget("people", Epsilon(10), 0.0, 1)
    with pytest.raises(DeclarationError, match="keys_delta"):
        Budget("people", Rho(10), 1e-9, YOCTO)


# --- which units a value has ---


@pytest.mark.parametrize("m", [1, 2, 7])
def test_a_unit_is_counted_in_m_values_at_most_and_once_in_each(
    make_kernel: MakeKernel, m: int
) -> None:
    """The worst unit has 51 values, one of them NULL, each three times. Others have one of them
    each, so that no value is left out for having one unit."""
    rows = """CREATE TABLE people AS
        SELECT 0 AS id, CASE WHEN i % 51 < 50 THEN 'w' || (i % 51) END AS ward FROM range(153) r(i)
        UNION ALL SELECT 1 + i, 'w' || (i % 50) FROM range(200) r(i)
        UNION ALL SELECT 1000 + i, NULL FROM range(200) r(i)"""
    kernel = make_kernel(rows, m=m)
    gone = rows.replace("SELECT 0 AS id", "SELECT NULL AS id")
    write(kernel.vault.with_name("without.duckdb"), gone)
    found = kernel.contracts()["people"]
    for key in range(3):
        for exprs in ((WARD,), (WARD, a.Call("%", (a.Col("id"), a.Lit(1, a.Type.INTEGER))))):
            text = render_groups(SCAN, exprs, found, key)
            for_all = {row[:-1]: row[-1] for row in _run(kernel, text)}
            without = {row[:-1]: row[-1] for row in _run(kernel, text, "without.duckdb")}
            moved = {w: for_all.get(w, 0) - without.get(w, 0) for w in {*for_all, *without}}
            assert sum(moved.values()) == m
            assert set(moved.values()) <= {0, 1}
            assert any(None in values for values in for_all)


def test_a_number_beyond_64_bits_is_no_null(make_kernel: MakeKernel) -> None:
    rows = """CREATE TABLE people AS SELECT i AS id,
        CASE WHEN i < 300 THEN 1::HUGEINT << 100 WHEN i < 500 THEN 7 END AS ward
        FROM range(510) r(i)"""
    kernel = make_kernel(rows)
    text = render_groups(SCAN, (WARD,), kernel.contracts()["people"], 0)
    assert dict(_run(kernel, text)) == {7: 199, None: 9}


def _run(kernel: Kernel, text: str, vault: str = "") -> list[tuple[Any, ...]]:
    path = kernel.vault.with_name(vault) if vault else kernel.vault
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(text).fetchall()


@pytest.mark.parametrize(
    ("columns", "collated", "expr"),
    [
        ({"id": "BIGINT", "ward": "VARCHAR"}, True, WARD),
        ({"id": "BIGINT", "ward": "DOUBLE"}, False, WARD),
        ({"id": "BIGINT", "ward": "DATE"}, False, WARD),
    ],
)
def test_values_without_one_spelling_are_refused(
    columns: dict[str, str], collated: bool, expr: a.Expr
) -> None:
    """Under a collation one unit's own spelling could stand for a whole group."""
    with pytest.raises(Refused, match="keys that are selected"):
        render_groups(SCAN, (expr,), replace(contract(columns), collated=collated), 0)


# --- through the gate ---

ROWS = """CREATE TABLE people AS SELECT i AS id, i % 7 AS n,
    CASE WHEN i % 10 = 0 THEN 'rare ' || i ELSE 'ward ' || (i % 3) END AS ward
FROM range(3000) r(i);
"""


def test_many_have_it_or_it_is_not_there(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(ROWS, budget=KEYS)
    with allowed(kernel) as allowance:
        wards = (("ward 0",), ("ward 1",), ("ward 2",))
        assert allowance.select_keys(SCAN, (WARD,), RHO, DELTA) == wards
        assert allowance.spent == RHO
        assert allowance.select_keys(SCAN, (WARD,), RHO, DELTA) == wards
        assert allowance.spent == RHO  # replayed
        both = tuple((n, f"ward {w}") for n in range(7) for w in range(3))
        assert allowance.select_keys(SCAN, (a.Col("n"), WARD), RHO, DELTA) == both
        none = a.Where(SCAN, a.In(WARD, ("rare 10",)))
        assert allowance.select_keys(none, (WARD,), RHO, DELTA) == ()
        with pytest.raises(BudgetExhausted, match="nothing is left of keys_delta"):
            allowance.select_keys(a.Where(SCAN, a.In(WARD, ("x",))), (WARD,), RHO, DELTA)
    account = kernel.ledger.account("people")
    assert account is not None
    assert (account.keys_spent, account.spent) == (3 * DELTA, Rho(3 * RHO.nano))


def test_no_selection_goes_without_its_delta(make_kernel: MakeKernel) -> None:
    """Of an allowance whose price was paid at once, nothing was charged later: no delta, either."""
    kernel = make_kernel(ROWS, budget=KEYS)
    with allowed(kernel, Rho(2 * RHO.nano), whole=True) as allowance:
        assert len(allowance.select_keys(SCAN, (WARD,), RHO, DELTA)) == 3
        with pytest.raises(LedgerError):
            allowance.select_keys(SCAN, (a.Col("n"),), RHO, DELTA)
        account = kernel.ledger.account("people")
        assert account is not None
        assert (account.keys_spent, account.spent) == (DELTA, Rho(2 * RHO.nano))
    with allowed(kernel, Rho(2 * RHO.nano)) as allowance:  # twin: paid piece by piece, it goes
        assert len(allowance.select_keys(SCAN, (a.Col("n"),), RHO, DELTA)) == 7


def test_a_budget_that_keeps_no_delta_selects_nothing(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(ROWS)
    with allowed(kernel) as allowance, pytest.raises(BudgetExhausted, match="keys_delta"):
        allowance.select_keys(SCAN, (WARD,), RHO, DELTA)
    assert kernel.ledger.account("people").charges == 0

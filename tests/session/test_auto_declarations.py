"""`SET PRIVACY DOMAIN AUTO` and `BOUND (rows_per_unit = auto)`: declared by noised counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.templates import vault_of

import sqlpriv
from sqlpriv.errors import DeclarationError, PermissionDenied, Refused

AGE = "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN AUTO"

VISITS = """
CREATE TABLE visits AS SELECT i // 4 AS patient, i % 100 AS age,
    (i % 1000) * 1.5 - 40.0 AS cost, 'a' AS ward FROM range(8000) AS r(i)
    WHERE i % 4 <= (i // 4) % 4;
INSERT INTO visits SELECT 7, 5, 1e9, 'a' FROM range(900);
ALTER TABLE visits ADD PRIVACY_KEY (patient);
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE visits SET PU;
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 10);
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[sqlpriv.Connection]:
    """Yields a table of 2,000 patients with 1 to 4 visits, and one of them with 900."""
    path = vault_of(VISITS, tmp_path / "v.duckdb")
    with sqlpriv.connect(str(path), role="owner") as connection:
        yield connection


def _left(owner: sqlpriv.Connection) -> float:
    return owner.session.quote(f"{AGE} (epsilon = 0.001)").charges[0].epsilon_left


def test_the_bound_is_where_few_rows_are_left_out(owner: sqlpriv.Connection) -> None:
    """Epsilon 1 has a noise of 1.4 units; one of 900 rows is hidden by it, and 500 units of 4 rows
    are not."""
    owner.execute("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1)")
    declared = owner.execute("SHOW PRIVACY DECLARATIONS").fetchall()
    assert "rows_per_unit = 4" in str(declared)


def test_the_domain_is_a_power_of_two_around_the_values(owner: sqlpriv.Connection) -> None:
    """The values of one patient, 1e9, are among 900 rows, of which one counts."""
    owner.execute(f"{AGE} (epsilon = 1)")
    owner.execute("ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN AUTO (epsilon = 1)")
    declared = str(owner.execute("SHOW PRIVACY DECLARATIONS").fetchall())
    assert "age BETWEEN (0, 127)" in declared
    assert "cost BETWEEN (-64.0, 2048.0)" in declared


def test_it_is_charged_once_and_announced(owner: sqlpriv.Connection) -> None:
    assert owner.session.quote(f"{AGE} (epsilon = 0.5)").epsilon == pytest.approx(0.5)
    owner.execute(f"{AGE} (epsilon = 0.5)")
    with pytest.raises(DeclarationError, match="DROP PRIVACY DOMAIN first"):
        owner.execute(f"{AGE} (epsilon = 0.5)")
    owner.execute("ALTER TABLE visits ALTER COLUMN age DROP PRIVACY DOMAIN")
    assert _left(owner) == pytest.approx(9.5)


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("ALTER COLUMN ward SET PRIVACY DOMAIN AUTO (epsilon = 1)", DeclarationError, "numbers"),
        ("ALTER COLUMN nix SET PRIVACY DOMAIN AUTO (epsilon = 1)", DeclarationError, "no column"),
        ("ALTER COLUMN age SET PRIVACY DOMAIN AUTO (price = 1)", Refused, "epsilon"),
        ("SET PRIVACY BOUND (rows_per_unit = auto)", Refused, "one price"),
        ("SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 0)", Refused, "epsilon"),
        ("SET PRIVACY (COLUMN age AUTO (epsilon = 1))", DeclarationError, "stands alone"),
    ],
)
def test_what_does_not_fit_costs_nothing(
    owner: sqlpriv.Connection, sql: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        owner.execute(f"ALTER TABLE visits {sql}")
    assert _left(owner) == pytest.approx(10)


def test_where_nothing_stands_out_nothing_is_declared(owner: sqlpriv.Connection) -> None:
    with pytest.raises(DeclarationError, match="the price is paid"):
        owner.execute(
            "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN AUTO (epsilon = 1e-4)"
        )
    assert "age" not in str(owner.execute("SHOW PRIVACY DECLARATIONS").fetchall())


@pytest.mark.usefixtures("owner")
def test_an_analyst_declares_nothing(tmp_path: Path) -> None:
    with sqlpriv.connect(str(tmp_path / "v.duckdb")) as analyst, pytest.raises(PermissionDenied):
        analyst.execute("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1)")

"""`SET PRIVACY DOMAIN AUTO` and `BOUND (rows_per_unit = auto)`: declared by noised counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support import exact_people
from support.templates import vault_of

import sqlpriv
from sqlpriv.answer.bounds import rows_per_unit, share_left_out
from sqlpriv.errors import DeclarationError, PermissionDenied, Refused
from sqlpriv.kernel.terms.algebra import query_hash
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.contract import Column, PrivacyUnit, TableContract, Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.session.declarations.auto_declarations import all_units_by_rows, rows_by_magnitude
from sqlpriv.session.intents.intents import Intents

AGE = "ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN AUTO"

VISITS = """
CREATE TABLE visits AS SELECT i // 4 AS patient, i % 100 AS age,
    (i % 1000) * 1.5 - 60.0 AS cost, 'a' AS ward FROM range(8000) AS r(i)
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


@pytest.fixture(autouse=True)
def _no_false_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """For users, noise makes an empty cell stand out once in 1,000 releases, and one beyond the
    bound be seen once in 10,000."""
    monkeypatch.setattr(rows_per_unit, "FALSE_CELL", 1e-9)
    monkeypatch.setattr(share_left_out, "_FALSE_CELL", 1e-9)


def _left(owner: sqlpriv.Connection) -> float:
    return owner.session.quote(f"{AGE} (epsilon = 0.001)").charges[0].epsilon_left


def _declare(owner: sqlpriv.Connection, action: str) -> str:
    """Returns what the owner is told."""
    return str(owner.session.run(f"ALTER TABLE visits {action}")[-1].message)


def test_the_bound_is_where_few_rows_are_left_out(owner: sqlpriv.Connection) -> None:
    """At epsilon 1, about 25 units stand out of the noise: one of 900 rows does not, and 500 units
    of 4 rows do."""
    owner.execute("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1)")
    declared = owner.execute("SHOW PRIVACY DECLARATIONS").fetchall()
    assert "rows_per_unit = 4" in str(declared)


def test_it_says_what_it_is_estimated_to_leave_out(owner: sqlpriv.Connection) -> None:
    """Of 400 of the units with 4 rows each another 26 rows are inserted, so that 5 is too few."""
    said = _declare(owner, "SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1)")
    assert "no rows beyond 4 of a unit were seen" in said
    said = _declare(owner, "ALTER COLUMN age SET PRIVACY DOMAIN AUTO (epsilon = 1)")
    assert re.search(r"about [0-9]+ rows lie beyond its ends, give or take [0-9]+", said)
    owner.execute(
        "INSERT INTO visits SELECT patient, 1, 2.0, 'a' FROM range(26), (SELECT DISTINCT patient "
        "FROM visits WHERE patient % 100 < 4)"
    )
    said = _declare(owner, "SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1.5)")
    assert "keeps 32 rows" in said


@pytest.mark.parametrize(
    "bound",
    [
        "SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 0.5)",
        "ALTER COLUMN age SET PRIVACY DOMAIN AUTO (epsilon = 0.5)",
    ],
)
def test_the_price_is_explained_before_it_is_paid(owner: sqlpriv.Connection, bound: str) -> None:
    def total() -> float:
        rows = owner.execute(f"EXPLAIN PRIVACY ALTER TABLE visits {bound}").fetchall()
        return next(float(row[6]) for row in rows if row[0] == "total")

    assert total() == pytest.approx(0.5)
    assert _left(owner) == pytest.approx(10)
    _declare(owner, bound)
    spent = owner.execute("SHOW PRIVACY BUDGET").fetchall()[0][4]
    assert spent == pytest.approx(0.5)


def test_what_is_written_out_has_no_price_to_explain(owner: sqlpriv.Connection) -> None:
    with pytest.raises(Refused, match="costs nothing"):
        owner.execute("EXPLAIN PRIVACY ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2)")


def test_a_unit_of_many_rows_is_one_unit_of_one_cell() -> None:
    """Exact counts, without a unit, and with it and so many rows of it. The twin counts rows, of
    which a unit of a million changes a cell by a million."""
    contract = TableContract(
        "visits",
        (Column("patient", Type.INTEGER, "BIGINT"), Column("age", Type.INTEGER, "BIGINT")),
        PrivacyUnit("visits", "patient", 10**6),
    )
    units, rows = all_units_by_rows("visits"), rows_by_magnitude("visits", "age", True)
    counts = {}
    for number in (0, 1, 1_000_000):
        with exact_people.engine() as engine:
            engine.execute(
                "CREATE TABLE visits AS SELECT i // 3 AS patient, 1 AS age FROM range(300) AS r(i)"
            )
            engine.execute(f"INSERT INTO visits SELECT 1000, 1 FROM range({number})")
            measurements = [Measurement(query, Rho(1)) for query in (units, rows)]
            counts[number] = [r.values for r in exact_people.exact(engine, measurements, contract)]
    without = counts.pop(0)
    for of_units, _ in counts.values():
        assert np.abs(of_units - without[0]).sum() == 1
    assert np.abs(counts[1_000_000][1] - without[1]).sum() == 1_000_000


def test_the_domain_is_a_power_of_two_around_the_values(owner: sqlpriv.Connection) -> None:
    """The values of one patient, 1e9, are among 900 rows, of which one counts. About 8 rows stand
    out at this price; 41 +- 4 that count are of age 0, and as many have a cost below -32."""
    owner.execute(f"{AGE} (epsilon = 4)")
    owner.execute("ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN AUTO (epsilon = 4)")
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


def test_who_declares_the_same_at_the_same_moment_waits(
    owner: sqlpriv.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Intents` has the second wait and pay nothing: of this very query, and until it is sealed."""
    waited_for: list[str] = []
    hold = Intents.hold

    @contextmanager
    def note(self: Intents, snapshot: int, queries: Iterable[str]) -> Iterator[None]:
        names = [*queries]
        with hold(self, snapshot, names):
            yield
        seals = owner.session._access.kernel.ledger.find_seals(snapshot, names[0], Epsilon(1))
        waited_for.extend(names if seals else ())

    monkeypatch.setattr(Intents, "hold", note)
    _declare(owner, "ALTER COLUMN age SET PRIVACY DOMAIN AUTO (epsilon = 1)")
    _declare(owner, "SET PRIVACY BOUND (rows_per_unit = auto, epsilon = 1)")
    queries = rows_by_magnitude("visits", "age", True), all_units_by_rows("visits")
    assert waited_for == [query_hash(query) for query in queries]

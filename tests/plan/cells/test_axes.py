"""Keys of which few combinations can occur have one axis together, in the order of their lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites.vault import make_vault

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.cells.axes import axes_of
from sqlpriv.plan.cells.computed_combinations import Existing
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.pricing.cell_count import TooManyCells
from sqlpriv.session.session import Session
from sqlpriv.statements import tree as t


def key(name: str, *values: Value) -> Dimension:
    """Returns a key of that name and list."""
    return Dimension(t.Name(name), a.Key(a.Col(name), values), Type.TEXT)


NUMBERS = key("number", *range(400))
NAMES = key("name", *(f"n{i}" for i in range(400)), None)
COLOURS = key("colour", "red", "blue")
PAIRS = Existing((0, 1), [(i, f"n{i // 2}") for i in reversed(range(400))])


def test_keys_that_make_few_cells_have_an_axis_each() -> None:
    axes = axes_of([COLOURS, NUMBERS], [0, 1], [Existing((0, 1), [("red", 1)])], strata=1)
    assert [axis.places for axis in axes] == [(0,), (1,)]
    assert [axis.key for axis in axes] == [COLOURS.key, NUMBERS.key]


def test_a_column_that_tells_the_others_is_the_key() -> None:
    axes = axes_of([NUMBERS, NAMES, COLOURS], [0, 1, 2], [PAIRS], strata=1)
    assert [axis.places for axis in axes] == [(0, 1), (2,)]
    assert axes[0].key == NUMBERS.key
    assert axes[0].rows == tuple((i, f"n{i // 2}") for i in range(400))


def test_where_none_tells_the_others_the_number_of_the_combination_is_the_key() -> None:
    rows: list[tuple[Value, ...]] = [(i, f"n{i}") for i in range(400)]
    rows += [(7, "n9"), (9, None), (9, "n7")]
    axes = axes_of([NUMBERS, NAMES], [0, 1], [Existing((0, 1), rows)], strata=1)
    (axis,) = axes
    assert axis.rows[7:12] == ((7, "n7"), (7, "n9"), (8, "n8"), (9, "n7"), (9, "n9"))
    assert axis.rows[12] == (9, None)
    assert len(set(axis.key.values)) == len(axis.rows) == 403
    assert isinstance(axis.key.expr, a.Call)


def test_sets_of_some_of_the_keys_have_the_combinations_of_those() -> None:
    whole = Existing((0, 1, 2), [(i, f"n{i}", "red") for i in range(400)])
    (axis,) = axes_of([NUMBERS, NAMES, COLOURS], [0, 1], [whole], strata=1)
    assert axis.places == (0, 1)
    assert axis.rows[399] == (399, "n399")


def test_of_combinations_about_one_key_the_fewest_are_taken() -> None:
    few = Existing((0,), [(3,), (1,)])
    (numbers_and_names,) = axes_of([NUMBERS, NAMES], [0, 1], [few, PAIRS], strata=2)
    assert numbers_and_names.places == (0, 1)  # 400 of 160,400 are fewer than 2 of 400
    numbers, names = axes_of([NUMBERS, NAMES], [0, 1], [few], strata=2)
    assert numbers.rows == ((1,), (3,))
    assert names.key == NAMES.key


def test_a_condition_that_no_row_meets_leaves_one_combination_for_the_kernel() -> None:
    for rows in ([], [("of no list", "n1")]):
        (axis,) = axes_of([NUMBERS, NAMES], [0, 1], [Existing((0, 1), rows)], strata=1)
        assert len(axis.rows) == 1


def test_combinations_of_keys_that_are_summed_over_say_nothing() -> None:
    of_colours = Existing((2,), [("red",)])
    axes = axes_of([NUMBERS, NAMES, COLOURS], [0, 1], [of_colours], strata=1)
    assert [axis.key for axis in axes] == [NUMBERS.key, NAMES.key]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault of the suites."""
    return make_vault(tmp_path_factory.mktemp("axes") / "vault.duckdb")


LONG = (
    "FROM sales s JOIN products p USING (pid) JOIN days d ON d.d = s.sold"
    " JOIN customers c USING (cid)"
)


def test_strata_beside_them(vault: Path) -> None:
    with Session(vault) as session:
        session.execute("SET privacy_epsilon = 20000")
        asked = f"SELECT c.country, d.d, d.dname, p.pid, p.pname, COUNT(*) AS n {LONG}"
        asked += " WHERE d.moy = 3 AND p.cost < 6 GROUP BY d.d, d.dname, p.pid, p.pname"
        by_country = session.execute(asked + " STRATIFY BY c.country").table.to_pylist()
        assert len(by_country) == 4 * 62 * 4
        plain = session.execute(
            f"SELECT c.country, d.d, p.pid, COUNT(*) AS n {LONG} WHERE d.moy = 3 AND p.cost < 6"
            " GROUP BY c.country, d.d, p.pid HAVING COUNT(*) > 0"
        ).table.to_pylist()
    counts = {(r["country"], r["d"], r["pid"]): r["n"] for r in by_country}
    assert sum(1 for n in counts.values() if n) > len(plain) > 10
    assert all(counts[row["country"], row["d"], row["pid"]] == row["n"] for row in plain)


def test_what_is_too_much_even_so_is_refused(vault: Path) -> None:
    with Session(vault) as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(TooManyCells, match="730000 cells"):
            session.execute(
                f"SELECT d.d, p.pid, p.pname, c.born, COUNT(*) AS n {LONG} GROUP BY ALL"
            )


def test_explain_shows_what_is_paid(vault: Path) -> None:
    with Session(vault) as session:
        asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2)"
        asked += f" d.d, d.dname, p.pid, p.pname, COUNT(*) AS n {LONG} GROUP BY ALL"
        rows = session.execute(f"EXPLAIN PRIVACY {asked}").table.to_pylist()
        (output,) = [row for row in rows if str(row["measurement"]).startswith("output n")]
        assert output["cells"] == 730 * 20
        assert session.execute(asked).table.num_rows == 730 * 20

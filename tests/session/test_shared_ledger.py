"""One budget for vaults on several machines: their ledger in PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.child_processes import ChildPython

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.kernel.terms.budget import Budget, Epsilon
from sqlpriv.session.commands.backup import back_up
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id INTEGER PRIMARY KEY, sex INTEGER);
INSERT INTO people SELECT i, i % 2 FROM range(1000) t(i);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1)
"""
ASK = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) sex, count(*) FROM people GROUP BY 1"


@pytest.fixture
def two(tmp_path: Path, url: str) -> tuple[Path, Path]:
    """A vault whose ledger was moved, and a copy of it elsewhere that shares the ledger."""
    first, second = tmp_path / "a" / "people.duckdb", tmp_path / "b" / "people.duckdb"
    first.parent.mkdir()
    second.parent.mkdir()
    with Session(first, role="owner") as owner:
        owner.run(MAKE)
    result = CliRunner().invoke(main, ["ledger", "move", str(first), "--to", url])
    assert result.exit_code == 0, result.output
    assert "moved 4 records (charges, budgets, declarations)" in result.output
    shutil.copy2(first, second)
    sqlpriv.connect(second, ledger=url).close()
    return first, second


def left(vault: Path) -> float:
    with Session(vault) as session:
        table = session.run("SHOW PRIVACY BUDGET")[0].table
        assert table is not None
        row = table.to_pylist()[0]
    return next(float(value) for key, value in row.items() if "left" in key)


def test_what_one_was_asked_the_other_replays(two: tuple[Path, Path]) -> None:
    answers = []
    for vault in two:
        with Session(vault) as session:
            table = session.run(ASK.format(0.25))[0].table
            assert table is not None
            answers.append(table.to_pylist())
    assert answers[0] == answers[1]
    assert [left(vault) for vault in two] == [0.75, 0.75]


def test_the_last_of_the_budget_is_sold_once(two: tuple[Path, Path]) -> None:
    """100 units of .01 are left; 16 processes on two vaults buy 100, whoever gets them."""
    script = (
        "import sys, sqlpriv\n"
        "from sqlpriv.kernel.terms.budget import Epsilon\n"
        "from sqlpriv.kernel.vault import Kernel\n"
        "from pathlib import Path\n"
        "ledger, sold = Kernel(Path(sys.argv[1])).ledger, 0\n"
        "try:\n"
        "    while True:\n"
        "        ledger.charge(ledger.begin_statement('x', ''), 'people', Epsilon(10**7))\n"
        "        sold += 1\n"
        "except sqlpriv.Error as error:\n"
        "    assert 'is left' in str(error), error\n"
        "print(sold)"
    )
    buyers = [ChildPython(script, two[i % 2]) for i in range(16)]
    assert sum(int(buyer.communicate(timeout=120)[0]) for buyer in buyers) == 100
    assert [left(vault) for vault in two] == [0, 0]


@pytest.mark.slow
def test_the_last_units_of_fifty_budgets_are_sold_once(two: tuple[Path, Path]) -> None:
    """The same race in 50 repetitions: 16 processes come to each budget together, as each has just
    seen the one before run out. No budget sells one unit more or less."""
    budgets = [f"unit_{i}" for i in range(50)]
    script = (
        "import sys, sqlpriv\n"
        "from sqlpriv.kernel.terms.budget import Epsilon\n"
        "from sqlpriv.kernel.vault import Kernel\n"
        "from pathlib import Path\n"
        "ledger = Kernel(Path(sys.argv[1])).ledger\n"
        "for unit in sys.argv[2:]:\n"
        "    sold = 0\n"
        "    try:\n"
        "        while True:\n"
        "            ledger.charge(ledger.begin_statement('x', ''), unit, Epsilon(10**7))\n"
        "            sold += 1\n"
        "    except sqlpriv.Error as error:\n"
        "        assert 'is left' in str(error), error\n"
        "    print(sold)"
    )
    with Session(two[0], role="owner") as owner:
        ledger = owner._access.kernel.ledger
        for unit in budgets:
            ledger.set_budget(Budget(unit, Epsilon(10**9), 0.0), "olga")
    buyers = [ChildPython(script, two[i % 2], *budgets) for i in range(16)]
    sold = [[int(line) for line in buyer.communicate(timeout=900)[0].split()] for buyer in buyers]
    assert [sum(of_budget) for of_budget in zip(*sold, strict=True)] == [100] * len(budgets)
    shared = sum(sum(n > 0 for n in of_budget) > 1 for of_budget in zip(*sold, strict=True))
    assert shared > 25, "it was no race: most budgets were sold to one process alone"


def test_a_vault_keeps_to_its_ledger(two: tuple[Path, Path], url: str, tmp_path: Path) -> None:
    moved = two[0].with_suffix(".ledger.moved")
    assert moved.exists()
    with pytest.raises(sqlpriv.OperationalError, match="sqlpriv ledger move"):
        sqlpriv.connect(two[0], ledger=url.replace("/postgres", "/other"))
    with pytest.raises(sqlpriv.OperationalError, match="pg_dump"):
        back_up(two[0], tmp_path / "backup")
    again = CliRunner().invoke(main, ["ledger", "move", str(two[0]), "--to", url])
    assert (again.exit_code, "was moved before" in again.output) == (1, True)


def test_a_ledger_that_is_not_reached_costs_and_answers_nothing(tmp_path: Path) -> None:
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.run("CREATE TABLE t (a INTEGER)")
    (tmp_path / "v.ledger").unlink()
    (tmp_path / "v.ledger.mark").unlink()
    with pytest.raises(sqlpriv.OperationalError, match="cannot be used just now"):
        sqlpriv.connect(tmp_path / "v.duckdb", ledger="postgresql://x@127.0.0.1:1/d")

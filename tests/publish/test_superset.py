"""Apache Superset itself over published tables: environment, REST, chart, picture in Chromium.

Ten minutes the first time, most of them pip's. SQLPRIV_SUPERSET names a folder that
examples/superset/setup.sh made before and spares them.
"""

import fcntl
import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from support.places import ROOT

import sqlpriv
from sqlpriv.interfaces.cli import demo
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.endpoints.listen import Server
from sqlpriv.interfaces.server.spending_rules import SpendingRules
from sqlpriv.kernel.ledger.records import Ledger

EXAMPLE = ROOT / "examples" / "superset"
CREATE = (
    "CREATE SYNTHETIC TABLE people_synth AS SELECT SEX, RAC1P, PINCP FROM people"
    " STRATIFY BY SEX, RAC1P USING independent OPTIONS (epsilon = 2, rows = 50000)"
)
COLOURS = (
    "import sys; from PIL import Image; i = Image.open(sys.argv[1]).convert('RGB');"
    "print(*i.size, *sorted(n for n, _ in i.getcolors(2**24))[-3:])"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromedriver") is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def superset(tmp_path_factory):
    """A folder with Superset."""
    if found := os.environ.get("SQLPRIV_SUPERSET"):
        return Path(found)
    folder = tmp_path_factory.mktemp("superset")
    subprocess.run([EXAMPLE / "setup.sh", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """The demo's vault of 20,000 people, with a synthetic table."""
    folder = tmp_path_factory.mktemp("vault")
    demo.run(folder, 20_000)
    path = folder / "people.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute("DROP SYNTHETIC TABLE people_synth")
        owner.execute(CREATE)
    return path


def charted(superset, uri, picture, *table):
    """Returns the chart's rows as Superset computed them, and has the picture taken."""
    python = superset / "venv" / "bin" / "python"
    command = [python, EXAMPLE / "chart.py", superset, uri, picture, *table]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with open(superset / "lock", "w") as lock:  # Superset knows a table's name once
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    return {(row["sex"], row["race"]): row["average income"] for row in rows}


def expected(path):
    """The same rows by plain DuckDB."""
    with duckdb.connect(str(path), read_only=True) as plain:
        rows = plain.execute(
            "SELECT if(SEX = 1, 'men', 'women'), CASE RAC1P WHEN 1 THEN 'White' WHEN 2 THEN 'Black'"
            " WHEN 6 THEN 'Asian' WHEN 8 THEN 'other' WHEN 9 THEN 'two or more'"
            " ELSE 'smaller groups' END, avg(PINCP) FROM people_synth GROUP BY ALL"
            " HAVING count(*) >= 1000"
        ).fetchall()
    return {(sex, race): income for sex, race, income in rows}


def test_a_chart_by_stratum_over_duckdb(superset, vault, tmp_path):
    target = tmp_path / "bi.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute("PUBLISH TO ?", [str(target)])
    uri = f"duckdb:///{target}?access_mode=read_only"
    found = charted(superset, uri, tmp_path / "chart.png")
    assert found == pytest.approx(expected(target))
    assert len(found) >= 4
    drawn_in_two_colours(superset, tmp_path / "chart.png")


def test_a_chart_by_stratum_over_postgresql(superset, vault, postgresql, tmp_path):
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute("PUBLISH people_synth TO ?", [postgresql])
    uri = postgresql.replace("postgresql://", "postgresql+psycopg2://")
    found = charted(superset, uri, tmp_path / "chart.png")
    assert found == pytest.approx(expected(vault.with_suffix(".release.duckdb")))
    drawn_in_two_colours(superset, tmp_path / "chart.png")


def test_a_chart_on_a_live_private_table_is_paid_once(superset, vault, tmp_path):
    """Superset speaks PostgreSQL's protocol to the server: its refresh is free."""
    rules = SpendingRules(epsilon=0.3)
    token = users.add_user(vault, "dash", "analyst", "test", rules=rules)
    with Server(vault, "grpc://127.0.0.1:0", postgresql="127.0.0.1:0") as server:
        host, port = server.postgresql.address
        uri = f"postgresql+psycopg2://dash:dash.{token}@{host}:{port}/people"
        before = account(vault)
        rows = charted(superset, uri, tmp_path / "chart.png", "people")
        once = account(vault)
        assert once > before
        drawn_in_two_colours(superset, tmp_path / "chart.png")
        assert charted(superset, uri, tmp_path / "again.png", "people") == rows
        assert account(vault) == once
    assert {sex for sex, _ in rows} == {"men", "women"}
    assert len(rows) >= 4


def account(vault):
    """Returns how many charges the one budget has had, and what they come to."""
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        budget = ledger.account("people")
        return budget.charges, budget.spent.nano


def drawn_in_two_colours(superset, picture):
    """Beside the background there are two colours of many pixels: the bars of men and women."""
    python = superset / "venv" / "bin" / "python"
    said = subprocess.run([python, "-I", "-c", COLOURS, picture], capture_output=True, check=True)
    width, height, third, second, first = map(int, said.stdout.split())
    assert width * height > 300_000
    assert first > second > 5_000
    assert third > 5_000

"""TPC-H: without noise, each query that is answered has plain DuckDB's answer.

No bound of the vault cuts: a customer has at most 32 orders and 139 lines. The noise is taken out
where it is drawn; all else is the way that a user's statement takes.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.places import ROOT, SHARED

import sqlpriv
from sqlpriv.kernel.proof import noise

TPCH = ROOT / "examples" / "tpch"
DATA = SHARED / "data"
if not (DATA / "tpch_sf001_lineitem.parquet").exists():
    pytest.skip("the tables of TPC-H are not here", allow_module_level=True)


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"tpch_{name}", TPCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[f"tpch_{name}"] = made
    spec.loader.exec_module(made)
    return made


vault = module("vault")
REFUSED = {3: "one unit", 10: "one unit", 18: "public list"}
# Cells without rows: SQL leaves them out, and gives NULL for their sums.
EMPTY_TOO = {1, 4, 5, 7, 9, 12, 13, 21, 22}
WITHOUT_LIMIT = {21: "\nLIMIT 100"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = vault.make(tmp_path_factory.mktemp("tpch") / "tpch.duckdb", DATA)
    return path


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as engine:
        for table in vault.KEYS:
            engine.execute(f"CREATE TABLE {table} AS FROM '{DATA}/tpch_sf001_{table}.parquet'")
        yield engine


def close(x: Any, y: Any) -> bool:
    """A mean is clipped where its noise would be larger than what it loses, even if none is drawn:
    by less than 1e-4 of it at the test's price."""
    if isinstance(x, str) or isinstance(y, str):
        return bool(x == y)
    return math.isclose(float(x or 0), float(y or 0), rel_tol=2e-4, abs_tol=0.51)


@pytest.mark.parametrize("number", sorted(set(range(1, 23)) - set(REFUSED)))
def test_without_noise_a_query_answers_what_duckdb_does(
    made: Path, plain: duckdb.DuckDBPyConnection, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise.Noise, "draw", lambda _, n: [0] * n)
    text = vault.queries()[number].replace(WITHOUT_LIMIT.get(number, "\n\n"), "")
    with sqlpriv.connect(made) as con:
        con.execute("SET privacy_epsilon = 10000")
        ours = con.execute(text).fetchall()
    theirs = plain.execute(text).fetchall()
    assert theirs
    if number in EMPTY_TOO:  # declared groups without rows: counts and sums of 0
        keys = sum(isinstance(x, str) for x in theirs[0]) or 1
        keys = {7: 3, 9: 2}.get(number, keys)
        known = {tuple(row[:keys]): row[keys:] for row in theirs}
        rest = [row for row in ours if tuple(row[:keys]) not in known]
        assert all(close(x, 0) for row in rest for x in row[keys:])
        ours = [row for row in ours if tuple(row[:keys]) in known]
        ours, theirs = sorted(ours), sorted(theirs)
    assert len(ours) == len(theirs)
    for mine, its in zip(ours, theirs, strict=True):
        assert all(map(close, mine, its)), (mine, its)


@pytest.mark.parametrize("number", sorted(REFUSED))
def test_what_is_about_single_customers_is_refused_or_has_no_group(made: Path, number: int) -> None:
    text = vault.queries()[number]
    threshold = (
        "SELECT WITH DIFFERENTIAL_PRIVACY"
        " OPTIONS (epsilon = 1, group_selection_strategy = LAPLACE_THRESHOLD)"
    )
    with sqlpriv.connect(made) as con:
        con.execute("SET privacy_epsilon = 1")
        with pytest.raises(sqlpriv.Refused, match=REFUSED[number]):
            con.execute(text)
        before = con.execute("SHOW PRIVACY BUDGET").fetchall()
        assert con.execute(text.replace("SELECT", threshold, 1)).fetchall() == []
        assert con.execute("SHOW PRIVACY BUDGET").fetchall() == before


@pytest.mark.parametrize("number", [4, 13, 14, 15, 22])
def test_explain_tells_what_is_charged(made: Path, number: int) -> None:
    text = vault.queries()[number].replace("SELECT", "SELECT /* once more */", 1)
    with sqlpriv.connect(made, principal=f"q{number}") as con:
        con.execute("SET privacy_epsilon = 1.125")
        told = con.execute(f"EXPLAIN PRIVACY {text}").df()
        paid = con.execute(text).result
        again = con.execute(f"EXPLAIN PRIVACY {text}").df()
    assert not again[again["measurement"] == "total"]["rho"].sum()
    due = told[told["measurement"] == "total"]["rho"].sum()
    assert paid is not None
    assert paid.price is not None
    assert due == pytest.approx(paid.price.value, abs=1e-9)

"""More rows of a model that is kept with its table: free, conditional, by seed, safe to read."""

from __future__ import annotations

import os
import pickle
import stat
from dataclasses import replace

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract
from support.templates import vault_of

from sqlpriv.errors import OperationalError, Refused
from sqlpriv.kernel.terms.budget import rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.session.session import Session
from sqlpriv.synth import kept_model
from sqlpriv.synth.kept_model import draw_rows, read_model, write_model
from sqlpriv.synth.registry import REGISTRY
from sqlpriv.synth.synthesis import prepare, synthesize

TABLE = contract(
    {
        "a": ("INTEGER", Categories((0, 1, 2))),
        "b": ("VARCHAR", Categories(("x", "y", "z", None))),
        "age": ("INTEGER", Interval(0, 99)),
        "s": ("INTEGER", Categories((0, 1))),
    }
)
MAKE = """
CREATE TABLE people AS SELECT i AS id, i % 3 AS a, (i % 100)::INT AS age FROM range(900) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN a SET PRIVACY DOMAIN IN (0, 1, 2);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9);
CREATE SYNTHETIC TABLE s AS SELECT a, age FROM people USING mst OPTIONS (epsilon = 1);
"""
QUICK = ("independent", "mst", "aim", "privbayes", "histogram", "gaussian", "gsd", "hdmm", "pmw")


def people(rows: int) -> dict[str, list]:
    rng = np.random.default_rng(0)
    a, age = rng.integers(0, 3, rows), rng.integers(0, 100, rows)
    b = [("x", "y", None)[i] for i in a]
    return {"a": a.tolist(), "b": b, "age": age.tolist(), "s": (age > 49).astype(int).tolist()}


def kept(method="mst", strata=("s",)):
    price = rho_of(4.0, 1e-9)
    job = prepare(TABLE, ("a", "b", "age"), strata, None, method, {}, price)
    return synthesize(job, FakeGate(people(2_000), TABLE, price)).kept


@pytest.mark.parametrize("method", QUICK)
def test_what_is_read_back_draws_the_same_rows_by_the_same_seed(tmp_path, method):
    assert method in REGISTRY
    model, vault = kept(method, ()), tmp_path / "v.duckdb"
    write_model(model, tmp_path / "models", "S 1", vault)
    again = read_model(tmp_path / "models", "s 1")
    assert again is not None
    first, same, other = (
        draw_rows(m, 400, None, k) for m, k in ((model, 7), (again, 7), (again, 8))
    )
    assert first.equals(same)
    assert not first.equals(other)
    assert first.column_names == ["a", "b", "age"]


def test_only_those_who_may_see_the_vault_may_read_it(tmp_path):
    vault = tmp_path / "v.duckdb"
    vault.touch(mode=0o600)
    os.chmod(vault, 0o600)
    write_model(kept(), tmp_path / "models", "s", vault)
    (file,) = (tmp_path / "models").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) & 0o066 == 0


def test_a_condition_is_met_by_all_rows_and_the_rest_follows_the_model():
    """b is x where a is 0, in nine tenths and more; without the condition, the twin, in a third."""
    model = kept()
    table = draw_rows(model, 1_000, "a = 0 AND age > 65")
    assert set(table["a"].to_pylist()) == {0}
    assert min(table["age"].to_pylist()) > 65
    assert table["b"].to_pylist().count("x") > 900
    assert draw_rows(model, 1_000)["b"].to_pylist().count("x") < 500


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nosuch = 1", 'no column "nosuch"'),
        ("a = 0; DROP TABLE s", "WHERE"),
        ("a = 0 AND a = 1", "too few rows"),
        ("age > 'old'", "cannot be computed"),
    ],
)
def test_what_cannot_be_drawn_is_refused(where, words):
    with pytest.raises(Refused, match=words):
        draw_rows(kept(), 10, where)


def test_a_condition_that_no_row_meets_is_refused_after_a_million_rows(monkeypatch):
    """Forty batches of 1.2 million rows were drawn before, for a hundred rows: minutes."""
    batches, draw_all = [], kept_model.draw_table

    def count_rows(domain, options, *rest):
        batches.append(options["rows"])
        return draw_all(domain, {**options, "rows": 10}, *rest)

    monkeypatch.setattr(kept_model, "draw_table", count_rows)
    with pytest.raises(Refused, match="0 of 1,000,000 that were drawn"):
        draw_rows(kept(), 100, "b = 'nothing'")
    assert sum(batches) == 1_000_000


class Evil:
    """What a foreign file may hold: a call of any function."""

    def __reduce__(self):
        return os.system, ("touch evil-was-here",)


def test_a_foreign_file_calls_nothing(tmp_path, monkeypatch):
    """The twin: the standard reader does call it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models"
    write_model(kept(), folder, "s", tmp_path / "v.duckdb")
    (file,) = folder.iterdir()
    file.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(OperationalError, match="cannot be read"):
        read_model(folder, "s")
    assert not (tmp_path / "evil-was-here").exists()
    pickle.loads(file.read_bytes())
    assert (tmp_path / "evil-was-here").exists()
    for rubbish in (b"", b"rubbish", pickle.dumps({"a": 1})):
        file.write_bytes(rubbish)
        with pytest.raises(OperationalError):
            read_model(folder, "s")


def test_a_model_of_another_version_is_no_damaged_file(tmp_path):
    """After an upgrade an owner took it for a loss of the released table."""
    folder = tmp_path / "models"
    write_model(replace(kept(), version=1), folder, "S 1", tmp_path / "v.duckdb")
    with pytest.raises(OperationalError, match="another version of sqlpriv") as refusal:
        read_model(folder, "s 1")
    assert 'CREATE OR REPLACE SYNTHETIC TABLE "s 1" makes both anew' in str(refusal.value)


@pytest.fixture
def owner(tmp_path):
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), role="owner") as session:
        yield session


def spent(session: Session) -> float:
    return session.execute("SHOW PRIVACY BUDGET").table.to_pylist()[0]["epsilon_spent"]


def test_more_rows_cost_nothing_when_the_budget_is_spent(owner):
    before = spent(owner)
    text = "CREATE SYNTHETIC TABLE more FROM MODEL s ROWS 5000 WHERE age > 65 OPTIONS (seed = 3)"
    message = owner.execute(text).message
    assert "nothing was read or charged" in message
    assert "the model's quality: " in message
    comments = "SELECT comment FROM duckdb_tables() WHERE table_name = 'more'"
    (comment,) = owner.execute(comments).table["comment"].to_pylist()
    assert "quality: " in comment
    told = owner.execute("SELECT count(*) AS n, min(age) AS low FROM more").table.to_pylist()
    assert told[0]["n"] == 5000
    assert told[0]["low"] > 65
    assert spent(owner) == before
    owner.execute(
        "CREATE SYNTHETIC TABLE again FROM MODEL s ROWS 5000 WHERE age > 65 OPTIONS (seed = 3)"
    )
    apart = "SELECT count(*) AS n FROM (FROM more EXCEPT ALL FROM again)"
    assert owner.execute(apart).table.to_pylist() == [{"n": 0}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE SYNTHETIC TABLE x FROM MODEL nosuch ROWS 5", 'no model "nosuch"'),
        ("CREATE SYNTHETIC TABLE s FROM MODEL s ROWS 5", "already"),
        ("CREATE SYNTHETIC TABLE people FROM MODEL s ROWS 5", "table of the vault"),
        ("CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 0", "from 1 to"),
        ("CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 'many'", "whole number"),
        ("CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 5 OPTIONS (noise = 0)", 'no option "noise"'),
        ("CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 5 OPTIONS (seed = -1)", "at least 0"),
        ("EXPLAIN PRIVACY CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 5", "cost nothing"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(owner, text, words):
    with pytest.raises(Refused, match=words):
        owner.execute(text)


def test_a_dropped_table_takes_its_model_along(owner):
    owner.execute("DROP SYNTHETIC TABLE s")
    with pytest.raises(Refused, match="no model"):
        owner.execute("CREATE SYNTHETIC TABLE x FROM MODEL s ROWS 5")

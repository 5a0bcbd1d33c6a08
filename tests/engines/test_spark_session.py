"""A vault whose files Spark reads: asked, changed meanwhile, interfered with, too slow."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlpriv
from sqlpriv.errors import OperationalError, ReadFailed
from sqlpriv.kernel import reader
from sqlpriv.kernel.spark import spark_session as connection

DECLARED = """
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6);
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'it''s \\ m');
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 300)
"""
ASK = """SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) sex, count(*) AS n, sum(pay) AS pay
FROM people GROUP BY sex ORDER BY sex"""


def people(path: Path, rows: int) -> None:
    query = f"""SELECT i AS id, CASE i % 2 WHEN 0 THEN 'f' ELSE 'it''s \\ m' END AS sex,
        i % 301 AS pay FROM range({rows}) t(i)"""
    with duckdb.connect() as engine:
        engine.sql(query).write_parquet(str(path))


@pytest.fixture
def vault(spark_url: str, tmp_path: Path) -> Iterator[sqlpriv.Connection]:
    people(tmp_path / "people.parquet", 602)
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner", engine=spark_url) as opened:
        cursor = opened.cursor()
        cursor.execute(f"CREATE TABLE people FROM PARQUET '{tmp_path}/people.parquet'; {DECLARED}")
        yield opened


def left(vault: sqlpriv.Connection) -> float:
    """What of the budget is left, as epsilon."""
    ((_, epsilon, _),) = vault.session.budgets()
    return epsilon


def ask(vault: sqlpriv.Connection, epsilon: float = 1e4) -> list[tuple[Any, ...]]:
    cursor = vault.cursor()
    cursor.execute(ASK.format(epsilon))
    return cursor.fetchall()


def test_spark_answers_as_duckdb_does(vault: sqlpriv.Connection, tmp_path: Path) -> None:
    answer = ask(vault)
    assert [row[:2] for row in answer] == [("f", 301), ("it's \\ m", 301)]
    assert [round(row[2] / 301) for row in answer] == [150, 150]
    before = left(vault)
    assert ask(vault) == answer  # replayed
    assert left(vault) == before
    vault.close()
    again = sqlpriv.connect(tmp_path / "v.duckdb", role="owner", engine="duckdb")
    assert [row[:2] for row in ask(again)] == [row[:2] for row in answer]
    assert left(again) < before  # another engine is another snapshot
    again.close()


def test_a_file_that_changed_before_the_read_is_a_new_snapshot(
    vault: sqlpriv.Connection, tmp_path: Path
) -> None:
    assert [row[1] for row in ask(vault)] == [301, 301]
    people(tmp_path / "people.parquet", 1000)
    assert [row[1] for row in ask(vault)] == [500, 500]


def test_a_file_that_changes_during_the_read_gives_no_answer(
    vault: sqlpriv.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = connection.Spark.execute

    def change_then_ask(self: connection.Spark, sql: str) -> Any:
        result = real(self, sql)
        people(tmp_path / "people.parquet", 1000)
        return result

    before = left(vault)
    monkeypatch.setattr(connection.Spark, "execute", change_then_ask)
    with pytest.raises(ReadFailed, match="changed while it was read"):
        ask(vault)
    assert left(vault) < before  # what was paid is spent


@pytest.mark.parametrize("interference", ["setting", "view"])
def test_a_session_that_was_changed_is_not_asked(
    vault: sqlpriv.Connection, monkeypatch: pytest.MonkeyPatch, interference: str
) -> None:
    real = connection.Spark._frame

    def interfere(self: connection.Spark, sql: str) -> Any:
        if interference == "setting":
            self._session.conf.set("spark.sql.ansi.enabled", "true")
        elif self._plans:
            view = next(iter(self._plans))
            other = self._session.sql("SELECT 1L AS id, 'f' AS sex, 1L AS pay")
            other.createOrReplaceTempView(view)
        return real(self, sql)

    before = left(vault)
    monkeypatch.setattr(connection.Spark, "_frame", interfere)
    with pytest.raises(OperationalError, match="nothing was read or charged"):
        ask(vault)
    assert left(vault) == before


def test_a_server_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    people(tmp_path / "people.parquet", 10)
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner", engine="duckdb") as opened:
        cursor = opened.cursor()
        cursor.execute(f"CREATE TABLE people FROM PARQUET '{tmp_path}/people.parquet'; {DECLARED}")
    with sqlpriv.connect(tmp_path / "v.duckdb", engine="spark://127.0.0.1:9") as opened:
        before = left(opened)
        with pytest.raises(OperationalError, match="Spark cannot be reached"):
            ask(opened)
        assert left(opened) == before


def test_what_spark_says_is_not_what_an_error_came_of() -> None:
    with pytest.raises(OperationalError) as failure:
        connection.Spark("spark://127.0.0.1:9")
    assert failure.value.__suppress_context__


def test_a_read_that_takes_too_long_is_stopped_on_the_cluster(
    vault: sqlpriv.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(vault)  # what is loaded with the first statement is loaded
    real, ended = connection.Spark.execute, []

    def ask_for_ever(self: connection.Spark, _: str) -> Any:
        began = time.monotonic()
        try:
            return real(
                self, "SELECT sum(a.id * b.id % 7) FROM range(100000000) a, range(1000000) b"
            )
        finally:
            ended.append(time.monotonic() - began)

    monkeypatch.setattr(reader, "TIMEOUT_SECONDS", 5.0)
    monkeypatch.setattr(connection.Spark, "execute", ask_for_ever)
    before = left(vault)
    with pytest.raises(ReadFailed, match="could not finish reading; the charge stays"):
        ask(vault, 2e4)
    assert 5 <= ended[0] < 7
    assert left(vault) < before


def test_no_error_quotes_a_row_or_a_statement(
    vault: sqlpriv.Connection,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = connection.Spark.execute

    def fail(self: connection.Spark, _: str) -> Any:
        return real(self, "SELECT raise_error(concat('se', 'cret')), 'se' || 'cret'")

    monkeypatch.setattr(connection.Spark, "execute", fail)
    with caplog.at_level(logging.DEBUG), pytest.raises(ReadFailed) as failure:
        ask(vault)
    text = "".join(traceback.format_exception(failure.value))
    shown = capfd.readouterr()
    for words in (text, shown.out, shown.err, caplog.text):
        assert "secret" not in words
        assert "raise_error" not in words.replace('"SELECT raise_error', "")

"""A Connect server or an executor that dies, rows that are appended, keys that occur twice: what
is charged."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import duckdb
import pytest
from engines.test_spark_session import ASK, DECLARED, left, people
from support.spark_server import spark_server

import sqlpriv
from sqlpriv.errors import OperationalError, ReadFailed
from sqlpriv.kernel.spark import spark_session as connection


def vault_of(folder: Path, url: str) -> sqlpriv.Connection:
    """A vault whose label nobody else would write."""
    people(folder / "people.parquet", 602)
    opened = sqlpriv.connect(folder / "v.duckdb", role="owner", engine=url)
    opened.cursor().execute(
        f"CREATE TABLE people FROM PARQUET '{folder}/people.parquet'; {DECLARED}"
    )
    return opened


@pytest.mark.parametrize(
    ("step", "charged", "raised"),
    [
        ("__init__", False, OperationalError),
        ("prepare", False, OperationalError),
        ("execute", True, ReadFailed),
        ("close", True, None),
    ],
)
def test_a_server_that_is_killed_is_charged_for_once_at_most(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    step: str,
    charged: bool,
    raised: type[Exception] | None,
) -> None:
    real = getattr(connection.Spark, step)
    with spark_server(tmp_path / "server.log", own=True) as (url, process):

        def kill_then_go_on(self: connection.Spark, *arguments: Any) -> Any:
            os.kill(process, signal.SIGKILL)
            time.sleep(0.5)
            return real(self, *arguments)

        with vault_of(tmp_path, url) as vault:
            before, text = left(vault), ""
            monkeypatch.setattr(connection.Spark, step, kill_then_go_on)
            if raised is None:
                assert vault.cursor().execute(ASK.format(1e4)).fetchall()
            else:
                with pytest.raises(raised) as failure:
                    vault.cursor().execute(ASK.format(1e4))
                text = "".join(traceback.format_exception(failure.value))
            after = left(vault)
            assert (after < before) is charged
            if raised:  # asked again, what was paid is not paid for twice, nor forgotten
                with pytest.raises(OperationalError, match="nothing was read or charged"):
                    vault.cursor().execute(ASK.format(1e4))
                assert left(vault) == after
    shown = capfd.readouterr()
    logged = "".join(f.read_text(errors="replace") for f in tmp_path.glob("*.audit"))
    for words in (text, shown.out, shown.err, logged.replace("it''s", "")):
        assert "it's" not in words
        assert "sqlpriv_table_" not in words


def executors(server: int) -> set[int]:
    """The processes that do the work of a server whose master is `local-cluster[…]`."""
    children = Path(f"/proc/{server}/task").glob("*/children")
    return {int(child) for file in children for child in file.read_text().split()}


def test_an_executor_that_is_killed_is_paid_for_once_and_answers_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks run again on a new one, and give the same numbers: the text says all of them."""
    real, killed, ended = connection.Spark.execute, list[int](), threading.Event()
    master = "local-cluster[1,1,1024]"
    with spark_server(tmp_path / "server.log", own=True, master=master) as (url, server):

        def kill_two() -> None:
            while len(killed) < 2 and not ended.wait(1):
                for executor in executors(server).difference(killed):
                    os.kill(executor, signal.SIGKILL)
                    killed.append(executor)

        def execute_meanwhile(self: connection.Spark, sql: str) -> Any:
            thread = threading.Thread(target=kill_two)
            thread.start()
            # tens of seconds of work that the executors are killed in, and the statement's own
            late = "SELECT max(id % 7) AS most FROM range(3000000000)"
            table = real(self, f"SELECT * FROM ({sql}) CROSS JOIN ({late})")
            ended.set()
            thread.join()
            assert table.column("most").to_pylist() == [6] * len(table)
            return table.drop_columns(["most"])

        with vault_of(tmp_path, url) as vault:
            before = left(vault)
            monkeypatch.setattr(connection.Spark, "execute", execute_meanwhile)
            answer = vault.cursor().execute(ASK.format(1e4)).fetchall()
            assert len(killed) == 2
            assert [row[1] for row in answer] == [301, 301]
            assert before - left(vault) == pytest.approx(1e4)
            assert vault.cursor().execute(ASK.format(1e4)).fetchall() == answer
            assert before - left(vault) == pytest.approx(1e4)


def test_rows_appended_between_plan_and_read_cost_nothing(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = connection.Spark.__init__
    with vault_of(tmp_path, spark_url) as vault:
        before = left(vault)

        def append_then_connect(self: connection.Spark, url: str) -> None:
            monkeypatch.undo()
            people(tmp_path / "people.parquet", 1000)
            real(self, url)

        monkeypatch.setattr(connection.Spark, "__init__", append_then_connect)
        with pytest.raises(OperationalError, match=r"changed.*nothing was read or charged"):
            vault.cursor().execute(ASK.format(1e4))
        assert left(vault) == before
        answer = vault.cursor().execute(ASK.format(1e4)).fetchall()  # planned anew
        assert [row[1] for row in answer] == [500, 500]
        assert before - left(vault) == pytest.approx(1e4)


def test_files_added_during_a_read_give_the_pinned_files_answer(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lake's writers add files to a folder, and replace none."""
    real, folder, added = connection.Spark.execute, tmp_path / "lake", list[Path]()
    folder.mkdir()

    def add_then_execute(self: connection.Spark, sql: str) -> Any:
        added.append(folder / f"added-{len(added)}.parquet")
        people(added[-1], 1000)
        return real(self, sql)

    people(folder / "people.parquet", 602)
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner", engine=spark_url) as vault:
        vault.cursor().execute(f"CREATE TABLE people FROM PARQUET '{folder}/*.parquet'; {DECLARED}")
        before = left(vault)
        monkeypatch.setattr(connection.Spark, "execute", add_then_execute)
        for _ in range(2):  # the second time it is replayed: the files are still the same
            answer = vault.cursor().execute(ASK.format(1e4)).fetchall()
            assert [row[1] for row in answer] == [301, 301]
            assert before - left(vault) == pytest.approx(1e4)
        assert len(added) == 1
        again = f"CREATE OR REPLACE TABLE people FROM PARQUET '{folder}/*.parquet'"
        vault.cursor().execute(again)
        answer = vault.cursor().execute(ASK.format(1e4)).fetchall()
        assert [row[1] for row in answer] == [500, 500]  # of 602 people there are two rows


def test_a_parent_key_that_occurs_twice_gives_no_unit_more_rows(
    spark_url: str, tmp_path: Path
) -> None:
    with vault_of(tmp_path, spark_url) as vault, duckdb.connect() as engine:
        visits = "SELECT i AS id, i % 602 AS who FROM range(1204) t(i)"
        engine.sql(visits).write_parquet(str(tmp_path / "visits.parquet"))
        cursor = vault.cursor()
        cursor.execute(f"CREATE TABLE visits FROM PARQUET '{tmp_path}/visits.parquet'")
        cursor.execute("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 2)")
        cursor.execute("ALTER TABLE visits ADD PRIVACY_LINK (who) REFERENCES people(id)")
        joined = """SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) count(*) AS n
            FROM visits JOIN people ON visits.who = people.id"""
        assert round(cursor.execute(joined.format(1e4)).fetchone()[0] / 1204, 1) == 1
        people(tmp_path / "once.parquet", 602)
        twice = f"FROM read_parquet('{tmp_path}/once.parquet')"
        engine.sql(f"{twice} UNION ALL {twice}").write_parquet(str(tmp_path / "people.parquet"))
        # the link is to the unit's own key: rows of both parents are of one unit, and bounded
        assert round(cursor.execute(joined.format(2e4)).fetchone()[0] / 1204, 1) == 1

"""PUBLISH to a real PostgreSQL server, started here where one is installed."""

import signal
import threading
import time
from contextlib import closing

import pytest
from support.child_processes import ChildPython
from support.postgres_server import PATIENCE, run
from support.released_tables import ODD, PEOPLE, comment, release, rows

from sqlpriv.errors import OperationalError, Refused, VaultBusy
from sqlpriv.publish import postgresql, publish
from sqlpriv.publish.release_file import beside

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")


def hand_out(vault, uri, *tables):
    return publish(beside(vault), tables, uri, vault)


def ids(uri):
    return [i for (i,) in run(uri, f"SELECT id FROM {PEOPLE} ORDER BY id")]


def tables(uri):
    """Every table there is, with its comment."""
    sql = (
        "SELECT relname::text, obj_description(oid, 'pg_class') FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
    )
    return dict(run(uri, sql))


def test_rows_types_and_comments_arrive(vault, uri):
    said = hand_out(vault, uri)
    assert said == f"published {ODD}, {PEOPLE} to postgresql://bi@/postgres"
    sql = f"SELECT id, tiny, big::text, text, day, real, yes, size FROM {PEOPLE} ORDER BY id"
    wanted = [tuple(row.values()) for row in rows(5).to_pylist()]
    assert run(uri, sql) == [(*row[:2], row[2] and str(row[2]), *row[3:]) for row in wanted]
    assert tables(uri) == {ODD: comment(ODD), PEOPLE: comment(PEOPLE)}


def test_a_table_of_no_rows(vault, uri):
    release(vault, 0)
    hand_out(vault, uri, PEOPLE)
    assert ids(uri) == []


def test_a_republished_table_keeps_the_rights_on_it(vault, uri):
    hand_out(vault, uri, PEOPLE)
    run(uri, 'DROP ROLE IF EXISTS "b\'i"', 'CREATE ROLE "b\'i"')
    run(uri, f'GRANT SELECT ON {PEOPLE} TO "b\'i"', f"GRANT INSERT ON {PEOPLE} TO PUBLIC")
    release(vault, 2, 70)
    hand_out(vault, uri, PEOPLE)
    assert ids(uri) == [70, 71]
    sql = f"SELECT has_table_privilege('b''i', '{PEOPLE}', '%s')"
    assert [run(uri, sql % right) for right in ("SELECT", "INSERT", "DELETE")] == [
        [(True,)],
        [(True,)],
        [(False,)],
    ]


def test_a_reader_reads_the_old_table_to_its_end_and_new_ones_get_by(vault, uri):
    release(vault, 10_000)
    hand_out(vault, uri, PEOPLE)
    release(vault, 2, 70)
    with closing(dbapi.connect(uri)) as connection, connection.cursor() as reader:
        reader.execute(f"SELECT id FROM {PEOPLE} LIMIT 10")  # begins a transaction, not ended
        assert len(reader.fetchall()) == 10
        publisher = threading.Thread(target=hand_out, args=(vault, uri, PEOPLE))
        publisher.start()
        time.sleep(1.5)  # the publisher has tried by now
        begun = time.monotonic()
        assert len(ids(uri)) == 10_000
        assert time.monotonic() - begun < 20 * postgresql.LOCK_WAIT_MS / 1000
        assert publisher.is_alive()
        reader.execute(f"SELECT id FROM {PEOPLE}")
        assert len(reader.fetchall()) == 10_000
    publisher.join(PATIENCE)
    assert ids(uri) == [70, 71]
    assert tables(uri) == {PEOPLE: comment(PEOPLE)}


def test_a_reader_that_does_not_end_is_told_of(vault, uri, monkeypatch):
    monkeypatch.setattr(postgresql, "ATTEMPTS", 2)
    hand_out(vault, uri, PEOPLE)
    with closing(dbapi.connect(uri)) as connection, connection.cursor() as reader:
        reader.execute(f"SELECT * FROM {PEOPLE}")
        reader.fetchall()
        release(vault, 2, 70)
        with pytest.raises(VaultBusy, match="nothing was changed"):
            hand_out(vault, uri, PEOPLE)
    assert ids(uri) == list(range(5))
    assert tables(uri) == {PEOPLE: comment(PEOPLE)}


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlpriv.publish import postgresql, publish
from sqlpriv.publish.release_file import beside
def killed(*args):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(postgresql, sys.argv[3], killed)
publish(beside(Path(sys.argv[1])), ["people_synth"], sys.argv[2], Path(sys.argv[1]))
"""


@pytest.mark.parametrize("at", ["_ingest", "_rename", "_carry_rights", "quote_identifier"])
def test_a_kill_leaves_the_old_table(vault, uri, at):
    hand_out(vault, uri, PEOPLE)
    release(vault, 1_000, 70)
    assert ChildPython(KILLED, vault, uri, at).wait() == -signal.SIGKILL
    assert ids(uri) == list(range(5))
    hand_out(vault, uri, PEOPLE)
    assert len(ids(uri)) == 1_000
    assert tables(uri) == {PEOPLE: comment(PEOPLE)}


def test_a_table_that_was_not_released_is_not_replaced(vault, uri):
    run(uri, f"CREATE TABLE {PEOPLE} (mine integer)")
    with pytest.raises(Refused, match="not one that was released"):
        hand_out(vault, uri, PEOPLE)
    assert run(uri, f"SELECT mine FROM {PEOPLE}") == []


def test_a_view_on_the_old_table_is_told_of(vault, uri):
    hand_out(vault, uri, PEOPLE)
    run(uri, f"CREATE VIEW seen AS SELECT id FROM {PEOPLE}")
    with pytest.raises(OperationalError, match="depend on it"):
        hand_out(vault, uri, PEOPLE)
    assert run(uri, "SELECT count(*) FROM seen") == [(5,)]


def test_a_name_that_would_be_cut_is_refused(vault, uri):
    long = "é" * 32
    release(vault, 1, name=long)
    with pytest.raises(Refused, match="63 bytes"):
        hand_out(vault, uri, long)
    assert tables(uri) == {}


def test_errors_do_not_hold_the_password(vault):
    with pytest.raises(OperationalError) as caught:
        hand_out(vault, "postgresql://bi:secret@/postgres?host=/nowhere")
    assert "secret" not in str(caught.value)

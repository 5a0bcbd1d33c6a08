"""Idle engines: of one user at a time, no more than the most, and of no process but their own."""

import subprocess
import sys

import pytest

from sqlpriv.session.session import Session
from sqlpriv.system.idle_engines import IdleEngines

USES = {
    "an owner's engine": "keep_idle_engine(take_idle_engine().execute('SELECT 1'))",
    "an engine without tables": 'with Session(vault) as s: s.execute("SELECT 1")',
    "DuckDB's catalog": 'with Session(vault) as s: s.execute("FROM duckdb_tables()")',
    "PostgreSQL's catalog": "with Session(vault) as s: looks = CatalogLooks(s, {}); looks.query("
    '"SELECT relname FROM pg_class", ()); looks.close()',
    "the kernel's engine": "with Reader(vault) as r: r.truths('SELECT 1')",
    "expressions of literals": 'public_engine.public_value("1 + 1")',
    "a table of cells": 'cell_engine.engine_of_cells(pa.table({"a": [1]})).close()',
}
PROGRAM = """
import multiprocessing, os, sys
import pyarrow as pa
from pathlib import Path
from sqlpriv.answer.outputs import cell_engine
from sqlpriv.interfaces.server.postgresql.statements.catalog_looks import CatalogLooks
from sqlpriv.kernel.reader import Reader
from sqlpriv.plan.expressions.facts import public_engine
from sqlpriv.session.session import Session
from sqlpriv.system.quiet_engine import keep_idle_engine, take_idle_engine

vault, use = Path(sys.argv[1]), compile(sys.argv[2], "use", "exec")
exec(use)
if (child := os.fork()) == 0:
    exec(use)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
process = multiprocessing.get_context("fork").Process(target=exec, args=(use, globals()))
process.start()
process.join(60)
print(process.exitcode)
exec(use)
"""


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_forked_process_ends_well_and_has_engines_of_its_own(tmp_path, use):
    """A child crashed before its first statement: it destroyed what its parent had kept."""
    Session(vault := tmp_path / "vault.duckdb", role="owner").close()
    forking = [sys.executable, "-c", PROGRAM, str(vault), use]
    done = subprocess.run(forking, timeout=120, capture_output=True, text=True)
    assert done.stdout.split() == ["3", "0"], done.stderr
    assert done.returncode == 0, done.stderr


class Engine:
    is_closed = False

    def close(self):
        self.is_closed = True


def test_an_engine_is_one_takers_alone_and_made_of_the_same():
    idle, first, other, last = IdleEngines(2), Engine(), Engine(), Engine()
    idle.keep(first, "a")
    assert idle.take("b") is None
    assert [idle.take("a"), idle.take("a")] == [first, None]
    for engine, made_of in ((first, "a"), (other, "b"), (last, "a")):
        idle.keep(engine, made_of)
    assert [first.is_closed, other.is_closed, last.is_closed, len(idle)] == [True, False, False, 2]
    assert [idle.take("a"), idle.take("b"), len(idle)] == [last, other, 0]

"""No engine draws a progress bar on stdout, also where Python is interactive in DuckDB's eyes."""

import re
import subprocess
import sys

from support.places import ROOT

SLOW = "SELECT sum(hash(a.i * b.i) % 7) FROM range(100000) a(i), range({}) b(i)"
PROGRAM = f"""
import duckdb
from sqlpriv.system.quiet_engine import open_engine
engine = OPENER()
((has_bar,),) = engine.execute("SELECT current_setting('enable_progress_bar')").fetchall()
engine.execute("SET threads = 1; SET progress_bar_time = 1")  # which switches it on
engine.execute(f"SET enable_progress_bar = {{has_bar}}")
engine.execute({SLOW.format(1500)!r}).fetchall()
"""


def printed(opener):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("OPENER", opener)],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def test_a_long_statement_prints_nothing():
    assert "%" in printed("duckdb.connect"), "the twin: DuckDB's own engine draws a bar here"
    assert printed("open_engine") == ""


def test_every_engine_above_the_kernel_is_quiet():
    allowed = {"quiet_engine.py", "demo.py", "backup.py", "engine.py"}
    """demo shows plain DuckDB, backup only locks a file, the kernel reads through cursors, which
    have no bar."""
    for path in (ROOT / "sqlpriv").rglob("*.py"):
        if path.name not in allowed:
            assert not re.search(r"duckdb\.connect\(", path.read_text()), path

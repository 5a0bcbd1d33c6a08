"""`python tests/bench/planning.py`: CPU milliseconds that planning a query of TPC-H takes.

From its text to what the kernel would be asked, or to the refusal. Public subqueries that stand in
a query are run meanwhile (Q20 has two); queries over public tables alone (Q2, Q11, Q16) are not
planned. Medians of 5; CPU time, as other work may run beside.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "tpch"))

from vault import make, queries

from sqlpriv import dialect
from sqlpriv.errors import Refused
from sqlpriv.session.queries.compiler import ProgramCompiler
from sqlpriv.session.session import Session

AT_MOST, FREE = 50.0, (2, 11, 16)


def compile_text(session: Session, text: str) -> tuple[float, str]:
    """Returns the milliseconds that a text takes to its program, and "refused" where it was."""
    began = time.process_time()
    (statement,) = dialect.read(text)
    access = session._access
    program = ProgramCompiler(access, access.tables.contracts()).compile(statement)
    took = 1000 * (time.process_time() - began)
    return took, "refused" if isinstance(program, Refused) else ""


def main() -> int:
    missed = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(make(Path(folder) / "tpch.duckdb")) as session,
    ):
        session.execute("SET privacy_epsilon = 1")
        for number, text in queries().items():
            if number not in FREE:
                runs = [compile_text(session, text) for _ in range(6)][1:]
                took = statistics.median(ms for ms, _ in runs)
                missed += took > AT_MOST
                print(f"Q{number:<3}{took:8.1f} ms  {runs[0][1]}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

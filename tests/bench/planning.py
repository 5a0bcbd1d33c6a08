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
from sqlpriv.session.queries import several
from sqlpriv.session.queries.select import Questions
from sqlpriv.session.session import Session

AT_MOST, FREE = 50.0, (2, 11, 16)


def planned(questions: Questions, text: str) -> tuple[float, str]:
    """Milliseconds, and "refused" where it was."""
    began, said = time.process_time(), ""
    try:
        (select,) = dialect.read(text)
        contracts = questions.access.contracts()
        settled, private = questions._settled(select, contracts)
        if questions._unplanned(settled, private, contracts) is None:
            for part in private:
                questions.planned(several.asked(part), contracts)
            questions.planned(several.rehearsed(settled, private), contracts)
    except Refused:
        said = "refused"
    return 1000 * (time.process_time() - began), said


def main() -> int:
    missed = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Session(make(Path(folder) / "tpch.duckdb")) as session,
    ):
        session.execute("SET privacy_epsilon = 1")
        questions = session._statements._questions
        for number, text in queries().items():
            if number not in FREE:
                runs = [planned(questions, text) for _ in range(6)][1:]
                took = statistics.median(ms for ms, _ in runs)
                missed += took > AT_MOST
                print(f"Q{number:<3}{took:8.1f} ms  {runs[0][1]}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""`python tests/bench/beside.py OTHER [--rows N]`: a fresh statement of this tree beside OTHER's.

OTHER is a checkout of another state of this repository. The statement is that of `throughput.py`,
each time at a price of its own. A process of each tree answers in turn, so that what else the
machine does slows both; told are medians of processor time, and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
CHILD = """
import sys, tempfile, time
from pathlib import Path
from bench.matrix import Shape, write_table
from sqlpriv.session.session import Session

rows, query = int(sys.argv[1]), sys.argv[2]
with tempfile.TemporaryDirectory() as folder:
    vault = Path(folder) / "beside.duckdb"
    write_table(vault, Shape(rows, "TINYINT", "INTEGER", "NOT NULL", "wide"))
    with Session(vault) as session:
        for turn, _ in enumerate(sys.stdin):
            began = time.process_time()
            session.execute(query.format(epsilon=1 + turn / 1000))
            print(time.process_time() - began, flush=True)
"""
QUERY = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) g, COUNT(*) AS n,"
    " AVG(income) AS income, SUM(hours) AS hours FROM people GROUP BY g"
)
WARM_UP = 3
"""Turns that are not counted."""


def start_child(tree: Path, rows: int) -> subprocess.Popen[str]:
    """Returns a process that answers the statement with a tree's program, a turn for each line."""
    paths = os.pathsep.join(map(str, (tree, tree / "tests")))
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(rows), QUERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tree,
    )


def answer_once(child: subprocess.Popen[str]) -> float:
    """Has a child answer one turn; returns its seconds of processor time."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 100_000])
    parser.add_argument("--turns", type=int, default=30)
    given = parser.parse_args()
    print(f"{'rows':>10} {'other, ms':>10} {'here, ms':>10} {'ratio':>6}")
    for rows in given.rows:
        children = [start_child(tree, rows) for tree in (given.other.resolve(), HERE)]
        seconds: list[list[float]] = [[], []]
        for turn in range(WARM_UP + given.turns):
            for times, child in zip(seconds, children, strict=True):
                taken = answer_once(child)
                times += [taken] if turn >= WARM_UP else []
        for child in children:
            child.communicate()
        other, here = (statistics.median(times) * 1e3 for times in seconds)
        print(f"{rows:>10,} {other:10.1f} {here:10.1f} {here / other:6.2f}", flush=True)


if __name__ == "__main__":
    main()

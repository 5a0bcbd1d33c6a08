"""The benchmark runs to its end on a small vault and compares like with like."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import core
from support.vaults import ask

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

pytestmark = pytest.mark.slow


def test_the_benchmark_runs() -> None:
    lines = list(core.measurements(200_000))
    assert len(lines) == 8
    assert all(ours > 0 for _, ours, _, _ in lines)


def test_both_sides_count_the_same_rows(tmp_path: Path) -> None:
    """Of visits, five a unit are kept on both sides; which ones does not matter to the count."""
    vault = core.build_vault(tmp_path, 20_000)
    kernel = Kernel(vault)
    with duckdb.connect(str(vault), read_only=True) as plain:
        theirs = {
            table: sorted(row[2] for row in plain.execute(core.PLAIN[table]).fetchall())
            for table in core.PLAIN
        }
    for table, counts in theirs.items():
        query = a.Count(a.Scan(table), core.STRATA)
        (release,) = ask(kernel, Measurement(query, Rho.at_most(10**5)), table=table)
        assert sorted(release.values.tolist()) == counts
        assert kernel.contracts()[table].facts.bounded is (table == "people")
    kernel.close()

"""Plain SQL over noised answers, run for many variants of them by one statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv.errors import ProgrammingError
from sqlpriv.publish.release_file import empty_engine
from sqlpriv.session.access import free_sql
from sqlpriv.session.queries import runner
from sqlpriv.session.queries.tails.joint_runs import run_variants
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people AS SELECT range AS id, 'r' || (range % 7 % 3 + 1) AS race,
    (range % 2)::TINYINT AS sex FROM range(6000);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN IN ('r1', 'r2', 'r3');
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000);
"""
INNER = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) race, sex, COUNT(*) AS n FROM people"
    " GROUP BY race, sex"
)
TOGETHER = (
    "SELECT race, sex, n * 2 AS twice FROM ({}) WHERE n > 700 ORDER BY n DESC LIMIT 3",
    "SELECT race, SUM(n) AS n, MAX(n) - MIN(n) AS apart FROM ({}) GROUP BY race",
    "SELECT COUNT(*) AS groups, SUM(n) AS n FROM ({}) WHERE sex = 1",
    "SELECT race, sex, n / SUM(n) OVER (PARTITION BY race) AS share, RANK() OVER (ORDER BY n) AS r"
    " FROM ({})",
    "SELECT sex, n FROM ({}) WHERE n = (SELECT MAX(n) FROM ({})) -- the largest",
    "WITH w AS ({}) SELECT a.race, a.sex, a.n - b.n AS d FROM w a JOIN w b USING (race) WHERE a.sex"
    " > b.sex",
    "WITH w AS ({}) SELECT race, n FROM w WHERE sex = 0 UNION ALL SELECT 'all', SUM(n) FROM w",
    "WITH w AS ({}) SELECT w.race, (SELECT SUM(x.n) FROM w x WHERE x.race <= w.race) AS up_to"
    " FROM w WHERE sex = 1 ORDER BY up_to",
)
ALONE = (
    "WITH w AS ({}) SELECT n + random() AS n, race, sex FROM w",
    "WITH w AS ({}) SELECT CASE WHEN race = 'r1' THEN n ELSE 0 END AS of_one FROM w",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(SETUP, tmp_path_factory.mktemp("joint") / "people.duckdb")) as opened:
        yield opened


@pytest.mark.parametrize("around", [*TOGETHER, *ALONE])
def test_half_widths_are_those_of_separate_runs(
    session: Session, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same sealed answers, and by how many runs."""
    text, find, alone = around.replace("{}", INNER), runner.tail_half_widths, list[object]()
    widths = []

    def find_both(table: pa.Table, answers: Mapping, run, run_together):
        def count(changed: Mapping[str, pa.Table]) -> pa.Table:
            alone.append(changed)
            return run(changed)

        widths.append(find(table, answers, count, run_together))
        few = len(alone)
        widths.append(find(table, answers, run))
        assert (few == 0) == (around in TOGETHER)
        return widths[0]

    monkeypatch.setattr(runner, "tail_half_widths", find_both)
    session.execute(text)
    together, separate = widths
    assert together.keys() == separate.keys()
    if "random" not in around:
        for name, halves in separate.items():
            assert together[name] == [h if h is None else pytest.approx(h, 1e-6) for h in halves]
        assert around in ALONE or separate


def run(tables: Mapping[str, pa.Table], text: str) -> pa.Table:
    """Runs a text beside tables, in an engine of its own."""
    with empty_engine() as engine:
        return free_sql.query(engine.cursor(), tables, text, None, set())


def test_what_fails_for_one_variant_fails_for_all() -> None:
    variants = [{"t": pa.table({"a": ["1", last]})} for last in ("2", "x", "3")]

    cast = "SELECT a::INTEGER AS a FROM t"
    first, last = run_variants(run, variants[::2], cast)
    assert {*first.column("a").to_pylist()} == {1, 2}
    assert {*last.column("a").to_pylist()} == {1, 3}
    with pytest.raises(ProgrammingError):
        run_variants(run, variants, cast)


def test_variants_that_give_no_rows_are_told_from_those_that_do() -> None:
    variants = [{"t": pa.table({"a": numbers})} for numbers in ([1], [5, 6], [2], [7])]

    rows = run_variants(run, variants, "SELECT a FROM t WHERE a > 4 ORDER BY a DESC")
    assert [sorted(one.column("a").to_pylist()) for one in rows] == [[], [5, 6], [], [7]]
    counted = run_variants(run, variants, "SELECT COUNT(*) AS n FROM t WHERE a > 4")
    assert [one.to_pydict() for one in counted] == [{"n": [n]} for n in (0, 2, 0, 1)]

"""Short statements that are much work before a row is read: each is answered or refused soon.

An analyst who holds the planner, or its engine, holds everybody's. None of these tests has a clock:
what is written once for each time that it is used would be 2^40 parts, and would not end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts import finite_values
from sqlpriv.plan.expressions.facts.expression_size import MOST_TERMS
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE sales AS SELECT i AS id, i % 5 AS qty, i / 2 AS price FROM range(600) AS r (i);
ALTER TABLE sales ADD PRIMARY KEY (id);
ALTER TABLE sales ADD PRIVACY_KEY (id);
ALTER TABLE sales SET PU;
ALTER TABLE sales ALTER COLUMN qty SET PRIVACY DOMAIN BETWEEN (0, 4);
ALTER TABLE sales ALTER COLUMN price SET PRIVACY DOMAIN BETWEEN (0, 1e6);
ALTER TABLE sales SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
CREATE TABLE towns AS SELECT i AS town FROM range(3) AS r (i);
ALTER TABLE towns SET PUBLIC;
"""
LEVELS = 40


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(ROWS, tmp_path_factory.mktemp("work") / "v.duckdb")) as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


@pytest.mark.parametrize(("table", "rows"), [("sales", 600), ("towns", 3)])
def test_queries_of_with_that_double_one_another_are_looked_through_once(
    session: Session, table: str, rows: int
) -> None:
    """Each reads the one before twice, so the last one reads the first 2^39 times. At epsilon 100
    the count is wrong by 1 with a probability below e^-99."""
    queries = [f"a0 AS (SELECT COUNT(*) AS n FROM {table})"]
    for i in range(1, LEVELS):
        twice = f"(SELECT n FROM a{i - 1}) + (SELECT n FROM a{i - 1})"
        queries.append(f"a{i} AS (SELECT {twice} AS n)")
    answer = session.execute(f"WITH {', '.join(queries)} SELECT n FROM a{LEVELS - 1}").table
    assert answer["n"].to_pylist() == [rows * 2 ** (LEVELS - 1)]


@pytest.mark.parametrize(
    "joined", ["CROSS JOIN (VALUES (1), (2), (3)) v{0} (x)", "CROSS JOIN UNNEST([1, 2]) v{0} (x)"]
)
def test_written_rows_that_multiply_one_another_are_not_written_out(
    session: Session, joined: str
) -> None:
    """Each row meets each of the written ones: forty joins would be 3^40 readings of the table."""
    joins = " ".join(joined.format(i) for i in range(LEVELS))
    spent = session.execute("SHOW PRIVACY BUDGET").table.to_pylist()
    with pytest.raises(Refused, match="several of the rows that are written here"):
        session.execute(f"SELECT COUNT(*) FROM sales {joins}")
    assert session.execute("SHOW PRIVACY BUDGET").table.to_pylist() == spent


@pytest.mark.parametrize("column", ["price", "qty"])
@pytest.mark.parametrize(
    ("form", "most"),
    [
        ("CASE {x} WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 ELSE 7 END", f"{MOST_TERMS:,} terms"),
        ("coalesce(nullif({x}, 1), 2)", f"{MOST_TERMS:,} terms"),
        ("CASE WHEN {x} IS DISTINCT FROM 3 THEN 4 ELSE 1 END", "1,000 parts"),
    ],
)
def test_expressions_that_are_written_several_times_are_bound_once(
    session: Session, form: str, most: str, column: str
) -> None:
    """CASE x WHEN writes x once for each value: twenty are 3^20 comparisons, which would not end.
    They are refused as soon as they are more than an engine should be given."""
    x = column
    for _ in range(20):
        x = form.format(x=x)
    spent = session.execute("SHOW PRIVACY BUDGET").table.to_pylist()
    with pytest.raises(Refused, match=f"more than {most}"):
        session.execute(f"SELECT COUNT(*) FROM sales WHERE {x} > 3")
    assert session.execute("SHOW PRIVACY BUDGET").table.to_pylist() == spent


def test_lists_of_values_are_computed_once_for_each_expression(session: Session) -> None:
    """Eight outputs that double one another hold 2^8 sums, whose lists were computed one by one.
    At epsilon 100 a count is wrong by 1 with a probability below e^-99."""
    before = finite_values.list_values.cache_info().misses
    outputs = ", ".join(f"a{i - 1} + a{i - 1} AS a{i}" for i in range(1, 9))
    asked = f"SELECT qty AS a0, {outputs}, COUNT(*) AS n FROM sales WHERE a8 > 256 GROUP BY ALL"
    answer = session.execute(asked).table.to_pydict()
    assert (answer["a8"], answer["n"]) == ([512, 768, 1024], [120] * 3)
    assert finite_values.list_values.cache_info().misses - before < 50


def test_whole_numbers_beyond_a_double_have_no_ends(session: Session) -> None:
    """Their ends were computed, and an internal error was told."""
    power = "id"
    for _ in range(8):
        power = f"({power}) * ({power})"
    with pytest.raises(Refused, match="bounds"):
        session.execute(f"SELECT SUM({power.replace('id', '(qty + 500000000000)')}) FROM sales")


@pytest.mark.parametrize("clamp", ["least", "greatest"])
def test_the_ends_of_clamps_in_one_another_are_looked_for_once(clamp: str) -> None:
    """Eight of them, 7 KB of SQL, held the planner for minutes: each looked twice at the one
    before, and did so anew for every one around it."""
    expr: a.Expr = a.Col("q")
    other = "greatest" if clamp == "least" else "least"
    for _ in range(LEVELS):
        moved = a.Call("-", (expr, a.Lit(1, Type.INTEGER)))
        expr = a.Call(clamp, (expr, a.Call(other, (a.Lit(1, Type.INTEGER), moved))))
    shape = infer_shape(expr, {"q": Shape(Type.INTEGER, 0, 4, nullable=False)})
    assert shape.type is Type.INTEGER
    assert shape.lower is not None
    assert shape.upper is not None

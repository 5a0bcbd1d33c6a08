"""Releases become rows: layout, population, weights, post-processing in the sandbox."""

from __future__ import annotations

import math
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.exact_people import PEOPLE, exact, noised, planned, rows

from sqlpriv.answer import rows as module
from sqlpriv.answer.outputs import cell_engine
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Categories, Column, Type

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")


def _list(found: module.Answer) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in found.table.to_pylist()]


def test_strata_come_in_declared_order_then_the_population(
    people: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(people, "SELECT sex, race, COUNT(*) AS n FROM people STRATIFY BY sex, race")
    keys = [row[:2] for row in _list(found)]
    assert keys == [*((s, r) for s in "FM" for r in (1, 2, 3)), (None, None)]
    assert found.table.column("n").type == pa.int64()


def test_groups_lie_inside_strata_and_then_inside_the_population(
    people: duckdb.DuckDBPyConnection,
) -> None:
    sql = "SELECT sex, region, COUNT(*) AS n FROM people GROUP BY region STRATIFY BY sex"
    found = _list(rows(people, sql))
    assert [row[:2] for row in found] == [
        (s, r) for s in ("F", "M", None) for r in ("N", "S", None)
    ]
    assert [n for *_, n in found[6:]] == [
        a[2] + b[2] for a, b in zip(found[:3], found[3:6], strict=True)
    ]


def test_without_strata_there_is_no_population_row(people: duckdb.DuckDBPyConnection) -> None:
    one = rows(people, "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM people")
    assert _list(one) == [(600,)]
    grouped = rows(people, "SELECT race, COUNT(*) AS n FROM people GROUP BY race")
    assert [row[0] for row in _list(grouped)] == [1, 2, 3]


def test_an_empty_stratum_has_a_row(people: duckdb.DuckDBPyConnection) -> None:
    columns = tuple(
        replace(c, domain=Categories(("F", "X", "M"))) if c.name == "sex" else c
        for c in PEOPLE.columns
    )
    contract = replace(PEOPLE, columns=columns)
    sql = "SELECT sex, COUNT(*) AS n, AVG(income) AS a FROM people STRATIFY BY sex"
    plan = planned(sql, contract=contract)
    found = module.answer(plan, exact(people, plan.measurements, contract), None)
    assert _list(found)[1] == ("X", 0, None)
    assert found.half_widths["a"][1] is None


def test_negative_counts_are_kept_and_the_population_is_their_sum(
    people: duckdb.DuckDBPyConnection,
) -> None:
    plan = planned("SELECT sex, COUNT(*) AS n FROM people WHERE age > 98 STRATIFY BY sex")
    (release,) = exact(people, plan.measurements)
    release = replace(release, values=np.array([-4.0, 7.0]))
    found = _list(module.answer(plan, (release,), None))
    assert found == [("F", -4), ("M", 7), (None, 3)]


SHARES = pa.table({"SEX": ["M", "F", "other"], "weight": [3.0, 1.0, 9.0]})
WEIGHTED = "SELECT sex, AVG(income) AS a FROM people STRATIFY BY sex WEIGHTS FROM shares"


def test_weights_are_aligned_by_key_and_normalised(people: duckdb.DuckDBPyConnection) -> None:
    women, men, whole = (row[1] for row in _list(rows(people, WEIGHTED, SHARES)))
    assert whole == pytest.approx(0.25 * women + 0.75 * men)
    unweighted = _list(rows(people, WEIGHTED.replace(" WEIGHTS FROM shares", "")))[2][1]
    assert whole != pytest.approx(unweighted)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (None, "no weights"),
        (pa.table({"sex": ["F"], "weight": [1.0]}), "no weight of the stratum \\(M\\)"),
        (pa.table({"sex": ["F", "M"]}), 'no column "weight"'),
        (pa.table({"gender": ["F", "M"], "weight": [1, 1]}), 'no column "sex"'),
        (pa.table({"sex": ["F", "M"], "weight": [1.0, -1.0]}), "not negative"),
        (pa.table({"sex": ["F", "M"], "weight": [0.0, 0.0]}), "not all 0"),
        (pa.table({"sex": ["F", "M"], "weight": [1.0, math.nan]}), "finite"),
        (pa.table({"sex": ["F", "M"], "weight": [1.0, None]}), "no weight of the stratum"),
        (pa.table({"sex": ["F", "M", "M"], "weight": [1, 1, 1]}), "twice"),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_a_charge(
    weights: pa.Table | None, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        module.rehearse(planned(WEIGHTED), weights)


def test_scalar_functions_over_aggregates_and_keys(people: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT coalesce(sex, 'all') AS who, round(AVG(income), 1) AS a, 100 * COUNT(*) / 600 AS p,"
        " COUNT(*) > 300 AS many FROM people STRATIFY BY sex ORDER BY who LIMIT 2 OFFSET 1"
    )
    found = _list(rows(people, sql))
    women, men = found
    assert (women[0], women[3], men[3]) == ("M", True, True) or women[0] == "M"
    assert [row[0] for row in found] == ["M", "all"]
    assert found[1][2:] == (100.0, True)


def test_having_and_order_by_see_outputs_by_name(people: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT race, COUNT(*) AS n, n * 2 AS twice FROM people GROUP BY race"
        " HAVING n > 0 AND race < 3 ORDER BY race DESC"
    )
    assert _list(rows(people, sql)) == [(2, 201, 402), (1, 200, 400)]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("frobnicate(COUNT(*))", "frobnicate"),
        ("CAST(sex AS INTEGER) + COUNT(*)", None),
        ("COUNT(*) + 'x'", None),
        ("read_text('/etc/passwd') || COUNT(*)", None),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_our_error(
    people: duckdb.DuckDBPyConnection, item: str, message: str | None
) -> None:
    with pytest.raises(Refused, match=message or "cannot"):
        rows(people, f"SELECT {item} AS x FROM people STRATIFY BY sex")


def test_an_unknown_function_is_refused_before_anything_is_released() -> None:
    with pytest.raises(Refused, match="frobnicate"):
        module.rehearse(planned("SELECT frobnicate(COUNT(*)) FROM people STRATIFY BY sex"), None)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/sqlpriv_out.csv'",
        "ATTACH '/tmp/sqlpriv_other.duckdb'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_the_sandbox_reaches_nothing_outside(sql: str) -> None:
    with cell_engine.engine_of_cells(pa.table({"x": [1]})) as sandbox:
        assert sandbox.sql("SELECT * FROM cells").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error):
            sandbox.execute(sql)


def test_half_widths_go_with_the_rows_that_are_returned(people: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT sex, COUNT(*) AS n, 10 * COUNT(*) AS t FROM people STRATIFY BY sex ORDER BY n DESC"
    )
    plan = planned(sql)
    releases = noised(exact(people, plan.measurements), [5.0], np.random.default_rng(1))
    found = module.answer(plan, releases, None)
    assert _list(found)[0][0] is None
    # 1.96 * 5 * √2 and 1.96 * 5 of whole numbers, rounded up
    assert found.half_widths["n"] == [14, 10, 10]
    assert found.half_widths["t"] == pytest.approx([140, 100, 100])
    assert "sex" not in found.half_widths


def test_a_half_width_that_cannot_be_told_is_left_out(people: duckdb.DuckDBPyConnection) -> None:
    sql = (
        "SELECT COUNT(*) || ' people' AS t, COUNT(*) > 5 AS c, chr(COUNT(*)::INT) AS x FROM people"
    )
    found = rows(people, sql)
    assert _list(found) == [("600 people", True, chr(600))]
    assert found.half_widths == {}


def test_names_are_those_of_duckdb_and_may_repeat(people: duckdb.DuckDBPyConnection) -> None:
    found = rows(people, "SELECT COUNT(*), AVG(income), COUNT(*) AS n, 1 AS n FROM people")
    names = people.execute("SELECT COUNT(*), AVG(income) FROM people").description
    assert names is not None
    assert [n.lower() for n in found.table.column_names] == [*(n[0] for n in names), "n", "n"]


def test_quoted_and_odd_column_names(people: duckdb.DuckDBPyConnection) -> None:
    people.execute(
        'CREATE OR REPLACE TABLE odd AS SELECT id, sex AS "stratify", age AS "a ""b"" é"'
        " FROM people"
    )
    contract = replace(
        PEOPLE,
        table="odd",
        columns=(
            Column("id", Type.INTEGER, "BIGINT"),
            Column("stratify", Type.TEXT, "VARCHAR", Categories(("F", "M"))),
            Column('a "b" é', Type.INTEGER, "INTEGER", PEOPLE.columns[3].domain),
        ),
    )
    sql = 'SELECT "stratify", SUM("a ""b"" é") AS s FROM odd STRATIFY BY "stratify"'
    plan = planned(sql, contract=contract)
    found = module.answer(plan, exact(people, plan.measurements, contract), None)
    assert _list(found)[2] == (None, people.execute("SELECT sum(age) FROM people").fetchall()[0][0])


def test_statements_share_an_engine_and_none_sees_the_cells_of_another() -> None:
    first, second = (cell_engine.engine_of_cells(pa.table({"a": [n]})) for n in (1, 2))
    with first, second:
        for sandbox, cell in ((first, 1), (second, 2)):
            assert sandbox.sql("FROM cells").fetchall() == [(cell,)]
    with cell_engine._engine().cursor() as other, pytest.raises(duckdb.Error, match="cells"):
        other.sql("FROM cells")

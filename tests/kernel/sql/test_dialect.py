"""The dialects as data: no text from outside leaves its place, and each has a form for all."""

from __future__ import annotations

import re
from dataclasses import replace

import duckdb
import pytest

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Categories, Column, PrivacyUnit, TableContract, Type
from sqlpriv.kernel.terms.operations import OPERATIONS

HOSTILE = "it's \\' \\\\ `\"; DROP TABLE x; -- \n\U0001f600\x1a"


def contract_of(*labels: str, engine: str = "spark") -> TableContract:
    text = Column("it's `text`", Type.TEXT, "VARCHAR", Categories(labels))
    unit = PrivacyUnit("people", "id")
    key = Column("id", Type.INTEGER, "BIGINT")
    return TableContract('peo"ple`', (key, text), unit, key=("id",), engine=engine)


def test_a_label_leaves_nothing_of_itself_in_sparks_text() -> None:
    def shape(*labels: str) -> str:
        table = contract_of(*labels)
        key = a.Key(a.Col("it's `text`"), labels)
        where = a.In(a.Col("it's `text`"), labels)
        like = a.Like(a.Col("it's `text`"), labels[0].replace("\\", ""))
        rows = a.Where(a.Where(a.Scan('peo"ple`'), where), like)
        sql = render([a.Count(rows, keys=(key,))], table, 7).sql
        assert HOSTILE not in sql
        return re.sub(r"X'[0-9a-f]*'", "X", sql)

    assert shape(HOSTILE, "b") == shape("a", "b")


def test_every_form_of_one_dialect_is_one_of_the_other() -> None:
    assert {*SPARK.forms} - {*DUCKDB.forms} == {"text"}
    assert {*DUCKDB.forms} <= {*SPARK.forms}
    assert {*SPARK.operations} <= {*OPERATIONS}
    for op, operation in OPERATIONS.items():
        if op.startswith("sub ") and op.split()[1] in ("year", "quarter", "month"):
            with pytest.raises(Refused, match="spark reads cannot use SUB"):
                SPARK.operation(op)
        elif operation.arity == 2:
            assert "{1}" in SPARK.operation(op)


def test_a_text_is_what_it_was() -> None:
    with duckdb.connect() as engine:
        assert engine.execute(f"SELECT {DUCKDB.literal(HOSTILE)}").fetchall() == [(HOSTILE,)]
    digits = re.fullmatch(r"CAST\(X'([0-9a-f]*)' AS STRING\)", SPARK.literal(HOSTILE))
    assert digits is not None
    assert bytes.fromhex(digits[1]).decode() == HOSTILE
    for dialect in (DUCKDB, SPARK):
        with pytest.raises(KernelError):
            dialect.literal("a\0b")


def test_the_escape_of_a_pattern_is_none_of_its_characters() -> None:
    every = "".join(map(chr, range(33, 127)))
    for fold in (False, True):
        text = SPARK.like("x", every, "", fold)
        mark = re.search(r" ESCAPE '(.)'\)$", text)
        assert mark is not None
        assert mark[1] not in every
    assert SPARK.like("x", "a", "\\", False).endswith(r" ESCAPE '\\')")
    assert DUCKDB.like("x", "a", "\\", False) == r"(x LIKE 'a' ESCAPE '\')"
    assert DUCKDB.like("x", "a", "", True) == "(x ILIKE 'a')"


def test_a_literal_of_a_sum_is_exact_in_both() -> None:
    """Spark's test for NaN makes a double of a whole number: 2^53 + 1 was 2^53."""
    query = a.Sum(a.Scan("people"), a.Lit(2**53 + 1, Type.INTEGER), 0, 2**60)
    for engine, test in (("duckdb", "sqlpriv_number"), ("spark", "CAST('NaN' AS DOUBLE)")):
        contract = TableContract("people", (), PrivacyUnit("people", "id"), engine=engine)
        made = replace(contract, columns=(Column("id", Type.INTEGER, "BIGINT"),))
        assert test not in render([query], made, 7).sql
        computed = replace(query, of=a.Call("+", (a.Col("id"), query.of)))
        assert test in render([computed], made, 7).sql


def test_one_statement_is_of_one_engine() -> None:
    mine, other = contract_of("a"), contract_of("a", engine="duckdb")
    public = TableContract("shops", other.columns, public=True)
    both = TableContract(
        mine.table, mine.columns, mine.unit, engine="spark", others={"shops": public}
    )
    joined = a.Join(a.Scan(mine.table), a.Scan("shops", "s_"), a.Lit(True, Type.BOOLEAN))
    with pytest.raises(Refused, match="shops is read by duckdb"):
        render([a.Count(joined)], both, 7)


def test_a_long_text_is_written_once() -> None:
    """Six roundings of roundings would be 10^7 characters, as 15 copies of each in the next."""
    text = shorter = "r.`x`"
    for step in range(6):
        text = SPARK.fill(SPARK.operation("scale 2"), f"({text} * r.`y`)")
        if step < 1:
            shorter = text
    assert "transform" not in shorter  # what is short is faster so
    assert len(text) < 20_000
    assert len(re.findall(r"sqlpriv_named\d+ ->", text)) == 4
    long = "a" * 2000
    for dialect in (DUCKDB, SPARK):
        assert dialect.fill("{0} + {0} + {1}", "a", "b") == "a + a + b"
        assert dialect.fill("{0} + {1} + {1}", long, "b").count(long) == 1
        assert dialect.fill("{1} + {1} + {0}", "b", long).count(long) == 1
        assert dialect.fill("abs({0})", long) == f"abs({long})"


def test_a_name_is_of_the_step_that_it_stands_in() -> None:
    inner = SPARK.fill("{0} + {0} * {1}", "a" * 2000, "b")
    outer = SPARK.fill("{0} - {0} / {1}", inner, inner)
    name = f"sqlpriv_named{2 * len(inner)}"
    assert "sqlpriv_named2001 -> sqlpriv_named2001 + sqlpriv_named2001 * b" in inner
    assert outer == f"get(transform(array({inner}), {name} -> {name} - {name} / {inner}), 0)"


def test_a_text_that_is_written_once_has_its_value() -> None:
    """Both texts are long and repeated, and each holds one that is."""
    numbers = ("1", "-2.5", "0", "-0.0", "NULL", "'nan'", "'inf'")
    rows = ", ".join(f"({x}::DOUBLE, {y}::DOUBLE)" for x in numbers for y in numbers)
    form = "({0} + {1} / CASE WHEN {1} <> 0 THEN {1} - {0} END)"
    long = [f"({x}{' + 0' * 300})" for x in "xy"]
    inner, outer = DUCKDB.fill(form, *long), DUCKDB.fill(form, *long[::-1])
    plain = form.format(form.format(*long), form.format(*long[::-1]))
    with duckdb.connect() as engine:
        answers = [
            engine.execute(
                f"SELECT CAST({text} AS VARCHAR) FROM (VALUES {rows}) t(x, y)"
            ).fetchall()
            for text in (DUCKDB.fill(form, inner, outer), plain)
        ]
    assert "lambda" in inner
    assert answers[0] == answers[1]
    assert len({*answers[0]}) > 4

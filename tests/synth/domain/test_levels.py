"""From declarations to levels and back to values."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support.synth_tables import contract
from support.vaults import allowed, declare, write

import sqlpriv
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.kernel.vault import Kernel
from sqlpriv.synth.domain.decode import arrow_type, decode
from sqlpriv.synth.domain.domain import attribute_of, discretise, has_a_level
from sqlpriv.synth.synthesis import prepare, synthesize

PEOPLE = contract(
    {
        "sex": ("VARCHAR", Categories(("m", "f", None))),
        "grade": ("TINYINT", Interval(1, 10)),
        "age": ("INTEGER", Interval(0, 99, nullable=True)),
        "height": ("DOUBLE", Interval(0.5, 2.5)),
        "born": ("DATE", Interval(dt.date(1920, 1, 1), dt.date(2019, 12, 31))),
        "seen": ("TIMESTAMP", Interval(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2))),
        "wage": ("DECIMAL(9,2)", Interval(0, 1000)),
        "size": ("VARCHAR", Categories(("S", "L"))),
        "price": ("DECIMAL(9,2)", Categories((9.99, 1.5))),
        "big": ("HUGEINT", Interval(-(2**60), 2**60)),
        "fixed": ("DOUBLE", Interval(3.0, 3.0)),
        "free": ("INTEGER", None),
    }
)


def values(name, codes=None, bins=32):
    attribute = attribute_of(PEOPLE, name, bins)
    chosen = np.arange(attribute.size).repeat(200) if codes is None else np.array(codes)
    return attribute, chosen, decode(attribute, chosen, np.random.default_rng(1))


def test_categories_are_their_own_levels():
    attribute, codes, array = values("sex")
    assert attribute.key == a.Key(a.Col("sex"), ("m", "f", None))
    assert array.type == pa.string()
    assert array.to_pylist() == [("m", "f", None)[c] for c in codes]


def test_a_short_integer_interval_has_a_level_for_each_value():
    attribute, codes, array = values("grade")
    assert attribute.key == a.Key(a.Col("grade"), tuple(range(1, 11)))
    assert array.type == pa.int8()
    assert array.to_pylist() == [c + 1 for c in codes]


@pytest.mark.parametrize("bins", [1, 5, 32, 99, 100])
def test_bins_of_integers_are_of_equal_width_and_values_fall_into_them(bins):
    attribute, codes, array = values("age", bins=bins)
    assert attribute.size == bins + 1  # and NULL
    assert array.type == pa.int32()
    edges = () if attribute.bounds is None else attribute.key.expr.edges
    for code, value in zip(codes.tolist(), array.to_pylist(), strict=True):
        found = attribute.key.values.index(value) if attribute.bounds is None else None
        if value is not None and found is None:
            assert 0 <= value <= 99
            found = sum(edge <= value for edge in edges)
        assert (bins if value is None else found) == code
    if attribute.bounds:
        assert set(np.diff(attribute.bounds)) <= {99 // bins, 100 // bins, 100 // bins + 1}


@pytest.mark.parametrize("name", ["height", "born", "seen", "wage", "big"])
def test_a_drawn_value_lies_in_its_bin_and_is_of_its_type(name):
    attribute, codes, array = values(name)
    declared = attribute.column.domain
    assert array.type == arrow_type(attribute.column.sql_type)
    assert attribute.size == 32
    edges = attribute.key.expr.edges
    assert list(edges) == sorted(set(edges))
    drawn = array.to_pylist()
    misplaced = 0
    for code, value in zip(codes.tolist(), drawn, strict=True):
        assert declared.lower <= value <= declared.upper
        misplaced += sum(edge <= value for edge in edges) != code
    assert misplaced <= (len(drawn) // 100 if name == "wage" else 0)  # rounding to cents
    assert len(set(drawn)) > len(drawn) // 2 or name == "born"


def test_a_constant_and_a_decimal_list():
    assert values("fixed")[2].to_pylist()[:2] == [3.0, 3.0]
    assert values("price")[2].to_pylist()[0] == Decimal("9.99")


SIZED = (
    "CREATE TYPE size AS ENUM ('S', 'L', 'XXL', 'it''s'); CREATE TABLE people AS"
    " SELECT i AS id, ['S', 'L'][1 + i % 2]::size AS size FROM range(200) r(i);"
    "ALTER TABLE people ADD PRIMARY KEY (id)"
)


@pytest.mark.parametrize(
    ("declared", "options", "kind"),
    [
        (("S", "L"), "", "ENUM('S', 'L')"),
        (("L", "it's", None), "", "ENUM('L', 'it''s')"),
        (("S",), ", outside = other", "ENUM('S', 'other')"),
        ((None,), ", outside = null", "VARCHAR"),
    ],
)
def test_an_enum_is_published_with_its_declared_labels_in_their_order(
    tmp_path, declared, options, kind
):
    """Its other labels may be of private rows. A second table comes out of the model alike."""
    vault = tmp_path / "people.duckdb"
    write(vault, SIZED)
    with contextlib.closing(Kernel(vault)) as kernel:
        declare(kernel, domains={"size": Categories(declared)})
    with sqlpriv.connect(str(vault)) as connection:
        connection.execute(
            "CREATE SYNTHETIC TABLE s AS SELECT size FROM people USING independent"
            f" OPTIONS (epsilon = 10{options});"
            " CREATE SYNTHETIC TABLE more FROM MODEL s ROWS 20"
        )
        kinds = connection.execute(
            "SELECT DISTINCT typeof(size) FROM (SELECT size FROM s UNION ALL SELECT size FROM more)"
        ).fetchall()
        assert kinds == [(kind,)]
        if declared == ("S", "L"):  # sorts as it is declared, not by its text
            sizes = connection.execute("SELECT DISTINCT size FROM s ORDER BY size").fetchall()
            assert sizes == [("S",), ("L",)]


def test_uniform_inside_a_bin():
    """n = 20,000 draws of one bin of [0.5, 2.5] in 2: Kolmogorov-Smirnov at 1.95/sqrt(n), alpha
    0.001; a bin shifted by 5 % of its width must fail."""
    attribute = attribute_of(PEOPLE, "height", 2)
    drawn = decode(attribute, np.zeros(20_000, dtype=np.int64), np.random.default_rng(2))
    shares = np.sort((np.array(drawn) - 0.5) / 1.0)
    ideal = (np.arange(20_000) + 0.5) / 20_000
    assert np.abs(shares - ideal).max() < 1.95 / np.sqrt(20_000)
    assert np.abs(shares + 0.05 - ideal).max() > 1.95 / np.sqrt(20_000)


def test_every_row_that_takes_part_has_a_level_in_every_column():
    """NULL and unlisted values are shut out unless declared; clamped values are not."""
    assert has_a_level(attribute_of(PEOPLE, "sex", 32)) == a.Call(
        "or", (a.In(a.Col("sex"), ("m", "f")), a.Call("is null", (a.Col("sex"),)))
    )
    assert has_a_level(attribute_of(PEOPLE, "size", 32)) == a.In(a.Col("size"), ("S", "L"))
    assert has_a_level(attribute_of(PEOPLE, "age", 32)) is None
    expected = a.Call("not", (a.Call("is null", (a.Col("grade"),)),))
    assert has_a_level(attribute_of(PEOPLE, "grade", 32)) == expected
    where = a.Call("=", (a.Col("grade"), a.Col("age")))
    domain = discretise(PEOPLE, ["grade", "size"], [], where)
    assert domain.source == a.Where(
        a.Where(a.Scan("people"), where),
        a.Call("and", (expected, a.In(a.Col("size"), ("S", "L")))),
    )


def test_strata_columns_come_first_unless_selected():
    domain = discretise(PEOPLE, ["age", "sex"], ["grade", "SEX"])
    assert domain.output == ("grade", "age", "sex")
    assert domain.strata_shape == (10, 3)
    assert [x.column.name for x in domain.attributes] == ["age"]
    wide = discretise(PEOPLE, ["sex"], ["age"])
    assert wide.strata_count == 101  # strata are never binned


@pytest.mark.parametrize(
    ("columns", "strata", "says"),
    [
        (["free"], [], "SET PRIVACY DOMAIN"),
        (["nosuch"], [], "no column"),
        (["age", "AGE"], [], "twice"),
        (["age"], ["height"], "strata"),
        (["age"], ["sex", "sex"], "twice"),
        ([], [], "at least one"),
    ],
)
def test_what_cannot_be_made_is_refused(columns, strata, says):
    with pytest.raises(Refused, match=says):
        discretise(PEOPLE, columns, strata)


def test_rows_with_undeclared_values_are_kept_as_other_or_null(make_kernel):
    """300 rows, a third of them of a size that is not listed and a sixth with a NULL grade."""
    values = ", ".join(
        f"({i}, '{'SLX'[i % 3]}', {i % 3}, {'NULL' if i % 6 == 0 else 1 + i % 5})"
        for i in range(300)
    )
    sql = (
        "CREATE TABLE people (id INTEGER PRIMARY KEY, size VARCHAR, code INTEGER, grade INTEGER);"
        f" INSERT INTO people VALUES {values}"
    )
    domains = {
        "size": Categories(("S", "L")),
        "code": Categories((0, 1)),
        "grade": Interval(1, 5),
    }
    kernel = make_kernel(sql, domains=domains, budget=Budget("people", Rho(10**18), 1e-9))
    kept = {}
    for outside in ("drop", "null", "other"):
        price, options = Rho(10**15), {"outside": outside}
        job = prepare(
            kernel.contracts()["people"],
            ("size", "code", "grade"),
            (),
            None,
            "independent",
            options,
            price,
        )
        with allowed(kernel, price) as allowance:
            kept[outside] = synthesize(job, allowance).table
    assert kept["drop"].num_rows == 150  # neither a size of X nor, beside that, a NULL grade
    assert kept["null"].num_rows == kept["other"].num_rows == 300
    assert kept["null"]["size"].null_count == kept["other"]["code"].null_count == 100
    assert kept["other"]["size"].to_pylist().count("other") == 100
    assert kept["other"]["grade"].null_count == 50

"""A statement asked again, in another session, is answered from its seals by every method.

An adaptive method asks by what it was told. So a replay must tell it the same at every step: a
query that was asked at rising prices is answered at each price as it was, also by what others have
sold before.
"""

from __future__ import annotations

from functools import cache

import pytest
from support.places import copy_vault

import sqlpriv
from sqlpriv.synth.registry import REGISTRY

SQL = """
CREATE TABLE people AS SELECT i AS id, (i % 2)::INT AS sex, (hash(i) % 4)::INT AS town,
    (hash(i) % 3 + hash(i, 1) % 2 + 2 * (i % 2))::INT AS job,
    (hash(i, 2) % 100 * (1 + i % 2))::INT AS pay, (hash(i, 2) % 100 + hash(i, 3) % 50)::INT AS rent
FROM range(600) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN BETWEEN (0, 3);
ALTER TABLE people ALTER COLUMN job SET PRIVACY DOMAIN BETWEEN (0, 5);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 200);
ALTER TABLE people ALTER COLUMN rent SET PRIVACY DOMAIN BETWEEN (0, 150);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9);
"""
COMPILED = ("gem", "rap", "rap++", "dpmerf")
FAST = ", tables = 3, steps = 20, points = 60"
OPTIONS = {
    "topdown": ", hierarchy = 'town, job'",
    "gem": ", rounds = 3, steps = 60, components = 20",
    "dpmerf": ", features = 12, steps = 20, points = 60",
    "rap": FAST,
    "rap++": FAST,
    "gsd": ", tables = 4",
    "pmw": ", rounds = 4, bins = 4",
}
METHODS = [
    pytest.param(m, marks=pytest.mark.slow) if m in COMPILED else m
    for m in REGISTRY
    if m not in ("auto", "stability")  # auto takes another of these; stability needs a delta
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("again") / "people.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(SQL)
    return path


@pytest.mark.parametrize("method", METHODS)
def test_the_same_statement_is_never_paid_for_twice(vault, tmp_path, method):
    """At two prices, with strata and without; the dearer ones come last, so that their seals are
    there when the cheaper ones are asked again."""
    copy_vault(vault.parent, tmp_path)  # every method in a vault that has sold nothing
    makes = "CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT"
    columns = "town, job" if method in ("pmw", "topdown") else "town, job, pay, rent"
    strata = ("",) if method == "topdown" else ("", " STRATIFY BY sex")
    statements = [
        f'{makes} {columns} FROM people{by} USING "{method}"'
        f" OPTIONS (epsilon = {epsilon}{OPTIONS.get(method, '')})"
        for epsilon in (0.1, 1)
        for by in strata
    ]
    paid = []
    for _ in range(2):
        with sqlpriv.connect(tmp_path / vault.name) as analyst:
            paid.append([analyst.execute(s).result.price.nano for s in statements])
    assert min(paid[0]) > 0
    assert paid[1] == [0] * len(statements)


@pytest.fixture(scope="module")
def vault_that_sold(vault, tmp_path_factory):
    """Makes a vault that has sold one-way tables of these columns in strata, at four prices."""

    @cache
    def make(columns):
        path = tmp_path_factory.mktemp("sold") / vault.name
        copy_vault(vault.parent, path.parent)
        with sqlpriv.connect(path) as analyst:
            for epsilon in (0.1, 0.15, 0.2, 0.25):
                analyst.execute(
                    f"CREATE OR REPLACE SYNTHETIC TABLE before AS SELECT {columns} FROM people"
                    f" STRATIFY BY sex USING independent OPTIONS (epsilon = {epsilon})"
                )
        return path

    return make


STRATIFIED = [m for m in METHODS if m != "topdown"]


@pytest.mark.parametrize("method", STRATIFIED)
def test_what_is_bought_later_changes_no_earlier_answer(vault_that_sold, tmp_path, method):
    """An earlier statement has sold one-way tables of strata, at more than the method's first look
    at them costs and less than what it buys of them later. So the look is answered by a dearer
    seal, and when the statement is asked again the method's own is dearer still: had the look that
    one, the method would go on otherwise and pay for it."""
    columns = "town, job" if method == "pmw" else "town, job, pay, rent"
    vault = vault_that_sold(columns)
    copy_vault(vault.parent, tmp_path)
    make = (
        f"CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {columns} FROM people STRATIFY BY sex"
        f' USING "{method}" OPTIONS (epsilon = 1{OPTIONS.get(method, "")})'
    )
    with sqlpriv.connect(tmp_path / vault.name) as analyst:
        paid = [analyst.execute(make).result.price.nano for _ in range(2)]
    assert paid[0] > 0
    assert paid[1] == 0


@pytest.mark.slow
def test_a_statement_with_fewer_tables_than_it_may_measure_is_paid_once(vault, tmp_path):
    """Two columns of labels make one table. A round measured it four times; a replay told the first
    answer four times, and what followed was paid anew."""
    copy_vault(vault.parent, tmp_path)
    make = (
        "CREATE OR REPLACE SYNTHETIC TABLE made AS"
        " SELECT sex, CASE town WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS place FROM people"
        " USING rap OPTIONS (epsilon = 1)"
    )
    with sqlpriv.connect(tmp_path / vault.name) as analyst:
        paid = [analyst.execute(make).result.price.nano for _ in range(2)]
    assert paid[0] > 0
    assert paid[1] == 0

"""A small vault of generated people, declared and under a budget."""

import pyarrow.parquet as pq
import pytest

import sqlpriv
from sqlpriv.interfaces import demo, people


@pytest.fixture
def vault(tmp_path):
    """The path of a vault of 600 people with a budget of epsilon 3."""
    path, source = tmp_path / "people.duckdb", tmp_path / "people.parquet"
    pq.write_table(people.generate(600), source)
    with sqlpriv.connect(path, role="owner") as owner:
        create, insert = owner.session.statements(demo.LOAD)
        owner.execute(create)
        owner.execute(insert, [str(source)])
        owner.execute(demo.DECLARE)
    return path


@pytest.fixture
def analyst(vault):
    with sqlpriv.connect(vault, principal="ada") as connection:
        yield connection


@pytest.fixture
def owner(vault):
    with sqlpriv.connect(vault, role="owner") as connection:
        yield connection

"""A small vault of generated people, declared and under a budget."""

import os
import resource

import pyarrow.parquet as pq
import pytest
from support.places import copy_vault

import sqlpriv
from sqlpriv.interfaces.cli import demo, demo_people


@pytest.fixture(autouse=True)
def memory_as_before():
    """What `serve` sets is of its process, and some tests run it in their own."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)
    os.environ.pop("SLURM_MEM_PER_NODE", None)


@pytest.fixture(scope="session")
def declared(tmp_path_factory):
    """The directory of a vault of 600 people with a budget of epsilon 3; tests get copies."""
    directory = tmp_path_factory.mktemp("declared")
    pq.write_table(demo_people.generate(600), directory / "source.parquet")
    with sqlpriv.connect(directory / "people.duckdb", role="owner") as owner:
        create, insert = owner.session.statements(demo.LOAD)
        owner.execute(create)
        owner.execute(insert, [str(directory / "source.parquet")])
        owner.execute(demo.DECLARE)
    return directory


@pytest.fixture
def vault(declared, tmp_path):
    """The path of a vault of the test's own."""
    copy_vault(declared, tmp_path)
    return tmp_path / "people.duckdb"


@pytest.fixture
def analyst(vault):
    with sqlpriv.connect(vault, principal="ada") as connection:
        yield connection


@pytest.fixture
def owner(vault):
    with sqlpriv.connect(vault, role="owner") as connection:
        yield connection

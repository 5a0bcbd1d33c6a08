"""A vault with two released tables."""

import pytest
from released import ODD, release


@pytest.fixture
def vault(tmp_path):
    """The path of a vault that need not exist: publishing opens its release file alone."""
    path = tmp_path / "people.duckdb"
    release(path)
    release(path, 3, name=ODD)
    return path

"""One Spark server for all tests of this folder; they are slow, and skipped where none can be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.spark_server import reason_to_skip, spark_server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plans", type=int, default=30, help="random plans that both engines run")
    parser.addoption("--first", type=int, default=0, help="the seed of the first random plan")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "engines" in item.path.parts:
            item.add_marker(pytest.mark.slow)
            # the test extra brings neither pyspark nor Java
            item.add_marker(pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip()))


@pytest.fixture(scope="session")
def spark_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_server(tmp_path_factory.mktemp("spark") / "server.log") as (url, _):
        yield url

"""The adapter inside Harlequin itself, driven without a terminal."""

import asyncio
import time
import tomllib
from importlib import import_module

import pytest
from support.places import ROOT

import sqlpriv

pytest.importorskip("harlequin", reason='pip install "sqlpriv[harlequin]"')
from harlequin import Harlequin
from harlequin.exception import HarlequinConnectionError, HarlequinQueryError

from sqlpriv.interfaces.integrations.harlequin import Adapter

QUESTION = "SELECT region, AVG(income) AS income FROM people STRATIFY BY region"
SECONDS = 60


@pytest.fixture
def connection(vault):
    connection = Adapter([str(vault)], epsilon="0.5", principal="ada", surplus=1).connect()
    yield connection
    connection.close()


def test_the_entry_point_names_the_adapter():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["harlequin.adapter"]["sqlpriv"].split(":")
    assert getattr(import_module(module), name) is Adapter


def test_half_widths_stand_beside_their_columns(connection, spent):
    cursor = connection.execute(QUESTION)
    assert cursor.columns() == [("region", "s"), ("income", "#.#"), ("income ±", "#.#")]
    table = cursor.set_limit(2).fetchall()
    assert table.column("region").to_pylist() == ["north", "south"]
    assert all(0 < width < 10_000 for width in table.column("income ±").to_pylist())
    assert spent() == (1, pytest.approx(0.5, rel=0.01))  # three rounds are charged once


def test_the_catalog_shows_private_public_and_released_tables(connection, spent):
    tree = {
        database.label: {
            table.label: [(column.label, column.type_label) for column in table.children]
            for table in database.children
        }
        for database in connection.get_catalog().items
    }
    columns = [("region", "s"), ("age", "##"), ("income", "#.#")]
    assert tree == {
        "vault": {
            "people": [("id", "##"), *columns],
            "regions": [("region", "s"), ("weight", "#.#")],
        },
        "release": {"staff": columns},
    }
    assert spent()[0] == 0


def test_statements_without_rows_and_refused_ones(connection):
    assert connection.execute("SET privacy_epsilon = 0.1") is None
    with pytest.raises(HarlequinQueryError, match="raw rows never leave"):
        connection.execute("SELECT age FROM people")


def test_completions_have_our_words(connection):
    assert {"STRATIFY BY", "EXPLAIN PRIVACY"} <= {c.value for c in connection.get_completions()}


@pytest.mark.parametrize(
    ("options", "words"), [({"epsilon": "much"}, "positive number"), ({"role": "root"}, "analyst")]
)
def test_a_vault_that_cannot_be_opened(vault, options, words):
    with pytest.raises(HarlequinConnectionError, match=words):
        Adapter([str(vault)], **options).connect()
    with pytest.raises(HarlequinConnectionError, match="no vault"):
        Adapter([str(vault.parent / "other.duckdb")]).connect()


def test_the_editor_asks_and_shows_the_answer(vault, spent, tmp_path, monkeypatch):
    for place in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(place, str(tmp_path))
    app = Harlequin(
        Adapter([str(vault)], epsilon="0.5"),
        connection_hash="",
        record_history=False,
        no_download_tzdata=True,
    )

    async def until(pilot, happened):
        deadline = time.monotonic() + SECONDS
        while not (found := happened()):
            assert time.monotonic() < deadline, "the editor did not get there in time"
            await pilot.pause(0.05)
        return found

    async def use():
        async with app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda: app.connection is not None and app.editor is not None)
            app.editor.text = QUESTION
            app.editor.focus()
            await pilot.press("ctrl+j")
            table = await until(pilot, lambda: app.results_viewer.get_visible_table())
            await until(pilot, lambda: table.source_row_count)
            seen.extend(table.plain_column_labels)
            rows.extend(table.get_row_at(at) for at in range(table.source_row_count))
            await until(pilot, lambda: "isles" in app.export_screenshot())
            (tmp_path / "screen.svg").write_text(app.export_screenshot())

    seen, rows = [], []
    asyncio.run(use())
    assert seen == ["region", "income", "income ±"]
    assert [row[0] for row in rows] == ["north", "south", "isles", None]
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 0.5")
        again = analyst.execute(QUESTION)  # replayed
        assert [row[1] for row in rows] == pytest.approx([row[1] for row in again])
    assert spent() == (1, pytest.approx(0.5, rel=0.01))  # three rounds are charged once
    assert "income&#160;±" in (tmp_path / "screen.svg").read_text()

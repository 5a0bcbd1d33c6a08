"""`sqlpriv demo`, on few people: the whole way, and what it does to a directory."""

import contextlib
import io

import duckdb
import pytest

import sqlpriv
from sqlpriv.interfaces.cli import demo


def ran(directory, rows=2_000):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        demo.run(directory, rows)
    return out.getvalue()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The directory of a finished demo and what it printed."""
    directory = tmp_path_factory.mktemp("demo") / "made" / "here"
    return directory, ran(directory)


@pytest.mark.whole
def test_the_demo_says_that_its_people_are_generated(shown):
    assert "nobody in this vault exists" in shown[1]
    assert "generated" in (shown[0] / demo.MARK).read_text()


@pytest.mark.whole
def test_it_leaves_its_own_files_and_no_other(shown):
    names = {path.name for path in shown[0].iterdir()}
    assert names <= {demo.MARK, demo.OWN_FOLDER, *demo.OWN_FILES}
    assert {"people.duckdb", "people.ledger", "people.release.duckdb"} <= names
    assert "people.parquet" not in names  # the rows are nowhere but in the vault


@pytest.mark.whole
def test_the_synthetic_table_is_there_for_plain_duckdb(shown):
    with duckdb.connect(str(shown[0] / "people.release.duckdb"), read_only=True) as plain:
        groups = plain.sql("SELECT DISTINCT SEX, RAC1P FROM people_synth").fetchall()
        ((count,),) = plain.sql("SELECT count(*) FROM people_synth").fetchall()
    assert set(groups) <= {(sex, race) for sex in (1, 2) for race in range(1, 10)}
    assert 1_500 < count < 2_500


@pytest.mark.whole
def test_the_budget_went_down_and_the_next_commands_work(shown):
    with sqlpriv.connect(shown[0] / "people.duckdb") as analyst:
        ((table, left, total),) = analyst.session.budgets()
        assert table == "people"
        assert 1 < left < total <= 3
        assert analyst.execute("SELECT * FROM people_synth LIMIT 5").rowcount == 5
    assert "sqlpriv shell" in shown[1]
    assert str(shown[0] / "people.duckdb") in shown[1]


@pytest.mark.whole
def test_it_may_be_run_again(shown):
    (shown[0] / "mine.txt").write_text("keep me")
    (shown[0] / "people.audit").write_text("of a server on the vault that was")
    ran(shown[0])
    assert not (shown[0] / "people.audit").exists()
    assert (shown[0] / "mine.txt").read_text() == "keep me"
    (shown[0] / "mine.txt").unlink()


def test_it_touches_no_directory_of_others(tmp_path):
    (tmp_path / "people.duckdb").write_text("precious")
    with pytest.raises(sqlpriv.InterfaceError, match="nothing was touched"):
        demo.run(tmp_path, 1_000)
    assert [path.name for path in tmp_path.iterdir()] == ["people.duckdb"]
    assert (tmp_path / "people.duckdb").read_text() == "precious"


def test_a_place_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sqlpriv.Error, match="Hint: sqlpriv demo --dir"):
        demo.run(tmp_path / "file", 1_000)

"""`sqlpriv backup` and `restore`: together, whole, and never an older ledger by mistake."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.templates import vault_of

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.kernel.spark.spark_session import spark_of

VAULT = """
CREATE TABLE people AS SELECT range AS id, range % 2 AS sex FROM range(1000);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 10);
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return vault_of(VAULT, tmp_path / "people.duckdb")


def run(*arguments: object):
    return CliRunner().invoke(main, list(map(str, arguments)))


def ask(vault: Path, epsilon: float = 1.0) -> tuple[int, float]:
    """Returns a noised count, and the epsilon that it cost."""
    with sqlpriv.connect(vault) as analyst:
        options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon})"
        cursor = analyst.execute(f"SELECT {options} COUNT(*) FROM people")
        return cursor.fetchone()[0], cursor.result.epsilon


def left(vault: Path) -> float:
    with sqlpriv.connect(vault) as analyst:
        ((_, remaining, _),) = analyst.session.budgets()
        return remaining


def test_the_engine_of_its_files_is_backed_up_with_a_vault(vault: Path, tmp_path: Path) -> None:
    url = "spark://127.0.0.1:9"
    assert run("backup", vault, tmp_path / "of-duckdb").exit_code == 0
    with sqlpriv.connect(vault, role="owner", engine=url):
        pass
    assert run("backup", vault, tmp_path / "of-spark").exit_code == 0
    other = tmp_path / "copy.duckdb"
    for folder, kept in (("of-spark", url), ("of-duckdb", ""), ("of-spark", url)):
        done = run("restore", tmp_path / folder, other)
        assert done.exit_code == 0, done.output
        assert spark_of(other) == kept
    assert spark_of(vault) == url


def test_what_was_backed_up_comes_back_under_another_name(vault: Path, tmp_path: Path) -> None:
    ask(vault)
    assert run("backup", vault, tmp_path / "kept").exit_code == 0
    other = tmp_path / "elsewhere" / "copy.duckdb"
    other.parent.mkdir()
    done = run("restore", tmp_path / "kept", other)
    assert done.exit_code == 0, done.output
    assert "copy.duckdb has a budget of its own from now on" in done.output  # a second one
    assert left(other) == pytest.approx(9)
    assert "of its own" not in run("restore", tmp_path / "kept", vault).output
    with sqlpriv.connect(other) as analyst:
        (release,) = analyst.execute("SHOW PRIVACY RELEASES").fetchall()
    assert "COUNT(*)" in str(release)
    assert abs(ask(other, 2)[0] - 1000) < 40
    assert (other.stat().st_mode & 0o077, (tmp_path / "kept").stat().st_mode & 0o077) == (0, 0)


def test_a_folder_to_restore_into_has_to_be_there(vault: Path, tmp_path: Path) -> None:
    assert run("backup", vault, tmp_path / "kept").exit_code == 0
    done = run("restore", tmp_path / "kept", tmp_path / "none" / "copy.duckdb")
    assert done.exit_code == 1
    assert f"mkdir -p {tmp_path / 'none'}" in done.output


def test_an_older_ledger_is_not_put_over_a_newer_one(vault: Path, tmp_path: Path) -> None:
    run("backup", vault, tmp_path / "kept")
    ask(vault, 4)
    done = run("restore", tmp_path / "kept", vault)
    assert done.exit_code == 1
    assert "could be spent again" in done.output
    assert left(vault) == pytest.approx(6)
    assert run("restore", tmp_path / "kept", vault, "--older").exit_code == 0
    assert left(vault) == pytest.approx(10)


def test_a_ledger_that_was_deleted_is_remembered_by_its_mark(vault: Path, tmp_path: Path) -> None:
    run("backup", vault, tmp_path / "kept")
    ask(vault, 4)
    for suffix in (".ledger", ".ledger-wal", ".ledger-shm"):
        Path(str(vault.with_suffix("")) + suffix).unlink(missing_ok=True)
    assert "could be spent again" in run("restore", tmp_path / "kept", vault).output


def test_a_damaged_backup_is_not_put_back(vault: Path, tmp_path: Path) -> None:
    run("backup", vault, tmp_path / "kept")
    with (tmp_path / "kept" / "people.ledger").open("r+b") as file:
        file.seek(5000)
        file.write(b"x")
    done = run("restore", tmp_path / "kept", tmp_path / "new.duckdb")
    assert (done.exit_code, "damaged" in done.output) == (1, True)
    assert not (tmp_path / "new.duckdb").exists()


def test_a_backup_is_never_mixed_with_other_files(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert run("backup", vault, folder).exit_code == 0
    assert "not empty" in run("backup", vault, folder).output
    assert "no vault" in run("backup", tmp_path / "none.duckdb", tmp_path / "other").output


def test_a_question_goes_on_while_a_backup_is_made(vault: Path, tmp_path: Path) -> None:
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 0.5")
        analyst.execute("SELECT COUNT(*) FROM people")
        assert run("backup", vault, tmp_path / "kept").exit_code == 0
        analyst.execute("SELECT sex, COUNT(*) FROM people GROUP BY sex")
    with sqlpriv.connect(tmp_path / "kept" / "people.duckdb", role="owner") as owner:
        assert owner.execute("SELECT count(*) FROM people").fetchone() == (1000,)
    assert left(vault) == pytest.approx(9)


def test_models_come_back_with_their_tables_and_no_others(vault: Path, tmp_path: Path) -> None:
    """Rows are drawn of the model of the backup; a model that it does not have is gone."""
    make = "CREATE SYNTHETIC TABLE {} AS SELECT sex FROM people USING independent"
    more = "CREATE SYNTHETIC TABLE more FROM MODEL {} ROWS 50"
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        analyst.execute(make.format("kept"))
    run("backup", vault, tmp_path / "copy")
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        analyst.execute(make.format("later"))
    assert run("restore", tmp_path / "copy", vault, "--older").exit_code == 0
    other = tmp_path / "other.duckdb"
    assert run("restore", tmp_path / "copy", other).exit_code == 0
    for place in (vault, other):
        (model,) = place.with_suffix(".models").glob("*.model")
        assert place == vault or model.parent.stat().st_mode & 0o077 == 0
        with sqlpriv.connect(place) as analyst:
            analyst.execute(more.format("kept"))
            assert analyst.execute("SELECT count(*) FROM more").fetchone() == (50,)
            with pytest.raises(sqlpriv.Refused, match="no model"):
                analyst.execute(more.format("later").replace("more", "again"))


def test_a_backup_names_no_file_elsewhere(vault: Path, tmp_path: Path) -> None:
    run("backup", vault, tmp_path / "copy")
    manifest = tmp_path / "copy" / "manifest.json"
    (tmp_path / "outside").write_text("x")
    known = json.loads(manifest.read_text())
    known["files"]["../outside"] = hashlib.sha256(b"x").hexdigest()
    manifest.write_text(json.dumps(known))
    done = run("restore", tmp_path / "copy", tmp_path / "new.duckdb")
    assert (done.exit_code, "no whole backup" in done.output) == (1, True)


def test_a_budgets_messages_say_what_to_write(vault: Path, tmp_path: Path) -> None:
    """Hints told of columns and of brackets; a day of the past was taken without a word."""

    def declare(what: str) -> str:
        sql = f"ALTER TABLE people SET PRIVACY {what}"
        return " ".join(run("query", vault, "--role", "owner", sql).output.split())

    said = declare("BUDGET (epsilon = 1, per = 'fortnight')")
    assert "per = 'month'" in said
    assert "Hint" not in said
    assert "at least 3, or" in declare("BUDGET (epsilon = 3, per = 'month', total = 1)")
    assert "past" in declare("BUDGET (epsilon = 3, per = 'month', until = '2020-01-01')")
    assert "past" not in declare("BUDGET (epsilon = 3, per = 'month', until = '2999-01-01')")
    assert "write SET PRIVACY WINDOW (day, closed_before" in declare("WINDOW (day)")
    swapped = run("restore", vault, tmp_path / "folder")
    assert swapped.exit_code == 2
    assert "the backup's folder comes first" in " ".join(swapped.output.split())
    page = run("report", vault, "--to", tmp_path / "page.pdf")
    assert page.exit_code == 2
    assert "page.html" in page.output


def test_files_that_a_backup_does_not_hold_are_named(vault: Path, tmp_path: Path) -> None:
    """A backup of a vault whose rows lie in Parquet files has none of them, and did not say so."""
    (tmp_path / "lake").mkdir()
    assert "not copied" not in run("backup", vault, tmp_path / "first").output
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(f"COPY people TO '{tmp_path}/lake/people.parquet'")
        owner.execute(f"CREATE TABLE far FROM PARQUET '{tmp_path}/lake/*.parquet'")
    done = run("backup", vault, tmp_path / "second")
    assert done.exit_code == 0, done.output
    assert f"tables that are read in place, in {tmp_path / 'lake'}" in done.output

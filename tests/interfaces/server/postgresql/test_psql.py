"""psql, and SQLAlchemy's dialect for PostgreSQL: schemas are browsed, nothing is charged."""

import shutil
import subprocess
import warnings

import pytest

COMMANDS = {
    r"\d": ("people | table", "made   | table"),
    r"\dt+": ("protects each id of people", "Synthetic rows"),
    r"\df": ("List of functions",),
    r"\df+": ("List of functions",),
    r"\db+": ("List of tablespaces",),
    r"\d people": ("income | double precision", "people_id_key", "UNIQUE CONSTRAINT, btree (id)"),
    r"\d+ people": ("privacy domain IN (1, 2)", "privacy key"),
    r"\l": ("people",),
    r"\dn": ("public",),
    r"\du": ("ada",),
    r"\di": ("people_id_key",),
    r"\dT": ("List of data types",),
    r"\dx": ("0 rows",),
    r"\conninfo": ("TLSv1.3",),
    r"\dC": ("List of casts",),
    r"\dd": ("Object descriptions",),
    r"\dc": ("List of conversions",),
    r"\dL": ("List of languages",),
    r"\dRp": ("List of publications",),
    r"\d pg_class": ('View "pg_catalog.pg_class"', "relnamespace"),
    r"\d information_schema.tables": ("table_catalog",),
    r"\sf pg_typeof": ('function "pg_typeof" has no source text here',),
    r"\sf nothing": ('function "nothing" does not exist',),
    "SHOW ALL": ("privacy_dialect",),
    "SELECT * FROM people LIMIT 10": ("(0 rows)", "rows of people are private"),
    "SELECT COUNT(*) FROM made": ("500",),
}


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_browses_and_is_not_charged(served):
    target = " ".join(f"{key}={value}" for key, value in served.postgresql().items())
    before = served.account()
    words = [part for command in COMMANDS for part in ("-c", command)]
    shown = subprocess.run(
        ["psql", target, "-X", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert shown.returncode == 0, shown.stderr
    output = shown.stdout + shown.stderr
    for command, texts in COMMANDS.items():
        for text in texts:
            assert text in output, (command, text)
    assert served.account() == before


def test_sqlalchemy_reflects_and_pandas_reads(served):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    pandas = pytest.importorskip("pandas")
    known = served.postgresql()
    url = sqlalchemy.URL.create(
        "postgresql+psycopg",
        known.pop("user"),
        known.pop("password"),
        known.pop("host"),
        known.pop("port"),
        known.pop("dbname"),
    )
    engine = sqlalchemy.create_engine(url, connect_args=known)
    before = served.account()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sqlalchemy.exc.SAWarning)
        inspector = sqlalchemy.inspect(engine)
        assert set(inspector.get_table_names()) == {"people", "made"}
        columns = {each["name"]: str(each["type"]) for each in inspector.get_columns("people")}
        assert columns["income"] == "DOUBLE PRECISION"
        assert inspector.get_unique_constraints("people")[0]["column_names"] == ["id"]
        assert inspector.get_foreign_keys("people") == []
        assert inspector.get_pk_constraint("made")["constrained_columns"] == []
        assert inspector.get_table_comment("people")["text"].startswith("private")
        assert inspector.get_indexes("people")[0]["column_names"] == ["id"]
        people = sqlalchemy.Table("people", sqlalchemy.MetaData(), autoload_with=engine)
        assert [column.name for column in people.columns] == ["id", "sex", "income", "secret"]
    assert served.account() == before
    with engine.connect() as connection:
        made = sqlalchemy.table("made", sqlalchemy.column("sex"))
        count = sqlalchemy.select(sqlalchemy.func.count()).select_from(made)
        assert connection.execute(count).scalar() == 500
        connection.execute(sqlalchemy.text("SET privacy_epsilon = 0.1"))
        text = sqlalchemy.text("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
        frame = pandas.read_sql(text, connection)
    assert list(frame.columns) == ["sex", "n"]
    engine.dispose()

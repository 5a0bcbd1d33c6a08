"""Data dictionaries as declarations: CSV, YAML, SmartNoise's metadata; errors name their line."""

from __future__ import annotations

import pytest
from support.templates import vault_of

import sqlpriv
from sqlpriv import DeclarationError, PermissionDenied

TABLE = """
CREATE TABLE people (pid BIGINT, age INTEGER, sex VARCHAR, married BOOLEAN, income DOUBLE,
    born DATE, note VARCHAR);
INSERT INTO people SELECT i, i % 90, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, i % 3 = 0, i * 10.5,
    DATE '1950-01-01' + CAST(i AS INTEGER), 'x' FROM range(200) t(i);
CREATE TABLE visits (visit BIGINT PRIMARY KEY, pid BIGINT, ward INTEGER);
"""
CSV = """Column,Role,Values,Lower,Upper,Nulls,rows_per_unit,Description
pid,key,,,,,2,"who it is, by number"
age,,,0,99,never,,

sex,,f|m|x,,,level,,
married,,true|false,,,,,
income,,,0,5000.5,,,
born,,,1950-01-01,2020-12-31,,,
note,,,,,,,free text
"""
YAML = """
columns:
  pid: {role: key, rows_per_unit: 2}
  age: {lower: 0, upper: 99, nulls: never}
  sex: {values: [f, m, x], nulls: level}
  married: {values: [true, false]}
  income: {lower: 0, upper: 5000.5}
  born: {lower: 1950-01-01, upper: 2020-12-31}
  note: {description: free text}
"""
SAME = [
    "ALTER TABLE people SET PRIVACY (",
    "    KEY (pid),",
    "    BOUND (rows_per_unit = 2, groups_per_unit = 1),",
    "    COLUMN age BETWEEN (0, 99) NOT NULL,",
    "    COLUMN sex IN ('f', 'm', 'x', NULL),",
    "    COLUMN married IN (TRUE, FALSE),",
    "    COLUMN income BETWEEN (0.0, 5000.5),",
    "    COLUMN born BETWEEN (DATE '1950-01-01', DATE '2020-12-31')",
    ");",
]
SMARTNOISE = """
engine: pandas
MyDatabase:
  PUMS:
    Other:
      x: {type: int}
    People:
      rows: 1000
      max_ids: 3
      censor_dims: False
      pid:
        type: int
        private_id: True
      age:
        type: int
        lower: 0.0
        upper: 100.0
        nullable: False
      income: {type: float, lower: 0, upper: 500000, missing_value: 0}
      married: {type: boolean}
      sex: {type: string, cardinality: 2}
"""
OF_SMARTNOISE = [
    "ALTER TABLE people SET PRIVACY (",
    "    KEY (pid),",
    "    BOUND (rows_per_unit = 3, groups_per_unit = 1),",
    "    COLUMN age BETWEEN (0, 100) NOT NULL,",
    "    COLUMN married IN (FALSE, TRUE, NULL),",
    "    COLUMN income BETWEEN (0.0, 500000.0) OR NULL",
    ");",
]


@pytest.fixture
def owner(tmp_path):
    path = vault_of(TABLE, tmp_path / "people.duckdb")
    with sqlpriv.connect(path, role="owner") as owner:
        yield owner


def declare(owner, tmp_path, name, text, table="people"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return owner.execute(f"ALTER TABLE {table} SET PRIVACY FROM '{path}'").result.message


def declared(owner):
    return [line for (line,) in owner.execute("SHOW PRIVACY DECLARATIONS").fetchall()]


@pytest.mark.parametrize(("name", "text"), [("people.csv", CSV), ("people.yaml", YAML)])
def test_both_forms_declare_the_same(owner, tmp_path, name, text):
    message = declare(owner, tmp_path, name, text)
    assert declared(owner) == SAME
    assert "each pid of people is protected" in message


def test_metadata_of_smartnoise(owner, tmp_path):
    message = declare(owner, tmp_path, "meta.yml", SMARTNOISE)
    assert declared(owner) == OF_SMARTNOISE
    assert "rows, censor_dims of People declare nothing here" in message
    assert "sex gets no domain" in message
    assert "missing_value of income is not put in the place of NULL" in message


def test_a_link_of_a_dictionary(owner, tmp_path):
    declare(owner, tmp_path, "people.csv", CSV)
    text = "column,role,values,rows_per_unit\npid,link people(pid),,4\nward,,1|2,\n"
    declare(owner, tmp_path, "visits.csv", text, "visits")
    assert "    LINK (pid) REFERENCES people(pid)," in declared(owner)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.csv", "column,values\nsex,f|m\nagee,1\n", "d.csv, line 3: people has no column agee"),
        ("d.csv", "column,lower,upper\nage,0,old\n", "line 2: old is no INTEGER"),
        ("d.csv", "column,lower\nage,0\n", "line 2: lower and upper come together"),
        ("d.csv", "column,lower,upper\nage,9,0\n", "line 2: a privacy domain BETWEEN"),
        ("d.csv", "column,lower,upper\nsex,0,1\n", "line 2: sex is text"),
        ("d.csv", "column,values\nsex,f|f\n", "line 2: a privacy domain lists"),
        ("d.csv", "column,values\nsex,f\n\nSEX,m\n", "line 4: SEX stands on line 2 already"),
        ("d.csv", "column,color\nsex,red\n", "line 2: color says nothing here"),
        ("d.csv", "column,values\nsex,f,m\n", "line 2: 3 cells under 2 heads"),
        ("d.csv", "name,values\nsex,f\n", "line 1: the first line names the columns"),
        ("d.csv", "column,role\npid,owner\n", "line 2: the role owner is neither key nor link"),
        ("d.csv", "column,rows_per_unit\npid,3\n", "line 2: rows_per_unit is of a key"),
        ("d.csv", "column,role,rows_per_unit\npid,key,few\n", "line 2: rows_per_unit is a whole"),
        ("d.csv", "column,values,nulls\nsex,f|m,maybe\n", "line 2: nulls is level or never"),
        ("d.csv", "", "says nothing of any column"),
        ("d.yaml", "columns:\n  sex: {values: [no, yes]}\n", "line 2: YAML reads False as a truth"),
        ("d.yaml", "columns:\n  sex: {values: f}\n", "line 2: values is a list"),
        ("d.yaml", "columns:\n  sex: 5\n", "line 2: expected `name: …` here"),
        ("d.yaml", "columns: [\n", "d.yaml, line 2: "),
        (
            "d.yaml",
            "a: {b: {pets: {x: {type: int}}}}\n",
            "says nothing of people: it is about pets; write `columns:`",
        ),
        ("d.yaml", "a: {b: {people:\n  {row_privacy: True}}}\n", "line 2: row_privacy"),
        ("d.txt", "x", "a data dictionary is a .csv, .yaml or .yml file"),
    ],
)
def test_an_error_names_its_line_and_nothing_is_declared(owner, tmp_path, name, text, message):
    with pytest.raises(DeclarationError) as refusal:
        declare(owner, tmp_path, name, text)
    assert message in str(refusal.value)
    assert declared(owner) == []


def test_a_file_that_is_not_there(owner, tmp_path):
    with pytest.raises(DeclarationError, match="cannot be read"):
        owner.execute(f"ALTER TABLE people SET PRIVACY FROM '{tmp_path}/none.csv'")


@pytest.mark.usefixtures("owner")
def test_only_an_owner_reads_a_dictionary(tmp_path):
    (tmp_path / "d.csv").write_text(CSV)
    with sqlpriv.connect(tmp_path / "people.duckdb") as analyst, pytest.raises(PermissionDenied):
        analyst.execute(f"ALTER TABLE people SET PRIVACY FROM '{tmp_path}/d.csv'")

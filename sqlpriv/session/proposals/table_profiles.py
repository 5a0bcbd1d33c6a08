"""What rows say of tables: whom a column names, what refers to what, and where values end.

All of it tells of the data: it is for the owner's eyes, who proposes declarations by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlpriv.kernel.sql.quoting import name

Fetch = Callable[[str], list[tuple[Any, ...]]]
"""Runs plain SQL for the owner; returns its rows."""

MOST_LEVELS = 50
"""A column with more values is proposed as an interval, or not at all."""
MOST_ROWS = 100
"""A column whose values have more rows each, on average, hardly names units."""
SMALL_TABLE = 1_000
"""A table that no unit is in and that has at most so many rows may be a public list of codes."""
_COLUMNS_AT_ONCE = 20
"""Columns that one query looks at: DuckDB takes 2.0 s for 300, and 0.2 s for 15 times 20."""
_NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "HUGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
)
FLOATS = ("FLOAT", "DOUBLE")
_AMOUNT = re.compile(r"\D*\d[\d.,' ]*[.,]\d{1,2}\D*")
"""A text that is an amount, and names nobody: 1.234,50 €."""
_NAMING = ("INTEGER", "BIGINT", "HUGEINT", "VARCHAR", "UUID")
"""Types of a column that is different in every row because it names the row."""
IDENTIFIER = re.compile(
    r"(^|[\W_])(id|key|no|nr|num|number|nummer|code|uuid|ssn|email|person|patient|customer|client"
    r"|user|member|household|employee|student|subject|participant|respondent)$|(id|key|no|nr)\W*$"
    r"|^(id|n[°º])[\W_]|(^|[\W_])(m[ée]nage|haushalt|hogar|famiglia)$",  # id_hogar, N° ménage
    re.IGNORECASE,
)

_FIELD = re.compile(r'(?:^|, )"?(\w+)"? (?=[A-Z])')
"""The names of a STRUCT's fields, in its type."""

_PEOPLE = re.compile(
    r"person|patient|customer|client|user|member|household|employee|student|pupil|subject"
    r"|participant|respondent|rider|driver|passenger|guest|donor|tenant|resident|subscriber|player"
    # German, French, Spanish and Italian
    r"|kunde|mitarbeiter|mitglied|versichert|teilnehmer|nutzer|sch(ü|ue)ler|studierende"
    r"|salari[ée]|[ée]l[èe]ve|[ée]tudiant|adh[ée]rent|assur[ée]|utilisateur"
    r"|paciente|empleado|alumno|usuario|socio|paziente|utente|dipendente"
    r"|m[ée]nage|haushalt|hogar|famiglia",
    re.IGNORECASE,
)

_TABLE_OF_PEOPLE = re.compile(
    rf"(^|[\W_])({_PEOPLE.pattern})(s|e|en|n|es|i)?([\W_]*\d+)*$", re.IGNORECASE
)
"""Names of tables of people: patients, haushalte_2024; but not customer_types."""

_PERSON_IDENTIFIER = re.compile(rf"^({_PEOPLE.pattern})s?$|(id|key|nr|uuid)\W*$|email|ssn", re.I)
"""Of names that name people, those that say who, however few: a guest_number may be a count."""


@dataclass(frozen=True)
class ColumnProfile:
    """What the rows say of one column.

    Attributes:
        distinct: How many different values there are, NULL not counted.
        least, greatest: Of the values that can be ends (`end_condition`); None where none is.
        takes_null: Whether no NOT NULL keeps NULL out of it.
        is_in_key: Whether the PRIMARY KEY holds it, which no statement lets have NULL.
    """

    name: str
    type: str
    rows: int
    present: int
    distinct: int
    least: Any
    greatest: Any
    takes_null: bool = True
    is_in_key: bool = False

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.rows > 0 and self.present == self.rows == self.distinct

    @property
    def names_people(self) -> bool:
        """Whether the column's name says that it names people."""
        return _PEOPLE.search(self.name) is not None

    @property
    def says_who(self) -> bool:
        """Whether the column's name says that each value is a person: patient_id, but no id."""
        return self.names_people and _PERSON_IDENTIFIER.search(self.name) is not None

    @property
    def is_amount(self) -> bool:
        """Whether the column's texts are amounts, as far as its first and last text tell."""
        ends = (self.least, self.greatest)
        return all(isinstance(end, str) and _AMOUNT.fullmatch(end) for end in ends)

    @property
    def is_number(self) -> bool:
        return self.type.split("(")[0] in _NUMBERS

    @property
    def is_whole_number(self) -> bool:
        return self.is_number and not self.type.startswith((*FLOATS, "DECIMAL"))


@dataclass(frozen=True)
class TableProfile:
    """What the rows say of a table.

    Attributes:
        keys: The columns of its PRIMARY KEY or UNIQUE constraints of one column.
        is_of_files: Whether its rows are read in place: such a table takes no constraint.
    """

    table: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    keys: frozenset[str]
    is_of_files: bool = False

    @property
    def is_of_people(self) -> bool:
        """Whether the table's name, or the column that its rows are of, names people."""
        unit = self.unit_column()
        is_named_so = _TABLE_OF_PEOPLE.search(self.table) is not None
        return is_named_so or (unit is not None and unit.names_people)

    def identifies_by(self, column: ColumnProfile) -> bool:
        """Whether a column names the table's rows, and is no amount that differs in each."""
        is_unit = self.unit_column() == column
        return is_unit or column.name in self.keys or IDENTIFIER.search(column.name) is not None

    def unit_column(self) -> ColumnProfile | None:
        """Returns the column that most probably names who a row is about; None if there is none.

        A column that names people comes before one that names rows: of trips with a trip_id and a
        rider_id, riders are who is to be protected.
        """
        alike, repeated = self._identifiers(), self.repeated_identifiers()
        constrained = [c for c in self.columns if c.name in self.keys]
        people = [c for c in alike if c.names_people]
        unique = [c for c in self.columns if c.is_unique and c.type in _NAMING and not c.is_amount]
        unique = unique if self.rows > MOST_LEVELS else []
        for candidates in (
            constrained,
            [c for c in people if c.is_unique],
            [c for c in repeated if c in people],
            [c for c in alike if c.is_unique],
            repeated,
            unique,
        ):
            if candidates:
                return candidates[0]
        return None

    def nested_identifier(self) -> tuple[str, str] | None:
        """Returns a STRUCT's column and the field that may name who a row is about: user, id."""
        for column in self.columns:
            if column.type.startswith("STRUCT("):
                for field in _FIELD.findall(column.type[len("STRUCT(") : -1]):
                    if IDENTIFIER.search(f"{column.name}_{field}"):
                        return column.name, field
        return None

    def repeated_identifiers(self) -> list[ColumnProfile]:
        """Returns the columns that may name units of several rows each.

        A column of few values is one only if its name says that each is a person.
        """
        fewest = max(MOST_LEVELS, self.rows / MOST_ROWS)
        return [
            c
            for c in self._identifiers()
            if not c.is_unique and (c.distinct > fewest or (c.says_who and c.distinct > 1))
        ]

    def short_identifiers(self) -> list[ColumnProfile]:
        """Returns the columns that are called as units are, and have too few values to be taken."""
        repeated = self.repeated_identifiers()
        return [
            c
            for c in self._identifiers()
            if c not in repeated and not c.is_unique and 1 < c.distinct < self.rows
        ]

    def _identifiers(self) -> list[ColumnProfile]:
        return [
            column
            for column in self.columns
            if IDENTIFIER.search(column.name)
            and is_ordered(column.type)
            and not column.type.startswith("D")
        ]


def profile_table(fetch: Fetch, table: str) -> TableProfile:
    """Returns what the rows of a table say of its columns."""
    described = fetch(f"DESCRIBE {name(table)}")
    columns = [(str(row[0]), str(row[1])) for row in described]
    sums = []
    for column, of_type in columns:
        c = name(column)
        value = f"CASE WHEN isnan({c}) THEN NULL ELSE {c} END" if of_type in FLOATS else c
        end = f"CASE WHEN {end_condition(c, of_type)} THEN {c} END"
        ends = f"min({end}), max({end})" if is_ordered(of_type) else "NULL, NULL"
        sums.append(f"count({value}), count(DISTINCT {value}), {ends}")
    ((rows,),) = fetch(f"SELECT count(*) FROM {name(table)}")
    numbers: list[Any] = []
    for i in range(0, len(sums), _COLUMNS_AT_ONCE):
        listed = ", ".join(sums[i : i + _COLUMNS_AT_ONCE])
        numbers += fetch(f"SELECT {listed} FROM {name(table)}")[0]
    profiles = tuple(
        ColumnProfile(
            name=column,
            type=of_type,
            rows=rows,
            present=numbers[4 * i],
            distinct=numbers[4 * i + 1],
            least=numbers[4 * i + 2],
            greatest=numbers[4 * i + 3],
            takes_null=described[i][2] == "YES",
            is_in_key=described[i][3] == "PRI",
        )
        for i, (column, of_type) in enumerate(columns)
    )
    keys = {str(row[0]) for row in described if row[3] in ("PRI", "UNI")}
    keys = keys if len(keys) == 1 else {c.name for c in profiles if c.name in keys and c.is_unique}
    return TableProfile(table, rows, profiles, frozenset(keys))


def is_ordered(of_type: str) -> bool:
    """Returns whether values of a type have a least and a greatest one."""
    return not any(mark in of_type for mark in ("[", "STRUCT", "MAP", "UNION", "BLOB", "JSON"))


def end_condition(column: str, of_type: str) -> str:
    """Returns a condition, as SQL, of the values that an end can be: no NULL, NaN or infinity, and
    no moment before the year 1 or after the year 9999, which Python does not hold. A moment of a
    zone is a day inside them, because it may be another year's where it is read.

    Args:
        column: The column, as SQL.
        of_type: Its type.
    """
    if of_type in FLOATS:
        return f"isfinite({column})"
    if of_type == "TIMESTAMP WITH TIME ZONE":
        return f"{column} >= '0001-01-02 00:00:00+00' AND {column} < '9999-12-31 00:00:00+00'"
    if of_type.startswith(("DATE", "TIMESTAMP")):
        moment = f"{column}::TIMESTAMP" if of_type == "TIMESTAMP_NS" else column
        return f"{moment} BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999'"
    return f"{column} IS NOT NULL"


def is_code_list(profile: TableProfile) -> bool:
    """Returns whether a table may be a list of codes, about nobody."""
    unit = profile.unit_column()
    if unit is None:
        return profile.rows <= MOST_LEVELS
    return profile.rows <= SMALL_TABLE and not profile.is_of_people

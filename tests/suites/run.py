"""`python tests/suites/run.py [CLASS …]`: how many statements of each class are answered right.

A class is a file in `statements/`. Each statement is run by sqlpriv without noise (the draw is
replaced, and the choice of an estimator that clips) and by plain DuckDB on the same rows: an answer
that differs is wrong. Statements that are refused or wrong are named. Where DuckDB has another
spelling, it stands behind `-- plain`; a first line `-- bigquery` says in which dialect it is.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sqlpriv.errors import Error
from sqlpriv.kernel.proof import noise
from sqlpriv.plan import grouping_sets
from sqlpriv.plan.aggregates.calls import Aggregate
from sqlpriv.session.session import Session
from suites.vault import make_vault, plain_duckdb

STATEMENTS = Path(__file__).parent / "statements"
EPSILON = 8.0
"""The price of each statement; without noise it changes nothing but which estimator is chosen."""


@dataclass
class Outcome:
    """What became of the statements of one class.

    Args:
        answered: Statements that were answered as DuckDB answers them.
        wrong: Statement → how the answer differs.
        refused: Statement → what was said.
    """

    answered: list[str] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many statements the class has."""
        return len(self.answered) + len(self.wrong) + len(self.refused)


def classes() -> list[str]:
    """Returns the names of the classes of statements."""
    return sorted(path.stem for path in STATEMENTS.glob("*.sql"))


def statements(name: str) -> list[str]:
    """Returns the statements of a class."""
    text = (STATEMENTS / f"{name}.sql").read_text("utf-8")
    return [part.strip() for part in text.split(";\n") if part.strip()]


def in_its_dialect(statement: str) -> tuple[str, str]:
    """Returns the dialect that a statement's first line names, and the SQL behind it.

    What DuckDB is to be asked instead, behind `-- plain`, is left out.
    """
    text = statement.partition("\n-- plain\n")[0]
    first, _, rest = text.partition("\n")
    is_named = first.startswith("-- ")
    return (first.removeprefix("-- "), rest) if is_named else ("duckdb", text)


def run_class(name: str, session: Session, plain: duckdb.DuckDBPyConnection) -> Outcome:
    """Runs the statements of a class and compares the answers."""
    outcome = Outcome()
    for statement in statements(name):
        text, _, by_hand = statement.partition("\n-- plain\n")
        expected = sorted_rows(plain.execute(by_hand or text).fetchall())
        dialect, sql = in_its_dialect(statement)
        try:
            session.execute(f"SET privacy_dialect = '{dialect}'")
            table = session.execute(sql).table
        except Error as error:
            outcome.refused[statement] = str(error).splitlines()[0]
            continue
        finally:
            session.execute("RESET privacy_dialect")
        rows = sorted_rows([tuple(row.values()) for row in _records(table)])
        if alike(rows, expected):
            outcome.answered.append(statement)
        else:
            outcome.wrong[statement] = f"{rows[:3]} and not {expected[:3]}"
    return outcome


def without_noise() -> Iterator[None]:
    """Yields while every draw of noise is 0, and means that name no estimator are plain ones.

    An estimator that clips where clipping errs less than noise would has no answer to compare.
    """
    draw, choose = noise.Noise.draw, grouping_sets.choose_estimator

    def plain_unless_named(aggregate: Aggregate, *rest: Any, **named: Any) -> str:
        return choose(aggregate, *rest, **named) if aggregate.using else ""

    noise.Noise.draw = lambda _, n: [0] * n  # type: ignore[method-assign]  # tests alone may
    grouping_sets.choose_estimator = plain_unless_named
    try:
        yield
    finally:
        noise.Noise.draw = draw  # type: ignore[method-assign]  # back to what it was
        grouping_sets.choose_estimator = choose


def alike(rows: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Returns whether two answers are the same, numbers to nine digits."""
    return len(rows) == len(expected) and all(map(_same, rows, expected))


def sorted_rows(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows in an order of their own: SQL promises none without ORDER BY."""
    return sorted(rows, key=lambda row: [_sort_key(value) for value in row])


def _records(table: Any) -> list[dict[int, Any]]:
    columns = [column.to_pylist(maps_as_pydicts="strict") for column in table.columns]
    return [dict(enumerate(row)) for row in zip(*columns, strict=True)]


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, str | list | dict | dt.date | dt.time):
        return (2, 0.0, str(value))
    return (1, round(float(value), 6), "")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, dt.date) and isinstance(other, dt.date):
        return str(one)[:10] == str(other)[:10] if type(one) is not type(other) else one == other
    if one is None or other is None or isinstance(one, str | dt.time) or isinstance(other, str):
        return bool(one == other)
    if math.isnan(float(one)) and math.isnan(float(other)):
        return True
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-9)


def main(names: Sequence[str]) -> int:
    """Prints a line for each class; returns 1 where an answer was wrong."""
    answered = total = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        vault = make_vault(Path(folder) / "people.duckdb")
        with Session(vault, principal="suites") as session, plain_duckdb() as plain:
            session.execute(f"SET privacy_epsilon = {EPSILON}")
            for _ in without_noise():
                for name in names or classes():
                    outcome = run_class(name, session, plain)
                    print(f"{name:24}{len(outcome.answered):4} of {outcome.total}", flush=True)
                    for kind in ("refused", "wrong"):
                        for statement, why in getattr(outcome, kind).items():
                            print(f"    {kind}: {statement}\n        {why}")
                    answered, total = answered + len(outcome.answered), total + outcome.total
                    wrong += len(outcome.wrong)
    print(f"{'all':24}{answered:4} of {total}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What columns plain SQL and answers would give, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from sqlpriv.plan.plan import Plan
from sqlpriv.session.access.plain_sql import PlainSql
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

_Query = TypeVar("_Query", bound=t.Select | cmd.Plain)
_EXPLAINED = pa.schema([("explain_key", pa.string()), ("explain_value", pa.string())])
_SHOWS = ("DESCRIBE", "DESC", "SHOW", "SUMMARIZE")


def columns(statement: _Query, run: Callable[[_Query], pa.Table]) -> pa.Schema:
    """Returns the columns of a query that DuckDB runs, in the very types of its result.

    The engine binds it, which touches no row, and gives no row of it, which runs nothing.

    Args:
        statement: A query, and nothing that writes.
        run: Runs a statement in the place of that one, with its rights.

    Raises:
        ProgrammingError: What the engine says of the query.
    """
    text = statement.text
    first = text.split(None, 1)[0].upper()
    if first == "EXPLAIN":
        return _EXPLAINED
    if first in _SHOWS:  # facts about tables, which cost little: no subquery of their own
        return run(statement).schema
    names = run(replace(statement, text=f"DESCRIBE {text}")).column("column_name").to_pylist()
    typed = run(replace(statement, text=f"SELECT * FROM ({text}\n) LIMIT 0")).schema
    # A subquery renames the second of two columns of one name: DESCRIBE knows them both.
    return pa.schema([x.with_name(name) for x, name in zip(typed, names, strict=True)])


def empty_answer(planned: Plan, schema: pa.Schema, sql: PlainSql) -> pa.Table:
    """Returns an answer without rows; a key that is an ENUM has its labels all the same.

    Args:
        planned: The plan of the query.
        schema: The columns of its answer.
        sql: Runs SQL over nothing: DuckDB reads the labels of an ENUM.
    """
    rows = schema.empty_table()
    types = planned.output.enum_types
    for number, field in enumerate(schema):
        if pa.types.is_dictionary(field.type) and (enum := types.get(field.name)):
            labels = sql.run_alone({}, f"SELECT CAST(NULL AS {enum}) AS label", None).column(0)
            rows = rows.set_column(number, field.name, labels.slice(0, 0))
    return rows

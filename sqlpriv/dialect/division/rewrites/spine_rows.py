"""The spine of a query: the rows that its LEFT JOIN with private rows keeps. They are public.

    SELECT m.m, COUNT(p.id) FROM (SELECT unnest(range(1, 13)) AS m) m
    LEFT JOIN pupils p ON month(p.day) = m.m WHERE m.m > 3 GROUP BY m.m
    ──► spine: SELECT * FROM (SELECT unnest(range(1, 13)) AS m) m WHERE m.m > 3

What is asked of these rows is run while the query is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlpriv.dialect.division.public_rows import rows_as_values, run_public
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.division.row_sources.written_rows import MOST
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import Rows, StoredTables
from sqlpriv.dialect.marks import row_count

_ROWS = "__rows"


def has_one_row_a_group(select: exp.Select, keys: Sequence[exp.Expr], tables: StoredTables) -> bool:
    """Returns whether each group of a query is of one row of its spine.

    Args:
        select: The query; its last join is the private one.
        keys: Those of its GROUP BY.
        tables: Runs a query over public ones.
    """
    rows = exp.alias_(row_count(), _ROWS)
    groups = [key.copy() for key in keys]
    answer = _run_over_spine(select, tables, lambda spine: spine.select(rows).group_by(*groups))
    return answer is not None and all(row == (1,) for row in answer[1])


def spine_as_values(select: exp.Select, alias: str, tables: StoredTables) -> exp.Subquery:
    """Returns the rows of a query's spine, written out: `(VALUES (4), (5), …) AS alias (m)`.

    Raises:
        NotDivisible: They cannot be read, are more than MOST, or have values without literals.
    """
    answer = _run_over_spine(select, tables, lambda spine: spine.select("*"))
    if answer is None or len(answer[1]) > MOST:
        raise NotDivisible("rows that cannot be written")
    written = rows_as_values(*answer)
    if written is None:
        raise NotDivisible("rows that cannot be written")
    return subquery_of(written, alias, list(answer[0]))


def _run_over_spine(
    select: exp.Select, tables: StoredTables, write: Callable[[exp.Select], exp.Select]
) -> Rows | None:
    """Returns the columns and rows of a query over the spine; None where it cannot be run."""
    spine = exp.Select().from_(select.args["from_"].this.copy(), copy=False)
    spine.set("joins", [join.copy() for join in select.args["joins"][:-1]])
    if (where := select.args.get("where")) is not None:
        spine.set("where", where.copy())
    return run_public(write(spine), select.args["from_"], tables)

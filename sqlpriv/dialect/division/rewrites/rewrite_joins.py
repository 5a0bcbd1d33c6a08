"""All forms of this folder, in the order in which they are written as others."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.division.joins.joins_taken_out import take_joins_out
from sqlpriv.dialect.division.rewrites.existence import with_existence_counted
from sqlpriv.dialect.division.rewrites.joined_averages import write_averages_in_place
from sqlpriv.dialect.division.rewrites.kept_periods import with_kept_periods
from sqlpriv.dialect.division.rewrites.lateral_rows import write_lateral_columns
from sqlpriv.dialect.division.rewrites.public_partners import write_partner_test
from sqlpriv.dialect.division.rewrites.row_free import without_stored_rows
from sqlpriv.dialect.division.rewrites.top_groups import write_top_groups
from sqlpriv.dialect.division.row_sources.pivoted_rows import with_pivots_written
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.errors import Refused

_OF_ONE_JOIN = (
    write_top_groups,
    write_lateral_columns,
    write_averages_in_place,
    write_partner_test,
)


def rewrite_joins(root: exp.Expr, tables: StoredTables) -> Refused | None:
    """Rewrites a query: see `divide`."""
    without_stored_rows(root, tables)
    with_pivots_written(root)
    for write in _OF_ONE_JOIN:
        take_joins_out(root, tables, write)
    refusal = with_kept_periods(root, tables)
    with_existence_counted(root, tables)
    return refusal

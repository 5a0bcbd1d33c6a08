"""All forms of this folder, in the order in which they are written as others."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.division.rewrites.existence import with_existence_counted
from sqlpriv.dialect.division.rewrites.joined_averages import with_averages_in_place
from sqlpriv.dialect.division.rewrites.kept_periods import with_kept_periods
from sqlpriv.dialect.division.rewrites.lateral_rows import with_lateral_columns
from sqlpriv.dialect.division.rewrites.public_partners import with_partners_tested
from sqlpriv.dialect.division.rewrites.row_free import without_stored_rows
from sqlpriv.dialect.division.rewrites.top_groups import with_top_groups
from sqlpriv.dialect.division.row_sources.pivoted_rows import with_pivots_written
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.errors import Refused


def rewrite_joins(root: exp.Expr, tables: StoredTables) -> Refused | None:
    """Rewrites a query: see `divide`."""
    without_stored_rows(root, tables)
    with_pivots_written(root)
    with_top_groups(root, tables)
    with_lateral_columns(root, tables)
    with_averages_in_place(root, tables)
    with_partners_tested(root, tables)
    refusal = with_kept_periods(root, tables)
    with_existence_counted(root, tables)
    return refusal

"""All forms of this folder, in the order in which they are written as others."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.division.divide import Rewrite
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.public_rows import RunPublic
from sqlpriv.dialect.division.rewrites.existence import with_existence_counted
from sqlpriv.dialect.division.rewrites.joined_averages import with_averages_in_place
from sqlpriv.dialect.division.rewrites.kept_periods import with_kept_periods
from sqlpriv.dialect.division.rewrites.lateral_rows import with_lateral_columns
from sqlpriv.dialect.division.rewrites.public_partners import with_partners_tested
from sqlpriv.dialect.division.rewrites.row_free import TypesOf, without_stored_rows
from sqlpriv.dialect.division.rewrites.top_groups import with_top_groups
from sqlpriv.dialect.division.row_sources.pivoted_rows import with_pivots_written
from sqlpriv.dialect.division.unit_windows import RowNames
from sqlpriv.errors import Refused


def rewrite_joins(
    columns_of: ColumnsOf, row_names: RowNames, run: RunPublic, types_of: TypesOf
) -> Rewrite:
    """Returns what rewrites a query: see `divide`.

    Args:
        columns_of: The columns of a stored table.
        row_names: What tells the rows of a stored table apart, and units.
        run: Runs a query over public tables.
        types_of: The types of a private table's columns.
    """

    def rewrite(root: exp.Expr, reads_private: Callable[[exp.Expr], bool]) -> Refused | None:
        without_stored_rows(root, types_of)
        with_pivots_written(root)
        with_top_groups(root, reads_private, columns_of, row_names)
        with_lateral_columns(root, reads_private, columns_of)
        with_averages_in_place(root, reads_private, columns_of, row_names)
        with_partners_tested(root, reads_private, columns_of)
        refusal = with_kept_periods(root, reads_private, columns_of, run)
        with_existence_counted(root, reads_private)
        return refusal

    return rewrite

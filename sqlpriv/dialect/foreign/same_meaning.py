"""The closed table of what means the same in DuckDB under a condition, or is rewritten."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.foreign import same_calls as calls
from sqlpriv.dialect.foreign import same_names as names
from sqlpriv.dialect.foreign import same_operators as operators
from sqlpriv.dialect.foreign import same_patterns as patterns
from sqlpriv.dialect.foreign import same_types as types
from sqlpriv.dialect.foreign.time_windows import write_time_windows
from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter, Writers
from sqlpriv.dialect.token_cursor import TokenCursor


def in_duckdb(tree: exp.Expr, cursor: TokenCursor) -> exp.Expr:
    """Returns a tree of the cursor's dialect in DuckDB's form; it is changed in place.

    Raises:
        Refused: A node is not known to mean the same, at its place in the user's text.
    """
    if cursor.dialect == "oracle":
        names.write_oracle_rows(tree)
    if cursor.dialect in ("spark", "databricks"):
        write_time_windows(tree)
        names.write_sorted_rows(tree)
    names.write_order_by_all(tree)
    return TreeRewriter(cursor, _WRITERS).rewrite(tree)


_WRITERS: Writers = {
    exp.Identifier: names.write_identifier,
    exp.Column: names.write_column,
    exp.Table: names.write_table,
    exp.WithTableHint: names.write_table_hint,
    exp.Literal: operators.write_literal,
    exp.Array: operators.write_array,
    exp.Unnest: operators.write_unnest,
    exp.AtTimeZone: operators.write_time_zone,
    exp.Xor: operators.write_exclusive_or,
    **dict.fromkeys(
        (*operators.COMPARISONS, exp.Is, exp.In, exp.Between, exp.NullSafeEQ, exp.NullSafeNEQ),
        operators.write_comparison,
    ),
    exp.Group: names.write_group,
    exp.Join: names.write_join,
    exp.Window: operators.write_window,
    exp.Add: operators.write_sum,
    exp.Sub: operators.write_sum,
    exp.DPipe: operators.write_concatenation,
    exp.Pow: operators.write_power,
    exp.Div: operators.write_division,
    exp.Cast: types.write_cast,
    exp.TryCast: types.write_cast,
    exp.DataType: types.write_data_type,
    exp.Like: calls.write_like,
    exp.ILike: calls.write_like,
    exp.Pivot: calls.write_pivot,
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.SimilarTo), patterns.write_pattern),
    **dict.fromkeys((exp.CurrentTimestamp, exp.Localtimestamp), calls.write_now),
    **dict.fromkeys((exp.DateStrToDate, exp.Date, exp.Timestamp, exp.Time), calls.write_day),
    exp.StrToTime: calls.write_moment,
    exp.Extract: calls.write_extract,
    exp.Lateral: calls.write_lateral,
    exp.Substring: calls.write_substring,
    exp.Interval: calls.write_interval,
    exp.Fetch: calls.write_fetch,
    exp.Anonymous: calls.write_call,
    exp.WithinGroup: calls.write_within_group,
    exp.Filter: calls.write_filter,
    exp.Bracket: calls.write_index,
}

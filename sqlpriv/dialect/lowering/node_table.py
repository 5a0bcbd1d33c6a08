"""The closed table: what reads each type of sqlglot's nodes, and the arguments that it looks at."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.lowering import call_lowering as calls
from sqlpriv.dialect.lowering import operator_lowering as operators
from sqlpriv.dialect.lowering.current_day import lower_current_date
from sqlpriv.dialect.lowering.node_lowering import Table
from sqlpriv.dialect.lowering.value_lists import lower_bracket

_PAIR = frozenset({"this", "expression"})
TABLE: Table = {
    exp.Column: (calls.lower_column, frozenset({"this", "table", "db", "catalog"})),
    exp.Literal: (calls.lower_literal, frozenset({"this", "is_string"})),
    exp.Null: (calls.lower_constant, frozenset()),
    exp.Boolean: (calls.lower_constant, frozenset({"this"})),
    exp.Paren: (operators.lower_paren, frozenset({"this"})),
    exp.Not: (operators.lower_unary, frozenset({"this"})),
    exp.Neg: (operators.lower_unary, frozenset({"this"})),
    **dict.fromkeys(operators.BINARY, (operators.lower_binary, _PAIR | {"typed", "safe"})),
    exp.And: (operators.lower_connective, _PAIR),
    exp.Or: (operators.lower_connective, _PAIR),
    exp.Is: (operators.lower_is, _PAIR),
    exp.NullSafeEQ: (operators.lower_distinct_from, _PAIR),
    exp.NullSafeNEQ: (operators.lower_distinct_from, _PAIR),
    exp.In: (operators.lower_in, frozenset({"this", "expressions", "query"})),
    exp.Between: (operators.lower_between, frozenset({"this", "low", "high"})),
    exp.Like: (operators.lower_like, _PAIR | {"negate"}),
    exp.ILike: (operators.lower_like, _PAIR | {"negate"}),
    exp.Escape: (operators.lower_like, _PAIR),
    exp.Case: (calls.lower_case, frozenset({"this", "ifs", "default"})),
    exp.Cast: (calls.lower_cast, frozenset({"this", "to"})),
    exp.TryCast: (calls.lower_cast, frozenset({"this", "to", "safe"})),
    exp.Extract: (calls.lower_extract, _PAIR),
    exp.Substring: (calls.lower_substring, frozenset({"this", "start", "length"})),
    exp.Anonymous: (calls.lower_call, frozenset({"this", "expressions"})),
    exp.Bracket: (lower_bracket, frozenset({"this", "expressions"})),
    exp.AtTimeZone: (calls.lower_time_zone, frozenset({"this", "zone"})),
    exp.BitwiseXor: (calls.lower_xor, _PAIR),
    exp.WithinGroup: (calls.lower_within_group, _PAIR),
    exp.Interval: (operators.lower_interval, frozenset({"this", "unit"})),
    exp.CurrentDate: (lower_current_date, frozenset()),
    **dict.fromkeys(operators.PATTERNS, (operators.lower_pattern, _PAIR)),
    exp.Filter: (calls.lower_filter, _PAIR),
    exp.Exists: (calls.lower_exists, frozenset({"this"})),
    exp.Subquery: (calls.lower_subquery, frozenset({"this"})),
}

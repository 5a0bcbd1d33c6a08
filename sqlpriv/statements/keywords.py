"""DuckDB's words that cannot be names."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Returns the words of the text."""
    return frozenset(text.split())


TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons of an order, with what they are where their sides change places."""

RESERVED = words(
    """ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN
    CONSTRAINT CREATE DEFAULT DEFERRABLE DESC DESCRIBE DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR
    FOREIGN FROM GROUP HAVING IN INITIALLY INTERSECT INTO LAMBDA LATERAL LEADING LIMIT NOT NULL
    OFFSET ON ONLY OR ORDER PIVOT PIVOT_LONGER PIVOT_WIDER PLACING PRIMARY QUALIFY REFERENCES
    RETURNING SELECT SHOW SOME SUMMARIZE SYMMETRIC TABLE THEN TO TRAILING TRUE UNION UNIQUE UNPIVOT
    USING VARIADIC WHEN WHERE WINDOW WITH"""
)
"""`duckdb_keywords()` of category 'reserved'; a test compares."""

NO_ALIAS = RESERVED | words(
    """ANTI ASOF AT AUTHORIZATION BINARY BY COLLATION CONCURRENTLY CROSS FREEZE FULL GENERATED GLOB
    ILIKE INNER IS ISNULL JOIN LEFT LIKE MAP NATURAL NOTNULL OUTER OVERLAPS POSITIONAL RIGHT SEMI
    SIMILAR STRUCT TABLESAMPLE TRY_CAST TUPLE UNPACK VERBOSE"""
)
"""Words that cannot be an alias without AS: also those of category 'type_function'."""

NUMBER_SETTINGS = ("privacy_epsilon",)
"""Settings of a session that are numbers."""
DIALECT = "privacy_dialect"
"""The setting that says how statements are read."""
SAME_TEXT = "same_text"
"""A cast to text in another dialect, of what every dialect writes alike: checked where names are
bound."""
_TITLE = (
    "array_to_string(list_transform(regexp_extract_all(lower({{x}}), '{0}+|{1}+'),"
    " lambda w: upper(w[1]) || w[2:]), '')"
)
_SIGNS = r"\s\[\](){{}}/|\\<>!?@" r'"^#$&~_,.:;*%+-'
TITLES = {
    "title_of_letters": _TITLE.format(r"[\pL\pN]", r"[^\pL\pN]"),
    "title_of_signs": _TITLE.format(f"[^{_SIGNS}]", f"[{_SIGNS}]"),
    "title_of_blanks": _TITLE.format("[^ ]", " "),
}
"""INITCAP of other dialects, by what ends a word, as DuckDB's text with `x` for the argument:
whatever is no letter or digit, the signs of BigQuery and Snowflake, or a blank alone."""
SAME_REAL = "same_real"
"""A number with digits behind the point: in SQL Server's and Redshift's dialects AVG of whole ones
is whole."""
WHOLE_AVERAGE = "AVG of whole numbers is a whole number in tsql and redshift"
REAL_AVERAGE = "write AVG(CAST(x AS FLOAT))"
"""What is said of such an AVG, and what to write."""
SAME_WHOLE = "same_whole"
"""A quotient that becomes a whole number: one of NUMERICs, which is a DOUBLE in DuckDB, has its
halves go away from zero in PostgreSQL and MySQL."""
SAME_QUOTIENT = "same_quotient"
"""A quotient of noised numbers in PostgreSQL's dialect. Whole numbers divide to a whole one there,
and SUM of a BIGINT has digits behind the point: one of the sides has to have them."""
WHOLE_QUOTIENT = "whole numbers divide to a whole number in postgres, and these may be whole"
REAL_QUOTIENT = "write a / CAST(b AS DOUBLE PRECISION), or DIV(a, b) for the whole number"
"""What is said of such a quotient, and what to write."""
HIDDEN = "__"
"""How the names of columns begin that a divided query has and nobody wrote: notices do not show
them."""
LABEL = ":"
"""What stands in such a name before the name that the user gave the column, for notices."""
ROWS_ERROR = "__rows_error"
"""The column of a private query that holds the half-width of its groups' counts, where these tell
which groups have rows."""

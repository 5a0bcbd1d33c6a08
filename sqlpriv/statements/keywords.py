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
SAME_REAL = "same_real"
"""A number with digits behind the point: in SQL Server's dialect AVG of whole ones is whole."""
WHOLE_AVERAGE = "AVG of whole numbers is a whole number in tsql"
REAL_AVERAGE = "write AVG(CAST(x AS FLOAT))"
"""What is said of such an AVG, and what to write."""

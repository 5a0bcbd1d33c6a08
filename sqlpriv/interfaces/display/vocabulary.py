"""The words of our SQL, as editors offer them: clauses, declarations, functions, synthesizers."""

from __future__ import annotations

from functools import cache

KEYWORDS = (
    "ALTER TABLE",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "CASE",
    "CREATE",
    "CREATE OR REPLACE SYNTHETIC TABLE",
    "CREATE SYNTHETIC SCHEMA",
    "CREATE SYNTHETIC TABLE",
    "CREATE TABLE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP SYNTHETIC TABLE",
    "ELSE",
    "END",
    "EVALUATE SYNTHETIC TABLE",
    "AGAINST",
    "EXPLAIN PRIVACY",
    "FROM",
    "FROM MODEL",
    "GROUP BY",
    "HAVING",
    "IN",
    "IS NULL",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "OPTIONS (epsilon = ",
    "OR",
    "ORDER BY",
    "PUBLISH",
    "ROWS",
    "SELECT",
    "SET privacy_epsilon = ",
    "SHOW PRIVACY BUDGET",
    "SHOW PRIVACY DECLARATIONS",
    "SHOW PRIVACY RELEASES",
    "SHOW PRIVACY TABLES",
    "SHOW PRIVACY WINDOWS",
    "SHOW SYNTHESIZERS",
    "STRATIFY BY",
    "THEN",
    "USING",
    "WEIGHTS FROM",
    "WHEN",
    "WHERE",
    "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = ",
)
DECLARATIONS = (
    "ADD PRIVACY_KEY (",
    "ADD PRIVACY_LINK (",
    "ALTER COLUMN",
    "SET PRIVACY (",
    "SET PRIVACY BOUND (rows_per_unit = ",
    "SET PRIVACY BUDGET (epsilon = ",
    "SET PRIVACY FROM SCHEMA",
    "SET PRIVACY WINDOW (",
    "SET PU",
    "SET PUBLIC",
    "UNSET PU",
)
DOMAINS = (
    "SET PRIVACY DOMAIN BETWEEN (",
    "SET PRIVACY DOMAIN IN (",
    "SET PRIVACY DOMAIN REFERENCES ",
    "DROP PRIVACY DOMAIN",
)
SCALARS = (
    "ABS",
    "CEIL",
    "COALESCE",
    "DATE_PART",
    "FLOOR",
    "GREATEST",
    "GROUPING",
    "IF",
    "LEAST",
    "NULLIF",
    "ROUND",
)


@cache
def functions() -> tuple[str, ...]:
    """The functions of private queries; asked late, because the planner takes a while to load."""
    from sqlpriv.plan.aggregates.aggregate_names import KINDS

    return tuple(sorted(f"{n.upper()}(" for n in (*KINDS, *SCALARS) if n != "count_star"))


@cache
def methods() -> tuple[str, ...]:
    """What may stand after USING; asked late, because the synthesizers take a while to load."""
    from sqlpriv.synth.registry import REGISTRY

    return tuple(sorted(REGISTRY))

"""The constructs that cannot be answered privately: what a refusal says of each."""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.statements.keywords import words

PRICED = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
"""Words behind SELECT WITH that ask for a private answer; the second is GoogleSQL's older one."""

QUERY_HEADS = words("SELECT WITH FROM VALUES TABLE PIVOT UNPIVOT PIVOT_WIDER PIVOT_LONGER")

_CONSTRUCTS = """
ASOF: ASOF JOIN gives a row the nearest row of another table
    join by an equality or a range; a unit's row before is LAG(x) OVER (PARTITION BY unit …)
POSITIONAL: POSITIONAL JOIN pairs rows by where they are stored
    join by a key
ANTI INNER RIGHT OUTER CROSS SEMI JOIN LEFT: such joins are not answered privately
    write t JOIN u ON …, LEFT JOIN, or FROM t, u WHERE …
FULL: FULL JOIN keeps rows of both sides, public ones of nobody among them
    write LEFT JOIN, and UNION ALL what the other private side has alone
NATURAL: NATURAL JOIN hangs on which names two tables happen to share
    name the columns: JOIN u USING (column)
LATERAL: LATERAL subqueries are not answered privately
    write (SELECT … WHERE inner.unit = outer.unit) where its value stands
UNION INTERSECT EXCEPT: set operations are not answered privately
    ask one SELECT at a time; each has its price
OVER WINDOW: window functions are not answered privately
    aggregate with GROUP BY or STRATIFY BY instead of OVER
QUALIFY: QUALIFY filters by window functions, which are not answered privately
    filter groups with HAVING
TABLESAMPLE: sampling is not answered privately
    leave it out: the price does not depend on the number of rows
USING: a SELECT has no USING: neither sampling nor a synthesizer
    leave it out, or write CREATE SYNTHETIC TABLE s AS SELECT … USING mst
PIVOT UNPIVOT PIVOT_WIDER PIVOT_LONGER: PIVOT is not answered privately
    write the columns as keys of GROUP BY or STRATIFY BY
[ { ARRAY STRUCT MAP: lists, structs and maps are not answered privately
    use plain columns and values
EXISTS: a subquery cannot stand here
    write it in FROM, or in WHERE behind EXISTS or IN
LAMBDA: lambdas are not answered privately
    write the expression with CASE
->: lambdas and JSON arrows are not answered privately
    use plain columns
DISTINCT: SELECT DISTINCT is not answered privately
    list the keys in GROUP BY: they come from the declared domains
COLUMNS *: * stands for every column, and raw columns never leave a private table
    name the aggregates you want, e.g. COUNT(*)
COLLATE: collations are not answered privately
    compare the values as stored
GLOB: GLOB is not answered privately
    compare with = or IN
SIMILAR: SIMILAR TO is not answered privately
    compare with = or IN
FETCH: FETCH is not understood here
    write LIMIT n
AT: AT is not answered privately
    query the table as it is now, without a time zone
WITHIN: WITHIN GROUP is for PERCENTILE_CONT, PERCENTILE_DISC and MODE
    write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
INTERVAL: intervals are not answered privately
    compare with a date, as in d >= DATE '2020-01-01'
WITH: common table expressions (WITH … AS) are not answered privately
    write WITH at the beginning of the statement
"""
"""Words and signs: what they are called, and below what to write instead."""
_INSIDE_CALLS = """
,: a row of values (a, b) is not answered privately
    compare the columns one by one
:= =>: arguments by name are not read
    write the arguments in order
ORDER IGNORE RESPECT: ORDER BY and NULL treatment inside a call are not answered privately
    write the arguments alone; of a unit's rows, arg_min(x, day) is the first and arg_max the last
SELECT: a subquery cannot stand here
    write it in FROM, or in WHERE behind EXISTS or IN
->>: lambdas and JSON arrows are not answered privately
    use plain columns
"""
"""The same of signs that only stand for a construct where sqlglot's tree says so."""
_NODES = """
Window=OVER Bracket=[ Array=[|ARRAY Struct={ ToMap=MAP Map=MAP JSONExtract=-> JSONExtractScalar=->>
Lambda=->|LAMBDA Collate=COLLATE Glob=GLOB SimilarTo=SIMILAR AtTimeZone=AT Interval=INTERVAL Tuple=,
PropertyEQ=:= Kwarg==> Order=ORDER IgnoreNulls=IGNORE RespectNulls=RESPECT Star=* Select=SELECT
Columns=COLUMNS TableSample=TABLESAMPLE|USING
"""
"""sqlglot's node: the words and signs that it is written with."""


def _reasons(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    lines = text.strip().splitlines()
    for line, hint in zip(lines[::2], lines[1::2], strict=True):
        heads, _, message = line.partition(": ")
        for head in heads.split():
            yield head, (message, hint.strip())


CONSTRUCTS = dict(_reasons(_CONSTRUCTS))
"""Word or sign → what it is called, and what to write instead."""
NODE_REASONS = {**CONSTRUCTS, **dict(_reasons(_INSIDE_CALLS))}
REFUSED_NODES = {
    name: tuple(signs.split("|"))
    for name, _, signs in (entry.partition("=") for entry in _NODES.split())
}
LIST, STAR = CONSTRUCTS["["], CONSTRUCTS["*"]
MISPLACED = (
    "STRATIFY BY stands in the wrong place",
    "the order is SELECT … FROM … WHERE … GROUP BY … STRATIFY BY … HAVING … ORDER BY … LIMIT",
)

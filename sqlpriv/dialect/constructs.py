"""The constructs that cannot be answered privately: what a refusal says of each."""

from __future__ import annotations

from sqlpriv.statements.keywords import words

PRICED = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
"""Words behind SELECT WITH that ask for a private answer; the second is GoogleSQL's older one."""

QUERY_HEADS = words("SELECT WITH FROM VALUES TABLE PIVOT UNPIVOT PIVOT_WIDER PIVOT_LONGER")

_JOIN = ("such joins are not answered privately",
         "write t JOIN u ON …, LEFT JOIN, or FROM t, u WHERE …")  # fmt: skip
_SET = ("set operations are not answered privately", "ask one SELECT at a time; each has its price")
_WINDOW = (
    "window functions are not answered privately",
    "aggregate with GROUP BY or STRATIFY BY instead of OVER",
)
_SAMPLE = (
    "sampling is not answered privately",
    "leave it out: the price does not depend on the number of rows",
)
_PIVOT = ("PIVOT is not answered privately", "write the columns as keys of GROUP BY or STRATIFY BY")
LIST = (
    "lists, structs and maps are not answered privately",
    "use plain columns and values",
)
_ORDER = "the order is SELECT … FROM … WHERE … GROUP BY … STRATIFY BY … HAVING … ORDER BY … LIMIT"

SUBQUERY = ("a subquery cannot stand here", "write it in FROM, or in WHERE behind EXISTS or IN")
STAR = (
    "* stands for every column, and raw columns never leave a private table",
    "name the aggregates you want, e.g. COUNT(*)",
)
MISPLACED = ("STRATIFY BY stands in the wrong place", _ORDER)

CONSTRUCTS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(words("JOIN INNER LEFT RIGHT CROSS ASOF POSITIONAL SEMI ANTI OUTER"), _JOIN),
    "FULL": ("FULL JOIN keeps rows of both sides, public ones of nobody among them",
             "write LEFT JOIN, and UNION ALL what the other private side has alone"),
    "NATURAL": ("NATURAL JOIN hangs on which names two tables happen to share",
                "name the columns: JOIN u USING (column)"),
    "LATERAL": ("LATERAL subqueries are not answered privately",
                "write (SELECT … WHERE inner.unit = outer.unit) where its value stands"),
    **dict.fromkeys(("UNION", "INTERSECT", "EXCEPT"), _SET),
    **dict.fromkeys(("OVER", "WINDOW"), _WINDOW),
    "QUALIFY": ("QUALIFY filters by window functions, which are not answered privately",
                "filter groups with HAVING"),
    **dict.fromkeys(("TABLESAMPLE", "USING"), _SAMPLE),
    **dict.fromkeys(("PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER"), _PIVOT),
    **dict.fromkeys(("[", "{", "ARRAY", "STRUCT", "MAP"), LIST),
    "EXISTS": SUBQUERY,
    "LAMBDA": ("lambdas are not answered privately", "write the expression with CASE"),
    "->": ("lambdas and JSON arrows are not answered privately", "use plain columns"),
    "DISTINCT": ("SELECT DISTINCT is not answered privately",
                 "list the keys in GROUP BY: they come from the declared domains"),
    "COLUMNS": STAR,
    "*": STAR,
    "COLLATE": ("collations are not answered privately", "compare the values as stored"),
    "GLOB": ("GLOB is not answered privately", "compare with = or IN"),
    "SIMILAR": ("SIMILAR TO is not answered privately", "compare with = or IN"),
    "FETCH": ("FETCH is not understood here", "write LIMIT n"),
    "AT": ("AT is not answered privately", "query the table as it is now, without a time zone"),
    "WITHIN": ("WITHIN GROUP is for PERCENTILE_CONT, PERCENTILE_DISC and MODE",
               "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"),
    "INTERVAL": ("intervals are not answered privately",
                 "compare with a date, as in d >= DATE '2020-01-01'"),
    "WITH": ("common table expressions (WITH … AS) are not answered privately",
             "write WITH at the beginning of the statement"),
}  # fmt: skip
"""Word or sign → what it is called, and what to write instead."""

"""The algebra as the one SQL text that the proofs are about.

A batch of queries over one relation is one statement, if the same rows are kept for all of them:

1. `rows`   one line per row of the table: the unit, strata, keys, and what is added up;
2. `kept`   those rows that bounding keeps (all, where it would change nothing);
3. `joint`  kept rows counted and added up by strata and keys, exactly (BIGINT, HUGEINT);
4. `coded`  strata and keys as numbers of their levels; `cells` adds each query's up from these.

What the rows are of, and how expressions are written, is told in `relations`.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.sql.cells import group_count, listed_cells
from sqlpriv.kernel.sql.dialect import SPARK
from sqlpriv.kernel.sql.expressions import ROW
from sqlpriv.kernel.sql.quoting import levels
from sqlpriv.kernel.sql.relation_rows import has_collation
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import columns_read

KEEP_ALL = "SELECT * FROM rows"
MOST_GROUPS = 2**16
"""Joint groups, at most, of queries that are read together before they are asked."""
MOST_LEVELS = 1_000
"""Of keys of one statement for Spark, if it is of several queries, and 32 for each key besides: at
most 31 keys. Each may nest two subqueries more, and Spark resolves 100 that are nested."""
MACROS = "".join(
    (resources.files("sqlpriv._udfs") / f"{name}.sql").read_text("utf-8")
    for name in ("clamp", "number", "quantise")
)
"""The CREATE MACRO statements of `udfs/`, in the order in which they build."""


class Rendered(NamedTuple):
    """A statement, which of its columns each query adds up, the engine that it is for, and the
    lists that it reads besides, each with the SELECT that makes it: see `BoundedRows.halves`."""

    sql: str
    values: dict[a.Query, str]
    engine: str = "duckdb"
    lists: Mapping[str, str] = MappingProxyType({})


def render(queries: Sequence[a.Query], contract: TableContract, hash_key: int) -> Rendered:
    """Returns the statement that answers queries of one relation and, where rows are left out, one
    list of strata.

    Its columns: the levels of strata and keys (`cells.listed_cells`; what has none has the number
    after the last), and exact integers: `n`, kept rows (BIGINT), and `a0`, …, each of a
    `Expressions.summand`.
    A `Distinct` is alone: different values of joint groups do not add up into larger cells.
    """
    if len(queries) > 1 and any(isinstance(query, a.Distinct) for query in queries):
        raise KernelError("different values are counted by a statement of their own")
    read = (queries[0].source, *((q.of, *(key.expr for key in q.keys)) for q in queries))
    used = None if any(query.strata for query in queries) else columns_read(read)
    lists = None if contract.engine == SPARK.name else dict[str, str]()
    scope = Scope(queries[0].source, contract, hash_key=hash_key, used=used, lists=lists)
    levelled, strata = listed_cells(queries), queries[0].strata
    scope.keep_units = not _keeps_all(scope, strata)
    # windows carry every row: levels, in as few bytes as hold them, are smaller than values;
    # values that a collation calls equal, but a list does not, would share one row's level;
    # where a filter, join or union may leave no row, groups of values would tell it (`_byte`)
    late = (
        scope.of_one_table
        and not scope.predicates
        and _keeps_all(scope, strata)
        and not has_collation(contract)
    )
    key_texts = {
        c: scope.late_value(k.expr, c) if late else (scope.value(k.expr), "", "")
        for c, k in levelled.items()
    }
    columns = {c: text for c, (text, *_) in key_texts.items()}
    sizes = {c: len(key.values) for c, key in levelled.items()}
    cell = "" if late else _byte(sizes, scope)
    bins = [
        (key.expr, f"min({c})" if cell else c, *key_texts[c][1:])
        for c, key in levelled.items()
        if isinstance(key.expr, a.Bin) and key.has_all_bins
    ]
    added = [scope.summand_of_group(q, bins) or scope.summand(q) for q in queries]
    adds = list(dict.fromkeys(filter(None, added)))
    columns |= {f"v{i}": text for i, (text, _) in enumerate(adds) if text}
    columns |= {
        f"r{i}": text
        for i, (column, text) in enumerate(scope.texts.items())
        if column in scope.row_names and not scope.facts.bounded
    }
    kept, *other = {bounding(columns, scope, q.strata): None for q in queries}
    if other:
        raise KernelError("queries of one statement are of the same rows")
    narrow = {
        c: _narrow(k, key_texts[c][1] if late else columns[c], scope) for c, k in levelled.items()
    }
    columns |= {} if late else narrow
    coded = (f"coalesce({narrow[c] if late else c}, {n}) AS {c}" for c, n in sizes.items())
    grouped = f" GROUP BY {', '.join(levelled)}" if levelled else ""
    sums = [
        *(f"min({c}) AS {c}" if cell else c for c in levelled),
        "count(*) AS n",
        *(f"{how.format(f'v{i}')} AS a{i}" for i, (_, how) in enumerate(adds)),
    ]
    totals = {"n": "count"} | {f"a{i}": how for i, (_, how) in enumerate(adds)}
    added_up = [
        scope.dialect.cast(
            f"coalesce({x if cell else f'sum({x})'}, 0)",
            "BIGINT" if how.startswith("count") else "HUGEINT",
        )
        + f" AS {x}"
        for x, how in totals.items()
    ]
    beyond, within = (
        scope.halves("u", columns, scope.unit.rows_per_unit, keep_units=False)
        if kept != KEEP_ALL and not strata
        else ("", "")
    )
    sql = (
        f"WITH rows AS ({beyond or _rows(columns, scope, strata, kept != KEEP_ALL)}),\n"
        f"kept AS ({kept}{within}),\n"
        f"joint AS (SELECT {', '.join(sums)} FROM kept"
        f"{f' GROUP BY {cell}' if cell else grouped}),\n"
        f"coded AS (SELECT {', '.join([*coded, *totals])} FROM joint)\n"
        f"SELECT {', '.join([*levelled, *added_up])} FROM coded{'' if cell else grouped}"
    )
    return Rendered(
        sql,
        {q: f"a{adds.index(x)}" if x else "n" for q, x in zip(queries, added, strict=True)},
        contract.engine,
        lists or {},
    )


def joint_batches(
    asked: Sequence[a.Parts], ahead: Sequence[a.Parts], contract: TableContract
) -> list[list[a.Parts]]:
    """Returns which queries are one statement each: those of one relation whose rows are the same.

    Claim: parts of one answer are in one statement, so they are of the same kept rows: rows are
    ranked by what a statement uses of them, so that another one may keep others (`bounding`).

    Args:
        asked: Are in as few statements as can be: one, where DuckDB reads. Spark does not
            resolve the many subqueries that the keys of many marginals make.
        ahead: Join one where that keeps its joint groups few; they would be too many of several
            columns' bins. It goes by the lengths of public lists.
    """
    scopes = {
        source: Scope(source, contract)
        for source in dict.fromkeys(query.source for query, *_ in [*asked, *ahead])
    }
    batches: dict[object, list[list[a.Parts]]] = defaultdict(list)
    for number, parts in enumerate([*asked, *ahead]):
        query = parts[0]
        kept_by = () if _keeps_all(scopes[query.source], query.strata) else query.strata
        like = batches[query.source, kept_by, query if isinstance(query, a.Distinct) else None]
        few = (
            batch
            for batch in like
            if (number < len(asked) or group_count([*chain(*batch), *parts]) <= MOST_GROUPS)
            and (contract.engine != SPARK.name or _resolves([*chain(*batch), *parts]))
        )
        if batch := next(few, None):
            batch.append(parts)
        else:
            like.append([parts])
    return [batch for like in batches.values() for batch in like]


def _resolves(queries: Sequence[a.Query]) -> bool:
    """Returns whether Spark resolves a statement of these queries: see `MOST_LEVELS`."""
    return sum(32 + len(key.values) for key in listed_cells(queries).values()) <= MOST_LEVELS


def render_groups(
    source: a.Relation, exprs: Sequence[a.Expr], contract: TableContract, hash_key: int
) -> str:
    """Returns the statement that counts units by values: them and, last, `n`, units less one.

    Claim: a unit adds 1 to at most m values (pairs and more are one value; NULL is one like
    another), m being the rows that are kept of it: its different ones are ranked by a keyed hash,
    as rows are in `bounding`. Subtracting the same 1 from every count, and leaving out what is then
    0, moves no count further; and no value that one unit alone has is even drawn for.
    """
    scope = Scope(source, contract, hash_key=hash_key, used=columns_read((source, *exprs)))
    loose = has_collation(contract)  # a spelling may be one unit's own
    types = [scope.type(expr) for expr in exprs]
    if not types or not {*types} <= {Type.INTEGER, Type.INTEGER if loose else Type.TEXT}:
        raise Refused("keys that are selected are whole numbers, or text without a collation")
    pairs = zip(map(scope.value, exprs), types, strict=True)
    texts = [scope.dialect.form("whole", x) if of is Type.INTEGER else x for x, of in pairs]
    whole = [
        f"(({x}) IS NULL OR ({text}) IS NOT NULL)"
        for x, text in zip(map(scope.value, exprs), texts, strict=True)
        if text != x
    ]
    keys = {f"k{i}": text for i, text in enumerate(texts)}
    named = ", ".join(f"{text} AS {key}" for key, text in keys.items())
    kept, k = bounding(keys, scope, ()), ", ".join(keys)
    return (
        f"WITH rows AS (SELECT DISTINCT {scope.owner} AS u, {named}{scope.source(*whole)}),\n"
        f"kept AS ({kept})\n"
        f"SELECT {k}, count(*) - 1 AS n FROM kept GROUP BY {k} HAVING count(*) > 1"
    )


def _byte(sizes: Mapping[str, int], scope: Scope) -> str:
    """Returns one number of all levels of a row; "" where there are none, or a byte is too small.

    Claim: to group by a byte the engine sets up a table of all its values in each scan, before a
    row comes. Other keys are hashed, and the first row of each scan sets up 2 MB, about 150 µs: it
    told whether a planted unit is there. Groups are the same: rows of one number have one level of
    each key, NULL as the one after the last.
    """
    number = " + ".join(
        f"coalesce({column}, {n}) * {math.prod(m + 1 for m in [*sizes.values()][i:])}"
        for i, (column, n) in enumerate(sizes.items(), 1)
    )
    return (
        scope.dialect.cast(number, "UTINYINT")
        if 1 < math.prod(n + 1 for n in sizes.values()) <= 2**8
        else ""
    )


def _narrow(key: a.Key, text: str, scope: Scope) -> str:
    widths = (2**8, "UTINYINT"), (2**16, "USMALLINT"), (2**32, "UINTEGER")
    held = "INTEGER" if isinstance(key.expr, a.Bin) else scope.cast_type(key.expr)
    return scope.dialect.cast(
        levels((key, text, held), dialect=scope.dialect),
        next(width for count, width in widths if len(key.values) < count),
    )


def _rows(columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key], levelled: bool) -> str:
    selected = "".join(f", {text} AS {column}" for column, text in columns.items())
    listed = [f"({columns[f's{i}']}) IS NOT NULL" for i in range(len(strata))]
    # a stratum that is not listed takes no unit's place
    return f"SELECT {scope.owner} AS u{selected}{scope.source(*(listed if levelled else ()))}"


def _keeps_all(scope: Scope, strata: Sequence[a.Key]) -> bool:
    """Returns whether bounding would leave out no row of this snapshot: see `bounding`."""
    one_stratum = all(_columns_of(key.expr, scope) <= scope.facts.constant for key in strata)
    return scope.facts.bounded and (
        one_stratum or scope.unit.groups_per_unit >= scope.unit.rows_per_unit
    )


def bounding(columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key]) -> str:
    """Returns the SELECT that keeps, of each unit, m rows in each of g strata.

    Claim: what is kept of a unit depends on that unit's rows alone, and the strata kept of it on
    its unit, its strata, the relation and the snapshot's key alone. Strata are ranked by
    hash(key, unit, stratum), rows by hash(key, unit, stratum, everything used of the row): no row
    number, no row order. Columns that are UNIQUE in their tables are among what is used: of ten
    rows that differ in nothing else, each is as likely to be kept. Where hashes are equal, which
    whoever writes the expressions can bring about whatever the key is, what was hashed decides:
    left to the engine, a tie goes by where the rows lie among those of other units. Rows that are
    still equal are so in all that is used.

    Claim: a unit that has at most m rows in each of at most g strata passes both tests with every
    row. So units are counted, and only the rows of those beyond are ranked: a window over all rows
    costs ten times as much. Of a table whose declared bound it is, `BoundedRows.halves` says whose
    rows need not even be counted. Without strata a unit has one, and g is 1 at least: its rows are
    counted. Each row is in one of the two parts, as no unit's name is NULL. A row of NULLs is
    counted, met and ranked with them, and left out at last: so the first row of a unit, and the
    first unit beyond its bounds, set up no table and no window that is not there.

    Where the pass is left out: bounding is a function B of the table, and the mechanism is M ∘ B.
    If the snapshot was found to satisfy its bound, B(table) = table for this very table, so
    M(table) *is* M(B(table)): the sensitivity proof, which is about B, holds unchanged. That it was
    found, when the owner declared it, is listed under Known limits (README.md).
    """
    if _keeps_all(scope, strata):
        return KEEP_ALL
    m, g = scope.unit.rows_per_unit, scope.unit.groups_per_unit
    stratum = ["u", *(f"s{i}" for i in range(len(strata)))]
    per_stratum, row = ", ".join(stratum), scope.rank_order(["u", *columns])
    within = f"row_number() OVER (PARTITION BY {per_stratum} ORDER BY {row}) <= {m}"
    among = f"dense_rank() OVER (PARTITION BY u ORDER BY {scope.rank_order(stratum)}) <= {g}"
    return scope.dialect.form(
        "kept",
        "SELECT * FROM rows",
        ", NULL" * len(columns),
        "u",
        scope.dialect.form("strata", "u", per_stratum) if strata else "sqlpriv_all",
        f"max(sqlpriv_n) > {m} OR count(*) > {g}" if strata else f"count(*) > {m}",
        f"{within} AND {among}" if strata else within,
    )


def _columns_of(expr: a.Expr, scope: Scope) -> frozenset[str]:
    """Returns the lower-case names of the stored columns that an expression reads."""
    read = columns_read(expr)
    inner = (_columns_of(scope.derived[n], scope) for n in read if n in scope.derived)
    return (read - {*scope.derived}).union(*inner)


def verifying(contract: TableContract) -> str:
    """Returns a query of one row: does no unit have more than m rows, and then, of each column:
    does it never vary inside a unit (NULL being a value of its own)?

    The text says nothing of domains, so that declaring one is no reason to read the rows again.
    """
    scope = Scope(a.Scan(contract.table), contract)
    steady, facts = [], [f"coalesce(max(n), 0) <= {scope.unit.rows_per_unit}"]
    for i, column in enumerate(contract.columns):
        c = f"{ROW}.{scope.dialect.identifier(column.name)}"
        c = scope.dialect.form("bytes", c) if column.type is Type.TEXT else c  # any collation
        same = f"(count({c}) = 0 OR (count({c}) = count(*) AND min({c}) = max({c})))"
        steady.append(f", {same if column.type else 'false'} AS c{i}")
        facts.append(f"coalesce(bool_and(c{i}), true)")
    counted = f"SELECT count(*) AS n{''.join(steady)}{scope.source()} GROUP BY {scope.owner}"
    return f"SELECT {', '.join(facts)} FROM ({counted})"

"""The algebra as the one SQL text that the proofs are about.

A batch of queries over one relation is one statement, if the same rows are kept for all of them:

1. `rows`   one line per row of the table: the unit, strata, keys, and what is added up;
2. `kept`   those rows that bounding keeps (all, where it would change nothing);
3. `joint`  kept rows counted and added up by strata and keys, exactly (BIGINT, HUGEINT);
4. `coded`  strata and keys as numbers of their levels; `cells` adds each query's up from these.

`relations` says how the rows of a relation are written, and `expressions` how row expressions are.
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
FEW_GROUPS, MOST_GROUPS = 2**12, 2**16
"""The most joint groups of a statement into which queries are put that are only asked later: FEW
where they make groups, MOST where they make none that some of the queries would not have alone."""
MOST_LEVELS = 1_000
"""The limit of a statement of several queries for Spark: the lengths of its keys' lists, and 32 for
each key, add up to no more, so it has at most 31 keys. Each key may nest two more subqueries, and
Spark resolves at most 100 that are nested."""
MACROS = "".join(
    (resources.files("sqlpriv._udfs") / f"{name}.sql").read_text("utf-8")
    for name in ("clamp", "number", "quantise")
)
"""The CREATE MACRO statements of `udfs/`, in the order in which they build."""


class Rendered(NamedTuple):
    """A statement for an engine.

    Attributes:
        sql: Its text.
        values: The column that each query adds up.
        engine: The name of the engine.
        lists: The lists of units that the statement reads, each with the SELECT that makes it: see
            `BoundedRows.halves`.
    """

    sql: str
    values: dict[a.Query, str]
    engine: str = "duckdb"
    lists: Mapping[str, str] = MappingProxyType({})


def render(queries: Sequence[a.Query], contract: TableContract, hash_key: int) -> Rendered:
    """Returns the statement that answers queries of one relation. Where bounding leaves rows out,
    the queries have one list of strata.

    The statement's columns are the levels of strata and keys (`cells.listed_cells`; a value that is
    not listed has the number after the last level), and exact integers: `n`, the kept rows
    (BIGINT), and `a0`, `a1`, …, one for each `Expressions.summand`. A `Distinct` has a statement of
    its own, because the numbers of different values in joint groups do not add up to those in
    larger cells.
    """
    if len(queries) > 1 and any(isinstance(query, a.Distinct) for query in queries):
        raise KernelError("different values are counted by a statement of their own")
    read = (queries[0].source, *((q.of, *(key.expr for key in q.keys)) for q in queries))
    used = None if any(query.strata for query in queries) else columns_read(read)
    lists = None if contract.engine == SPARK.name else dict[str, str]()
    scope = Scope(queries[0].source, contract, hash_key=hash_key, used=used, lists=lists)
    levelled, strata = listed_cells(queries), queries[0].strata
    scope.keep_units = not _keeps_all(scope, strata)
    # Rows are grouped by values, and levels are found afterwards (`late`), except in four cases.
    # Where rows are ranked, a window carries every row, and levels take fewer bytes than values.
    # With a collation, values that it calls equal, but a list does not, would share one level.
    # Where a filter, join or union may leave no row, groups of values would tell that (`_byte`).
    # Different values of one bin would be counted again in each of its roots.
    late = (
        scope.of_one_table
        and not scope.predicates
        and _keeps_all(scope, strata)
        and not has_collation(contract)
        and not (
            isinstance(queries[0], a.Distinct)
            and any(isinstance(key.expr, a.Roots) for key in queries[0].keys)
        )
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
    narrow = {
        c: _narrow(k, key_texts[c][1] if late else columns[c], scope) for c, k in levelled.items()
    }
    columns |= {} if late else narrow
    beyond, within, listed = (
        ("", "", "")
        if strata or _keeps_all(scope, strata)
        else scope.halves("u", columns, scope.unit.rows_per_unit, keep_units=False)
    )
    kept, *other = {bounding(columns, scope, q.strata, listed): None for q in queries}
    if other:
        raise KernelError("queries of one statement are of the same rows")
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
    """Returns the queries of each statement: queries of one relation, of the same kept rows.

    Claim: the parts of one answer are in one statement, so they are of the same kept rows. A
    statement ranks rows by the columns that it uses, so another statement may keep other rows
    (`bounding`).

    Claim: which queries share a statement does not depend on what was found true of private rows,
    unless no row is left out: one unit may make that untrue, and a statement of other queries would
    keep other rows of all units. In joins and unions inner rows may be ranked whatever was found
    true. There only the declared bounds say whether strata decide which rows are kept.

    Args:
        asked: The queries that are asked now. They are put into as few statements as possible: one
            for DuckDB. Spark does not resolve the many subqueries of many marginals' keys.
        ahead: Queries that are asked later. They are put into a statement only if its joint groups
            stay few, which the bins of several columns would not; the lengths of public lists
            decide it. Five means by 18 groups, read two at a time, took 2.4 times as long. What
            has the most groups is put first, so that the others find its statement.
    """
    scopes = {
        source: Scope(source, contract)
        for source in dict.fromkeys(query.source for query, *_ in [*asked, *ahead])
    }
    batches: dict[object, list[list[a.Parts]]] = defaultdict(list)
    for number, parts in enumerate([*asked, *sorted(ahead, key=group_count, reverse=True)]):
        query = parts[0]
        kept_by = (
            ()
            if _keeps_all(scopes[query.source], query.strata, whatever_is_found=True)
            else query.strata
        )
        like = batches[query.source, kept_by, query if isinstance(query, a.Distinct) else None]
        few = (
            batch
            for batch in like
            for joint in [group_count([*chain(*batch), *parts])]
            if (
                number < len(asked)
                or joint <= FEW_GROUPS
                or joint <= min(MOST_GROUPS, max(map(group_count, [*batch, parts])))
            )
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
    """Returns the statement that counts units by value: its columns are the values and, last, `n`,
    the number of units less one.

    Claim: a unit adds 1 to the counts of at most m values, m being the rows that are kept of a
    unit: its different values are ranked by a keyed hash, as rows are in `bounding`. A pair, or a
    longer row of values, is one value, and NULL is a value like another. Subtracting the same 1
    from every count, and leaving out the values whose count is then 0, moves no count further. So
    no noise is ever drawn for a value that one unit alone has.
    """
    scope = Scope(source, contract, hash_key=hash_key, used=columns_read((source, *exprs)))
    loose = has_collation(contract)  # of texts that are equal, one spelling may be one unit's own
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
    """Returns the text of one number for all levels of a row, which a byte holds; "" where there
    are no keys, or a byte is too small.

    Claim: grouping by this number gives the same groups: rows with one number have one level of
    each key, and NULL counts as the level after the last. Why it is done: to group by a byte the
    engine sets up a table of all 256 values in each scan, before any row comes. Other keys are
    hashed, and the first row of a scan then sets up 2 MB, which takes about 150 µs: that time told
    whether a planted unit was there.
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
    # A stratum that is not listed is not counted among the g strata of a unit.
    return f"SELECT {scope.owner} AS u{selected}{scope.source(*(listed if levelled else ()))}"


def _keeps_all(scope: Scope, strata: Sequence[a.Key], whatever_is_found: bool = False) -> bool:
    """Returns whether bounding would leave out no row of this snapshot: see `bounding`. With
    `whatever_is_found`, strata that were found to be one for each unit are trusted in rows of one
    table alone: see `joint_batches`."""
    one_stratum = (scope.of_one_table or not whatever_is_found) and all(
        _columns_of(key.expr, scope) <= scope.facts.constant for key in strata
    )
    return scope.facts.bounded and (
        one_stratum or scope.unit.groups_per_unit >= scope.unit.rows_per_unit
    )


def bounding(
    columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key], listed: str = ""
) -> str:
    """Returns the SELECT that keeps, of each unit, m rows in each of g strata. `listed` is the list
    of units to which all rows belong, if they are those of `BoundedRows.halves`.

    Claim: which rows of a unit are kept depends on that unit's rows alone. Which strata of it are
    kept depends only on the unit, its strata, the relation and the snapshot's key. Strata are
    ranked by hash(key, unit, stratum), rows by hash(key, unit, stratum, all that the statement uses
    of the row); no row number and no order of rows enters. Columns that are UNIQUE in their tables
    are among what is used, so that of ten rows which differ in nothing else, each is as likely to
    be kept. Where hashes are equal, the hashed values decide. Whoever writes the expressions can
    make hashes equal, whatever the key is, and the engine would settle a tie by where the rows lie
    among those of other units. Rows that are still equal do not differ in anything that is used.

    Claim: a unit that has at most m rows in each of at most g strata passes both tests with every
    row. So DuckDB counts the rows of units and ranks only those of units beyond a bound, which is
    cheaper where few units are. Spark ranks all rows (its form `kept`), because it
    would have to send rows and counts to where they meet. For the declared bound of a table,
    `BoundedRows.halves` says which rows need not even be counted. A statement without strata has
    one stratum, and g is at least 1, so there only a unit's rows are counted. Each row is in
    exactly one of the two parts, since no unit's name is NULL. A row of NULLs is counted, joined
    and ranked with the rows of units, and left out at the end: so neither the first row of a unit
    nor the first unit beyond its bounds sets up a hash table or a window that would otherwise not
    be there.

    Claim: the pass may be left out where the snapshot was verified to satisfy the bound. Bounding
    is a function B of the table, and the mechanism is M ∘ B. For such a table B(table) = table, so
    M(table) *is* M(B(table)), and the sensitivity proof, which is about B, holds unchanged. What
    the verification itself tells is listed under Known limits (README.md).
    """
    if _keeps_all(scope, strata):
        return KEEP_ALL
    m, g = scope.unit.rows_per_unit, scope.unit.groups_per_unit
    stratum = ["u", *(f"s{i}" for i in range(len(strata)))]
    per_stratum, (hashed, row) = ", ".join(stratum), scope.rank_order(["u", *columns])
    within = f"row_number() OVER (PARTITION BY {per_stratum} ORDER BY {row}) <= {m}"
    among = f"dense_rank() OVER (PARTITION BY u ORDER BY {scope.rank_order(stratum)[1]}) <= {g}"
    return scope.dialect.form(
        "ranked" if listed else "kept",
        "SELECT * FROM rows",
        ", NULL" * len(columns),
        "u",
        listed or (scope.dialect.form("strata", "u", per_stratum) if strata else "sqlpriv_all"),
        f"max(sqlpriv_n) > {m} OR count(*) > {g}" if strata else f"count(*) > {m}",
        f"{within} AND {among}" if strata else within,
        hashed,
        m,
    )


def _columns_of(expr: a.Expr, scope: Scope) -> frozenset[str]:
    """Returns the lower-case names of the stored columns that an expression reads."""
    read = columns_read(expr)
    inner = (_columns_of(scope.derived[n], scope) for n in read if n in scope.derived)
    return (read - {*scope.derived}).union(*inner)


def verifying(contract: TableContract) -> str:
    """Returns a query of one row of truths: first, whether no unit has more than m rows; then, for
    each column, whether it has one value inside each unit (NULL is a value of its own).

    The text does not name domains, so that declaring one does not make it a new query, which would
    read the rows again.
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

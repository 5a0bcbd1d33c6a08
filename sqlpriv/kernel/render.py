"""The algebra as the one SQL text that the proofs are about.

A batch of queries over one relation and one list of strata is one statement:

1. `rows`   one line per row of the table: the unit, strata, keys, and what is added up;
2. `kept`   those rows that bounding keeps (all, where it would change nothing);
3. `joint`  kept rows counted and added up by strata and keys, exactly (BIGINT, HUGEINT);
4. `coded`  strata and keys as numbers of their levels, from which each query's cells are added up.

What the rows are of, and how expressions are written, is told in `scope`.
"""

from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import accumulate

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import TableContract, Type
from sqlpriv.kernel.expressions import ROW
from sqlpriv.kernel.literals import levels, name
from sqlpriv.kernel.scope import Scope

KEEP_ALL = "SELECT * FROM rows"
MACROS = tuple(
    (resources.files("sqlpriv._udfs") / f"{name}.sql").read_text("utf-8")
    for name in ("clamp", "number", "quantise")
)
"""The CREATE MACRO statements of `udfs/`, in the order in which they build."""


def render(queries: Sequence[a.Query], contract: TableContract, hash_key: int) -> str:
    """Returns the statement that answers queries of one relation and one list of strata.

    Its columns: `part` (position in `parts`), `cell` (its row-major number, over all strata) and
    `value0`, … (the exact integer of each query of the part; BIGINT where all are counts). Cells
    without rows are left out.
    A `Distinct` is alone: different values of joint groups do not add up into larger cells.
    """
    if len(queries) > 1 and any(isinstance(query, a.Distinct) for query in queries):
        raise KernelError("different values are counted by a statement of their own")
    source, strata = queries[0].source, queries[0].strata
    scope = Scope(source, contract)
    keys = list(dict.fromkeys(key for q in queries for key in q.keys))
    added = [scope.added(q) for q in queries]
    adds = list(dict.fromkeys(filter(None, added)))
    levelled = {f"s{i}": key for i, key in enumerate(strata)}
    levelled |= {f"k{i}": key for i, key in enumerate(keys)}
    columns = {c: scope.value(key.expr) for c, key in levelled.items()}
    columns |= {f"v{i}": text for i, (text, _) in enumerate(adds)}
    coded, kept = list(levelled), bounding(columns, scope, strata, hash_key)
    if kept == KEEP_ALL and not _collated(contract):
        coded = [f"{levels(key, c)} AS {c}" for c, key in levelled.items()]
    else:  # windows carry every row: levels, in as few bytes as hold them, are smaller than values
        # and values that a collation calls equal, but a list does not, would share one row's level
        columns |= {c: _narrow(key, columns[c]) for c, key in levelled.items()}
    rows = _rows(columns, scope, strata, kept != KEEP_ALL)
    sums = [*levelled, "count(*) AS n"]
    sums += [f"{how.format(f'v{i}')} AS a{i}" for i, (_, how) in enumerate(adds)]
    grouped = f" GROUP BY {', '.join(levelled)}" if levelled else ""
    coded += ["n", *(f"a{i}" for i in range(len(adds)))]
    names = (f"a{adds.index(add)}" if add else "n" for add in added)
    total = dict(zip(queries, names, strict=True))
    selects = [_cells(i, part, total, keys) for i, part in enumerate(parts(queries))]
    return (
        f"WITH rows AS ({rows}),\nkept AS ({kept}),\n"
        f"joint AS (SELECT {', '.join(sums)} FROM kept{grouped}),\n"
        f"coded AS MATERIALIZED (SELECT {', '.join(coded)} FROM joint)\n"
    ) + "\nUNION ALL BY NAME ".join(selects)


def parts(queries: Sequence[a.Query]) -> list[list[a.Query]]:
    """Returns the queries that have the same cells together: one SELECT adds them up."""
    alike: dict[object, list[a.Query]] = {}
    for query in queries:
        alike.setdefault((query.keys, query.within), []).append(query)
    return list(alike.values())


def grouped(
    source: a.Relation, exprs: Sequence[a.Expr], contract: TableContract, hash_key: int
) -> str:
    """Returns the statement that counts units by values: them and, last, `n`, units less one.

    Claim: a unit adds 1 to at most m values (pairs and more are one value; with a NULL, none),
    m being the rows that are kept of it: its different ones are ranked by a keyed hash, as rows are
    in `bounding`. Subtracting the same 1 from every count, and leaving out what is then 0, moves no
    count further; and no value that one unit alone has is even drawn for.
    """
    scope, loose = Scope(source, contract), _collated(contract)  # a spelling may be one unit's own
    types, m = [scope.type(expr) for expr in exprs], scope.unit.rows_per_unit
    if not types or not {*types} <= {Type.INTEGER, Type.INTEGER if loose else Type.TEXT}:
        raise Refused("keys that are selected are whole numbers, or text without a collation")
    pairs = zip(map(scope.value, exprs), types, strict=True)
    texts = [f"TRY_CAST({x} AS BIGINT)" if of is Type.INTEGER else x for x, of in pairs]
    named = ", ".join(f"{text} AS k{i}" for i, text in enumerate(texts))
    k = ", ".join(f"k{i}" for i in range(len(texts)))
    ranked = f"hash(hash({hash_key}::UBIGINT, u, {k})), {k}"
    return (
        f"WITH rows AS (SELECT DISTINCT {scope.owner} AS u, {named}"
        f"{scope.source(*(f'({text}) IS NOT NULL' for text in texts))}),\n"
        "kept AS (SELECT * FROM rows QUALIFY"
        f" row_number() OVER (PARTITION BY u ORDER BY {ranked}) <= {m})\n"
        f"SELECT {k}, count(*) - 1 AS n FROM kept GROUP BY {k} HAVING count(*) > 1"
    )


def _collated(contract: TableContract) -> bool:
    """Returns whether text of any table may equal other text."""
    return any(table.collated for table in (contract, *contract.others.values()))


def _narrow(key: a.Key, text: str) -> str:
    size = len(key.values)
    width = "UTINYINT" if size < 2**8 else "USMALLINT" if size < 2**16 else "UINTEGER"
    return f"CAST({levels(key, text)} AS {width})"


def _rows(columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key], levelled: bool) -> str:
    selected = "".join(f", {text} AS {column}" for column, text in columns.items())
    listed = [f"({columns[f's{i}']}) IS NOT NULL" for i in range(len(strata))]
    # a stratum that is not listed takes no unit's place
    return f"SELECT {scope.owner} AS u{selected}{scope.source(*(listed if levelled else ()))}"


def _one_stratum(scope: Scope, strata: Sequence[a.Key]) -> bool:
    """Returns whether no unit of this snapshot has rows in more than one stratum."""
    alone = scope.facts.bounded and scope.unit.rows_per_unit == 1
    return alone or all(_columns_of(key.expr, scope) <= scope.facts.constant for key in strata)


def bounding(columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key], key: int) -> str:
    """Returns the SELECT that keeps, of each unit, m rows in each of g strata.

    Claim: what is kept of a unit depends on that unit's rows alone, and the strata kept of it on
    its unit, its strata, the relation and the snapshot's key alone. Strata are ranked by
    hash(key, unit, stratum), rows by hash(key, unit, stratum, everything used of the row): no row
    number, no row order. Rows with equal hashes are equal in all that is used of them, but for
    collisions, and ties are settled within the unit, so the first claim stands whatever wins.

    Where the pass is left out: bounding is a function B of the table, and the mechanism is M ∘ B.
    If the snapshot was found to satisfy its bound, B(table) = table for this very table, so
    M(table) *is* M(B(table)): the sensitivity proof, which is about B, holds unchanged. That it was
    found, when the owner declared it, is listed under Known limits (README.md).
    """
    bounded, one_stratum = scope.facts.bounded, _one_stratum(scope, strata)
    m, g = scope.unit.rows_per_unit, scope.unit.groups_per_unit
    marks = [f"s{i}" for i in range(len(strata))]
    if bounded and (one_stratum or g >= m):
        return KEEP_ALL
    # Hashed twice: DuckDB joins hashes by XOR, and that alone ranks by a fixed tree, unevenly.
    groups = ", ".join([f"hash(hash({key}::UBIGINT, {', '.join(['u', *marks])}))", *marks])
    used = [c for c in columns if not (one_stratum and c in marks)]
    row = f"hash(hash({key}::UBIGINT, {', '.join(['u', *used])}))"
    per_stratum = ", ".join(["u", *([] if one_stratum else marks)])
    tests = []
    if not bounded:
        tests.append(f"row_number() OVER (PARTITION BY {per_stratum} ORDER BY {row}) <= {m}")
    if not one_stratum:
        tests.append(f"dense_rank() OVER (PARTITION BY u ORDER BY {groups}) <= {g}")
    return f"SELECT * FROM rows QUALIFY {' AND '.join(tests)}"


def _columns_of(expr: object, scope: Scope) -> frozenset[str]:
    """Returns the lower-case names of the stored columns that an expression reads."""
    if isinstance(expr, a.Col):
        inner = scope.derived.get(expr.name.lower())
        return frozenset({expr.name.lower()}) if inner is None else _columns_of(inner, scope)
    named = vars(expr) if hasattr(expr, "__dataclass_fields__") else {}  # an enum's lead in circles
    parts = expr if isinstance(expr, tuple) else named.values()
    return frozenset().union(*(_columns_of(part, scope) for part in parts))


def _cells(
    number: int, part: Sequence[a.Query], total: Mapping[a.Query, str], keys: Sequence[a.Key]
) -> str:
    """Returns the SELECT that adds columns of `coded` up into the numbered cells of one part."""
    query = part[0]
    dims = [(f"s{i}", len(key.values)) for i, key in enumerate(query.strata)]
    dims += [(f"k{keys.index(key)}", len(key.values)) for key in query.keys]
    numbers = list(accumulate(dims, lambda n, dim: f"({n} * {dim[1]} + {dim[0]})", initial="0"))
    wheres = [f"{column} BETWEEN 0 AND {size - 1}" for column, size in dims]
    if query.within is not None:
        stratum = numbers[len(query.strata)]
        wheres.append(f"{stratum} IN ({', '.join(map(str, query.within))})")
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    typed = [(total[q], "BIGINT" if isinstance(q, a.Count) else "HUGEINT") for q in part]
    sums = [f", CAST(coalesce(sum({x}), 0) AS {t}) AS value{i}" for i, (x, t) in enumerate(typed)]
    return (
        f"SELECT {number} AS part, CAST({numbers[-1]} AS BIGINT) AS cell{''.join(sums)}"
        f" FROM coded{where} GROUP BY cell"
    )


def verifying(contract: TableContract) -> str:
    """Returns a query of one row: does no unit have more than m rows, and then, of each column:
    does it have a domain and never vary inside a unit (NULL being a value of its own)?
    """
    scope = Scope(a.Scan(contract.table), contract)
    steady, found = [], [f"coalesce(max(n), 0) <= {scope.unit.rows_per_unit}"]
    for i, column in enumerate(contract.columns):
        c = f"{ROW}.{name(column.name)}"
        c = f"encode(CAST({c} AS VARCHAR))" if column.type is Type.TEXT else c  # any collation
        same = f"(count({c}) = 0 OR (count({c}) = count(*) AND min({c}) = max({c})))"
        steady.append(f", {same if column.domain else 'false'} AS c{i}")
        found.append(f"coalesce(bool_and(c{i}), true)")
    inner = f"SELECT count(*) AS n{''.join(steady)}{scope.source()} GROUP BY {scope.owner}"
    return f"SELECT {', '.join(found)} FROM ({inner})"

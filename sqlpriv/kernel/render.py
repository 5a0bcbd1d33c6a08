"""The algebra as the one SQL text that the proofs are about.

A batch of queries over one relation and one list of strata is one statement:

1. `rows`   one line per row of the table: the unit, strata, keys, and what is added up;
2. `kept`   those rows that bounding keeps (all, where it would change nothing);
3. `joint`  kept rows counted and added up by strata and keys, exactly (BIGINT, HUGEINT);
4. `coded`  strata and keys as numbers of their levels, from which each query's cells are added up.

Users' names and literals are all the text that comes from outside; `name`, `literal` quote them.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import accumulate

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import Interval, PrivacyUnit, TableContract, Type, Value
from sqlpriv.kernel.operations import BOOLEANS, NUMBERS, OPERATIONS, check, one
from sqlpriv.kernel.sensitivity import lattice_of

KEEP_ALL = "SELECT * FROM rows"
ROW = "sqlpriv_row"
"""The alias of the scanned table: qualified, a user's column cannot be taken for one of ours."""
MACROS = ("clamp", "number", "quantise", "bin")
WIDENED = {Type.INTEGER: "BIGINT", Type.REAL: "DOUBLE", Type.TEXT: "VARCHAR"}
SQL_TYPES = {t: WIDENED.get(t, t.upper()) for t in Type}


def macros() -> tuple[str, ...]:
    """Returns the CREATE MACRO statements of `udfs/`, in the order in which they build."""
    folder = resources.files("sqlpriv._udfs")
    return tuple((folder / f"{name}.sql").read_text("utf-8") for name in MACROS)


def name(identifier: str) -> str:
    """Returns a quoted identifier."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """Returns a literal whose type DuckDB reads as the algebra does."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return f"({value})" if abs(value) < 2**63 else f"({value})::HUGEINT"
        case float() if math.isfinite(value):
            text = repr(value)
            return f"({text if 'e' in text else text + 'e0'})"
        case str() if "\0" not in value:
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
    raise KernelError("this value has no literal")


class Scope:
    """Writes row expressions over one relation; columns made by Derive are written out."""

    def __init__(self, relation: a.Relation, contract: TableContract) -> None:
        if contract.unit is None:
            raise Refused(f'the table "{contract.table}" has no privacy unit')
        self.contract, self.unit = contract, contract.unit
        self.columns = {c.name.lower(): c for c in contract.columns}
        self.types = {n: c.type for n, c in self.columns.items() if c.type is not None}
        self.derived: dict[str, a.Expr] = {}
        self.predicates: list[a.Expr] = []
        self._enter(relation)

    def _enter(self, relation: a.Relation) -> None:
        match relation:
            case a.Scan(table):
                if table.lower() != self.contract.table.lower():
                    raise Refused("a query reads the table that its contract is about")
            case a.Where(source, predicate):
                self._enter(source)
                one([self.type(predicate)], BOOLEANS, "WHERE")
                self.predicates.append(predicate)
            case a.Derive(source, new, expr):
                self._enter(source)
                if new.lower() in self.types:
                    raise Refused(f'the name "{new}" is taken')
                self.types[new.lower()] = self.type(expr)
                self.derived[new.lower()] = expr

    def type(self, expr: a.Expr) -> Type:
        """Returns the checked type of an expression."""
        return check(expr, self.types)

    def stored(self, expr: a.Expr) -> str:
        """Returns the expression with a bare column as stored: for comparisons and IS NULL."""
        if not isinstance(expr, a.Col):
            return self.value(expr)
        if expr.name.lower() in self.derived:
            return self.stored(self.derived[expr.name.lower()])
        type_, column = self.type(expr), self.columns[expr.name.lower()]
        text = f"{ROW}.{name(column.name)}"
        wide = (
            "HUGEINT" if column.sql_type.upper() in ("HUGEINT", "UBIGINT") else WIDENED.get(type_)
        )
        return f"CAST({text} AS {wide})" if wide else text

    def value(self, expr: a.Expr) -> str:
        """Returns the expression as a value: columns clamped to their declared interval, no NaN."""
        match expr:
            case a.Col(n) if n.lower() in self.derived:
                return self.value(self.derived[n.lower()])
            case a.Col(n):
                text, domain = self.stored(expr), self.columns[n.lower()].domain
                text = f"sqlpriv_number({text})" if self.type(expr) is Type.REAL else text
                if not isinstance(domain, Interval):
                    return text
                return f"sqlpriv_clamp({text}, {literal(domain.lower)}, {literal(domain.upper)})"
            case a.Lit(value, type_):
                if value is None:
                    return f"CAST(NULL AS {SQL_TYPES[type_]})"
                return literal(float(value) if type_ is Type.REAL else value)  # type: ignore[arg-type]
            case a.Call(op, args):
                sql, reads, joiner = OPERATIONS[op].sql, OPERATIONS[op].reads, OPERATIONS[op].joiner
                texts = list(map(self.stored if reads == "stored" else self.value, args))
                texts = [f"CAST({t} AS DOUBLE)" for t in texts] if reads == "double" else texts
                return sql.format(*texts, all=joiner.join(texts))
            case a.In(arg, values):
                return f"({self.stored(arg)} IN ({', '.join(map(literal, values))}))"
            case a.Case(whens, otherwise):
                branches = (f"WHEN {self.value(p)} THEN {self.value(e)}" for p, e in whens)
                return f"(CASE {' '.join(branches)} ELSE {self.value(otherwise)} END)"
            case a.Bin(arg, edges):
                text = self.value(arg)
                text = f"sqlpriv_number({text})" if self.type(arg) in NUMBERS else text
                return f"sqlpriv_bin({text}, [{', '.join(map(literal, edges))}])"
            case a.Pick(keys, numbers):  # levels are NULL or within their key: so is the position
                cell = "0"
                for key in keys:
                    cell = f"({cell} * {len(key.values)} + {levels(key, self.value(key.expr))})"
                table = ", ".join(self.value(a.Lit(number, Type.REAL)) for number in numbers)
                return f"list_extract([{table}], {cell} + 1)"
        raise KernelError("this expression has no rendering")

    def added(self, query: a.Query) -> str:
        """Returns what a row adds to a cell, an integer or NULL; "" where every row adds 1."""
        if isinstance(query, a.Sum):
            return self._quantised(query)
        if query.of is None:
            return ""
        text = self.value(query.of)  # of arithmetic, maybe NaN
        text = f"sqlpriv_number({text})" if self.type(query.of) is Type.REAL else text
        return f"CASE WHEN {text} IS NULL THEN NULL ELSE 1::UTINYINT END"

    def _quantised(self, query: a.Sum) -> str:
        """Returns NULL, or an integer within ±steps of the sum's lattice."""
        type_ = self.type(query.of)
        grid = lattice_of(query, type_)
        if grid.steps == 0:
            return f"(CASE WHEN {self.value(query.of)} IS NULL THEN NULL ELSE 0 END)"
        plain = isinstance(query.of, a.Col) and query.of.name.lower() not in self.derived
        if type_ is Type.INTEGER:
            inner = self.stored(query.of) if plain else f"sqlpriv_number({self.value(query.of)})"
            ends = f"{literal(int(query.lower))}, {literal(int(query.upper))}"
            whole = f"CAST(sqlpriv_clamp({inner}, {ends}) AS BIGINT)"
            if not plain:  # a double: above 2^53 the end it was clamped to may have been rounded
                whole = f"sqlpriv_clamp({whole}, {ends})"
            moved = f"{whole} * 2 - {literal(int(2 * grid.middle))}"
            return f"CAST({moved} AS INTEGER)" if grid.steps < 2**31 else moved
        middle, step = literal(float(grid.middle)), literal(float(grid.step))
        real = self.stored(query.of) if plain else self.value(query.of)
        return f"sqlpriv_quantise({real}, {middle}, {step}, {grid.steps})"


def levels(key: a.Key, text: str) -> str:
    """Returns the 0-based number of a key's value in its list; NULL for a value not listed."""
    known = [v for v in key.values if v is not None]
    null = key.values.index(None) if None in key.values else None
    first = known[0] if known else None
    run = [first + i for i in range(len(known))] if type(first) is int else []
    if run and known == run and key.values[: len(known)] == tuple(known):
        whole = f"TRY_CAST({text} AS BIGINT)"  # compared as integers: doubles round above 2^53
        found = f"CASE WHEN {whole} BETWEEN {literal(first)} AND {literal(known[-1])} "
        found += f"AND {whole} = {text} THEN {whole} - {literal(first)} END"  # 0.3 is not 0
    else:
        found = f"list_position([{', '.join(map(literal, key.values))}], {text}) - 1"
    return found if null is None else f"CASE WHEN {text} IS NULL THEN {null} ELSE {found} END"


def render(queries: Sequence[a.Query], contract: TableContract, hash_key: int) -> str:
    """Returns the statement that answers queries of one relation and one list of strata.

    Its columns: `query` (position in `queries`), `cell` (its row-major number, over all strata) and
    `value` (the exact integer; BIGINT where all are counts). Cells without rows are left out.
    """
    source, strata = queries[0].source, queries[0].strata
    scope = Scope(source, contract)
    keys = list(dict.fromkeys(key for q in queries for key in q.keys))
    added = [scope.added(q) for q in queries]
    adds = list(dict.fromkeys(filter(None, added)))
    levelled = {f"s{i}": key for i, key in enumerate(strata)}
    levelled |= {f"k{i}": key for i, key in enumerate(keys)}
    columns = {c: scope.value(key.expr) for c, key in levelled.items()}
    columns |= {f"v{i}": text for i, text in enumerate(adds)}
    coded, kept = list(levelled), bounding(columns, scope, strata, hash_key)
    if kept == KEEP_ALL:
        coded = [f"{levels(key, c)} AS {c}" for c, key in levelled.items()]
    else:  # windows carry every row: levels, in as few bytes as hold them, are smaller than values
        columns |= {c: _narrow(key, columns[c]) for c, key in levelled.items()}
    rows = _rows(columns, scope, strata, kept != KEEP_ALL)
    sums = [*levelled, "count(*) AS n", *(f"sum(v{i}) AS a{i}" for i in range(len(adds)))]
    grouped = f" GROUP BY {', '.join(levelled)}" if levelled else ""
    coded += ["n", *(f"a{i}" for i in range(len(adds)))]
    totals = [f"a{adds.index(text)}" if text else "n" for text in added]
    parts = [_cells(i, *q, keys) for i, q in enumerate(zip(queries, totals, strict=True))]
    return (
        f"WITH rows AS ({rows}),\nkept AS ({kept}),\n"
        f"joint AS (SELECT {', '.join(sums)} FROM kept{grouped}),\n"
        f"coded AS MATERIALIZED (SELECT {', '.join(coded)} FROM joint)\n"
    ) + "\nUNION ALL ".join(parts)


def unit_of(contract: TableContract, unit: PrivacyUnit) -> str:
    """Returns the expression that names a row's unit, text byte by byte whatever its collation."""
    column, text = contract.column(unit.column), f"{ROW}.{name(unit.column)}"
    if column is None or (column.type in (None, Type.REAL) and column.sql_type != "UUID"):
        raise Refused(f'"{unit.column}" cannot name a unit: its values have no one equality')
    return f"encode(CAST({text} AS VARCHAR))" if column.type is Type.TEXT else text


def _narrow(key: a.Key, text: str) -> str:
    size = len(key.values)
    width = "UTINYINT" if size < 2**8 else "USMALLINT" if size < 2**16 else "UINTEGER"
    return f"CAST({levels(key, text)} AS {width})"


def _rows(columns: Mapping[str, str], scope: Scope, strata: Sequence[a.Key], levelled: bool) -> str:
    unit = unit_of(scope.contract, scope.unit)
    selected = "".join(f", {text} AS {column}" for column, text in columns.items())
    wheres = [f"{unit} IS NOT NULL", *(scope.value(p) for p in scope.predicates)]
    if levelled:  # a stratum that is not listed takes no unit's place
        wheres += [f"({columns[f's{i}']}) IS NOT NULL" for i in range(len(strata))]
    table = f"main.{name(scope.contract.table)} AS {ROW}"
    return f"SELECT {unit} AS u{selected} FROM {table} WHERE {' AND '.join(wheres)}"


def _one_stratum(scope: Scope, strata: Sequence[a.Key]) -> bool:
    """Returns whether no unit of this snapshot has rows in more than one stratum."""
    facts = scope.contract.facts
    alone = facts.bounded and scope.unit.rows_per_unit == 1
    return alone or all(_columns_of(key.expr, scope) <= facts.constant for key in strata)


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
    bounded, one_stratum = scope.contract.facts.bounded, _one_stratum(scope, strata)
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


def _cells(number: int, query: a.Query, total: str, keys: Sequence[a.Key]) -> str:
    """Returns the SELECT that adds a column of `coded` up into the numbered cells of one query."""
    dims = [(f"s{i}", len(key.values)) for i, key in enumerate(query.strata)]
    dims += [(f"k{keys.index(key)}", len(key.values)) for key in query.keys]
    numbers = list(accumulate(dims, lambda n, dim: f"({n} * {dim[1]} + {dim[0]})", initial="0"))
    wheres = [f"{column} BETWEEN 0 AND {size - 1}" for column, size in dims]
    if query.within is not None:
        stratum = numbers[len(query.strata)]
        wheres.append(f"{stratum} IN ({', '.join(map(str, query.within))})")
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    width = "BIGINT" if isinstance(query, a.Count) else "HUGEINT"
    return (
        f"SELECT {number} AS query, CAST({numbers[-1]} AS BIGINT) AS cell,"
        f" CAST(coalesce(sum({total}), 0) AS {width}) AS value FROM coded{where} GROUP BY cell"
    )


def verifying(contract: TableContract, unit: PrivacyUnit) -> str:
    """Returns a query of one row: does no unit have more than m rows, and then, of each column:
    does it have a domain and never vary inside a unit (NULL being a value of its own)?
    """
    steady, found = [], [f"coalesce(max(n), 0) <= {unit.rows_per_unit}"]
    for i, column in enumerate(contract.columns):
        c = f"{ROW}.{name(column.name)}"
        same = f"(count({c}) = 0 OR (count({c}) = count(*) AND min({c}) = max({c})))"
        steady.append(f", {same if column.domain else 'false'} AS c{i}")
        found.append(f"coalesce(bool_and(c{i}), true)")
    table, key = f"main.{name(contract.table)} AS {ROW}", unit_of(contract, unit)
    inner = f"SELECT count(*) AS n{''.join(steady)} FROM {table} WHERE {key} IS NOT NULL"
    return f"SELECT {', '.join(found)} FROM ({inner} GROUP BY {key})"

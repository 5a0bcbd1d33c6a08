"""Types and totality of row expressions.

Claim: an expression that `check` accepts is evaluated on every row, whatever it holds, without an
error of the engine. DuckDB raises on a row for three reasons: a cast that fails, an integer that
overflows, a division by zero. The rules here leave no comparison or branch between types of which
DuckDB would cast one to the other and could fail; `render` computes all arithmetic in doubles,
which overflow to infinity, and writes a zero divisor as NULL. So integers are exact in arithmetic
up to 2**53, and exact without bound where they are compared, listed or summed as stored.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence

from sqlpriv.errors import Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import TableContract, Type, Value

DATE_PARTS = ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy")
TIME_PARTS = ("hour", "minute")
NUMBERS = frozenset({Type.INTEGER, Type.REAL})
_NAMES: Mapping[str, Type] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Type.INTEGER),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"), Type.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Type.REAL),
    **dict.fromkeys(("VARCHAR", "ENUM"), Type.TEXT),
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    "TIMESTAMP": Type.TIMESTAMP,
}
_PYTHON: Mapping[Type, tuple[type, ...]] = {
    Type.INTEGER: (int,),
    Type.REAL: (int, float),
    Type.TEXT: (str,),
    Type.BOOLEAN: (bool,),
    Type.DATE: (dt.date,),
    Type.TIMESTAMP: (dt.datetime,),
}


def type_of(sql_type: str) -> Type | None:
    """Returns how row expressions see a DuckDB type; None when they cannot use it."""
    return None if sql_type.endswith("]") else _NAMES.get(sql_type.upper().split("(")[0].strip())


def relation_types(relation: a.Relation, contract: TableContract) -> dict[str, Type]:
    """Returns the usable columns of a relation by lower-case name; checks what it is made of."""
    match relation:
        case a.Scan(table):
            if table.lower() != contract.table.lower():
                raise Refused("a query reads the table that its contract is about")
            return {c.name.lower(): c.type for c in contract.columns if c.type is not None}
        case a.Where(source, predicate):
            types = relation_types(source, contract)
            _all((check(predicate, types),), {Type.BOOLEAN}, "WHERE")
            return types
        case a.Derive(source, name, expr):
            types = relation_types(source, contract)
            if name.lower() in types:
                raise Refused(f'the name "{name}" is taken')
            return {**types, name.lower(): check(expr, types)}


def check(expr: a.Expr, types: Mapping[str, Type]) -> Type:
    """Returns the type of a row expression.

    Raises:
        Refused: An unknown column or function, or a mix of types. The message has no place in the
            user's text: only the caller knows it.
    """
    match expr:
        case a.Col(name):
            if name.lower() not in types:
                raise Refused(f'there is no usable column "{name}"')
            return types[name.lower()]
        case a.Lit(value, type_):
            return check_literal(value, type_)
        case a.Compare(op, left, right) if op in ("=", "<>", "<", "<=", ">", ">="):
            _common([check(left, types), check(right, types)], "a comparison")
            return Type.BOOLEAN
        case a.And(args) | a.Or(args):
            return _all([check(x, types) for x in args], {Type.BOOLEAN}, "AND and OR")
        case a.Not(arg):
            return _all([check(arg, types)], {Type.BOOLEAN}, "NOT")
        case a.In(arg, values) if values and None not in values:
            found = check(arg, types)
            for value in values:
                check_literal(value, found if found is not Type.INTEGER else Type.REAL)
            return Type.BOOLEAN
        case a.IsNull(arg):
            check(arg, types)
            return Type.BOOLEAN
        case a.Arith(op, left, right) if op in ("+", "-", "*", "/", "//", "%"):
            sides = [check(left, types), check(right, types)]
            found = _all(sides, NUMBERS if op != "//" else {Type.INTEGER}, op)
            return Type.REAL if op == "/" else found
        case a.Fn(name, arg) if name in ("abs", "floor", "ceil", "round", "neg"):
            return _all([check(arg, types)], NUMBERS, name)
        case a.Fn("integer" | "real" as name, arg):
            _all([check(arg, types)], NUMBERS, name)
            return Type(name)
        case a.Case(whens, otherwise):
            _all([check(p, types) for p, _ in whens], {Type.BOOLEAN}, "CASE WHEN")
            return _common([*(check(e, types) for _, e in whens), check(otherwise, types)], "CASE")
        case a.Coalesce(args) | a.Extreme(args, _) if args:
            return _common([check(x, types) for x in args], "COALESCE, LEAST or GREATEST")
        case a.DatePart(part, arg):
            timed = {Type.TIMESTAMP} if part in TIME_PARTS else {Type.DATE, Type.TIMESTAMP}
            if part not in DATE_PARTS + TIME_PARTS:
                raise Refused(f"there is no date part {part}")
            _all([check(arg, types)], timed, f"the date part {part}")
            return Type.INTEGER
        case a.Bin(arg, edges):
            found = _all([check(arg, types)], {*NUMBERS, Type.DATE, Type.TIMESTAMP}, "a bin")
            for edge in edges:
                check_literal(edge, found if found not in NUMBERS else Type.REAL)
            if list(edges) != sorted(set(edges)):
                raise Refused("the edges of bins ascend")
            return Type.INTEGER
    raise Refused(f"{type(expr).__name__} is no row expression of this form")


def check_literal(value: Value, type_: Type) -> Type:
    """Returns the type, or refuses a value that is not of it, not finite or not writable."""
    if value is None:
        return type_
    wrong = isinstance(value, bool) and type_ is not Type.BOOLEAN
    wrong |= isinstance(value, dt.datetime) and (type_ is Type.DATE or value.tzinfo is not None)
    wrong |= isinstance(value, float) and not math.isfinite(value)
    wrong |= isinstance(value, int) and abs(value) > 2**126
    wrong |= isinstance(value, str) and "\0" in value
    if wrong or not isinstance(value, _PYTHON[type_]):
        raise Refused(f"a literal does not fit the type {type_}")
    return type_


def _all(
    found: list[Type] | tuple[Type, ...], wanted: set[Type] | frozenset[Type], at: str
) -> Type:
    if not found or not set(found) <= wanted:
        names = " or ".join(sorted(wanted))
        raise Refused(f"{at} needs {names}, not {' and '.join(sorted(set(found)))}")
    return _common(found, at)


def _common(found: Sequence[Type], at: str) -> Type:
    kinds = set(found)
    if len(kinds) > 1 and kinds != NUMBERS:
        raise Refused(f"{at} mixes the types {' and '.join(sorted(kinds))}")
    return Type.REAL if Type.REAL in kinds else found[0]

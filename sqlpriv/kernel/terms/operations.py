"""The functions and operators of row expressions, their types, and why they are total.

Claim: an expression that `check` accepts is evaluated on every row, whatever it holds, without an
error of the engine. DuckDB raises on a row for three reasons: a cast that fails, an integer that
overflows, a division by zero. Arguments of one operation are of one type (or numbers), so DuckDB
inserts no cast that could fail; all arithmetic is in doubles, which overflow to infinity; a zero
divisor is written as NULL. So integers are exact in arithmetic up to 2**53, and exact without bound
where they are compared, listed or summed as stored.

An operation enters this table with the test that evaluates it over nasty rows.
"""

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value

NUMBERS = frozenset({Type.INTEGER, Type.REAL})
MOMENTS = frozenset({Type.DATE, Type.TIMESTAMP})
ANY, BOOLEANS = frozenset(Type), frozenset({Type.BOOLEAN})
ESCAPES = frozenset(r"!#$/@\^|~")
"""The escape characters that LIKE may have. DuckDB raises an error, only on rows that match up to
that point, if a LIKE pattern ends with its escape character. ILIKE and collations fold the case and
the accents of a pattern before it is matched: with the escape "e", a pattern that ends with "É"
would end with its escape after folding. No character folds to one of these."""

SANE = "CASE WHEN {0} BETWEEN DATE '100000-01-01 (BC)' AND DATE '200000-01-01' THEN {0} END"
"""The timestamps for which DuckDB computes week, beginning and distance; it raises an error nearer
to the ends of time."""


MAX_SCALE = 18
"""The most digits behind the point to which `scale` rounds, and, with a minus, before it. A half is
rounded away from zero."""

NEAR = SANE.replace("100000", "90000").replace("200000", "90000")
"""A timestamp whose distance in microseconds to any other fits 64 bits."""


class Operation(NamedTuple):
    """One function or operator.

    Attributes:
        takes: The types of its arguments, which are all of one type; integers and reals may mix.
        gives: Its own type; None for that of the arguments (REAL where they mix).
        sql: Its text over rendered arguments: {0}, {1}; or {all}, joined by `joiner`.
        reads: How it sees a bare column: "stored", "value" (clamped to its interval) or "double"
            (the value, cast to DOUBLE).
    """

    takes: AbstractSet[Type]
    gives: Type | None
    sql: str
    reads: str = "double"
    joiner: str = ", "

    @property
    def arity(self) -> int:
        """The number of arguments, 0 for one or more: `sql` names them."""
        return 0 if "{all}" in self.sql else 1 + ("{1}" in self.sql)


def _operations(
    takes: AbstractSet[Type], gives: Type | None, texts: Mapping[str, str], *reads: str
) -> dict[str, Operation]:
    return {op: Operation(takes, gives, sql, *reads) for op, sql in texts.items()}


def _of_two_moments(moment: str) -> str:
    return f"{moment}, {moment.replace('0}', '1}')}"


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
PARTS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
OPERATIONS: dict[str, Operation] = {
    **_operations(BOOLEANS, Type.BOOLEAN, {"and": "({all})"}, "value", " AND "),
    **_operations(BOOLEANS, Type.BOOLEAN, {"or": "({all})"}, "value", " OR "),
    **_operations(BOOLEANS, Type.BOOLEAN, {"not": "(NOT {0})"}, "value"),
    **_operations(ANY, Type.BOOLEAN, {"is null": "({0} IS NULL)"}, "stored"),
    # NaN equals itself and is above all else
    **_operations(ANY, Type.BOOLEAN, {op: f"({{0}} {op} {{1}})" for op in COMPARISONS}, "stored"),
    **_operations(NUMBERS, None, {op: f"({{0}} {op} {{1}})" for op in ("+", "-", "*")}),
    # A divisor stands twice, since the engine makes such a CASE of nullif({1}, 0): where it stood
    # once, a row took longer than the delay, which reads the text, allowed for. A dividend's sign:
    **_operations(NUMBERS, None, {"neg": "(-{0})", "%": "({0} % CASE WHEN {1} <> 0 THEN {1} END)"}),
    **_operations(
        {Type.INTEGER}, None, {"//": "trunc({0} / CASE WHEN {1} <> 0 THEN {1} END)"}
    ),  # towards zero
    **_operations(
        NUMBERS, None, {f: f"{f}({{0}})" for f in ("abs", "floor", "ceil", "round", "trunc")}
    ),
    # the engine gives NaN or an infinity where there is no number
    **_operations(
        NUMBERS,
        Type.REAL,
        {f: f"{f}({{0}})" for f in ("sqrt", "cbrt", "ln", "log10", "log2", "exp")},
    ),
    # -0.0 equals 0.0, and groups and sorts keep either: added to 0.0, both are one
    **_operations(NUMBERS, Type.REAL, {"pow": "pow({0} + 0e0, {1})"}),
    **_operations(NUMBERS, Type.REAL, {"/": "({0} / CASE WHEN {1} <> 0 THEN {1} END)"}),
    # an infinity, and what 10**digits times is one, stays
    **_operations(
        NUMBERS,
        Type.REAL,
        {f"scale {d}": f"round({{0}}, {d})" for d in range(-MAX_SCALE, MAX_SCALE + 1)},
    ),
    **_operations(NUMBERS, Type.REAL, {"real": "{0}"}),
    **_operations(NUMBERS, Type.INTEGER, {"integer": "round_even({0}, 0)"}),
    **_operations(NUMBERS, Type.INTEGER, {"sign": "CAST(sign({0}) AS DOUBLE)"}),
    # of what is beyond 64 bits, NULL
    **_operations(
        {Type.INTEGER},
        None,
        {op: f"(TRY_CAST({{0}} AS BIGINT) {op} TRY_CAST({{1}} AS BIGINT))" for op in ("&", "|")},
        "value",
    ),
    # NULLs are passed over by all three
    **_operations(
        ANY, None, {f: f"{f}({{all}})" for f in ("coalesce", "least", "greatest")}, "value"
    ),
    # NULL for an infinite date; DuckDB raises for the week of the very first days
    **_operations(
        MOMENTS,
        Type.INTEGER,
        {
            part: f"date_part('{part}', {SANE if part == 'week' else '{0}'})"
            for part in (*PARTS[:5], "dow", "isodow", "doy")
        },
        "value",
    ),
    **_operations(
        {Type.TIMESTAMP, Type.TIME},
        Type.INTEGER,
        {part: f"date_part('{part}', {{0}})" for part in ("hour", "minute")},
        "value",
    ),
    # the moment at which it began
    **_operations(
        MOMENTS,
        Type.TIMESTAMP,
        {f"trunc {p}": f"date_trunc('{p}', {SANE})" for p in ("century", "decade", *PARTS)},
        "value",
    ),
    # how many beginnings of such a part lie between two moments
    **_operations(
        MOMENTS,
        Type.INTEGER,
        {
            f"diff {part}": f"date_diff('{part}', {_of_two_moments(SANE)})"
            for part in ("decade", *PARTS)
            if part != "day"
        },
        "value",
    ),
    # how many whole ones
    **_operations(
        MOMENTS,
        Type.INTEGER,
        {f"sub {part}": f"date_sub('{part}', {_of_two_moments(NEAR)})" for part in PARTS},
        "value",
    ),
    **_operations(
        MOMENTS, Type.INTEGER, {"days": f"date_diff('day', DATE '1970-01-01', {SANE})"}, "value"
    ),
    # the microseconds from 1970 to a moment
    **_operations(
        MOMENTS,
        Type.INTEGER,
        {"micros": f"date_diff('microsecond', TIMESTAMP '1970-01-01', {NEAR})"},
        "value",
    ),
    # characters, and bytes; letters of either case
    **_operations(
        {Type.TEXT}, Type.INTEGER, {f: f"{f}({{0}})" for f in ("length", "strlen")}, "value"
    ),
    **_operations({Type.TEXT}, Type.TEXT, {f: f"{f}({{0}})" for f in ("lower", "upper")}, "value"),
    # the day of a moment, and the midnight at which a day begins
    **_operations(MOMENTS, Type.DATE, {"date": f"CAST({SANE} AS DATE)"}, "value"),
    **_operations({Type.TIMESTAMP}, Type.TIME, {"clock": f"CAST({SANE} AS TIME)"}, "value"),
    **_operations({Type.DATE}, Type.TIMESTAMP, {"midnight": f"CAST({SANE} AS TIMESTAMP)"}, "value"),
}

TRUNCATED = ("TIMESTAMP_NS",)
"""Types of which several values are read as one; of all others a value is one value, or NULL."""
STORED_MOMENTS = dict.fromkeys(
    ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"), "zoned"
) | dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "moment of units")
"""Types of moments that are stored otherwise than a TIMESTAMP → the form that makes one of them.
Those of a zone are stored in UTC, and read so, in whatever zone the engine shows them; infinite
ones become NULL, as `epoch_us` of them is. Claim: the others are read in whole microseconds, and
no row can raise an error: seconds and milliseconds reach beyond the ends of a TIMESTAMP, where the
engine's plain cast raises one, and TRY_CAST gives NULL."""

# For each type: the names that DuckDB has for it, and the literals that it takes.
_NAMES: Mapping[Type, str] = {type_: type_.upper() for type_ in Type} | {
    Type.INTEGER: "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT",
    Type.REAL: "FLOAT DOUBLE DECIMAL",
    Type.TEXT: "VARCHAR ENUM UUID",
    Type.TIMESTAMP: "TIMESTAMP TIMESTAMPTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
}
_LITERALS = dict(
    zip(Type, (int, int | float, str, bool, dt.date, dt.datetime, dt.time), strict=True)
)


def type_of(sql_type: str) -> Type | None:
    """Returns how row expressions see a DuckDB type; None when they cannot use it.

    >>> type_of("DECIMAL(15,2)"), type_of("INTEGER[]"), type_of("TIME WITH TIME ZONE")
    (<Type.REAL: 'real'>, None, None)
    """
    whole = sql_type.upper().replace(" WITH TIME ZONE", "TZ")
    name = "" if sql_type.endswith("]") else whole.split("(")[0].strip()
    return next((type_ for type_, names in _NAMES.items() if name in names.split()), None)


def fits_decimal(number: Value, sql_type: str) -> bool:
    """Returns whether the text of a literal is a value of a DECIMAL of up to 15 digits.

    Claim: a column of the type compares with that DECIMAL as its double does with the number. Each
    DECIMAL is a whole number below 2^53 over a power of ten up to 10^15, so the engine's double of
    it is the nearest one, and larger for a larger DECIMAL; and a number is the double that is
    nearest to its text. To compare as stored spares a cast of each row, and lets the engine compare
    in the scan: TPC-H's query 6 took 101 ms there, and takes 66.

    >>> [fits_decimal(x, "DECIMAL(15,2)") for x in (0.05, 24, -24.0, 0.055, 1e14, None, "1")]
    [True, True, True, False, False, False, False]
    """
    form = re.fullmatch(r"DECIMAL\((\d|1[0-5]),(\d+)\)", sql_type)
    return form is not None and bool(
        re.fullmatch(
            rf"-?0*\d{{0,{int(form[1]) - int(form[2])}}}(\.\d{{0,{form[2]}}}0*)?", repr(number)
        )
    )


def check(expr: a.Expr, types: Mapping[str, Type]) -> Type:
    """Returns the type of a row expression; Refused for an unknown name or a mix of types."""
    match expr:
        case a.Col(name) if name.lower() in types:
            return types[name.lower()]
        case a.Col(name):
            raise Refused(f'there is no usable column "{name}"')
        case a.Lit(value, type_):
            return check_literal(value, type_)
        case a.Call(op, args) if op in OPERATIONS and OPERATIONS[op].arity in (0, len(args)):
            of_arguments = one([check(x, types) for x in args], OPERATIONS[op].takes, op.upper())
            return OPERATIONS[op].gives or of_arguments
        case a.In(arg, values) if values and None not in values:
            _check_listed(values, check(arg, types))
            return Type.BOOLEAN
        case a.Case(whens, otherwise) if whens:
            one([check(p, types) for p, _ in whens], BOOLEANS, "CASE WHEN")
            return one([check(e, types) for e in (*(e for _, e in whens), otherwise)], ANY, "CASE")
        case a.Bin(arg, edges):
            of = one([check(arg, types)], NUMBERS | MOMENTS, "a bin")
            _check_listed(edges, of)
            if list(edges) != sorted(set(edges)):
                raise Refused("the edges of bins ascend")
            if isinstance(expr, a.Roots):
                one([of], NUMBERS, "a root")
                if not _rises_at_edges(expr, of):
                    raise Refused("the edges of roots are where their number rises")
            return Type.INTEGER
        case a.Pick(keys, numbers) if len(numbers) == math.prod(len(k.values) for k in keys):
            for key in keys:
                check_key(key, check(key.expr, types))
            if {*map(type, numbers)} != {float} or not all(map(math.isfinite, numbers)):
                _check_listed(numbers, Type.REAL)
            return Type.REAL
        case a.Like(arg, pattern, escape, _):
            one([check(arg, types)], {Type.TEXT}, "LIKE")
            check_literal(pattern, Type.TEXT)
            pairs = f"[{re.escape(escape)}][{re.escape(escape)}%_]"
            if escape and (escape not in ESCAPES or escape in re.sub(pairs, "", pattern)):
                signs = " ".join(sorted(ESCAPES))
                raise Refused(f"ESCAPE is one of {signs} and stands before itself, % or _")
            if len(pattern) > a.MAX_PATTERN:
                raise Refused(f"a pattern has at most {a.MAX_PATTERN} characters")
            return Type.BOOLEAN
        case a.Substring(arg, start, length) if 0 < start < 2**31 and 0 <= length < 2**31:
            return one([check(arg, types)], {Type.TEXT}, "SUBSTRING")
        case a.Shift(arg, months, days, micros):
            parts = zip((months, days, micros), a.MAX_SHIFT, strict=True)
            if any(abs(n) > most for n, most in parts):
                raise Refused("an interval moves a moment by 5000 years at most")
            one([check(arg, types)], MOMENTS, "an interval's moment")
            return Type.TIMESTAMP
    raise Refused(f"{type(expr).__name__} is no row expression of this form")


@lru_cache(256)
def _rises_at_edges(roots: a.Roots, of: Type) -> bool:
    """Returns whether the number of `Roots` rises at each edge, compared with the largest value
    below it; the argument is of that type. The answer is cached, since it follows from the
    numbers."""
    at = [float(edge) for edge in roots.edges if isinstance(edge, int | float)]
    apart = 1 if of is Type.INTEGER else 0  # or, beyond 2^53, as far as doubles are
    before = (min(e - apart, math.nextafter(e, -math.inf)) for e in at)
    rises = (roots.number(b) < roots.number(e) for b, e in zip(before, at, strict=True))
    return -math.inf < roots.start < roots.stop < math.inf and all(rises)


def _check_listed(values: Iterable[Value], type_: Type) -> None:
    """Refuses literals that cannot be compared with values of a type; numbers are with numbers."""
    for value in values:
        check_literal(value, Type.REAL if type_ in NUMBERS else type_)


def check_key(key: a.Key, type_: Type) -> None:
    """Refuses a list that holds a value of another type than its expression's.

    Claim: of whole numbers alone, all fit where the least and the largest do: `check_literal` goes
    by their type and by how large they are.
    """
    for value in (
        key.values if {*map(type, key.values)} != {int} else (min(key.values), max(key.values))  # type: ignore[type-var]  # all are int
    ):
        check_literal(value, type_)


def check_literal(value: Value, type_: Type) -> Type:
    """Returns the type, or refuses a value that is not of it, not finite or not writable."""
    if (
        value is None
        or (type(value) is float and type_ is Type.REAL and math.isfinite(value))
        or (type(value) is int and type_ in NUMBERS and abs(value) <= 2**126)
    ):
        return type_  # as most of many are
    wrong = (
        (isinstance(value, bool) and type_ is not Type.BOOLEAN)
        or (
            isinstance(value, dt.datetime | dt.time)
            and (type_ is Type.DATE or value.tzinfo is not None)
        )
        or (isinstance(value, float) and not math.isfinite(value))
        or (isinstance(value, int) and abs(value) > 2**126)
        or (isinstance(value, str) and "\0" in value)
    )
    if wrong or not isinstance(value, _LITERALS[type_]):
        raise Refused(f"a literal does not fit the type {type_}")
    return type_


def one(types: Sequence[Type], wanted: AbstractSet[Type], at: str) -> Type:
    """Returns the one type of arguments, all of it wanted; integers and reals may mix.

    >>> one([Type.INTEGER, Type.REAL], NUMBERS, "+")
    <Type.REAL: 'real'>
    """
    kinds = set(types)
    if not kinds or not kinds <= wanted:
        names = " or ".join(sorted(wanted))
        raise Refused(f"{at} needs {names}, not {' and '.join(sorted(kinds)) or 'nothing'}")
    if len(kinds) > 1 and kinds != NUMBERS:
        raise Refused(f"{at} mixes the types {' and '.join(sorted(kinds))}")
    return Type.REAL if Type.REAL in kinds else types[0]


def conjuncts(predicate: a.Expr) -> list[a.Expr]:
    """Returns the predicates that are all true exactly where this one is.

    >>> adult = a.Call(">", (a.Col("age"), a.Lit(17, Type.INTEGER)))
    >>> conjuncts(a.Call("and", (adult, a.Call("and", (a.Col("x"), a.Col("y")))))) == [
    ...     adult, a.Col("x"), a.Col("y")]
    True
    """
    match predicate:
        case a.Call("and", args):
            return [part for arg in args for part in conjuncts(arg)]
    return [predicate]


def columns_read(expr: object) -> frozenset[str]:
    """Returns the lower-case names of the columns that an expression reads.

    >>> sorted(columns_read(a.Call("+", (a.Col("Age"), a.Col("years")))))
    ['age', 'years']
    """
    if isinstance(expr, a.Col):
        return frozenset({expr.name.lower()})
    named = vars(expr) if hasattr(expr, "__dataclass_fields__") else {}  # an enum's lead in circles
    parts = expr if isinstance(expr, tuple) else named.values()
    return frozenset().union(  # of the 20,000 values of a list none is looked into
        *(
            columns_read(part)
            for part in parts
            if isinstance(part, tuple)
            or (hasattr(part, "__dataclass_fields__") and not isinstance(part, a.Lit))
        )
    )

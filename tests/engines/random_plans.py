"""Random queries of the whole algebra over random hostile rows, from a seed."""

from __future__ import annotations

import datetime as dt
import json
import random
from typing import Any

from sqlpriv.kernel.sql.dialect import SPARK
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Categories,
    Column,
    Interval,
    TableContract,
    Type,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import COMPARISONS, NUMBERS, OPERATIONS, type_of
from sqlpriv.session.declarations.declared_domains import domain_body

LAST_BIT = {"exp", "ln", "log2", "log10", "cbrt", "pow"}
LABELS = ["it's", "\\", 'a"b', "`", "", "a\nb", "\x01", "İ", "日本", "\U0010ffff", "%_", "plain"]
TABLES = {
    "people": {"id": "BIGINT", "t": "VARCHAR", "x": "DOUBLE", "n": "BIGINT", "day": "DATE"},
    "visits": {
        "who": "BIGINT",
        "u": "VARCHAR",
        "y": "DOUBLE",
        "k": "INTEGER",
        "big": "UBIGINT",
        "cents": "DECIMAL(15,2)",
        "ok": "BOOLEAN",
        "at": "TIMESTAMP",
        "few": "UTINYINT",
    },
    "shops": {"k2": "INTEGER", "town": "VARCHAR"},
}
REALS = [
    "'nan'",
    "'inf'",
    "'-inf'",
    "0",
    "-0.0",
    "0.5",
    "2.5",
    "1e37",
    "9007199254740993",
    "1e300",
    "-3.7",
    "0.1",
    "NULL",
]
WHOLE = ["0", "1", "2", "-1", "9007199254740993", "-9007199254740993", "9223372036854775807"]
DAYS = ["0001-01-01", "0044-03-15 (BC)", "1969-12-31", "2000-02-29", "2024-12-30", "9999-12-31"]
VALUES: dict[str, list[str]] = {
    "DOUBLE": [f"{v}::DOUBLE" for v in REALS],
    "BIGINT": [f"'{v}'::BIGINT" for v in WHOLE],
    "INTEGER": [f"'{v}'::INTEGER" for v in ("0", "1", "2", "3", "-2147483648", "2147483647")],
    "UTINYINT": [f"{v}::UTINYINT" for v in ("0", "1", "255", "NULL")],
    "UBIGINT": [f"{v}::UBIGINT" for v in ("0", "1", "18446744073709551615", "NULL")],
    "DECIMAL(15,2)": [f"{v}::DECIMAL(15,2)" for v in ("0", "0.01", "-1.25", "9999999999999.99")],
    "BOOLEAN": ["true", "false", "NULL::BOOLEAN"],
    "DATE": [*(f"'{d}'::DATE" for d in DAYS), "NULL::DATE"],
    "TIMESTAMP": [*(f"'{d} 23:59:59.5'::TIMESTAMP" for d in DAYS), "NULL::TIMESTAMP"],
    "VARCHAR": ["NULL::VARCHAR"],
}
SMALL = [0, 1, 2, -1, 5]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def any_character(rng: random.Random) -> str:
    return chr(rng.choice([rng.randrange(1, 0xD800), rng.randrange(0xE000, 0x110000)]))


def rows_of(rng: random.Random, table: str, labels: list[str]) -> str:
    """The SELECT of a table's random rows; not all of them are of one of 12 units."""
    size = {"people": 12, "visits": rng.randint(0, 60), "shops": 5}[table]
    rows = []
    for number in range(size):
        row = []
        for column, type_ in TABLES[table].items():
            if column == "id":
                row.append(f"{number}::BIGINT")
            elif column == "who":
                row.append(rng.choice([*(f"{i}::BIGINT" for i in range(14)), "NULL::BIGINT"]))
            elif type_ == "VARCHAR":
                row.append(rng.choice([*map(quoted, labels), "NULL::VARCHAR"]))
            else:
                row.append(rng.choice(VALUES[type_]))
        rows.append(f"({', '.join(row)})")
    names = ", ".join(f'"{column}"' for column in TABLES[table])
    if not rows:
        nothing = ", ".join(f'NULL::{t} AS "{c}"' for c, t in TABLES[table].items())
        return f"SELECT {nothing} WHERE false"
    return f"SELECT * FROM (VALUES {', '.join(rows)}) AS r({names})"


def contracts(
    rng: random.Random, labels: list[str], bound: list[int] | None = None
) -> dict[str, TableContract]:
    """The declared tables; `bound` rows and groups of a unit, or random ones."""
    domains: dict[str, dict[str, Any]] = {
        "people": {
            "t": Categories((*labels, None)),
            "x": Interval(-2.0, 5.0),
            "n": Interval(-(2**61), 2**61),
            "day": Interval(dt.date(1, 1, 1), dt.date(2010, 1, 1)),
        },
        "visits": {
            "u": Categories(tuple(labels[:5])),
            "y": Interval(0.0, 1e6),
            "k": Interval(0, 3),
            "cents": Interval(-10.0, 10.0),
        },
        "shops": {"town": Categories(tuple(labels[:3]))},
    }
    bound = bound or [rng.randint(1, 5), rng.randint(1, 2)]
    declared = {
        "people": {"key": "id", "unit": True},
        "visits": {
            "links": [["who", "people", "id"]],
            "bound": bound,
        },
        "shops": {"public": True},
    }
    catalog, bodies = [], {}
    for table, columns in TABLES.items():
        typed = tuple(Column(c, type_of(t), t) for c, t in columns.items())
        unique = frozenset({"id"} if table == "people" else ())
        catalog.append(TableContract(table, typed, unique=unique))
        bodies[table] = {
            **UNDECLARED,
            **declared[table],
            "domains": {c: domain_body(d, False) for c, d in domains[table].items()},
        }
    return contracts_in_force(catalog, json.loads(json.dumps(bodies)), {}, 1)


class Plans:
    """Random expressions and relations over the columns in scope."""

    def __init__(self, rng: random.Random, labels: list[str]) -> None:
        self.rng, self.labels = rng, labels

    def literal(self, type_: Type) -> a.Lit:
        values: dict[Type, list[Any]] = {
            Type.INTEGER: [0, 1, 2, -3, 2**53 + 1, 2**70, None],
            Type.REAL: [0.5, -0.0, 1e300, 3.0, 0.1, None],
            Type.TEXT: [*self.labels, any_character(self.rng)],
            Type.BOOLEAN: [True, False, None],
            Type.DATE: [dt.date(1, 1, 1), dt.date(2000, 2, 29)],
            Type.TIMESTAMP: [dt.datetime(1969, 12, 31, 23, 59, 59, 5), dt.datetime(2024, 2, 29)],
        }
        return a.Lit(self.rng.choice(values[type_]), type_)

    def expr(self, type_: Type, columns: dict[str, Type], depth: int) -> a.Expr:
        """An expression of a type."""
        rng = self.rng
        alike = [c for c, t in columns.items() if t is type_]
        if depth == 0 or rng.random() < 0.15:
            return a.Col(rng.choice(alike)) if alike and rng.random() < 0.8 else self.literal(type_)
        if rng.random() < 0.15:
            test = self.expr(Type.BOOLEAN, columns, depth - 1)
            branch = self.expr(type_, columns, depth - 1)
            return a.Case(((test, branch),), self.expr(type_, columns, depth - 1))
        if type_ is Type.TEXT:
            return a.Substring(
                self.expr(type_, columns, depth - 1), rng.randint(1, 3), rng.randint(0, 3)
            )
        if type_ is Type.BOOLEAN and rng.random() < 0.5:
            of = rng.choice([t for t in Type if t is not Type.TIME])  # Spark has none
            arg = self.expr(of, columns, depth - 1)
            if of is Type.TEXT and rng.random() < 0.6:
                pattern = "".join(rng.choice(["%", "_", "a", "B", "'", '"', "i"]) for _ in range(3))
                escape = rng.choice(["", "!", "\\"])
                return a.Like(arg, pattern, escape, rng.random() < 0.5)
            listed = tuple(
                v.value for v in (self.literal(of) for _ in range(3)) if v.value is not None
            )
            if rng.random() < 0.5 and listed:
                return a.In(arg, listed)
            op = rng.choice(COMPARISONS)
            return a.Call(op, (arg, self.expr(of, columns, depth - 1)))
        if type_ is Type.TIMESTAMP and rng.random() < 0.5:
            of = rng.choice([Type.DATE, Type.TIMESTAMP])
            arg = self.expr(of, columns, depth - 1)
            return a.Shift(
                arg, rng.choice(SMALL), rng.choice(SMALL), rng.choice([0, 1, -5_000_001])
            )
        if type_ is Type.INTEGER and rng.random() < 0.1:
            return a.Bin(self.expr(Type.REAL, columns, depth - 1), (-1.0, 0.0, 0.5, 2.0))
        ops = [
            op
            for op, operation in OPERATIONS.items()
            if (operation.gives or (type_ if type_ in operation.takes else None)) is type_
            and op not in LAST_BIT
            and SPARK.operations.get(op) != ""
        ]
        op = rng.choice(ops)
        operation = OPERATIONS[op]
        wanted = (
            [type_]
            if operation.gives is None
            else [t for t in Type if t in operation.takes and t is not Type.TIME]
        )
        of = rng.choice(wanted)
        mixed = operation.gives is not None and of in NUMBERS and op not in ("&", "|")
        kinds = [t for t in (NUMBERS if mixed else {of}) if t in operation.takes]
        args = [
            self.expr(rng.choice(sorted(kinds)), columns, depth - 1)
            for _ in range(operation.arity or 2)
        ]
        return a.Call(op, tuple(args))

    def key(self, columns: dict[str, Type]) -> a.Key:
        rng = self.rng
        kind = rng.choice([Type.TEXT, Type.INTEGER, Type.BOOLEAN, Type.DATE])
        expr = self.expr(kind, columns, rng.choice([0, 0, 1, 2]))
        values: dict[Type, tuple[Any, ...]] = {
            Type.TEXT: (*self.labels, None),
            Type.INTEGER: rng.choice([(0, 1, 2, 3), (5, 1, None), (-1, 0, 1), (2**53 + 1, 0)]),
            Type.BOOLEAN: (True, False, None),
            Type.DATE: (dt.date(1, 1, 1), dt.date(2000, 2, 29), None),
        }
        return a.Key(expr, values[kind])

    def relation(self) -> tuple[a.Relation, dict[str, Type]]:
        rng = self.rng
        types = {t: {c: type_of(k) for c, k in cs.items()} for t, cs in TABLES.items()}
        people = {f"p_{c}": t for c, t in types["people"].items() if t}
        visits = {f"v_{c}": t for c, t in types["visits"].items() if t}
        shops = {f"s_{c}": t for c, t in types["shops"].items() if t}
        left, right = a.Scan("people", "p_"), a.Scan("visits", "v_")
        equal = a.Call("=", (a.Col("p_n"), a.Col("v_k")))
        match rng.choice(["people", "visits", "inner", "left", "semi", "anti", "public", "fold"]):
            case "people":
                return left, people
            case "visits":
                return right, visits
            case "public":
                on = a.Call("=", (a.Col("v_k"), a.Col("s_k2")))
                return a.Join(
                    right, a.Scan("shops", "s_"), on, rng.choice(["inner", "left"])
                ), visits | shops
            case "fold":
                kept = a.Where(right, self.expr(Type.BOOLEAN, visits, 1))
                folds = (
                    a.Fold("f_n", "count", reach=9),
                    a.Fold("f_k", "sum", a.Col("v_k"), 0, 3, 9),
                    a.Fold("f_y", rng.choice(["min", "max", "sum"]), a.Col("v_y"), 0.0, 1e6, 9),
                    a.Fold("f_u", "distinct", a.Col("v_u"), reach=9),
                )
                keys = (("f_key", self.expr(Type.TEXT, visits, 1)),)
                columns = {
                    "f_n": Type.INTEGER,
                    "f_k": Type.INTEGER,
                    "f_y": Type.REAL,
                    "f_u": Type.INTEGER,
                    "f_key": Type.TEXT,
                }
                return a.PerUnit(kept, keys, folds), columns
            case kind:
                on = rng.choice([equal, a.Lit(True, Type.BOOLEAN)])
                columns = people if kind in ("semi", "anti") else people | visits
                return a.Join(left, right, on, kind), columns

    def queries(self) -> list[a.Query]:
        """One or more queries of one relation."""
        rng = self.rng
        source, columns = self.relation()
        if rng.random() < 0.6:
            source = a.Where(source, self.expr(Type.BOOLEAN, columns, rng.choice([1, 2, 3])))
        if rng.random() < 0.3:
            source = a.Derive(source, "new", self.expr(Type.REAL, columns, 2))
            columns = {**columns, "new": Type.REAL}
        strata = tuple(self.key(columns) for _ in range(rng.choice([0, 0, 1])))
        keys = tuple(self.key(columns) for _ in range(rng.choice([0, 1, 2])))
        if rng.random() < 0.15:
            of = self.expr(rng.choice([Type.TEXT, Type.REAL, Type.INTEGER]), columns, 1)
            return [a.Distinct(source, strata, keys, of)]
        asked: list[a.Query] = [a.Count(source, strata, keys)]
        whole = self.expr(Type.INTEGER, columns, rng.choice([0, 1, 2]))
        ends = rng.choice([(0, 3), (-5, 7), (-(2**61), 2**61)])
        asked.append(a.Sum(source, whole, *ends, strata, keys))
        real = self.expr(Type.REAL, columns, rng.choice([0, 1, 2]))
        asked.append(a.Sum(source, real, -2.0, 5.0, strata, keys))
        asked.append(a.Count(source, strata, keys, real))
        return asked

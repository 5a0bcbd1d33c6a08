"""Random vaults, relations and queries of the whole algebra, from a seed: what a fuzzer asks about.

A vault has units `p`, rows of theirs `v` (a link to the key of `p`, or to a row of it by its UNIQUE
`alt`), rows of those `w` (a link to `v.o`), rows of these `x` (a link to `w.n`), and a public table
`q`. Keys and links are of any type; links lead to units, to rows that are not there, or nowhere;
columns hold hostile values, some of types that no expression reads. Who owns a row is told by
places in lists of values, never by the engine.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sqlpriv.kernel.proof.sensitivity import Candidate
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Categories,
    Column,
    ColumnDomain,
    Interval,
    TableContract,
    Type,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import COMPARISONS, NUMBERS, OPERATIONS, type_of
from sqlpriv.session.declarations.declared_domains import domain_body

LABELS = ("a", "A", "b", "é", "it's", "", "%_\\", "zz")
WHOLE = ("INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "UBIGINT", "SMALLINT")
NAMES = {
    **{kind: [str(i) for i in (0, 1, 2, 3, 255, 254, 7, 8)] for kind in WHOLE},
    "VARCHAR": ["'" + label.replace("'", "''") + "'" for label in LABELS],
    "ENUM": ["'" + label.replace("'", "''") + "'" for label in LABELS],
    "UUID": [f"'0000000{i}-0000-0000-0000-000000000000'" for i in range(8)],
    "DATE": [f"'{d}'" for d in ("1970-01-01", "2026-03-08", "0001-01-01", "0044-03-15 (BC)")]
    + [f"'{d}'" for d in ("9999-12-31", "2024-02-29", "infinity", "-infinity")],
    "TIMESTAMP": [f"'2026-03-08 0{h}:{m}:00'" for h in (1, 2, 3) for m in (0, 30)]
    + ["'infinity'", "'2026-11-01 01:30:00.000001'"],
    "TIMESTAMP WITH TIME ZONE": [f"'2026-11-01 0{h}:{m}:00+00'" for h in (4, 5, 6) for m in (0, 30)]
    + ["'infinity'", "'2026-03-08 07:00:00.000001+00'"],
    "TIMESTAMP_NS": [f"'2026-03-08 02:30:00.{nano:09}'" for nano in (0, 1, 2, 999, 1000, 1001)]
    + ["'infinity'", "'2026-11-01 01:30:00'"],
    "TIMESTAMP_S": [f"'2026-03-08 02:30:0{s}'" for s in range(4)]
    + ["'infinity'", "'-infinity'", "'290000-01-01'", "'1969-12-31 23:59:59'"],
    "TIMESTAMP_MS": [f"'2026-03-08 02:30:00.00{ms}'" for ms in range(4)]
    + ["'infinity'", "'-infinity'", "'290000-01-01'", "'1969-12-31 23:59:59.999'"],
    "TIME": [f"'{h:02}:{m:02}:00'" for h in (0, 12, 23) for m in (0, 59)]
    + ["'24:00:00'", "'00:00:00.000001'"],
    "BOOLEAN": ["true", "false"],
}
"""Values of a unit's key or a row's number, all different, by type."""
SAME_EQUALITY = {kind: (kind,) for kind in NAMES} | dict.fromkeys(WHOLE, WHOLE)
SAME_EQUALITY |= dict.fromkeys(("VARCHAR", "ENUM"), ("VARCHAR", "ENUM"))
"""The types that a link to a column of a type may have."""
VALUES = NAMES | {
    "INTEGER": ["0", "1", "2", "3", "-2147483648", "2147483647", "NULL"],
    "BIGINT": ["0", "1", "9007199254740993", "-9223372036854775808", "9223372036854775807", "NULL"],
    "HUGEINT": ["0", "1", "-1", "170141183460469231731687303715884105727", "NULL"],
    "UTINYINT": ["0", "1", "255", "NULL"],
    "DOUBLE": ["'nan'", "'inf'", "'-inf'", "0", "'-0.0'", "0.5", "2.5", "1e300", "-3.7", "NULL"],
    "FLOAT": ["'nan'", "'inf'", "0", "'-0.0'", "0.1", "16777217", "NULL"],
    "DECIMAL(15,2)": ["0", "0.01", "-1.25", "9999999999999.99", "NULL"],
    "DECIMAL(38,10)": ["0", "0.5", "-1.25", "9999999999999999999999999999.9999999999", "NULL"],
    "UBIGINT": ["0", "1", "3", "18446744073709551615", "NULL"],
    "BOOLEAN": ["true", "false", "NULL"],
}
UNREAD = {
    "BLOB": ["'a'", "'A'", "''", "NULL"],
    "INTEGER[]": ["[1, 2]", "[NULL]", "[]", "NULL"],
    "STRUCT(k DOUBLE, t VARCHAR)": ["{'k': 'nan', 't': 'a'}", "{'k': -0.0, 't': NULL}", "NULL"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1}", "MAP {'a': NULL, 'b': 2}", "NULL"],
    "INTERVAL": ["'1 month'", "'30 days'", "'720 hours'", "NULL"],
    "TIME WITH TIME ZONE": ["'02:30:00+01'", "'01:30:00+00'", "NULL"],
    "BIT": ["'0101'", "'1'", "NULL"],
    "VARIANT": ["1", "'a'", "NULL", "[1]", "{'k': 2}"],
    "JSON": ["'{}'", "'[1]'", "NULL"],
    "UNION(i INTEGER, t VARCHAR)": ["1", "'a'", "NULL"],
}
"""Values of types that no expression reads: of a row that is ranked, they are hashed."""
ENUM = "ENUM(" + ", ".join(NAMES["ENUM"]) + ")"
DOMAINS: dict[str, list[ColumnDomain]] = {
    "INTEGER": [Interval(0, 3), Interval(-5, 5, True), Categories((0, 1, None))],
    "BIGINT": [Interval(-(2**61), 2**61), Interval(0, 1)],
    "HUGEINT": [Interval(0, 1)],
    "UTINYINT": [Interval(0, 9)],
    "DOUBLE": [Interval(-2.0, 5.0), Interval(0.0, 0.1), Categories((0.5, 0.0))],
    "FLOAT": [Interval(0.0, 1.0)],
    "DECIMAL(15,2)": [Interval(-10.0, 10.0)],
    "VARCHAR": [Categories((*LABELS[:4], None))],
    "ENUM": [Categories(LABELS[:5])],
    "DATE": [Interval(dt.date(1, 1, 1), dt.date(2010, 1, 1))],
    "TIMESTAMP": [Interval(dt.datetime(1970, 1, 1), dt.datetime(2030, 1, 1))],
    "TIMESTAMP_S": [Interval(dt.datetime(1970, 1, 1), dt.datetime(2030, 1, 1))],
    "TIMESTAMP_NS": [Interval(dt.datetime(1970, 1, 1), dt.datetime(2030, 1, 1))],
    "TIMESTAMP WITH TIME ZONE": [Interval(dt.datetime(1970, 1, 1), dt.datetime(2030, 1, 1))],
}
LITERALS: dict[Type, list[Any]] = {
    Type.INTEGER: [0, 1, 2, -3, 2**53 + 1, 2**70, None],
    Type.REAL: [0.5, -0.0, 1e300, 3.0, 0.1, None],
    Type.TEXT: [*LABELS, "ß", "İ", None],
    Type.BOOLEAN: [True, False, None],
    Type.DATE: [dt.date(1, 1, 1), dt.date(2026, 3, 8), None],
    Type.TIMESTAMP: [dt.datetime(2026, 3, 8, 2, 30), dt.datetime(2026, 11, 1, 5, 30), None],
    Type.TIME: [dt.time(0, 0), dt.time(12, 59), None],
}
LISTED: dict[Type, list[tuple[Any, ...]]] = {
    Type.TEXT: [(*LABELS, None), ("a", "A"), ("zz",)],
    Type.INTEGER: [(0, 1, 2, 3), (3, 1, None), (-1, 0, 1), (2**53 + 1, 0), (1,)],
    Type.BOOLEAN: [(True, False, None), (False,)],
    Type.DATE: [(dt.date(1970, 1, 1), dt.date(2026, 3, 8), None)],
    Type.REAL: [(0.0, 0.5, 2.5), (0, 1, 2), (0.5, None)],
    Type.TIME: [(dt.time(0, 0), dt.time(12, 59), None)],
    Type.TIMESTAMP: [(dt.datetime(2026, 3, 8, 2, 30), dt.datetime(2026, 11, 1, 1, 30), None)],
}
UNIT_TABLES = ("p", "v", "w", "x")
Row = tuple[str, ...]


@dataclass
class Vault:
    """Declared tables and their rows, each row with the place of its unit, None for nobody."""

    columns: dict[str, dict[str, str]]
    unique: dict[str, set[str]]
    declared: dict[str, dict[str, Any]]
    domains: dict[str, dict[str, ColumnDomain]]
    collated: dict[str, bool]
    rows: dict[str, list[tuple[int | None, Row]]]

    def contracts(self, facts: dict[str, Any] | None = None) -> dict[str, TableContract]:
        """What is declared; `facts` as a snapshot holds them."""
        catalog, bodies = [], {}
        for table, columns in self.columns.items():
            typed = tuple(Column(c, type_of(kind), kind) for c, kind in columns.items())
            unique, collated = frozenset(self.unique[table]), self.collated[table]
            catalog.append(TableContract(table, typed, unique=unique, collated=collated))
            domains = {c: domain_body(of) for c, of in self.domains[table].items()}
            bodies[table] = {**UNDECLARED, **self.declared[table], "domains": domains}
        return contracts_in_force(catalog, json.loads(json.dumps(bodies)), facts or {}, 1)

    def units(self) -> list[int]:
        return sorted({unit for rows in self.rows.values() for unit, _ in rows if unit is not None})

    def without(self, unit: int) -> Vault:
        """The neighbour that lacks a unit, with all its rows."""
        rows = {t: [row for row in of if row[0] != unit] for t, of in self.rows.items()}
        return replace(self, rows=rows)

    def shuffled(self, rng: random.Random) -> Vault:
        """The same rows, laid out in another order."""
        rows = {t: rng.sample(of, len(of)) for t, of in self.rows.items()}
        return replace(self, rows=rows)

    def statements(self) -> Iterator[str]:
        """The SQL that makes the tables."""
        for table, columns in self.columns.items():
            types = []
            for column, kind in columns.items():
                text = f'"{column}" {ENUM if kind == "ENUM" else kind}'
                text += " COLLATE NOCASE" * (self.collated[table] and kind == "VARCHAR")
                types.append(text)
            yield f"CREATE OR REPLACE TABLE {table} ({', '.join(types)})"
            if self.rows[table]:
                rows = ", ".join(f"({', '.join(row)})" for _, row in self.rows[table])
                yield f"INSERT INTO {table} VALUES {rows}"


COMPOSITE = "composite"
KEYS = ("id", "id2", "alt", "pid", "pid2", "o", "vo", "n", "wn")


def random_vault(rng: random.Random) -> Vault:
    """A vault whose units may have more rows than any bound says."""
    key = rng.choice([*NAMES, COMPOSITE])
    columns, several = _random_columns(rng, key), rng.random() < 0.3
    is_composite, by_row = key == COMPOSITE, "alt" in columns["p"]
    further = [["pid2", "id2"]] if is_composite else []
    bounds = {t: [rng.choice([1, 2, 3, 8]), rng.choice([1, 1, 2])] for t in UNIT_TABLES}
    declared: dict[str, dict[str, Any]] = {
        "p": {
            "key": ["id", "id2"] if is_composite else "id",
            "unit": True,
            "bound": bounds["p"] if several else None,
        },
        "v": {
            "links": [["pid", "p", "alt" if by_row else "id", *further]],
            "bound": bounds["v"],
        },
        "w": {"links": [["vo", "v", "o"]], "bound": bounds["w"]},
        "x": {"links": [["wn", "w", "n"]], "bound": bounds["x"]},
        "q": {"public": True},
    }
    domains = {
        table: {
            c: rng.choice(DOMAINS[kind])
            for c, kind in of.items()
            if kind in DOMAINS and rng.random() < 0.6 and c not in KEYS
        }
        for table, of in columns.items()
    }
    unique = {"p": set() if several or is_composite else {"id"}, "v": {"o"}, "w": {"n"}}
    unique |= {"x": set(), "q": {"q9"} if "q9" in columns["q"] and rng.random() < 0.5 else set()}
    unique["p"] |= {"alt"} if by_row else set()
    collated = {table: rng.random() < 0.1 for table in columns}
    rows = _random_rows(rng, columns, key, several)
    return Vault(columns, unique, declared, domains, collated, rows)


def _random_columns(rng: random.Random, key: str) -> dict[str, dict[str, str]]:
    own, number, alt = (rng.choice([k for k in NAMES if k != "BOOLEAN"]) for _ in range(3))
    columns = {"p": {"id": key}, "v": {"pid": "INTEGER", "o": own}, "w": {}, "x": {}}
    columns["q"] = dict[str, str]()
    if key == COMPOSITE:
        second = rng.choice(["INTEGER", "VARCHAR", "DATE"])
        columns["p"] = {"id": "VARCHAR", "id2": second}
        columns["v"] |= {"pid": "VARCHAR", "pid2": rng.choice(SAME_EQUALITY[second])}
    elif rng.random() < 0.25:
        columns["p"]["alt"] = alt
        columns["v"]["pid"] = rng.choice(SAME_EQUALITY[alt])
    else:
        columns["v"]["pid"] = rng.choice(SAME_EQUALITY[key])
    columns["w"] = {"vo": rng.choice(SAME_EQUALITY[own]), "n": number}
    columns["x"] = {"wn": rng.choice(SAME_EQUALITY[number])}
    for table, of in columns.items():
        for kind in rng.sample([*VALUES], rng.randint(3, 6)):
            of[f"{table}{len(of)}"] = kind
        if rng.random() < 0.3:
            of[f"{table}{len(of)}"] = rng.choice([*UNREAD])
    if rng.random() < 0.5:
        columns["q"]["q9"] = own
    return columns


def _random_rows(
    rng: random.Random, columns: dict[str, dict[str, str]], key: str, several: bool
) -> dict[str, list[tuple[int | None, Row]]]:
    """Rows with the places of their units; `several` rows of one may stand in its own table."""
    units = range(2 if key == "BOOLEAN" else rng.choice([2, 3, 5, 7]))
    rows: dict[str, list[tuple[int | None, Row]]] = {table: [] for table in columns}

    def add(table: str, unit: int | None, **named: int | None) -> None:
        """Adds a row whose named columns have the value of a place, and all others any value."""
        row = []
        for column, kind in columns[table].items():
            if column not in named:
                row.append(rng.choice((VALUES | UNREAD)[kind]))
            else:
                row.append("NULL" if (place := named[column]) is None else NAMES[kind][place])
        rows[table].append((unit, tuple(row)))

    def named(unit: int | None, *columns: str) -> dict[str, int | None]:
        """By column, the places of the values that name a unit: some of them NULL for nobody."""
        if key != COMPOSITE:
            return {columns[0]: unit}
        places = (unit // 2, unit % 2) if unit is not None else rng.choice([(None, 1), (1, None)])
        return dict(zip(columns, places, strict=True))

    def number_rows(count: int) -> list[int | None]:
        """Different places for the rows of a table, and one NULL."""
        return rng.sample([*range(7), None], count)

    owners = [
        unit
        for unit in units
        for _ in range(rng.choice([0, 1, 1, 3]) if several else rng.random() < 0.8)
    ] + [None] * rng.choice([0, 1, 2])
    alternatives = rng.sample([*range(8), *[None] * 12], min(len(owners), 20))
    named_by: dict[int | None, int | None] = {}
    for unit, alt in zip(owners, alternatives, strict=False):
        named_by[alt] = unit
        add("p", unit, **named(unit, "id", "id2"), alt=alt)
    owner_of: dict[int | None, int | None] = {}
    for place in number_rows(rng.choice([0, 4, 7, 8])):
        if "alt" in columns["p"]:
            to = rng.choice([*range(8), None])
            owner_of[place] = None if to is None else named_by.get(to)
            add("v", owner_of[place], pid=to, o=place)
        else:
            owner_of[place] = rng.choice([*units, *units, None])
            add("v", owner_of[place], **named(owner_of[place], "pid", "pid2"), o=place)
    owner_of_number: dict[int | None, int | None] = {}
    many = rng.choice([3, 12, 30])
    numbers = number_rows(rng.choice([0, 4, 8]))
    for number in [*numbers, *[None] * many][:many]:
        to = rng.choice([*range(7), None])
        owner = None if to is None else owner_of.get(to)
        owner_of_number[number] = owner
        add("w", owner, vo=to, n=number)
    for _ in range(rng.choice([3, 12])):
        to = rng.choice([*range(7), None])
        add("x", None if to is None else owner_of_number.get(to), wn=to)
    for place in rng.sample(range(7), rng.randint(0, 3)):
        add("q", None, q9=place)
    return rows


class Asker:
    """Random relations and queries over a vault's tables."""

    def __init__(self, rng: random.Random, vault: Vault) -> None:
        self.rng, self.vault, self.count = rng, vault, 0

    def fresh(self, name: str = "x") -> str:
        self.count += 1
        return f"{name}{self.count}_"

    def expr(self, type_: Type, columns: dict[str, Type], depth: int) -> a.Expr:
        """An expression of a type: a column, a literal, or any operation that gives it."""
        rng = self.rng
        alike = [c for c, of in columns.items() if of is type_]
        if depth <= 0 or rng.random() < 0.2:
            if alike and rng.random() < 0.8:
                return a.Col(rng.choice(alike))
            return a.Lit(rng.choice(LITERALS[type_]), type_)
        if rng.random() < 0.1:
            test, branch = (self.expr(t, columns, depth - 1) for t in (Type.BOOLEAN, type_))
            return a.Case(((test, branch),), self.expr(type_, columns, depth - 1))
        if type_ is Type.BOOLEAN and rng.random() < 0.6:
            of = rng.choice([*Type])
            arg = self.expr(of, columns, depth - 1)
            if of is Type.TEXT and rng.random() < 0.4:
                return a.Like(
                    arg,
                    rng.choice(["%a%", "_", "É%", "a"]),
                    rng.choice(["", "!"]),
                    rng.random() < 0.5,
                )
            if rng.random() < 0.4:
                values = [v for v in LITERALS[of] if v is not None]
                return a.In(arg, tuple(rng.sample(values, min(2, len(values)))))
            return a.Call(rng.choice(COMPARISONS), (arg, self.expr(of, columns, depth - 1)))
        if type_ is Type.TEXT and rng.random() < 0.5:
            return a.Substring(self.expr(type_, columns, depth - 1), 1, rng.randint(0, 2))
        if type_ is Type.TIMESTAMP and rng.random() < 0.3:
            of = rng.choice([Type.DATE, Type.TIMESTAMP])
            return a.Shift(self.expr(of, columns, depth - 1), 1, -1, 5_000_001)
        if type_ is Type.INTEGER and rng.random() < 0.2:
            return self.bins(columns)
        if type_ is Type.REAL and rng.random() < 0.15:
            key = self.key(columns, 0)
            return a.Pick((key,), tuple(float(i) - 1.5 for i in range(len(key.values))))
        op, operation = rng.choice(
            [
                (op, of)
                for op, of in OPERATIONS.items()
                if (of.gives or (type_ if type_ in of.takes else None)) is type_
            ]
        )
        of = type_ if operation.gives is None else rng.choice(sorted(operation.takes))
        mixed = operation.gives is not None and of in NUMBERS
        kinds = sorted(t for t in (NUMBERS if mixed else {of}) if t in operation.takes)
        args = (
            self.expr(rng.choice(kinds), columns, depth - 1) for _ in range(operation.arity or 2)
        )
        return a.Call(op, tuple(args))

    def bins(self, columns: dict[str, Type]) -> a.Bin:
        """Bins of a number, whose edges are told one by one or by the roots of its place."""
        rng = self.rng
        of = rng.choice([Type.INTEGER, Type.INTEGER, Type.REAL, Type.REAL, Type.TIMESTAMP])
        arg = self.expr(of, columns, rng.choice([0, 1]))
        if of is Type.TIMESTAMP:
            return a.Bin(arg, (dt.datetime(2026, 3, 8, 2, 30), dt.datetime(2026, 11, 1, 1, 30)))
        if rng.random() < 0.4:
            return self.roots(arg, of, rng.choice([(0, 3), (-5, 7), (-(2**60), 2**60)]))
        edges = sorted(rng.sample([-3, 0, 1, 2, 5] if of is Type.INTEGER else [-2.0, 0.0, 0.1], 2))
        return a.Bin(arg, tuple(edges))

    def roots(self, arg: a.Expr, of: Type, ends: tuple[int, int]) -> a.Bin:
        """Bins at edges where the number of `Roots` rises."""
        start, stop = map(float, ends)
        of_number = a.Roots(arg, (), start, stop)
        edges = []
        for number in sorted(self.rng.sample(range(1, 256), 3)):
            place = start + (stop - start) * (number / 256) ** 4
            edge: Any = math.ceil(place) if of is Type.INTEGER else place
            step = 1 if of is Type.INTEGER else 0
            while of_number.number(edge) < number:
                edge = edge + 1 if step else math.nextafter(edge, math.inf)
            lower = edge - 1 if step else math.nextafter(edge, -math.inf)
            if of_number.number(lower) < of_number.number(edge) and edge not in edges:
                edges.append(edge)
        edges = [e for e in edges if abs(e) < 2**52] or [1 if of is Type.INTEGER else 1.0]
        rising = replace(of_number, edges=tuple(sorted(edges)))
        return rising if len(edges) > 1 else a.Bin(arg, rising.edges)

    def key(self, columns: dict[str, Type], depth: int) -> a.Key:
        rng = self.rng
        if rng.random() < 0.2:
            bins = self.bins(columns)
            return a.Key(bins, (*range(len(bins.edges) + 1),))
        type_ = rng.choice([*LISTED])
        if depth == 0 and (there := sorted({*columns.values()} & LISTED.keys())):
            type_ = rng.choice(there)
        return a.Key(self.expr(type_, columns, depth), rng.choice(LISTED[type_]))

    def scan(self, public: bool) -> tuple[a.Relation, dict[str, Type]]:
        private = self.rng.choice(UNIT_TABLES)
        table, prefix = "q" if public else private, self.fresh()
        columns = {
            prefix + c: type_
            for c, kind in self.vault.columns[table].items()
            if (type_ := type_of(kind))
        }
        return a.Scan(table, prefix), columns

    def pinned(self) -> tuple[a.Relation, dict[str, Type]]:
        """Units of listed values alone, where a charge may be booked to these."""
        rng = self.rng
        typed = {c: type_of(kind) for c, kind in self.vault.columns["p"].items()}
        columns = {c: type_ for c, type_ in typed.items() if type_}
        usual = [c for c in columns if columns[c] in (Type.INTEGER, Type.TEXT, Type.BOOLEAN)]
        source: a.Relation = a.Scan("p")
        for column in rng.sample(usual or [*columns], 1):
            type_ = columns[column]
            values = [v for v in LITERALS[type_] if v is not None]
            if type_ in LISTED and rng.random() < 0.5:
                values = [v for v in rng.choice(LISTED[type_]) if v is not None]
            test: a.Expr = a.In(a.Col(column), tuple(values[:2]))
            if rng.random() < 0.5:
                test = a.Call("=", (a.Col(column), a.Lit(values[0], type_)))
            source = a.Where(source, test)
        return source, columns

    def relation(self, depth: int) -> tuple[a.Relation, dict[str, Type]]:
        """A private relation and its columns."""
        rng = self.rng
        if depth <= 0:
            return self.scan(public=False)
        match rng.choice(
            ["join", "join", "join", "join", "union", "per unit", "where", "derive", "bound"]
        ):
            case "where":
                source, columns = self.relation(depth - 1)
                return a.Where(source, self.expr(Type.BOOLEAN, columns, 2)), columns
            case "derive":
                source, columns = self.relation(depth - 1)
                name, type_ = self.fresh("d"), rng.choice([*Type])
                derived = a.Derive(source, name, self.expr(type_, columns, 2))
                return derived, {**columns, name: type_}
            case "bound":
                source, columns = self.relation(depth - 1)
                return a.Bounded(source, rng.randint(1, 4), rng.randint(1, 2)), columns
            case "join":
                return self.join(depth)
            case "union":
                parts = [
                    self.relation(depth - rng.choice([1, 2])) for _ in range(rng.choice([2, 3]))
                ]
                types = [rng.choice([*Type]) for _ in range(rng.randint(1, 3))]
                names = [self.fresh("u") for _ in types]
                made = (
                    (part, tuple(self.expr(t, of, rng.choice([0, 0, 1])) for t in types))
                    for part, of in parts
                )
                return a.Union(tuple(names), tuple(made)), dict(zip(names, types, strict=True))
        source, columns = self.relation(depth - 1)
        types = [rng.choice([*Type]) for _ in range(rng.choice([0, 1, 2]))]
        keys = tuple(
            (self.fresh("g"), self.expr(type_, columns, rng.choice([0, 0, 1]))) for type_ in types
        )
        folds, of_folds = [a.Fold(self.fresh("f"), "count", reach=3)], [Type.INTEGER]
        for kind in rng.sample(["count", "distinct", "sum", "min", "max"], 2):
            type_ = rng.choice([Type.INTEGER, Type.REAL])
            ends = (0, 3) if type_ is Type.INTEGER else (-1.0, 2.5)
            of = self.expr(type_, columns, rng.choice([0, 0, 1]))
            folds.append(a.Fold(self.fresh("f"), kind, of, *ends, reach=rng.choice([1, 3])))
            of_folds.append(Type.INTEGER if kind in ("count", "distinct") else type_)
        grouped = {name: t for (name, _), t in zip(keys, types, strict=True)}
        named = {fold.name: t for fold, t in zip(folds, of_folds, strict=True)}
        unit = self.fresh("id") if rng.random() < 0.2 else ""
        return a.PerUnit(source, keys, tuple(folds), unit), grouped | named

    def join(self, depth: int) -> tuple[a.Relation, dict[str, Type]]:
        rng = self.rng
        left, mine = self.relation(depth - rng.choice([1, 2]))
        public = rng.random() < 0.25
        right, theirs = self.scan(True) if public else self.relation(depth - rng.choice([1, 2]))
        pairs = [(x, y) for x, t in mine.items() for y, s in theirs.items() if t is s]
        named = [
            (x, y)
            for x, y in pairs
            if {x.split("_", 1)[-1], y.split("_", 1)[-1]}
            in [{"id", "pid"}, {"alt", "pid"}, {"o", "vo"}, {"n", "wn"}, {"o", "q9"}]
            + [{name} for name in KEYS]
        ]
        tests: list[a.Expr] = []
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            if chosen := named if named and rng.random() < 0.7 else pairs:
                ends = [a.Col(c) for c in rng.choice(chosen)]
                op = "=" if rng.random() < 0.8 else rng.choice(COMPARISONS)
                tests.append(a.Call(op, tuple(rng.sample(ends, 2))))
        if not tests or rng.random() < 0.2:
            tests.append(self.expr(Type.BOOLEAN, {**mine, **theirs}, 1))
        on = tests[0] if len(tests) == 1 else a.Call("and", tuple(tests))
        kind = rng.choice(["inner", "left", "semi", "anti"])
        return a.Join(left, right, on, kind), mine if kind in ("semi", "anti") else mine | theirs

    def queries(self) -> list[a.Asked]:
        """Queries of one relation; most of one list of strata, some of none."""
        rng = self.rng
        source, columns = self.relation(rng.choice([0, 1, 1, 2, 2, 3]))
        if rng.random() < 0.1:
            source, columns = self.pinned()
        if rng.random() < 0.2:
            source = a.Where(source, self.expr(Type.BOOLEAN, columns, rng.choice([1, 2])))
        if rng.random() < 0.3:
            source = a.Bounded(source, rng.randint(1, 4), rng.randint(1, 3))
        strata = self.keys(columns, rng.choice([0, 0, 1, 2]))
        asked = [
            self.within(self.query(source, columns, strata if rng.random() < 0.8 else ()))
            for _ in range(rng.randint(1, 3))
        ]
        if rng.random() < 0.2:  # the numbers of the coarser bins follow from the finer ones
            arg = self.expr(Type.INTEGER, columns, 0)
            for edges in ((-1, 0, 1, 3), (0, 3)):
                listed = a.Key(a.Bin(arg, edges), (*range(len(edges) + 1),))
                asked.append(a.Sum(source, arg, -1, 3, strata, (listed,)))
        return asked

    def within(self, query: a.Asked) -> a.Asked:
        """The query, of some of its strata alone now and then."""
        total = a.strata_count(query)
        if total == 1 or self.rng.random() < 0.7:
            return query
        measured = tuple(sorted(self.rng.sample(range(total), self.rng.randint(1, total))))
        if isinstance(query, a.Clipped):
            query = replace(query, ends=query.ends[: len(query.ends) // total * len(measured)])
        return replace(query, within=measured)

    def candidates(self, asked: Sequence[a.Asked]) -> list[Candidate]:
        """What a private choice may be among: marginals by the queries' keys, and estimates. None
        of most seeds."""
        if self.rng.random() < 0.7:
            return []
        first = asked[0]
        keys = {key for query in asked for key in query.keys}
        sets = [tuple(self.rng.sample(sorted(keys, key=repr), n)) for n in range(min(len(keys), 2))]
        counts = [a.Count(first.source, first.strata, some, None, first.within) for some in sets]
        shapes = [a.shape(count) for count in counts]
        return [
            Candidate(
                count,
                np.reshape([self.rng.uniform(-2, 9) for _ in range(math.prod(shape))], shape),
                weight=self.rng.choice([0.0, 0.3, 1.0, 2.5]),
                penalty=np.array([self.rng.uniform(-1, 5) for _ in range(shape[0])]),
            )
            for count, shape in zip(counts, shapes, strict=True)
        ]

    def keys(self, columns: dict[str, Type], most: int) -> tuple[a.Key, ...]:
        """Different keys, up to `most`."""
        keys = (self.key(columns, self.rng.choice([0, 0, 1])) for _ in range(most))
        return tuple(dict.fromkeys(keys))

    def query(
        self, source: a.Relation, columns: dict[str, Type], strata: tuple[a.Key, ...]
    ) -> a.Asked:
        """One query of any kind, over a relation and the cells of a list of strata and keys."""
        rng = self.rng
        keys = self.keys(columns, rng.choice([0, 0, 1, 2]))
        whole, real, other = (
            self.expr(type_, columns, rng.choice([0, 0, 1, 2]))
            for type_ in (Type.INTEGER, Type.REAL, rng.choice([*Type]))
        )
        match rng.choice(["count", "of", "whole", "real", "distinct", "level", "clipped"]):
            case "count":
                return a.Count(source, strata, keys)
            case "of":
                return a.Count(source, strata, keys, other)
            case "whole":
                ends = rng.choice([(0, 3), (-5, 7), (-(2**61), 2**61), (1, 1)])
                return a.Sum(source, whole, *ends, strata, keys)
            case "real":
                return a.Sum(source, real, -2.0, 5.0, strata, keys)
            case "distinct":
                return a.Distinct(source, strata, keys, other)
            case "level":
                rank = rng.choice([None, (1, 2), (1, 10), (0, 1)])
                return a.Level(source, self.key(columns, 0), rank, strata, keys)
        cells = math.prod(len(key.values) for key in (*strata, *keys))
        if rng.random() < 0.5:
            ends = [(-2.0, 5.0), (0.0, 2.5), (1.0, 5.0), (0.0, 1.0)]
            bins, low, high = a.Bin(real, (0.0, 1.0, 2.5)), -2.0, 5.0
        else:
            ends = [(-2, 5), (0, 2), (0, 4.5), (1, 2), (0, 9)]
            bins, low, high = a.Bin(whole, (0, 1, 2, 3, 5)), -2, 5
        clips = tuple(rng.choice(ends) for _ in range(cells))
        return a.Clipped(source, bins, low, high, clips, strata, keys)

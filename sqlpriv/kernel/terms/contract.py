"""What the owner promised about each table: public facts, all of them.

Nothing here looks at data. Privacy rests on `PrivacyUnit` and the declared domains alone, which
the renderer *enforces* (it drops, clamps or bounds what does not fit), so a wrong promise costs
accuracy and never privacy. The ledger keeps each table's declaration as JSON; what it leaves open
takes the safe side: no domain, one row per unit, one stratum per unit, undeclared.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from sqlpriv.errors import DeclarationError, LedgerError, Refused

Number = int | float
Value = Number | str | bool | dt.date | dt.datetime | dt.time | None
"""A literal, a category or an interval's end. `None` is SQL's NULL."""
MAX_INTEGER = 2**62
"""Declared integer ends lie strictly inside ±2**62, so that twice a centred value fits a BIGINT."""


class Type(StrEnum):
    """The types that row expressions have. DECIMAL is read as REAL, every integer as INTEGER."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIME = "time"


@dataclass(frozen=True)
class Categories:
    """A finite public list of values, NULL too if `None` is listed: others fall in no cell."""

    labels: tuple[Value, ...]


@dataclass(frozen=True)
class Interval:
    """A closed public interval, to which stored values are clamped; `nullable`: NULL is a level."""

    lower: Number | dt.date | dt.datetime | dt.time
    upper: Number | dt.date | dt.datetime | dt.time
    nullable: bool = False


ColumnDomain = Categories | Interval


@dataclass(frozen=True)
class Column:
    """A column: of no `type` if row expressions cannot use it; `required`: promised NOT NULL."""

    name: str
    type: Type | None
    sql_type: str
    domain: ColumnDomain | None = None
    required: bool = False


@dataclass(frozen=True)
class PrivacyUnit:
    """Who is protected, and how far one of them may reach.

    Attributes:
        table: The unit's own table, lower case, which has the budget.
        column: The column *of the queried table* that names the unit, or that names the parent's
            row which leads to the unit (`TableContract.via`). A row where it is NULL is nobody's,
            and is never read.
        rows_per_unit: m. At most m rows of a unit are kept in each stratum.
        groups_per_unit: g. A unit counts in at most g strata of a statement.
        further: The other columns of a key of several columns. Together with `column` they name the
            unit; a row where any of them is NULL is nobody's.
    """

    table: str
    column: str
    rows_per_unit: int = 1
    groups_per_unit: int = 1
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for bound in (self.rows_per_unit, self.groups_per_unit):
            if not 1 <= bound <= 10**6:
                raise DeclarationError(f"a privacy bound is from 1 to 1000000, not {bound}")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the key."""
        return (self.column, *self.further)


class Link(NamedTuple):
    """`ADD PRIVACY_LINK (column) REFERENCES table(parent)`: the way from a row to its unit.

    `further` are pairs of more columns, here and in the parent, of a link to a key of several.
    """

    column: str
    table: str
    parent: str
    further: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The columns of the row, each with that of the parent which it is equal to."""
        return ((self.column, self.parent), *self.further)


def link_of(stored: Sequence[Any]) -> Link:
    """Returns a link from how a declaration's body holds it.

    >>> link_of(["year", "homes", "year", ["home", "number"]]).further
    (('home', 'number'),)
    """
    column, table, parent, *further = stored
    return Link(column, table, parent, tuple((mine, theirs) for mine, theirs in further))


@dataclass(frozen=True)
class TableFacts:
    """What was verified of the rows of a snapshot: `bounded`, no unit has more than m rows;
    `constant`, the columns (lower case) that have one value in all rows of a unit."""

    bounded: bool = False
    constant: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableContract:
    """Everything that is known about one table of the vault without reading its rows.

    Attributes:
        table: Its name; `columns` are in stored order.
        unit: Whom it protects; None for a public or an undeclared table.
        public: Anyone may read its rows.
        links: The declared links.
        key: The columns of ADD PRIVACY_KEY, whether SET PU was said or not.
        unique: The columns (lower case) that are PRIMARY KEY or UNIQUE each by itself.
        collated: A collation may make its text equal to other text.
        facts: What was verified of its rows, in this snapshot.
        snapshot: The number of the state that this contract is of.
        via: The link that leads to the unit, where another table names it.
        account: The name of its own budget in the ledger; '' where that is the table's name. A
            table that was renamed keeps its account.
        engine: The engine that reads its rows.
        grants: Principals (lower case, `*` for all others) and whether each may use the table.
        hidden: The one who asks may not use the table. No query can name it, but the way from
            another table to its unit may lead through it.
        others: All contracts of the same snapshot, by lower-case name.
    """

    table: str
    columns: tuple[Column, ...]
    unit: PrivacyUnit | None = None
    public: bool = False
    links: tuple[Link, ...] = ()
    key: tuple[str, ...] = ()
    unique: frozenset[str] = frozenset()
    collated: bool = False
    facts: TableFacts = TableFacts()
    snapshot: int = 0
    via: Link | None = None
    account: str = ""
    engine: str = "duckdb"
    grants: tuple[tuple[str, bool], ...] = ()
    hidden: bool = field(default=False, compare=False)
    others: Mapping[str, "TableContract"] = field(default_factory=dict, compare=False, repr=False)

    @property
    def own_account(self) -> str:
        """The name in the ledger of the budget that is declared for this table."""
        return self.account or self.table.lower()

    @property
    def payer(self) -> str:
        """The account that charges for these rows are booked to: that of the unit's own table."""
        unit = self.unit.table if self.unit else self.table.lower()
        owner = self if unit == self.table.lower() else self.others.get(unit)
        return owner.own_account if owner else unit

    def contract_of(self, table: str, on_the_way: bool = False) -> "TableContract":
        """Returns the contract of a table of the same snapshot; Refused for any other, and for a
        hidden one unless it stands on the way from a table to its unit."""
        other = self if table.lower() == self.table.lower() else self.others.get(table.lower())
        if other is None or (other.hidden and not on_the_way):
            raise Refused("a query reads the tables that its contract knows")
        return other

    def column(self, name: str) -> Column | None:
        """Returns the column of that name, found as DuckDB does (case does not matter)."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


Declared = Mapping[str, Any]
UNDECLARED: Declared = {
    "key": None,  # a column's name, or a list of several
    "unit": False,  # SET PU
    "public": False,
    "bound": None,  # [rows_per_unit, groups_per_unit]
    "links": [],  # [column, table, parent, [another column, its parent], …], each
    "domains": {},  # lower-case column: {required, and labels or lower, upper, nullable}
    "window": None,  # [time column, rows before this day are closed, what the owner saw of them]
    "account": None,  # whose budget it is, where the table was called otherwise; else its own
    "grants": {},  # lower-case principal, or * for all others: may use it; else everybody may
}
"""The body of a declaration: all that is in force of one table. Its latest one counts."""


def key_columns(body: Declared) -> tuple[str, ...]:
    """Returns the columns of a declared key; () where there is none."""
    key = body["key"] or ()
    return (key,) if isinstance(key, str) else tuple(key)


def contracts_in_force(
    catalog: Sequence[TableContract], declared: Declared, facts: Declared, snapshot: int
) -> dict[str, TableContract]:
    """Returns the contract of every table; all mappings are by lower-case name."""
    tables = {t.table.lower(): (t, declared.get(t.table.lower(), UNDECLARED)) for t in catalog}
    keys = {
        name: tuple(column.lower() for column in key)
        for name, (table, body) in tables.items()
        if body["unit"] and (key := key_columns(body)) and all(map(table.column, key))
    }
    contracts: dict[str, TableContract] = {}
    for name, (table, body) in tables.items():
        owners = _owners(name, tables, keys, frozenset())
        unit, via = None, None
        if len(owners) == 1 and None not in owners:  # rows of two units would be of neither
            ((owner, (column, *further), via),) = owners  # type: ignore[misc]  # none is None
            rows, groups = body["bound"] or (1, 1)
            unit = PrivacyUnit(owner, column, rows, groups, tuple(further))
        of_table = facts.get(name, {"bounded": False, "constant": ()})
        contracts[name] = replace(
            table,
            columns=tuple(_with_domain(c, body["domains"]) for c in table.columns),
            unit=unit,
            public=body["public"] and not owners,
            links=tuple(map(link_of, body["links"])),
            key=key_columns(body),
            facts=TableFacts(of_table["bounded"], frozenset(of_table["constant"])),
            snapshot=snapshot,
            via=via,
            account=body["account"] or "",
            grants=tuple(sorted(body["grants"].items())),
        )
    return {name: replace(contract, others=contracts) for name, contract in contracts.items()}


_Owner = tuple[str, tuple[str, ...], Link | None]


def _owners(
    name: str,
    tables: Mapping[str, tuple[TableContract, Declared]],
    keys: Mapping[str, tuple[str, ...]],
    below: frozenset[str],
) -> list[_Owner | None]:
    """Returns the ways from a table's rows to a unit: (unit's table, columns here, link or None).

    A link to the privacy key of a unit's table, to all of its columns, names the unit itself. Any
    other link of one column leads to a row of its parent, and the parent's own ways go on from
    there. None stands for a link that may lead to more than one row, or that runs in a circle.
    """
    table, body = tables[name]
    ways: list[_Owner | None] = [(name, keys[name], None)] if name in keys else []
    for link in map(link_of, body["links"]):
        parent = link.table.lower()
        if parent not in tables or not all(table.column(mine) for mine, _ in link.pairs):
            continue
        above = [None] if parent in below else _owners(parent, tables, keys, below | {name})
        columns = tuple(mine.lower() for mine, _ in link.pairs)
        if keys.get(parent) == tuple(theirs.lower() for _, theirs in link.pairs):
            # a unit that is another's row, too, protects neither
            ways.append((parent, columns, None) if len(above) == 1 else None)
        else:
            unique = not link.further and link.parent.lower() in tables[parent][0].unique
            ways += [w and (w[0], columns, link) if unique else None for w in above]
    return ways


def _with_domain(column: Column, domains: Declared) -> Column:
    match domains.get(column.name.lower()):
        case None:
            return column
        case {"labels": labels, "required": bool(required)}:
            domain: ColumnDomain = Categories(
                tuple(labels if {*map(type, labels)} <= {str, int} else map(_decode, labels))
            )
        case {"lower": low, "upper": high, "nullable": bool(nullable), "required": bool(required)}:
            domain = Interval(_decode(low), _decode(high), nullable)
        case _:
            raise LedgerError("the ledger holds a domain of an unknown form")
    return replace(column, domain=domain, required=column.required or required)


_MOMENTS: Mapping[str, Callable[[str], Value]] = {
    "timestamp": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
}


def _decode(stored: Any) -> Any:
    match stored:
        case {"timestamp": str(text)} | {"date": str(text)} | {"time": str(text)}:
            return _MOMENTS[next(iter(stored))](text)  # of its one name
        case None | bool() | int() | float() | str():
            return stored
    raise LedgerError("the ledger holds a domain value of an unknown form")

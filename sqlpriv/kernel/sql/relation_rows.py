"""The rows of one relation: its columns, its unit and its predicates, written as one SELECT.

Users' names and literals are quoted; every column stands behind an alias of ours.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.proof.unit_rows import reach_of
from sqlpriv.kernel.sql.dialect import DIALECTS
from sqlpriv.kernel.sql.expressions import COMPUTED, Expressions
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, PrivacyUnit, TableContract, TableFacts

UNIT, LINK, HASH = "sqlpriv_unit", "sqlpriv_link", "sqlpriv_hash"
Exported = tuple[Column, str]
"""A column as other relations see it, and its text in this one."""


class RelationRows(Expressions):
    """Writes the rows of a relation. The subclasses fill it in: see `relations.Scope`.

    Args:
        relation: What is read.
        contract: The contract of any of its private tables; it holds those of the others.
        hash_key: The snapshot's key, by which a unit's rows are ranked.
        used: Lower-case names of all columns that are read, by this relation or by one that it is a
            part of. Other relations see these columns and UNIQUE ones. None for all columns.
        lists: Receives the SELECT of each list of units that the text reads, by the list's name
            (`BoundedRows.halves`). None where lists are not to be used.
    """

    def __init__(
        self,
        relation: a.Relation,
        contract: TableContract,
        hash_key: int,
        used: frozenset[str] | None,
        lists: dict[str, str] | None,
    ) -> None:
        super().__init__(DIALECTS[contract.engine])
        self.relation, self.contract, self.hash_key, self.used = relation, contract, hash_key, used
        # Where the rows are of one table (`scanned`): `link` is the text of a row's link, or of its
        # unit if it has no link; `outer` is FROM over all its rows, with the tables that links lead
        # through.
        self.scanned = contract
        self.lists, self.link, self.outer, self.keep_units = lists, "", "", True
        # By column, what its values name: a row (a table, and a column that is UNIQUE there) or a
        # unit.
        self.named: dict[str, tuple[str, str]] = {}
        self.hops = 0  # how many links are followed to a row's unit
        self.write_base: Callable[[], str] = str  # that of a join: see `joins`
        # Partners in a public table are not counted here: they are taken to exceed any bound.
        self.reach = reach_of(relation, contract, lambda *_: 10**9)
        self.facts, self.of_one_table = (
            TableFacts(0 < self.reach.rows <= self.unit.rows_per_unit),
            False,
        )
        self.predicates: list[a.Expr] = []
        self.owner, self.owner_type = "", ""  # the unit; its type
        self.row_names: tuple[str, ...] = ()  # columns, each UNIQUE in its table

    @cached_property
    def unit(self) -> PrivacyUnit:
        """How far one unit reaches in these rows."""
        return bound_of(self.relation, self.contract)

    def check_free(self, new: str) -> None:
        if new.lower() in {*self.columns, *self.types, UNIT, LINK, HASH}:
            raise Refused(f'the name "{new}" is taken')

    def add_columns(self, columns: Iterable[Exported], alias: str) -> None:
        """Names columns that another SELECT, behind an alias, has."""
        for column, _ in columns:
            self.add_column(column, f"{alias}.{self.dialect.identifier(column.name)}")

    def add_column(self, column: Column, text: str) -> None:
        self.check_free(column.name)
        self.columns[column.name.lower()], self.texts[column.name.lower()] = column, text
        if column.type is not None:
            self.types[column.name.lower()] = column.type

    def table(self, table: TableContract, alias: str) -> str:
        """Returns a table behind an alias; Refused where another engine reads its rows."""
        if table.engine != self.dialect.name:
            raise Refused(
                f"{table.table} is read by {table.engine}, {self.contract.table} by"
                f" {self.dialect.name}: one query is of one engine"
            )
        return f"{self.dialect.table(table.table)} AS {alias}"

    def hide(self, test: str) -> str:
        """Returns the predicate as one that also reads the left side's unit, so that the optimizer
        leaves it above all joins.

        The unit of a row is never NULL, so the value is the same. Without this the optimizer would
        move a predicate that reads right columns alone below the join, and would find such a part
        in a disjunction.
        """
        return f"CASE WHEN {self.owner} IS NOT NULL THEN {test} END"

    def check_same_unit(self, other: "RelationRows") -> None:
        """Raises Refused unless the units of both relations are named by values of one type, or
        neither relation has units."""
        if (bool(self.owner), self.owner_type) != (bool(other.owner), other.owner_type):
            raise Refused("relations that meet name their units in one way")

    def exports(self) -> list[Exported]:
        """Returns every column that is read or is UNIQUE, as other relations see it."""
        names = [*(c.name for c in self.columns.values()), *self.derived]
        return [self.export(n, a.Col(n)) for n in names if self._is_read(n.lower())]

    def _is_read(self, column: str) -> bool:
        return self.used is None or column in self.used or column in self.row_names

    def export(self, new: str, expr: a.Expr) -> Exported:
        """Returns an expression as a column: a stored one keeps its domain, and is not clamped."""
        expr = self.written_out(expr)
        if isinstance(expr, a.Col):
            return replace(self.columns[expr.name.lower()], name=new), self.texts[expr.name.lower()]
        column = Column(new, self.type(expr), COMPUTED[self.type(expr)])
        return column, self.dialect.cast(self.value(expr), column.sql_type)

    def select(self, columns: Iterable[Exported], end: str = "") -> str:
        """Returns a SELECT of the unit, if there is one, and columns."""
        named = [(UNIT, self.owner)] if self.owner else []
        named += [(self.dialect.identifier(column.name), text) for column, text in columns]
        texts = ", ".join(f"{text} AS {name}" for name, text in named)
        return f"SELECT {texts or 'NULL'}{self.source()}{end}"

    def source(self, *tests: str) -> str:
        """Returns FROM and WHERE: the rows that pass all predicates and, in a private relation,
        have a unit."""
        kept = [*(self.value(p) for p in self.predicates), *tests]
        if self.owner:
            hidden = kept if self.of_one_table else map(self.hide, kept)
            kept = [f"{self.owner} IS NOT NULL", *hidden]
        self.base = self.base or self.write_base()
        return f" FROM {self.base}{' WHERE ' if kept else ''}{' AND '.join(kept)}"


def has_collation(contract: TableContract) -> bool:
    """Returns whether text of any table may equal other text."""
    return any(table.collated for table in (contract, *contract.others.values()))

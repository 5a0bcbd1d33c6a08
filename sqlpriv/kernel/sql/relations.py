"""One relation as the columns, FROM and WHERE of a SELECT.

A relation over others is written as subqueries, each `SELECT unit, columns …` (`relation_rows`).
The tables that it reads are in `scanned_tables`, how rows meet is in `joins`, how many rows of a
unit they keep in `bounded_rows`. Here are what unites rows and what groups them inside a unit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof.sensitivity import bound_of, fold_ends, lattice_of
from sqlpriv.kernel.sql.bounded_rows import BoundedRows
from sqlpriv.kernel.sql.expressions import COMPUTED, ROW, SQL_TYPES
from sqlpriv.kernel.sql.joins import read_join
from sqlpriv.kernel.sql.relation_rows import UNIT, Exported, RelationRows, has_collation
from sqlpriv.kernel.sql.scanned_tables import read_scan
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms import operations as ops
from sqlpriv.kernel.terms.contract import Column, Interval, TableContract, TableFacts, Type

UNITS = {"integer": (Type.INTEGER, "HUGEINT"), "text": (Type.TEXT, "VARCHAR")}


class Scope(BoundedRows):
    """Writes one relation, and row expressions over it.

    Args:
        relation, contract, hash_key, used, lists: See `RelationRows`.
        part: It is a part of another relation, and may be public.
    """

    def __init__(
        self,
        relation: a.Relation,
        contract: TableContract,
        *,
        part: bool = False,
        hash_key: int = 0,
        used: frozenset[str] | None = None,
        lists: dict[str, str] | None = None,
    ) -> None:
        super().__init__(relation, contract, hash_key, used, lists)
        self._enter(relation)
        self.checked.clear()  # the condition of a semi join reads columns that its rows do not have
        if not part and not self.owner:
            raise Refused(f'the table "{contract.table}" has no privacy unit')

    def _enter(self, relation: a.Relation) -> None:
        if isinstance(relation, a.Where | a.Bounded | a.Derive):
            self._enter(relation.source)
        match relation:
            case a.Scan():
                read_scan(self, relation)
            case a.Join():
                read_join(self, relation, self._part(relation.left), self._part(relation.right))
            case a.Union():
                self._union(relation)
            case a.PerUnit():
                self._per_unit(relation)
            case a.Where(_, predicate):
                ops.one([self.type(predicate)], ops.BOOLEANS, "WHERE")
                self.predicates.append(predicate)
            case a.Bounded(source):
                kept, held = (bound_of(x, self.contract).rows_per_unit for x in (relation, source))
                self.facts = replace(self.facts, bounded=self.facts.bounded and kept >= held)
            case a.Derive(_, new, expr):
                self.check_free(new)
                self.types[new.lower()], self.derived[new.lower()] = self.type(expr), expr

    def _part(self, relation: a.Relation, part: bool = True) -> "Scope":
        return Scope(
            relation,
            self.contract,
            part=part,
            hash_key=self.hash_key,
            used=self.used,
            lists=self.lists,
        )

    def _union(self, union: a.Union) -> None:
        parts = [(self._part(x).bound_rows(), exprs) for x, exprs in union.parts]
        selected: list[list[Exported]] = [[] for _ in parts]
        for i, new in enumerate(union.names):
            column = [(part, exprs[i]) for part, exprs in parts]
            type_ = ops.one([part.type(x) for part, x in column], frozenset(Type), "UNION")
            whole = type_ is Type.INTEGER and all(part.plain(x) for part, x in column)
            common = Column(new, type_, "HUGEINT" if whole else COMPUTED[type_])
            for columns, (part, x) in zip(selected, column, strict=True):
                columns.append((common, self.dialect.cast(part.value(x), common.sql_type)))
        for part, exprs in parts:
            parts[0][0].check_same_unit(part)
            if len(exprs) != len(union.names):
                raise KernelError("a part of a union has one expression for each name")
        selects = (p.select(x) for (p, _), x in zip(parts, selected, strict=True))
        self._read_rows(" UNION ALL ".join(selects), selected[0], parts[0][0])

    def _per_unit(self, grouping: a.PerUnit) -> None:
        """Claim: where a collation makes texts of a unit equal, the one with the least bytes stands
        for all of them. Which text is met first would depend on where other units' rows lie, and on
        threads."""
        inner = self._part(grouping.source, part=False)
        selected, grouped = list[Exported](), [inner.owner]
        for new, expr in grouping.keys:
            column, text = inner.export(new, expr)
            grouped.append(text)
            loose = column.type is Type.TEXT and has_collation(self.contract)
            selected.append(
                (column, f"arg_min({text}, {self.dialect.form('bytes', text)})" if loose else text)
            )
        kind = inner.owner_type.split(" of ")[0]  # a unit of several columns is a text
        if grouping.unit and kind in UNITS:
            textual, text = kind == "text", inner.owner
            text = self.dialect.form("of bytes", text) if textual else text
            selected.append((Column(grouping.unit, *UNITS[kind]), text))
        selected += map(inner.aggregate, grouping.folds)
        self._read_rows(inner.select(selected, f" GROUP BY {', '.join(grouped)}"), selected, inner)
        # Without keys each unit has one row, whatever the table holds.
        self.facts = TableFacts(
            inner.facts.bounded or not grouping.keys,
            frozenset(() if grouping.keys else self.columns),
        )

    def _read_rows(self, sql: str, columns: Iterable[Exported], like: RelationRows) -> None:
        """Reads what a statement selects, whose units are named as those of another relation."""
        self.add_columns(columns, ROW)
        self.base = f"({sql}) AS {ROW}"
        self.owner, self.owner_type = like.owner and f"{ROW}.{UNIT}", like.owner_type

    def aggregate(self, fold: a.Fold) -> Exported:
        """Returns the column and the text of an aggregate inside a unit; none can overflow."""
        low, high = fold_ends(fold)
        whole = Column(fold.name, Type.INTEGER, "BIGINT", Interval(low, high))
        if fold.of is None:
            return whole, "count(*)"
        type_, text = self.type(fold.of), self.value(fold.of)
        text = self.dialect.form("number", text) if type_ is Type.REAL else text
        if fold.kind in ("count", "distinct"):
            return whole, f"count({'DISTINCT ' if fold.kind == 'distinct' else ''}{text})"
        if fold.kind in ("min", "max") and type_ in ops.MOMENTS:
            return Column(fold.name, type_, SQL_TYPES[type_]), f"{fold.kind}({text})"
        ops.one([type_], ops.NUMBERS, fold.kind.upper())
        grid = lattice_of(a.Sum(a.Scan(""), fold.of, fold.lower, fold.upper), type_)
        lattice = self.lattice_text(fold.of, grid, fold.lower, fold.upper)
        cast, literal = self.dialect.cast, self.dialect.literal
        aggregate = f"{fold.kind}({cast(lattice, 'HUGEINT')})"
        if type_ is Type.INTEGER:
            return (
                replace(whole, domain=Interval(int(low), int(high))),
                cast(self.clamp(aggregate, int(low), int(high)), "BIGINT"),
            )
        n = cast(f"count({lattice})", "HUGEINT") if fold.kind == "sum" else "1"
        step, middle = literal(float(grid.step)), literal(float(grid.middle))
        text = f"({cast(aggregate, 'DOUBLE')} * {step} + {middle} * {cast(n, 'DOUBLE')})"
        return Column(fold.name, type_, "DOUBLE", Interval(float(low), float(high))), text


def partner_count(relation: a.Relation, columns: Sequence[str], contract: TableContract) -> str:
    """Returns the query that counts, in public tables, what `unit_rows.Partners` says."""
    scope = Scope(relation, contract, part=True)
    if scope.owner:
        raise KernelError("partners are counted in public tables alone")
    keys = ", ".join(scope.export(column, a.Col(column))[1] for column in columns)
    return (
        "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n"
        f"{scope.source()}{' GROUP BY ' * bool(keys)}{keys})"
    )

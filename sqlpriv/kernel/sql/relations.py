"""One relation as the columns, FROM and WHERE of a SELECT.

A relation over others is written as subqueries, each `SELECT unit, columns …`. Users' names and
literals are quoted; every column stands behind an alias of ours.

Claim: at each input of a join and of a union at most `unit_rows.Reach.rows` rows of a unit are
kept, which of them depending on that unit's rows, the columns that are read and the snapshot's key
alone (`rank_order`). Where the snapshot was found to satisfy the declared bound, this changes no
row and is left out. Statements with strata rank by all columns, whichever they read: what is
charged to strata rests on a unit's rows being in the same ones in all of them.

Claim: where columns are equated that name one thing, nobody need ask for the units of the rows that
meet: they are one unit's. All rows that hold a value which names a row or a unit (`Scope.named`),
in whichever relations, are of one unit, that of the one row that is named, as each row of a
relation is made of rows of its own unit. Whole numbers and text are equal by one rule wherever they
are compared. Text of a collation names nothing, nor do moments, which have clocks, and numbers that
are compared as doubles. So either side's unit is that of the row, and where nobody reads it, the
link of a row, which is not NULL, stands for it (`bound_rows`).

Claim: so no unit has more than `Reach.rows` rows in a join or union, whatever the tables hold.
Where that is no more than the bound of the query keeps, bounding the result would change no row:
the relation is bounded as it is written. Rows that one unit has of a public table are not counted
here, unless the equated column is unique there.

Claim: whether a side of a join has rows decides nothing about the work on the other side. The
engine builds a hash table of the right side and then reads the left one: it never swaps them, drops
a side or filters one side by the other's values (`engine.CONFIG`). It skips the left side only if
the table that an inner or semi join builds is empty. So a private right side has one row of NULLs
more. That row meets no left row, whose unit is never NULL; it stays in the table because units and
equated values are compared by IS NOT DISTINCT FROM; and no filter reaches it, because a predicate
that does not compare the two sides reads the left side's unit, too (`Scope.hide`). Predicates are
applied where the algebra has them: whoever plans a query places them before its joins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof.sensitivity import bound_of, fold_ends, lattice_of
from sqlpriv.kernel.proof.unit_rows import equated_columns, reach_of
from sqlpriv.kernel.sql.dialect import DIALECTS, Dialect
from sqlpriv.kernel.sql.expressions import COMPUTED, ROW, SQL_TYPES, Expressions
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms import operations as ops
from sqlpriv.kernel.terms.contract import (
    Column,
    Interval,
    Link,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)

LEFT, RIGHT, UNIT, LINK = "sqlpriv_left", "sqlpriv_right", "sqlpriv_unit", "sqlpriv_link"
UNITS = {"integer": (Type.INTEGER, "HUGEINT"), "text": (Type.TEXT, "VARCHAR")}
Exported = tuple[Column, str]
"""A column as other relations see it, and its text in this one."""


class Scope(Expressions):
    """Writes one relation, and row expressions over it.

    Args:
        relation: What is read.
        contract: Of any of its private tables; with those of the others in it.
        part: It is a part of another relation, and may be public.
        hash_key: The snapshot's, by which a unit's rows are ranked.
        used: Lower-case names of all columns that are read, here or of what this is a part of;
            other relations see these, and what is UNIQUE. None for all columns.
        lists: Takes the lists that the text reads (see `halves`); None where it reads none.
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
        super().__init__(DIALECTS[contract.engine])
        self.relation, self.contract, self.hash_key, self.used = relation, contract, hash_key, used
        # of rows of one table: which; a row's link, else its unit; all, with what links lead to
        self.scanned = contract
        self.lists, self.link, self.outer, self.keep_units = lists, "", "", True
        # by column what its values name, a row (a table, a column that is UNIQUE there) or a unit
        self.named: dict[str, tuple[str, str]] = {}
        self.hops = 0  # links that are followed to a row's unit
        self.write_base: Callable[[], str] = str  # that of a join: see `_write_join`
        # nobody counts partners in a public table here: they are more than any bound
        self.reach = reach_of(relation, contract, lambda *_: 10**9)
        self.facts, self.of_one_table = (
            TableFacts(0 < self.reach.rows <= self.unit.rows_per_unit),
            False,
        )
        self.predicates: list[a.Expr] = []
        self.owner, self.owner_type = "", ""  # the unit; its type
        self.row_names: tuple[str, ...] = ()  # columns, each UNIQUE in its table
        self._enter(relation)
        self.checked.clear()  # a join may have taken columns away that its own test reads
        if not part and not self.owner:
            raise Refused(f'the table "{contract.table}" has no privacy unit')

    @cached_property
    def unit(self) -> PrivacyUnit:
        """How far one unit reaches in these rows."""
        return bound_of(self.relation, self.contract)

    def _enter(self, relation: a.Relation) -> None:
        if isinstance(relation, a.Where | a.Bounded | a.Derive):
            self._enter(relation.source)
        match relation:
            case a.Scan():
                self._scan(relation)
            case a.Join():
                self._join(relation)
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
                self._check_free(new)
                self.types[new.lower()], self.derived[new.lower()] = self.type(expr), expr

    def _check_free(self, new: str) -> None:
        if new.lower() in {*self.columns, *self.types, UNIT, LINK}:
            raise Refused(f'the name "{new}" is taken')

    def _add(self, columns: Iterable[Exported], alias: str) -> None:
        """Names columns that another SELECT, behind an alias, has."""
        for column, _ in columns:
            self._add_column(column, f"{alias}.{self.dialect.identifier(column.name)}")

    def _add_column(self, column: Column, text: str) -> None:
        self._check_free(column.name)
        self.columns[column.name.lower()], self.texts[column.name.lower()] = column, text
        if column.type is not None:
            self.types[column.name.lower()] = column.type

    def _scan(self, scan: a.Scan) -> None:
        table, row = self.contract.contract_of(scan.table), ROW
        for column in table.columns:
            self._add_column(
                replace(column, name=scan.prefix + column.name),
                f"{ROW}.{self.dialect.identifier(column.name)}",
            )
        self.base, self.of_one_table, self.scanned = self._table(table, ROW), True, table
        if table.unit is None and table.public:
            return
        if table.unit is None:
            raise Refused(f'the table "{table.table}" has no privacy unit')
        if self.contract.unit is None or table.unit.table != self.contract.unit.table:
            raise Refused("one query is about the units of one table, which has their budget")
        self.row_names = tuple((scan.prefix + c).lower() for c in sorted(table.unique))
        self.facts = TableFacts(
            table.facts.bounded, frozenset(scan.prefix + c for c in table.facts.constant)
        )
        self.outer = self.base
        led = table.via or Link(table.unit.column, table.unit.table, "")
        names = {c: (table.table.lower(), c) for c in table.unique} | (
            {led.column.lower(): (led.table.lower(), led.parent.lower())}
            if table.via or not table.unit.further  # one column of a key of several names nobody
            else {}
        )
        self.named = {
            (scan.prefix + c.name).lower(): names[c.name.lower()]
            for c in table.columns
            if c.type in (Type.INTEGER, Type.TEXT) and c.name.lower() in names
        }
        while link := table.via:  # up to the table that names the unit
            up, above = (
                self.contract.contract_of(link.table, on_the_way=True),
                f"sqlpriv_up{self.hops}",
            )
            mine, kind = key_of(table, link.column, row, self.dialect)
            theirs, other = key_of(up, link.parent, above, self.dialect)
            if kind != other or link.parent.lower() not in up.unique:
                raise Refused(f'"{link.column}" does not lead to one row of "{link.table}"')
            met = f"JOIN {self._table(up, above)} ON {mine} = {theirs}"
            self.base, self.outer = f"{self.base} {met}", f"{self.outer} LEFT {met}"
            self.link, self.hops = self.link or mine, self.hops + 1
            table, row = up, above
        assert table.unit is not None  # `contract.contracts_in_force` found the way
        self.owner, self.owner_type = unit_of(table, table.unit, row, self.dialect)
        self.link = self.link or self.owner

    def _table(self, table: TableContract, alias: str) -> str:
        """Returns a table behind an alias; Refused where another engine reads its rows."""
        if table.engine != self.dialect.name:
            raise Refused(
                f"{table.table} is read by {table.engine}, {self.contract.table} by"
                f" {self.dialect.name}: one query is of one engine"
            )
        return f"{self.dialect.table(table.table)} AS {alias}"

    def _part(self, relation: a.Relation, part: bool = True) -> "Scope":
        return Scope(
            relation,
            self.contract,
            part=part,
            hash_key=self.hash_key,
            used=self.used,
            lists=self.lists,
        )

    def _join(self, join: a.Join) -> None:
        left, right = self._part(join.left), self._part(join.right)
        of_one_unit = not has_collation(self.contract) and any(
            mine in left.named and left.named[mine] == right.named.get(theirs)
            for mine, theirs in equated_columns(join.on)
        )
        from_right = of_one_unit and join.kind == "inner" and right.hops < left.hops
        self._add(left.exports(), LEFT)
        left_alone = self.columns.copy(), self.types.copy()
        self._add(right.exports(), RIGHT)
        ops.one([self.type(join.on)], ops.BOOLEANS, "ON")
        if right.owner:
            left.check_same_unit(right)
        self.owner, self.owner_type = left.owner and f"{LEFT}.{UNIT}", left.owner_type
        if from_right:
            # a text that reads both sides: no filter that it hides reaches the right one
            self.owner = f"CASE WHEN {self.owner} IS NOT NULL THEN {RIGHT}.{UNIT} END"
        tests = (
            [self._join_test(test, left, right) for test in ops.conjuncts(join.on)]
            if self.owner and join.kind in ("inner", "semi")
            else [self.value(join.on)]
        )
        self.write_base = partial(
            self._write_join, join.kind, left, right, of_one_unit, from_right, " AND ".join(tests)
        )
        self.hops = right.hops if from_right else left.hops
        self.row_names = left.row_names + (() if join.kind in ("semi", "anti") else right.row_names)
        if join.kind in ("semi", "anti"):
            self.columns, self.types = left_alone
        self.named = {
            column: named
            for column, named in (left.named | right.named).items()
            if column in self.columns
        }
        # of a left row without a partner the right columns are NULL
        self.facts = replace(
            self.facts,
            constant=left.facts.constant
            | (right.facts.constant if join.kind == "inner" else frozenset()),
        )

    def _write_join(
        self, kind: str, left: "Scope", right: "Scope", of_one_unit: bool, from_right: bool, on: str
    ) -> str:
        """Returns the text of a join, once it is known whether its rows' units are read.

        Args:
            kind, left, right: Of the join.
            of_one_unit: Rows that meet are of one unit, and nobody need ask which.
            from_right: The unit of a row is the right row's.
            on: The text of the condition.
        """
        compared, pairwise = bool(right.owner) and not of_one_unit, kind in ("inner", "semi")
        left.keep_units = compared or (self.keep_units and not from_right)
        right.keep_units = compared or (self.keep_units and from_right)
        units = f"{LEFT}.{UNIT} {'IS NOT DISTINCT FROM' if pairwise else '='} {RIGHT}.{UNIT} AND "
        partners = right.never_empty() if right.owner and pairwise else right.as_select()
        return (
            f"({left.as_select()}) AS {LEFT} {self.dialect.forms[kind]} ({partners}) AS {RIGHT}"
            f" ON {units if compared else ''}{on}"
        )

    def _join_test(self, test: a.Expr, left: "Scope", right: "Scope") -> str:
        """Returns a conjunct of the ON of an inner or semi join: see the claims at the top.

        Each side of the comparison reads columns, all of them of one side of the join: to compare
        with a literal is to filter.
        """
        match test:
            case a.Call("=" | "<" | "<=" | ">" | ">=" as op, (one_side, other_side)):
                if ops.columns_read(one_side) <= right.names:
                    one_side, other_side = other_side, one_side
                reads = ops.columns_read(one_side), ops.columns_read(other_side)
                two_sided = all(reads) and reads[0] <= left.names and reads[1] <= right.names
                if two_sided and not right.owner:
                    return self.value(test)
                if two_sided and op == "=":
                    mine, theirs = self.stored_text(one_side), self.stored_text(other_side)
                    return f"{mine} IS NOT DISTINCT FROM {theirs} AND {mine} IS NOT NULL"
        return self.hide(self.value(test))

    def hide(self, test: str) -> str:
        """Returns the predicate as one that reads the left unit: it stays above all joins.

        The unit of a row is never NULL, so that the value is the same. Without it the optimizer
        would move what reads right columns alone, or find such a part in a disjunction.
        """
        return f"CASE WHEN {self.owner} IS NOT NULL THEN {test} END"

    def check_same_unit(self, other: "Scope") -> None:
        """Raises Refused unless both relations name their units in one way, or neither has any."""
        if (bool(self.owner), self.owner_type) != (bool(other.owner), other.owner_type):
            raise Refused("relations that meet name their units in one way")

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
        """Claim: of equal texts of a unit the one of the least bytes stands for all: which is met
        first would depend on where other units' rows lie, and on threads."""
        inner = self._part(grouping.source, part=False)
        selected, grouped = list[Exported](), [inner.owner]
        for new, expr in grouping.keys:
            column, text = inner.export(new, expr)
            grouped.append(text)
            loose = column.type is Type.TEXT and has_collation(self.contract)
            selected.append(
                (column, f"arg_min({text}, {self.dialect.form('bytes', text)})" if loose else text)
            )
        if grouping.unit and inner.owner_type in UNITS:
            textual, text = inner.owner_type == "text", inner.owner
            text = self.dialect.form("of bytes", text) if textual else text
            selected.append((Column(grouping.unit, *UNITS[inner.owner_type]), text))
        selected += map(inner.aggregate, grouping.folds)
        self._read_rows(inner.select(selected, f" GROUP BY {', '.join(grouped)}"), selected, inner)
        # without keys one row of a unit: the statement says so, whatever the rows
        self.facts = TableFacts(
            inner.facts.bounded or not grouping.keys,
            frozenset(() if grouping.keys else self.columns),
        )

    def _read_rows(self, sql: str, columns: Iterable[Exported], like: "Scope") -> None:
        """Reads what a statement selects, whose units are named as those of another relation."""
        self._add(columns, ROW)
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

    def exports(self) -> list[Exported]:
        """Returns every column that is read, or UNIQUE, as other relations see it."""
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

    def as_select(self) -> str:
        """Returns the whole relation, bounded, as a SELECT."""
        return self.bound_rows().select(self.exports())

    def select(self, columns: Iterable[Exported], end: str = "") -> str:
        """Returns a SELECT of the unit, if there is one, and columns."""
        named = [(UNIT, self.owner)] if self.owner else []
        named += [(self.dialect.identifier(column.name), text) for column, text in columns]
        texts = ", ".join(f"{text} AS {name}" for name, text in named)
        return f"SELECT {texts or 'NULL'}{self.source()}{end}"

    def never_empty(self) -> str:
        """Returns the relation as `as_select` and one row of NULLs, which has no unit."""
        return f"{self.as_select()} UNION ALL SELECT NULL{', NULL' * len(self.exports())}"

    def bound_rows(self) -> "Scope":
        """Bounds a unit's rows where joins and unions could multiply them; returns this scope.

        Rows are ranked by the stored columns that are read, or UNIQUE: derived columns are
        functions of these. See `queries.bounding` for whose rows are ranked.
        """
        spared = self.hops > 0 and self.lists is not None and not self.keep_units
        if not self.owner or self.reach.limited or (self.facts.bounded and not spared):
            return self
        self.columns = {n: column for n, column in self.columns.items() if self._is_read(n)}
        names = {n: self.dialect.identifier(column.name) for n, column in self.columns.items()}
        texts = {
            n: self.dialect.form("bytes", names[n])
            for n, column in self.columns.items()
            if column.type is Type.TEXT and has_collation(self.contract)
        }
        order, most = self.rank_order([UNIT, *(names | texts).values()]), self.reach.rows
        columns = {names[n]: self.texts[n] for n in names} | (
            {} if self.keep_units else {LINK: self.link}
        )
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        beyond, within = self.halves(UNIT, columns, most, self.keep_units)
        kept = self.dialect.form(
            "kept",
            beyond or f"SELECT {self.owner} AS {UNIT}{named}{self.source()}",
            ", NULL" * len(columns),
            UNIT,
            "sqlpriv_all",
            f"count(*) > {most}",
            f"row_number() OVER (PARTITION BY {UNIT} ORDER BY {order}) <= {most}",
        )
        self.base = f"({kept}{within}) AS {ROW}"
        self.owner = f"{ROW}.{UNIT if self.keep_units else LINK}"
        self.texts = {n: f"{ROW}.{text}" for n, text in names.items()}
        self.reach, self.predicates, self.layers = self.reach._replace(limited=True), [], {}
        return self

    def halves(
        self, unit: str, columns: Mapping[str, str], most: int, keep_units: bool = True
    ) -> tuple[str, str]:
        """Returns rows of one table as two SELECTs of their units and columns: rows of units that
        have more than `most` in the table, and, behind UNION ALL, those of all others. Two empty
        texts where there are no such lists: for joins, or a bound that is not the declared one.

        Args:
            unit: The name of the column of units.
            columns: Texts of a row's other columns, by quoted name.
            most: Rows that are kept of a unit.
            keep_units: Whether the units of rows that are kept are read again: else NULL stands for
                them, and the tables that a link leads through are not read.

        Claim: which units can be beyond follows from the table and its declared bound, whatever a
        statement asks: of a unit with no more rows in all, bounding leaves out none of those that
        pass a filter. So the links to units beyond (their names, where rows have these) are listed
        once for a state of the vault, and with them each link that leads to no unit. A row of any
        other link has a unit with no more than `most` rows: it is kept, and nobody asks whose it
        is. Rows of the links listed are bounded as ever, so the same rows are kept of each unit.

        Claim: the list has a link of NULL, which leads to no unit, as the tables that it is made of
        do. So the first unit beyond sets up no table and spares, or costs, no scan. For the same
        reason the test of a row's unit reads the row's link, too: it stays above the join.
        """
        declared, rows = self.scanned.unit or self.unit, self._table(self.scanned, ROW)
        m, g = declared.rows_per_unit, declared.groups_per_unit
        if self.lists is None or not self.of_one_table or most not in (m, m * g):
            return "", ""
        select = self.dialect.form("links", self.link, self.owner, self.outer, most)
        texts = rows, f'memory.sqlpriv."{sha256(select.encode()).hexdigest()}"', self.link
        self.lists[texts[1]] = select
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        tests = "".join(f" AND {self.value(p)}" for p in self.predicates)
        # innermost, so that what `_once` computes, above it, is computed of these rows alone
        above, _, met = self.base.rpartition(rows)
        within = f"{above}({self.dialect.form('within', *texts)}) AS {ROW}{met}"
        beyond = f"{above}({self.dialect.form('beyond', *texts)}) AS {ROW}{met}"
        far, is_far = self.owner, f"{self.owner} IS NOT NULL"
        if self.link != self.owner:
            beyond, far = self.dialect.form("linked beyond", *texts), "sqlpriv_far.unit"
            is_far = f"CASE WHEN {self.link} IS NOT NULL THEN {far} IS NOT NULL END"
            within = within if keep_units else within.removesuffix(met)
        return (
            f"SELECT {far} AS {unit}{named} FROM {beyond} WHERE {is_far}{tests}",
            f" UNION ALL SELECT {self.owner if keep_units else 'NULL'} AS {unit}{named}"
            f" FROM {within} WHERE {self.link} IS NOT NULL{tests}",
        )

    def rank_order(self, columns: Sequence[str]) -> str:
        """Returns the order in which a unit's rows, or strata, are kept: see `queries.bounding`.

        DuckDB joins the hashes of several columns by XOR, which alone would rank by a fixed tree,
        unevenly: so the joint hash is hashed once more.

        Args:
            columns: The unit first, then all that tells its rows, or strata, apart.
        """
        hashed = self.dialect.form("hash", self.hash_key, ", ".join(columns))
        return ", ".join(self.dialect.form("ascending", text) for text in (hashed, *columns[1:]))

    def source(self, *tests: str) -> str:
        """Returns FROM and WHERE: rows that have a unit, if any have, and pass all predicates."""
        kept = [*(self.value(p) for p in self.predicates), *tests]
        if self.owner:
            hidden = kept if self.of_one_table else map(self.hide, kept)
            kept = [f"{self.owner} IS NOT NULL", *hidden]
        self.base = self.base or self.write_base()
        return f" FROM {self.base}{' WHERE ' if kept else ''}{' AND '.join(kept)}"


def has_collation(contract: TableContract) -> bool:
    """Returns whether text of any table may equal other text."""
    return any(table.collated for table in (contract, *contract.others.values()))


def key_of(contract: TableContract, column: str, row: str, dialect: Dialect) -> tuple[str, str]:
    """Returns what names a row's unit, or its parent, and how: text byte by byte, any collation.

    Claim: two of one kind are equal where they name one thing, by no clock. The engine compares a
    moment with a time zone and one without by the zone that it is in, where the hour that summer
    time leaves out equals the hour after it: one link would lead to the rows of two units.
    """
    declared, text = contract.column(column), f"{row}.{dialect.identifier(column)}"
    if declared is None or declared.type is None or declared.type is Type.REAL:
        raise Refused(f'"{column}" cannot name a unit: its values have no one equality')
    if declared.type is Type.TEXT:
        text = dialect.form("bytes", text)
    return text, declared.sql_type if declared.type is Type.TIMESTAMP else declared.type


def unit_of(
    contract: TableContract, unit: PrivacyUnit, row: str, dialect: Dialect
) -> tuple[str, str]:
    """Returns what names a row's unit in a table with its key, and how; NULL where it has none.

    Claim: a key of several columns is one text, which tells any two combinations apart: before the
    bytes of each stands how many they are. The cast of what is no text loses nothing.
    """
    keys = [key_of(contract, column, row, dialect) for column in unit.columns]
    if len(keys) == 1:
        return keys[0]
    texts = (text if kind is Type.TEXT else dialect.form("bytes", text) for text, kind in keys)
    return " || ".join(dialect.form("counted", text) for text in texts), Type.TEXT


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

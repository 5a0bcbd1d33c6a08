"""One relation as the columns, FROM and WHERE of a SELECT, and row expressions over it.

A relation over others is written as subqueries, each `SELECT unit, columns …`; the optimizer makes
one of them. Users' names and literals are quoted; every column stands behind an alias of ours.
"""

from dataclasses import replace

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import (
    MAX_INTEGER,
    Column,
    Interval,
    Number,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.kernel.literals import alike, levels, literal, name
from sqlpriv.kernel.operations import BOOLEANS, MOMENTS, NUMBERS, OPERATIONS, check, one
from sqlpriv.kernel.sensitivity import Lattice, bound_of, lattice_of

ROW, LEFT, RIGHT, UNIT = "sqlpriv_row", "sqlpriv_left", "sqlpriv_right", "sqlpriv_unit"
WIDENED = {Type.INTEGER: "BIGINT", Type.REAL: "DOUBLE", Type.TEXT: "VARCHAR"}
SQL_TYPES = {t: WIDENED.get(t, t.upper()) for t in Type}
COMPUTED = SQL_TYPES | {Type.INTEGER: "DOUBLE"}
KEPT = dict.fromkeys(("TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER"), "INTEGER")
KEPT |= {"HUGEINT": "HUGEINT", "UBIGINT": "HUGEINT", "DOUBLE": "DOUBLE"}
"""Types of stored integers that are no BIGINT, to what holds them; a computed one is a DOUBLE."""
_WHOLE = (" AS INTEGER)", " AS BIGINT)")
UNITS = {"integer": (Type.INTEGER, "HUGEINT"), "text": (Type.TEXT, "VARCHAR")}
KINDS = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "SEMI JOIN", "anti": "ANTI JOIN"}


class Scope:
    """Writes row expressions over one relation; columns made by Derive are written out.

    Args:
        relation: What is read.
        contract: Of any of its private tables; with those of the others in it.
        part: It is a part of another relation, and may be public.
    """

    def __init__(
        self, relation: a.Relation, contract: TableContract, *, part: bool = False
    ) -> None:
        self.relation, self.contract, self.facts = relation, contract, TableFacts()
        self.columns: dict[str, Column] = {}
        self.texts: dict[str, str] = {}
        self.types: dict[str, Type] = {}
        self.derived: dict[str, a.Expr] = {}
        self.predicates: list[a.Expr] = []
        self.layers: dict[str, str] = {}
        self.base, self.owner, self.owner_type = "", "", ""  # FROM; the unit; its type
        self._enter(relation)
        if not part and not self.owner:
            raise Refused(f'the table "{contract.table}" has no privacy unit')

    @property
    def unit(self) -> PrivacyUnit:
        """How far one unit reaches in these rows."""
        return bound_of(self.relation, self.contract)

    def _enter(self, relation: a.Relation) -> None:
        match relation:
            case a.Scan():
                self._scan(relation)
            case a.Where(source, predicate):
                self._enter(source)
                one([self.type(predicate)], BOOLEANS, "WHERE")
                self.predicates.append(predicate)
            case a.Derive(source, new, expr):
                self._enter(source)
                self._free(new)
                self.types[new.lower()] = self.type(expr)
                self.derived[new.lower()] = expr
            case a.Join():
                self._join(relation)
            case a.Union():
                self._union(relation)
            case a.PerUnit():
                self._per_unit(relation)

    def _free(self, new: str) -> None:
        if new.lower() in {*self.columns, *self.types, UNIT}:
            raise Refused(f'the name "{new}" is taken')

    def _add(self, column: Column, text: str) -> None:
        self._free(column.name)
        self.columns[column.name.lower()], self.texts[column.name.lower()] = column, text
        if column.type is not None:
            self.types[column.name.lower()] = column.type

    def _known(self, table: str) -> TableContract:
        known = {**self.contract.others, self.contract.table.lower(): self.contract}
        if table.lower() not in known:
            raise Refused("a query reads the tables that its contract knows")
        return known[table.lower()]

    def _scan(self, scan: a.Scan) -> None:
        made = self._known(scan.table)
        for column in made.columns:
            text = f"{ROW}.{name(column.name)}"
            self._add(replace(column, name=scan.prefix + column.name), text)
        self.base = f"main.{name(made.table)} AS {ROW}"
        if made.unit is None and made.public:
            return
        if made.unit is None:
            raise Refused(f'the table "{made.table}" has no privacy unit')
        if self.contract.unit is None or made.unit.table != self.contract.unit.table:
            raise Refused("one query is about the units of one table, which has their budget")
        steady = frozenset(scan.prefix + c for c in made.facts.constant)
        self.facts = TableFacts(made.facts.bounded, steady)
        row = ROW
        while link := made.via:  # up to the table that names the unit
            up, above = self._known(link.table), f"sqlpriv_up{self.base.count(' JOIN ')}"
            mine, kind = key_of(made, link.column, row)
            theirs, other = key_of(up, link.parent, above)
            if kind != other or link.parent.lower() not in up.unique:
                raise Refused(f'"{link.column}" does not lead to one row of "{link.table}"')
            self.base += f" JOIN main.{name(up.table)} AS {above} ON {mine} = {theirs}"
            made, row = up, above
        assert made.unit is not None  # `contract.in_force` found the way
        self.owner, self.owner_type = key_of(made, made.unit.column, row)

    def _join(self, join: a.Join) -> None:
        left, right = (Scope(x, self.contract, part=True) for x in (join.left, join.right))
        for alias, side in ((LEFT, left), (RIGHT, right)):
            for n, (column, _) in side.exported().items():
                self._add(column, f"{alias}.{name(n)}")
        one([self.type(join.on)], BOOLEANS, "ON")
        tests = self.value(join.on)
        if right.owner:
            tests = f"{LEFT}.{UNIT} = {RIGHT}.{UNIT} AND {tests}"
            self._same(left, right)
        sides = (f"({left.written()}) AS {LEFT}", f"({right.written()}) AS {RIGHT}")
        self.base = f" {KINDS[join.kind]} ".join(sides) + f" ON {tests}"
        self.owner, self.owner_type = left.owner and f"{LEFT}.{UNIT}", left.owner_type
        if join.kind in ("semi", "anti"):
            for n in right.exported():
                del self.columns[n.lower()]
                self.types.pop(n.lower(), None)

    def _same(self, left: "Scope", right: "Scope") -> None:
        if (bool(left.owner), left.owner_type) != (bool(right.owner), right.owner_type):
            raise Refused("relations that meet name their units in one way")

    def _union(self, union: a.Union) -> None:
        parts = [(Scope(x, self.contract, part=True), exprs) for x, exprs in union.parts]
        first = parts[0][0]
        texts = [[f"{s.owner} AS {UNIT}"] if s.owner else [] for s, _ in parts]
        for i, new in enumerate(union.names):
            column = [(s, exprs[i]) for s, exprs in parts]
            type_ = one([s.type(x) for s, x in column], frozenset(Type), "UNION")
            whole = type_ is Type.INTEGER and all(s.plain(x) for s, x in column)
            sql_type = "HUGEINT" if whole else COMPUTED[type_]
            for text, (s, x) in zip(texts, column, strict=True):
                text.append(f"CAST({s.value(x)} AS {sql_type}) AS {name(new)}")
            self._add(Column(new, type_, sql_type), f"{ROW}.{name(new)}")
        selects = []
        for (s, exprs), text in zip(parts, texts, strict=True):
            self._same(first, s)
            if len(exprs) != len(union.names):
                raise KernelError("a part of a union has one expression for each name")
            selects.append(f"SELECT {', '.join(text)}{s.source()}")
        self.base = f"({' UNION ALL '.join(selects)}) AS {ROW}"
        self.owner, self.owner_type = first.owner and f"{ROW}.{UNIT}", first.owner_type

    def _per_unit(self, made: a.PerUnit) -> None:
        inner = Scope(made.source, self.contract)
        selected = [f"{inner.owner} AS {UNIT}"]
        for new, expr in made.keys:
            column, text = inner.export(new, expr)
            selected.append(f"{text} AS {name(new)}")
            self._add(column, f"{ROW}.{name(new)}")
        if made.unit and inner.owner_type in UNITS:
            self._add(Column(made.unit, *UNITS[inner.owner_type]), f"{ROW}.{name(made.unit)}")
            text = inner.owner if inner.owner_type != "text" else f"decode({inner.owner})"
            selected.append(f"{text} AS {name(made.unit)}")
        grouped = ", ".join(str(i + 1) for i in range(len(selected)))
        for fold in made.folds:
            column, text = inner.folded(fold)
            selected.append(f"{text} AS {name(fold.name)}")
            self._add(column, f"{ROW}.{name(fold.name)}")
        self.base = f"(SELECT {', '.join(selected)}{inner.source()} GROUP BY {grouped}) AS {ROW}"
        self.owner, self.owner_type = f"{ROW}.{UNIT}", inner.owner_type
        if not made.keys:  # one row of a unit: the statement says so, whatever the rows
            self.facts = TableFacts(True, frozenset(self.columns))

    def folded(self, fold: a.Fold) -> tuple[Column, str]:
        """Returns the column and the text of an aggregate inside a unit; none can overflow."""
        low, high = fold_ends(fold)
        whole = Column(fold.name, Type.INTEGER, "BIGINT", Interval(low, high))
        if fold.of is None:
            return whole, "count(*)"
        type_, text = self.type(fold.of), self.value(fold.of)
        text = f"sqlpriv_number({text})" if type_ is Type.REAL else text
        if fold.kind in ("count", "distinct"):
            return whole, f"count({'DISTINCT ' if fold.kind == 'distinct' else ''}{text})"
        if fold.kind in ("min", "max") and type_ in MOMENTS:
            return Column(fold.name, type_, SQL_TYPES[type_]), f"{fold.kind}({text})"
        one([type_], NUMBERS, fold.kind.upper())
        grid = lattice_of(a.Sum(a.Scan(""), fold.of, fold.lower, fold.upper), type_)
        lattice = self.quantised(fold.of, grid, fold.lower, fold.upper)
        aggregate = f"{fold.kind}(CAST({lattice} AS HUGEINT))"
        if type_ is Type.INTEGER:
            ends = f"{literal(int(low))}, {literal(int(high))}"
            whole = replace(whole, domain=Interval(int(low), int(high)))
            return whole, f"CAST(sqlpriv_clamp({aggregate}, {ends}) AS BIGINT)"
        n = f"CAST(count({lattice}) AS HUGEINT)" if fold.kind == "sum" else "1"
        step, middle = literal(float(grid.step)), literal(float(grid.middle))
        text = f"(CAST({aggregate} AS DOUBLE) * {step} + {middle} * CAST({n} AS DOUBLE))"
        return Column(fold.name, type_, "DOUBLE", Interval(float(low), float(high))), text

    def exported(self) -> dict[str, tuple[Column, str]]:
        """Returns every column as other relations see it, by name, and its text in here."""
        names = [*(c.name for c in self.columns.values()), *self.derived]
        return {n: self.export(n, a.Col(n)) for n in names}

    def export(self, new: str, expr: a.Expr) -> tuple[Column, str]:
        """Returns an expression as a column: a stored one keeps its domain, and is not clamped."""
        if isinstance(expr, a.Col) and expr.name.lower() in self.derived:
            return self.export(new, self.derived[expr.name.lower()])
        if isinstance(expr, a.Col):
            return replace(self.columns[expr.name.lower()], name=new), self.texts[expr.name.lower()]
        type_ = self.type(expr)
        return Column(new, type_, COMPUTED[type_]), f"CAST({self.value(expr)} AS {COMPUTED[type_]})"

    def written(self) -> str:
        """Returns the whole relation as a SELECT: the unit, if there is one, and every column."""
        texts = [f"{text} AS {name(n)}" for n, (_, text) in self.exported().items()]
        texts = [f"{self.owner} AS {UNIT}", *texts] if self.owner else texts
        return f"SELECT {', '.join(texts)}{self.source()}"

    def source(self, *tests: str) -> str:
        """Returns FROM and WHERE: rows that have a unit, if any have, and pass all predicates."""
        kept = [f"{self.owner} IS NOT NULL"] if self.owner else []
        kept += [*(self.value(p) for p in self.predicates), *tests]
        return f" FROM {self.base}{' WHERE ' if kept else ''}{' AND '.join(kept)}"

    def plain(self, expr: a.Expr) -> bool:
        """Returns whether the expression is a column as stored, not computed."""
        if not isinstance(expr, a.Col) or expr.name.lower() in self.derived:
            return False
        column = self.columns[expr.name.lower()]
        return column.type is Type.REAL or column.sql_type != "DOUBLE"

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
        wide = KEPT.get(column.sql_type.upper(), WIDENED.get(type_))
        text = self.texts[expr.name.lower()]
        return f"CAST({text} AS {wide})" if wide else text

    def value(self, expr: a.Expr) -> str:
        """Returns the expression as a value: columns clamped to their declared interval, no NaN."""
        match expr:
            case a.Col(n) if n.lower() in self.derived:
                return self.value(self.derived[n.lower()])
            case a.Col(n):
                text, domain = self.stored(expr), self.columns[n.lower()].domain
                real = "DOUBLE" in (SQL_TYPES[self.type(expr)], self.columns[n.lower()].sql_type)
                text = f"sqlpriv_number({text})" if real else text
                if not isinstance(domain, Interval):
                    return text
                return f"sqlpriv_clamp({text}, {literal(domain.lower)}, {literal(domain.upper)})"
            case a.Lit(int(value), Type.REAL):
                return literal(float(value))
            case a.Lit(value, type_):
                return f"CAST(NULL AS {SQL_TYPES[type_]})" if value is None else literal(value)
            case a.Call(op, args):
                sql, reads, joiner = OPERATIONS[op].sql, OPERATIONS[op].reads, OPERATIONS[op].joiner
                texts = list(map(self.stored if reads == "stored" else self.value, args))
                texts = [f"CAST({t} AS DOUBLE)" for t in texts] if reads == "double" else texts
                return sql.format(*texts, all=joiner.join(texts))
            case a.In(arg, values):
                listed = ", ".join(map(literal, alike(values, self.type(arg))))
                return f"({self.stored(arg)} IN ({listed}))"
            case a.Case(whens, otherwise):
                branches = (f"WHEN {self.value(p)} THEN {self.value(e)}" for p, e in whens)
                return f"(CASE {' '.join(branches)} ELSE {self.value(otherwise)} END)"
            case a.Like(arg, pattern, escape, fold):
                text = f"{self.value(arg)} {'I' if fold else ''}LIKE {literal(pattern)}"
                return f"({text} ESCAPE {literal(escape)})" if escape else f"({text})"
            case a.Substring(arg, start, length):
                return f"substring({self.value(arg)}, {start}, {length})"
            case a.Bin(arg, edges):
                at, ends = self.value(arg), alike(edges, self.type(arg))
                at = self._once(f"sqlpriv_number({at})" if self.type(arg) in NUMBERS else at)
                tests = [f"WHEN {at} >= {literal(e)} THEN {i}" for i, e in enumerate(ends, 1)][::-1]
                return self._once(f"CASE {' '.join(tests)} WHEN {at} IS NOT NULL THEN 0 END")
            case a.Pick(keys, numbers):  # levels are NULL or within their key: so is the position
                cell = "0"
                for k in keys:
                    whole = self.plain(k.expr) and self.stored(k.expr).endswith(_WHOLE)
                    cell = f"({cell} * {len(k.values)} + {levels(k, self.value(k.expr), whole)})"
                table = ", ".join(literal(float(number)) for number in numbers)
                return self._once(f"list_extract([{table}], {self._once(cell)} + 1)")
        raise KernelError("this expression has no rendering")

    def _once(self, text: str) -> str:
        """Returns a column of the text's value, made below: the same rows, `SELECT *, text`. Macros
        write an argument up to six times, and the engine plans each. Joins have no one row."""
        if text not in self.layers and self.base.endswith(f" AS {ROW}"):
            made, taken = f"sqlpriv_once{len(self.layers)}", " ".join(self.texts.values()).lower()
            while f'"{made}"' in taken:  # a column of the table may have any name
                made += "_"
            self.layers[text] = made
            self.base = f"(SELECT *, {text} AS {made} FROM {self.base}) AS {ROW}"
        return f"{ROW}.{self.layers[text]}" if text in self.layers else text

    def added(self, query: a.Query) -> tuple[str, str] | None:
        """Returns what is added up of a row, an integer, a value or NULL, and how; None for 1.

        Claim: a sum of whole numbers is one of `2 x - lower - upper`, as its lattice has it, made
        of exact sums of x and of 1: HUGEINT holds twice 2^62 of each of 2^62 rows.
        """
        if isinstance(query, a.Sum):
            grid = lattice_of(query, type_ := self.type(query.of))
            ends = f"{literal(int(2 * grid.middle))} * CAST(count({{0}}) AS HUGEINT)"
            how = f"2 * sum({{0}}) - {ends}" if type_ is Type.INTEGER else "sum({0})"
            return self.quantised(query.of, grid, query.lower, query.upper), how
        if query.of is None:
            return None
        distinct = isinstance(query, a.Distinct)  # clamping makes no NULL, nor takes one away
        text = self.value(query.of) if distinct else self.stored(query.of)
        text = f"sqlpriv_number({text})" if self.type(query.of) is Type.REAL else text
        return text, "count(DISTINCT {0})" if distinct else "count({0})"

    def quantised(self, of: a.Expr, grid: Lattice, lower: Number, upper: Number) -> str:
        """Returns NULL, or an integer: a whole number, clamped, or a real's step within ±steps."""
        type_, plain = self.type(of), self.plain(of)
        if type_ is Type.INTEGER:
            ends = f"{literal(int(lower))}, {literal(int(upper))}"
            if plain:
                return f"sqlpriv_clamp({self.stored(of)}, {ends})"
            whole = f"CAST(sqlpriv_clamp(sqlpriv_number({self.value(of)}), {ends}) AS BIGINT)"
            # above 2^53 the end that a double was clamped to may have been rounded
            return f"sqlpriv_clamp({whole}, {ends})"
        middle, step = literal(float(grid.middle)), literal(float(grid.step))
        real = self.stored(of) if plain else self.value(of)
        return f"sqlpriv_quantise({real}, {middle}, {step}, {grid.steps})"


def key_of(contract: TableContract, column: str, row: str) -> tuple[str, str]:
    """Returns what names a row's unit, or its parent, and how: text byte by byte, any collation."""
    found, text = contract.column(column), f"{row}.{name(column)}"
    if found is None or (found.type in (None, Type.REAL) and found.sql_type != "UUID"):
        raise Refused(f'"{column}" cannot name a unit: its values have no one equality')
    if found.type is Type.TEXT:
        text = f"encode(CAST({text} AS VARCHAR))"
    return text, found.type or found.sql_type


def fold_ends(fold: a.Fold) -> tuple[Number, Number]:
    """Returns the public ends of what a fold gives: what is beyond is clamped when used."""
    if not (1 <= fold.reach <= 10**6 and fold.kind in ("count", "distinct", "sum", "min", "max")):
        raise KernelError("this is no aggregate inside a unit")
    low, high = fold.lower, fold.upper
    if fold.kind == "sum":
        low, high = min(low, low * fold.reach), max(high, high * fold.reach)
        if not -MAX_INTEGER < low <= high < MAX_INTEGER:
            raise Refused("the sums of units lie within ±2^62")
    return (0, fold.reach) if fold.kind in ("count", "distinct") else (low, high)

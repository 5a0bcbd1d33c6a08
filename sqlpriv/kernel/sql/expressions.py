"""Row expressions over one relation as SQL text; columns made by Derive are written out."""

from bisect import bisect_right

from sqlpriv.errors import KernelError
from sqlpriv.kernel.proof.sensitivity import Lattice, lattice_of
from sqlpriv.kernel.sql.quoting import alike, levels, literal
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, Number, Type
from sqlpriv.kernel.terms.operations import NUMBERS, OPERATIONS, SANE, ZONED, check

ROW = "sqlpriv_row"
WIDENED = {Type.INTEGER: "BIGINT", Type.REAL: "DOUBLE", Type.TEXT: "VARCHAR"}
SQL_TYPES = {t: WIDENED.get(t, t.upper()) for t in Type}
COMPUTED = SQL_TYPES | {Type.INTEGER: "DOUBLE"}
KEPT = dict.fromkeys(("TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER"), "INTEGER")
KEPT |= {"HUGEINT": "HUGEINT", "UBIGINT": "HUGEINT", "DOUBLE": "DOUBLE"}
"""Types of stored integers that are no BIGINT, to what holds them; a computed one is a DOUBLE."""


def bytes_of(text: str) -> str:
    """Returns a text as its bytes: equal under any collation only where the bytes are."""
    return f"encode(CAST({text} AS VARCHAR))"


def bins_of_root(expr: a.Roots, number: str) -> str:
    """Returns the text of a bin, from that of its `Roots.number`: the edges up to it. The list has
    an item for each number, 0 to ROOTS."""
    reached = [expr.number(edge) for edge in expr.edges if isinstance(edge, int | float)]
    bins = [bisect_right(reached, number) for number in range(int(a.ROOTS) + 1)]
    return f"list_extract(CAST('{bins}' AS INTEGER[]), {number} + 1)"


class Expressions:
    """The columns of a relation: by lower-case name the column, its text and its type, or what
    Derive makes it of; and the FROM that they are of."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.texts: dict[str, str] = {}
        self.types: dict[str, Type] = {}
        self.derived: dict[str, a.Expr] = {}
        self.layers: dict[str, str] = {}
        self.base = ""

    def plain(self, expr: a.Expr) -> bool:
        """Returns whether a number is a column as stored, not computed."""
        held = self.cast_type(expr)
        return bool(held) and (held != "DOUBLE" or self.type(expr) is Type.REAL)

    @property
    def names(self) -> frozenset[str]:
        """The lower-case names of all columns."""
        return frozenset({*self.columns, *self.derived})

    def written_out(self, expr: a.Expr) -> a.Expr:
        """Returns what a column that Derive made stands for; any other expression as it is."""
        if isinstance(expr, a.Col) and expr.name.lower() in self.derived:
            return self.written_out(self.derived[expr.name.lower()])
        return expr

    def type(self, expr: a.Expr) -> Type:
        """Returns the checked type of an expression."""
        return check(expr, self.types)

    def stored_text(self, expr: a.Expr) -> str:
        """Returns the expression with a bare column as stored: for comparisons and IS NULL."""
        expr = self.written_out(expr)
        if not isinstance(expr, a.Col):
            return self.value(expr)
        wide, text = self.cast_type(expr), self.texts[expr.name.lower()]
        if self.columns[expr.name.lower()].sql_type.upper() in ZONED:
            return f"make_timestamp(epoch_us({text}))"
        return f"CAST({text} AS {wide})" if wide else text

    def cast_type(self, expr: a.Expr) -> str | None:
        """Returns the type that a stored column is cast to; None for no cast, or no such column."""
        if not isinstance(expr, a.Col) or expr.name.lower() in self.derived:
            return None
        sql_type = self.columns[expr.name.lower()].sql_type.upper()
        return KEPT.get(sql_type, WIDENED.get(self.type(expr)))

    def value(self, expr: a.Expr) -> str:
        """Returns the expression as a value: columns clamped to their declared interval, no NaN."""
        expr = self.written_out(expr)
        match expr:
            case a.Col(n):
                text, domain = self.stored_text(expr), self.columns[n.lower()].domain
                text = f"sqlpriv_number({text})" if self.cast_type(expr) == "DOUBLE" else text
                if not isinstance(domain, Interval):
                    return text
                return f"sqlpriv_clamp({text}, {literal(domain.lower)}, {literal(domain.upper)})"
            case a.Lit(int(value), Type.REAL):
                return literal(float(value))
            case a.Lit(value, type_):
                return f"CAST(NULL AS {SQL_TYPES[type_]})" if value is None else literal(value)
            case a.Call(op, args):
                sql, reads, joiner = OPERATIONS[op].sql, OPERATIONS[op].reads, OPERATIONS[op].joiner
                texts = list(map(self.stored_text if reads == "stored" else self.value, args))
                texts = [f"CAST({t} AS DOUBLE)" for t in texts] if reads == "double" else texts
                return sql.format(*texts, all=joiner.join(texts))
            case a.In(arg, values):
                listed = ", ".join(map(literal, alike(values, self.type(arg))))
                return f"({self.stored_text(arg)} IN ({listed}))"
            case a.Case(whens, otherwise):
                branches = (f"WHEN {self.value(p)} THEN {self.value(e)}" for p, e in whens)
                return f"(CASE {' '.join(branches)} ELSE {self.value(otherwise)} END)"
            case a.Like(arg, pattern, escape, fold):
                text = f"{self.value(arg)} {'I' if fold else ''}LIKE {literal(pattern)}"
                return f"({text} ESCAPE {literal(escape)})" if escape else f"({text})"
            case a.Substring(arg, start, length):
                return f"substring({self.value(arg)}, {start}, {length})"
            case a.Shift(arg, months, days, micros):
                by = f"to_months({months}) + to_days({days}) + to_microseconds({micros})"
                return f"({SANE.format(self.value(arg))} + {by})"
            case a.Bin(arg, edges):
                if isinstance(expr, a.Roots):
                    return self._once(bins_of_root(expr, self._once(self.root(expr))))
                at, ends = self._once(self._number(arg)), alike(edges, self.type(arg))
                tests = [f"WHEN {at} >= {literal(e)} THEN {i}" for i, e in enumerate(ends, 1)][::-1]
                return self._once(f"CASE {' '.join(tests)} WHEN {at} IS NOT NULL THEN 0 END")
            case a.Pick(keys, numbers):  # levels are NULL or within their key: so is the position
                cell = levels(*((k, self.value(k.expr), self.cast_type(k.expr)) for k in keys))
                table = f"CAST('{[*map(float, numbers)]}' AS DOUBLE[])"  # one token, and folded
                return self._once(f"list_extract({table}, {self._once(cell)} + 1)")
        raise KernelError("this expression has no rendering")

    def root(self, expr: a.Roots) -> str:
        """Returns the number of `Roots` as text; nothing in it fails: its root is of [0, 1]."""
        start, stop = literal(expr.start), literal(expr.stop)
        x = f"CAST({self._once(self._number(expr.arg))} AS DOUBLE)"
        if not self._within(expr.arg, expr.start, expr.stop):
            x = f"sqlpriv_clamp({x}, {start}, {stop})"
        place = f"({x} - {start}) / {literal(expr.stop - expr.start)}"
        return f"CAST(floor(sqrt(sqrt({place})) * {literal(a.ROOTS)}) AS INTEGER)"

    def _number(self, expr: a.Expr) -> str:
        """Returns the value; of a number, without NaN: that of a column as stored has none."""
        plain = self.plain(expr) or self.type(expr) not in NUMBERS
        return self.value(expr) if plain else f"sqlpriv_number({self.value(expr)})"

    def clamped_to(self, expr: a.Expr) -> tuple[Number, Number] | None:
        """Returns the interval of a column of numbers to which `value` clamps it, as stored."""
        column = self.columns.get(expr.name.lower()) if isinstance(expr, a.Col) else None
        if column is None or not self.plain(expr) or not isinstance(column.domain, Interval):
            return None
        return column.domain.lower, column.domain.upper  # type: ignore[return-value]  # numbers

    def _within(self, expr: a.Expr, low: Number, high: Number) -> bool:
        ends = self.clamped_to(expr)
        return ends is not None and low <= ends[0] and ends[1] <= high

    def _once(self, text: str) -> str:
        """Returns a column of the text's value, made below: the same rows, `SELECT *, text`. Macros
        write an argument up to six times, and the engine plans each. Joins have no one row."""
        if text not in self.layers and self.base.endswith(f" AS {ROW}"):
            alias, taken = f"sqlpriv_once{len(self.layers)}", " ".join(self.texts.values()).lower()
            while f'"{alias}"' in taken:  # a column of the table may have any name
                alias += "_"
            self.layers[text] = alias
            self.base = f"(SELECT *, {text} AS {alias} FROM {self.base}) AS {ROW}"
        return self._layer_column(text)

    def _layer_column(self, text: str) -> str:
        return f"{ROW}.{self.layers[text]}" if text in self.layers else text

    def summand(self, query: a.Query) -> tuple[str, str] | None:
        """Returns what is added up of a row, an integer, a value or NULL, and how; None for 1.

        Claim: a sum of whole numbers is one of `2 x - lower - upper`, as its lattice has it, made
        of exact sums of x and of 1: HUGEINT holds twice 2^62 of each of 2^62 rows.
        """
        if isinstance(query, a.Sum):
            grid = lattice_of(query, type_ := self.type(query.of))
            ends = f"{literal(int(2 * grid.middle))} * CAST(count({{0}}) AS HUGEINT)"
            how = f"2 * sum({{0}}) - {ends}" if type_ is Type.INTEGER else "sum({0})"
            return self.lattice_text(query.of, grid, query.lower, query.upper), how
        if query.of is None:
            return None
        distinct = isinstance(query, a.Distinct)  # clamping makes no NULL, nor takes one away
        text = self.value(query.of) if distinct else self.stored_text(query.of)
        text = f"sqlpriv_number({text})" if self.type(query.of) is Type.REAL else text
        return text, "count(DISTINCT {0})" if distinct else "count({0})"

    def lattice_text(self, of: a.Expr, grid: Lattice, lower: Number, upper: Number) -> str:
        """Returns NULL, or an integer: a whole number, clamped, or a real's step within ±steps."""
        type_, plain = self.type(of), self.plain(of)
        if type_ is Type.INTEGER:
            if self._within(of, lower, upper):
                return self._layer_column(self.value(of))
            ends = f"{literal(int(lower))}, {literal(int(upper))}"
            whole = f"CAST(sqlpriv_clamp(sqlpriv_number({self.value(of)}), {ends}) AS BIGINT)"
            # above 2^53 the end that a double was clamped to may have been rounded
            return f"sqlpriv_clamp({self.stored_text(of) if plain else whole}, {ends})"
        middle, step = literal(float(grid.middle)), literal(float(grid.step))
        real = self.stored_text(of) if plain else self.value(of)
        return f"sqlpriv_quantise({real}, {middle}, {step}, {grid.steps})"

"""Row expressions over one relation as SQL text; columns made by Derive are written out."""

from bisect import bisect_right

from sqlpriv.errors import KernelError
from sqlpriv.kernel.proof.sensitivity import Lattice, lattice_of
from sqlpriv.kernel.sql.dialect import Dialect
from sqlpriv.kernel.sql.quoting import alike, levels
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, Number, Type, Value
from sqlpriv.kernel.terms.operations import (
    COMPARISONS,
    NUMBERS,
    OPERATIONS,
    STORED_MOMENTS,
    check,
    fits_decimal,
)

ROW = "sqlpriv_row"
WIDENED = {Type.INTEGER: "BIGINT", Type.REAL: "DOUBLE", Type.TEXT: "VARCHAR"}
SQL_TYPES = {t: WIDENED.get(t, t.upper()) for t in Type}
COMPUTED = SQL_TYPES | {Type.INTEGER: "DOUBLE"}
KEPT = {
    **dict.fromkeys(("TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER"), "INTEGER"),
    "HUGEINT": "HUGEINT",
    "UBIGINT": "HUGEINT",
    "DOUBLE": "DOUBLE",
}
"""Types of stored integers other than BIGINT, each with a type that holds its values. Computed
integers are DOUBLE."""


class Expressions:
    """The columns of a relation and its FROM. By lower-case name: each column, its text and its
    type, and the expression of each column that Derive made."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.columns: dict[str, Column] = {}
        self.texts: dict[str, str] = {}
        self.types: dict[str, Type] = {}
        self.derived: dict[str, a.Expr] = {}
        self.layers: dict[str, str] = {}
        self.base = ""
        self.checked: dict[int, tuple[a.Expr, Type]] = {}

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
        """Returns the checked type of an expression; each is checked once in a whole relation.

        Expressions are told apart as objects, not by equality: Lit(True) equals Lit(1) in Python,
        and only one of them is a number.
        """
        if id(expr) not in self.checked:
            self.checked[id(expr)] = expr, check(expr, self.types)
        return self.checked[id(expr)][1]

    def stored_text(self, expr: a.Expr) -> str:
        """Returns the expression with a bare column as stored: for comparisons and IS NULL."""
        expr = self.written_out(expr)
        if not isinstance(expr, a.Col):
            return self.value(expr)
        wide, text = self.cast_type(expr), self.texts[expr.name.lower()]
        if form := STORED_MOMENTS.get(self.columns[expr.name.lower()].sql_type.upper()):
            return self.dialect.form(form, text)
        return self.dialect.cast(text, wide) if wide else text

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
                if (  # no DECIMAL is NaN
                    self.cast_type(expr) == "DOUBLE"
                    and "DECIMAL" not in self.columns[n.lower()].sql_type.upper()
                ):
                    text = self.dialect.form("number", text)
                if not isinstance(domain, Interval):
                    return text
                return self.clamp(text, domain.lower, domain.upper)
            case a.Lit(int(value), Type.REAL):
                return self.dialect.literal(float(value))
            case a.Lit(None, type_):
                return self.dialect.cast("NULL", SQL_TYPES[type_])
            case a.Lit(value, _):
                return self.dialect.literal(value)
            case a.Call(op, (a.Col(n), a.Lit(end))) if (
                op in COMPARISONS
                and n.lower() in self.columns
                and fits_decimal(end, self.columns[n.lower()].sql_type)
            ):
                literal = self.dialect.cast(repr(end), self.columns[n.lower()].sql_type)
                return f"({self.texts[n.lower()]} {op} {literal})"
            case a.Call(op, args):
                sql, how = self.dialect.operation(op), OPERATIONS[op]
                texts = list(map(self.stored_text if how.reads == "stored" else self.value, args))
                if how.reads == "double":
                    texts = [self.dialect.cast(text, "DOUBLE") for text in texts]
                return self.dialect.fill(sql, *texts, all=how.joiner.join(texts))
            case a.In(arg, values):
                literals = map(self.dialect.literal, alike(values, self.type(arg)))
                return f"({self.stored_text(arg)} IN ({', '.join(literals)}))"
            case a.Case(whens, otherwise):
                branches = (f"WHEN {self.value(p)} THEN {self.value(e)}" for p, e in whens)
                return f"(CASE {' '.join(branches)} ELSE {self.value(otherwise)} END)"
            case a.Like(arg, pattern, escape, fold):
                return self.dialect.like(self.value(arg), pattern, escape, fold)
            case a.Substring(arg, start, length):
                return f"substring({self.value(arg)}, {start}, {length})"
            case a.Shift(arg, months, days, micros):
                moment = self.dialect.form("sane", self.value(arg))
                return f"({self.dialect.form('shift', moment, months, days, micros)})"
            case a.Bin(arg, edges):
                if isinstance(expr, a.Roots):
                    root = self._once(self.root(expr, self._once(self._number(arg))))
                    return self._once(self.bins_of_root(expr, root))
                at, ends = self._once(self._number(arg)), alike(edges, self.type(arg))
                tests = [
                    f"WHEN {at} >= {self.dialect.literal(end)} THEN {i}"
                    for i, end in enumerate(ends, 1)
                ][::-1]
                return self._once(f"CASE {' '.join(tests)} WHEN {at} IS NOT NULL THEN 0 END")
            case a.Pick(keys, numbers):  # levels are NULL or within their key: so is the position
                parts = ((k, self.value(k.expr), self.cast_type(k.expr)) for k in keys)
                cell = self._once(levels(*parts, dialect=self.dialect))
                return self._once(self.dialect.item(map(float, numbers), cell, "DOUBLE"))
        raise KernelError("this expression has no rendering")

    def root(self, expr: a.Roots, arg: str) -> str:
        """Returns the text of the number of `Roots`, over the text of its argument, which is no
        NaN. It cannot fail: the root is taken of a number in [0, 1]."""
        literal, x = self.dialect.literal, self.dialect.cast(arg, "DOUBLE")
        if not self._within(expr.arg, expr.start, expr.stop):
            x = self.clamp(x, expr.start, expr.stop)
        place = f"({x} - {literal(expr.start)}) / {literal(expr.stop - expr.start)}"
        return self.dialect.form("below", f"sqrt(sqrt({place})) * {literal(a.ROOTS)}")

    def bins_of_root(self, expr: a.Roots, number: str) -> str:
        """Returns the text of a bin over the text of its `Roots.number`: how many edges are
        reached. The list has an item for each number, 0 to ROOTS."""
        reached = [expr.number(edge) for edge in expr.edges if isinstance(edge, int | float)]
        bins = [bisect_right(reached, number) for number in range(int(a.ROOTS) + 1)]
        return self.dialect.item(bins, number, "INTEGER")

    def late_value(self, expr: a.Expr, column: str) -> tuple[str, str, str]:
        """Returns three texts: by what rows are grouped; the key's value, over the column of that;
        and the argument of a bin, over the same column, or "" where it does not follow.

        Claim: rows of one group have one value. A bin follows from the number of its `Roots`. It
        also follows from the whole number itself, which is used where the declared interval has no
        more numbers than there are roots. The text of an ENUM follows from its place among the
        type's labels, which are all different.
        """
        if isinstance(expr, a.Roots):
            value = self._once(self._number(expr.arg))
            few = self.type(expr.arg) is Type.INTEGER and expr.stop - expr.start <= a.ROOTS
            if few and self._within(expr.arg, expr.start, expr.stop):
                return value, self.bins_of_root(expr, self.root(expr, column)), column
            return self.root(expr, value), self.bins_of_root(expr, column), ""
        stored = self.columns.get(expr.name.lower()) if isinstance(expr, a.Col) else None
        if stored is not None and stored.sql_type.upper().startswith("ENUM"):
            return self.texts[stored.name.lower()], self.dialect.cast(column, "VARCHAR"), ""
        return self.value(expr), column, ""

    def clamp(self, text: str, low: Value, high: Value) -> str:
        """Returns a value, no NaN, within two ends."""
        return self.dialect.form(
            "clamp", text, *map(self.dialect.literal, (low, high)), is_macro=True
        )

    def _number(self, expr: a.Expr) -> str:
        """Returns the value, and NULL for a NaN. Literals, and columns of types without NaN, are
        not tested. A whole number is tested by a form of its own: Spark's usual one would make a
        double of it, and 2^53 of 2^53 + 1."""
        plain = self.plain(expr) or self.type(expr) not in NUMBERS or isinstance(expr, a.Lit)
        return (
            self.value(expr)
            if plain
            else self.dialect.form(
                "number" if self.type(expr) is Type.REAL else "whole number",
                self.value(expr),
                is_macro=True,
            )
        )

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
        """Returns a column that holds the text's value, computed once in a subquery of the same
        rows (`SELECT *, text`). Macros write their argument up to six times, and the engine would
        plan each. A join has no alias for a whole row, so there the text is returned as it is."""
        if text not in self.layers and self.base.endswith(f" AS {ROW}"):
            alias, taken = f"sqlpriv_once{len(self.layers)}", " ".join(self.texts.values()).lower()
            while self.dialect.identifier(alias) in taken:  # of any name
                alias += "_"
            self.layers[text] = alias
            self.base = f"(SELECT *, {text} AS {alias} FROM {self.base}) AS {ROW}"
        return self._layer_column(text)

    def _layer_column(self, text: str) -> str:
        return f"{ROW}.{self.layers[text]}" if text in self.layers else text

    def summand(self, query: a.Query) -> tuple[str, str] | None:
        """Returns the text of what a row adds (an integer, a value or NULL), and the form of the
        aggregate; None for a query that counts all rows.

        Claim: a sum of whole numbers is the sum of `2 x - lower - upper`, as its lattice says. It
        is made of the exact sums of x and of 1: HUGEINT holds the sum of 2^62 rows, each of twice
        2^62.
        """
        if isinstance(query, a.Sum):
            grid = lattice_of(query, type_ := self.type(query.of))
            whole = type_ is Type.INTEGER
            most = max(abs(query.lower), abs(query.upper)) if whole else grid.steps
            total = self.dialect.forms["sum" if most <= 2**40 else "wide sum"]
            n = self.dialect.cast("count({0})", "HUGEINT")
            centred = f"2 * {total} - {self.dialect.literal(int(2 * grid.middle))} * {n}"
            return (
                self.lattice_text(query.of, grid, query.lower, query.upper),
                centred if whole else total,
            )
        if query.of is None:
            return None
        distinct = isinstance(query, a.Distinct)  # clamping makes no NULL, nor takes one away
        text = self.value(query.of) if distinct else self.stored_text(query.of)
        text = self.dialect.form("number", text) if self.type(query.of) is Type.REAL else text
        return text, "count(DISTINCT {0})" if distinct else "count({0})"

    def summand_of_group(
        self, query: a.Query, groups: list[tuple[a.Bin, str, str, str]]
    ) -> tuple[str, str] | None:
        """Returns what `summand` returns where that follows from what the rows of a joint group
        share, so that it is written once for the group; None where it does not follow.

        Claim: the rows of a group have one bin, and one value where `late_value` says so. A sum of
        such a value is the clamped number times the rows of the group. A bin is NULL where its
        argument is NULL or NaN, and only there; so either all rows of a group have a value, or
        none has.

        Args:
            query: What is added up.
            groups: Of each key that lists all bins: the expression, the joint group's column, the
                bin as a text over that column ("" where the column is the bin), and the bin's
                argument over it ("" where it does not follow).
        """
        for bins, column, bin_text, value in groups:
            number_texts = {bins: bin_text or column} | ({bins.arg: value} if value else {})
            if type(query) is a.Count and query.of == bins.arg:
                return "", f"count(*) * {self.dialect.cast(f'{column} IS NOT NULL', 'BIGINT')}"
            if isinstance(query, a.Sum) and query.of in number_texts:
                whole = self.clamp(number_texts[query.of], int(query.lower), int(query.upper))
                twice = f"2 * {self.dialect.cast(whole, 'HUGEINT')}"
                ends = self.dialect.literal(int(query.lower) + int(query.upper))
                return "", f"({twice} - {ends}) * count(*)"
        return None

    def lattice_text(self, of: a.Expr, grid: Lattice, lower: Number, upper: Number) -> str:
        """Returns the text of NULL or an integer: a whole number, clamped, or the step of a real
        number, within ±steps.

        Claim: a column that is already clamped to the sum's own interval needs no second clamp,
        where both ends of the interval come to ±steps. The engine subtracts, divides and rounds as
        is done here, and all three are monotone, so a value between the ends stays between ±steps.

        Claim: what is long is named in the forms (`Dialect.fill`): the same function of the
        row, which the engine binds once.
        """
        type_, plain = self.type(of), self.plain(of)
        if type_ is Type.INTEGER:
            if self._within(of, lower, upper):
                return self._layer_column(self.value(of))
            ends = int(lower), int(upper)
            whole = self.dialect.cast(self.clamp(self._number(of), *ends), "BIGINT")
            # Above 2^53 the end to which a double was clamped may have been rounded.
            return self.clamp(self.stored_text(of) if plain else whole, *ends)
        middle, step = float(grid.middle), float(grid.step)
        numbers = *map(self.dialect.literal, (middle, step)), grid.steps
        if self.clamped_to(of) == (lower, upper) and all(
            step and abs(abs((float(end) - middle) / step) - grid.steps) < 0.5
            for end in (lower, upper)
        ):
            return self.dialect.form("rounded", self._layer_column(self.value(of)), *numbers)
        return self.dialect.form(
            "quantise",
            self.stored_text(of) if plain else self.value(of),
            *numbers,
            is_macro=True,
        )

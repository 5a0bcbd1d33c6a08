"""The closed table of what a tree of another dialect means in DuckDB.

`_SAME` names the nodes that mean the same everywhere, with the arguments that may be set;
`_CHECKED` those that mean the same under a condition, or are rewritten. A node or an argument that
neither names is refused where it stands: what cannot be shown to mean the same is not answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.foreign import function_names as names
from sqlpriv.dialect.marks import MARK, function_name, marked_name
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import NO_ALIAS

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_DEFAULT_SCHEMA = {"postgres": "public", "tsql": "dbo", "snowflake": "public"}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_LOOSE = (*_COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Not, exp.And, exp.Or)
"""Operators that bind loosely, and not in the same order in every dialect."""
_TIGHT = exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Cast | exp.Subquery | exp.Filter
_WHOLE_TYPES = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT}
_REAL_TYPES = {exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL}
_WIDE_FLOAT = ("postgres", "tsql", "snowflake", "bigquery")
"""Dialects whose FLOAT has eight bytes, as DuckDB's DOUBLE has."""
_PLAIN_TIMESTAMP = {"postgres": {exp.DType.TIMESTAMP}, "bigquery": {exp.DType.DATETIME,
                    exp.DType.TIMESTAMP}, "snowflake": {exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME},
                    "mysql": {exp.DType.DATETIME}, "tsql": {exp.DType.DATETIME,
                    exp.DType.DATETIME2}, "spark": {exp.DType.TIMESTAMPNTZ}}  # fmt: skip
"""Dialect → sqlglot's types that have neither a time zone nor anything else of their own."""
_CASTS_ROUND = ("postgres",)
"""Dialects in which a number becomes a whole one by DuckDB's own rounding."""

_SAME: dict[type[exp.Expr], str] = {
    exp.Select: "expressions from_ joins where group having order limit offset with_ distinct "
                "qualify windows",
    exp.From: "this", exp.Where: "this", exp.Having: "this", exp.Qualify: "this",
    exp.Group: "expressions all", exp.Order: "expressions", exp.Distinct: "expressions",
    exp.Ordered: "this desc nulls_first", exp.Limit: "expression offset", exp.Offset: "expression",
    exp.With: "expressions recursive", exp.CTE: "this alias materialized",
    exp.TableAlias: "this columns", exp.Alias: "this alias", exp.Star: "",
    exp.Join: "this side kind on using", exp.Subquery: "this alias with_",
    exp.Union: "this expression distinct with_ order limit offset",
    exp.Except: "this expression distinct with_ order limit offset",
    exp.Intersect: "this expression distinct with_ order limit offset",
    exp.Exists: "this", exp.Paren: "this", exp.Tuple: "expressions",
    exp.Null: "", exp.Boolean: "this",
    exp.Or: "this expression", exp.And: "this expression", exp.Not: "this", exp.Neg: "this",
    exp.Mul: "this expression", exp.Mod: "this expression", exp.IntDiv: "this expression",
    exp.Case: "this ifs default", exp.If: "this true", exp.Filter: "this expression",
    exp.Kwarg: "this expression", exp.DataTypeParam: "this expression", exp.Var: "this",
    exp.Window: "this partition_by order over spec alias",
    exp.WindowSpec: "kind start start_side end end_side",
}  # fmt: skip


class SameMeaning:
    """One statement's way from another dialect's tree to DuckDB's.

    Args:
        cursor: The statement's tokens; its `dialect` is the one that they are written in.
    """

    def __init__(self, cursor: TokenCursor) -> None:
        self.cursor, self.dialect = cursor, cursor.dialect
        self._by_start = {token.start: token for token in cursor.tokens}
        self._functions = names.BY_DIALECT[cursor.dialect]

    def rewrite(self, tree: exp.Expr) -> exp.Expr:
        """Returns the tree with every node checked, and in DuckDB's form; it is changed in place.

        Raises:
            Refused: A node is not known to mean the same, at its place in the user's text.
        """
        for token in self.cursor.tokens:
            if token.glot is not None and any(x.startswith("!") for x in token.glot.comments):
                raise refusal(token, "a comment that is run, /*! … */, is not read", "leave it out")
        root = exp.Subquery(this=tree)
        for node in reversed(list(tree.walk())):  # parts come before what holds them
            replacement = self._rewritten(node)
            if replacement is not node:
                node.replace(replacement)
        rewritten: exp.Expr = root.this
        rewritten.pop()
        return rewritten

    # --- places ---

    def token(self, node: exp.Expr) -> Token:
        """Returns the first token that the node, or else what holds it, knows."""
        within: exp.Expr | None = node
        while within is not None:
            starts = (part.meta.get("start", -1) for part in within.walk())
            known = [start for start in starts if start in self._by_start]
            if known:
                return self._by_start[min(known)]
            within = within.parent
        return self.cursor.tokens[0]

    def refuse(self, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
        """Returns the refusal that points at a node."""
        return refusal(self.token(node), message, hint)

    def refuse_unknown(self, node: exp.Expr, what: str) -> Refused:
        """Returns the refusal of what no table names."""
        return self.refuse(
            node,
            f"{what} is not known to mean the same in DuckDB as in {self.dialect}",
            "write it as DuckDB does, after SET privacy_dialect = 'duckdb'",
        )

    # --- nodes ---

    def _rewritten(self, node: exp.Expr) -> exp.Expr:
        known = _SAME.get(type(node))
        if known is not None:
            self.check_arguments(node, known)
            return node
        write = _CHECKED.get(type(node))
        if write is None:
            raise self.refuse_unknown(node, _word_of(node))
        return write(self, node)

    def check_arguments(self, node: exp.Expr, known: str) -> None:
        """Refuses a node with an argument that is not known to mean the same."""
        for name, value in node.args.items():
            if (
                value is not None
                and value is not False
                and value != []
                and name not in known.split()
            ):
                part = value[0] if isinstance(value, list) else value
                at = part if isinstance(part, exp.Expr) else node
                raise self.refuse_unknown(at, f"{_word_of(node)} with {name.strip('_')}")


def _word_of(node: exp.Expr) -> str:
    """Returns what a message calls a node."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def _identifier(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """Names in quotes stay so; a word that DuckDB keeps for itself gets quotes."""
    self.check_arguments(node, "this quoted")
    name = str(node.this)
    if not name.startswith(MARK):
        name = name.partition(MARK)[0]  # `w (a) AS (…)` of WITH looks like a call
        node.set("this", name)
        plain = re.fullmatch(r"[^\W\d]\w*", name) and name.upper() not in NO_ALIAS
        node.set("quoted", bool(node.args.get("quoted")) or not plain)
    return node


def _column(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this table")
    name = node.this
    if not isinstance(name, exp.Identifier) or not str(name.this).startswith(MARK):
        return node
    constants = {"NULL": exp.Null(), "TRUE": exp.true(), "FALSE": exp.false()}
    constant = constants.get(marked_name(node).removeprefix(MARK), node)
    constant.meta.update(name.meta)
    return constant


def _table(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this db alias joins")
    if not isinstance(node.this, exp.Identifier):
        raise self.refuse_unknown(node, "a function in FROM")
    schema = node.args.get("db")
    if schema is not None and schema.name.lower() == _DEFAULT_SCHEMA.get(self.dialect):
        node.set("db", None)
    return node


def _literal(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    if not node.args["is_string"] and _NUMBER.fullmatch(str(node.this)) is None:
        raise self.refuse_unknown(node, "this number")
    return node


def _comparison(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """Comparisons, IS, IN, BETWEEN and LIKE bind in another order in some dialects."""
    known = "this expression expressions query low high"
    self.check_arguments(node, known)
    for name in ("this", "expression", "low", "high"):
        part = node.args.get(name)
        is_constant = isinstance(node, exp.Is) and name == "expression"
        if isinstance(part, exp.Expr) and isinstance(part, _LOOSE) and not is_constant:
            raise self.refuse(
                part, "dialects group these operators in different ways", "write parentheses"
            )
    constant = (exp.Null, exp.Boolean)
    if isinstance(node, exp.Is) and not isinstance(node.args["expression"], constant):
        raise self.refuse_unknown(node.args["expression"], "IS with this behind it")
    return node


def _sum(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression")
    for name in ("this", "expression"):
        part = node.args[name]
        if isinstance(part, exp.Literal) and part.args["is_string"]:
            raise self.refuse(part, f"a text beside + or - is not read in {self.dialect}",
                              "write CONCAT(a, b), or a number")  # fmt: skip
    return node


def _concatenation(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression safe")
    for name in ("this", "expression"):
        part = node.args[name]
        if not isinstance(part, _TIGHT | exp.DPipe | exp.Case):
            raise self.refuse(part, "dialects group || in different ways", "write parentheses")
    node.set("safe", None)
    return node


def _power(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression")
    base, exponent = node.args["this"], node.args["expression"]
    if not isinstance(base, _TIGHT) or not isinstance(exponent, _TIGHT):
        raise self.refuse(node, "dialects group ^ in different ways", "write parentheses")
    return names.call("pow", base, exponent)


def _division(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression typed safe")
    left, right = node.args["this"], node.args["expression"]
    if node.args.get("typed") and not (_is_fractional(self, left) or _is_fractional(self, right)):
        raise self.refuse(
            node,
            f"whole numbers divide to a whole number in {self.dialect}, and these may be whole",
            "write a / CAST(b AS DOUBLE PRECISION), or DIV(a, b) for the whole number"
            if self.dialect == "postgres"
            else "write a / CAST(b AS FLOAT)",
        )
    if node.args.get("safe") and not _is_nonzero(right):
        zero = exp.Literal.number(0)
        node.set("expression", names.call("nullif", right.copy(), zero))
    node.set("typed", None)
    node.set("safe", None)
    return node


def _is_nonzero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) != 0


def _is_fractional(self: SameMeaning, node: exp.Expr | None) -> bool:
    """Returns whether a value is surely of a type with digits behind the point."""
    match node:
        case exp.Literal():
            return not node.is_string and not str(node.this).isdecimal()
        case exp.Cast() | exp.TryCast():
            return _dtype(node) in _REAL_TYPES
        case exp.Paren() | exp.Neg() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return _is_fractional(self, node.this)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return _is_fractional(self, node.this) or _is_fractional(self, node.expression)
        case exp.Case():
            return any(_is_fractional(self, branch.args["true"]) for branch in node.args["ifs"])
        case exp.Anonymous():
            name, first = function_name(node), next(iter(node.expressions), None)
            if name in names.FRACTIONAL or (name == "avg" and self.dialect != "tsql"):
                return True
            keeps = ("sum", "avg", "min", "max", "abs", "floor", "ceil", "ceiling", "round",
                     "coalesce", "nullif", "lag", "lead", "first_value", "last_value")  # fmt: skip
            return name in keeps and _is_fractional(self, first)
    return False


def _is_whole(node: exp.Expr) -> bool:
    """Returns whether a value is surely a whole number, or true or false."""
    match node:
        case exp.Literal():
            return str(node.this).lstrip("-").isdecimal()
        case exp.Paren() | exp.Neg():
            return _is_whole(node.this)
        case exp.Cast() | exp.TryCast():
            return _dtype(node) in _WHOLE_TYPES
        case exp.Anonymous():
            name = function_name(node)
            whole = ("count", "count_if", "floor", "ceil", "ceiling", "year", "quarter", "month",
                     "day", "date_part", "date_diff")  # fmt: skip
            return name in whole or (name == "round" and len(node.expressions) == 1)
    return isinstance(node, (*_LOOSE, exp.Boolean))


def _dtype(node: exp.Expr) -> exp.DType | None:
    type_ = node.args.get("to")
    return type_.this if isinstance(type_, exp.DataType) else None


def _cast(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this to safe")
    kind, arg = _dtype(node), node.this
    if kind in _WHOLE_TYPES and self.dialect not in _CASTS_ROUND and not _is_whole(arg):
        raise self.refuse(
            node,
            f"{self.dialect} makes a whole number of a fraction in another way than DuckDB",
            "write FLOOR(x), CEIL(x) or ROUND(x) inside the CAST",
        )
    if kind is exp.DType.TEXT and not (isinstance(arg, exp.Literal) and arg.is_string):
        raise self.refuse(
            node, "dialects write numbers and dates as texts in different ways", "leave it out"
        )
    return node


def _data_type(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """Types by a table: FLOAT has four or eight bytes, DECIMAL alone another number of digits."""
    self.check_arguments(node, "this expressions nested")
    kind, sizes = node.this, node.expressions
    if kind is exp.DType.FLOAT and self.dialect in _WIDE_FLOAT:
        node.set("this", exp.DType.DOUBLE)
    elif kind in (exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.CHAR, exp.DType.NVARCHAR):
        if sizes:
            raise self.refuse(node, "a text type with a length cuts texts off", "write SUBSTRING")
        node.set("this", exp.DType.TEXT)
    elif kind in _PLAIN_TIMESTAMP[self.dialect]:
        node.set("this", exp.DType.TIMESTAMP)
    elif kind is exp.DType.DECIMAL and len(sizes) != 2:
        raise self.refuse(
            node, f"DECIMAL alone has other digits in {self.dialect}", "write DECIMAL(18, 3)"
        )
    elif kind not in _WHOLE_TYPES | _REAL_TYPES | {exp.DType.BOOLEAN, exp.DType.DATE}:
        raise self.refuse_unknown(node, f"the type {getattr(kind, 'value', kind)}")
    return node


def _like(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """In LIKE a backslash escapes in most dialects, and [a-z] is a set in tsql."""
    self.check_arguments(node, "this expression negate")
    pattern = node.args["expression"]
    is_text = isinstance(pattern, exp.Literal) and pattern.is_string
    if not is_text or "\\" in pattern.this or (self.dialect == "tsql" and "[" in pattern.this):
        raise self.refuse(
            pattern,
            f"a pattern is a text without {'brackets' if self.dialect == 'tsql' else 'backslash'}",
            "write LIKE 'a!%' ESCAPE '!'",
        )
    return node


def _escape(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression")
    return node


def _extract(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this expression")
    part = str(node.this.name).lower()
    if part not in names.PARTS_OF_EXTRACT[self.dialect]:
        raise self.refuse_unknown(node, f"EXTRACT of {part}")
    return names.call("date_part", exp.Literal.string(part), node.args["expression"])


def _interval(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this unit")
    if not isinstance(node.this, exp.Literal | exp.Neg) and not marked_name(node.this):
        raise self.refuse(node, "an interval is a number of units", "write INTERVAL '3' MONTH")
    return node


def _fetch(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """FETCH FIRST n ROWS ONLY is LIMIT n."""
    self.check_arguments(node, "direction count limit_options")
    options = node.args.get("limit_options")
    extra = options is not None and {k for k, v in options.args.items() if v} - {"rows"}
    if extra:
        raise self.refuse(node, "only whole numbers of rows can be fetched", "write LIMIT n")
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


def _limit_options(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "rows")
    return node


def _substring(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    self.check_arguments(node, "this start length")
    args = [node.args.get(name) for name in ("this", "start", "length")]
    written = names.BY_DIALECT["postgres"]["substring"]([a for a in args if a is not None])
    if written is None:
        raise self.refuse_unknown(node, "SUBSTRING without a start from 1 and a length")
    return written


def _within_group(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """Writes `MODE() WITHIN GROUP (ORDER BY x)` as `MODE(x)`, and quantiles in the same way."""
    self.check_arguments(node, "this expression")
    call, order = node.this, node.args["expression"]
    quantiles = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}
    one = isinstance(order, exp.Order) and len(order.expressions) == 1
    if not isinstance(call, exp.Anonymous) or not one or order.expressions[0].args.get("desc"):
        raise self.refuse_unknown(node, "this WITHIN GROUP")
    name = quantiles.get(function_name(call), function_name(call))
    quantile = names.call(name, order.expressions[0].this, *call.expressions)
    quantile.meta.update(call.meta)
    return quantile


def _one_of_quantiles(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """`APPROX_QUANTILES(x, 4)[OFFSET(1)]` is the quantile 1/4."""
    self.check_arguments(node, "this expressions offset safe")
    call, indexes = node.this, node.expressions
    is_quantiles = function_name(call) == "approx_quantiles"
    numbers = [*indexes, *(call.expressions[1:2] if is_quantiles else [])]
    if not is_quantiles or not all(isinstance(n, exp.Literal) and n.is_int for n in numbers):
        raise self.refuse_unknown(node, "an index")
    place, parts = (int(number.name) for number in numbers)
    share = exp.Literal.number(repr((place - node.args.get("offset", 0)) / max(parts, 1)))
    first, *named = [arg for arg in call.expressions if arg is not numbers[1]]
    return names.call("quantile_cont", first, share, *named)


def _call(self: SameMeaning, node: exp.Expr) -> exp.Expr:
    """Functions are looked up by the name that the user wrote."""
    self.check_arguments(node, "this expressions")
    name, arguments = function_name(node), node.expressions
    using = str(node.this).partition(MARK)[2]
    if name in ("grouping sets", "rollup", "cube"):
        node.set("this", name.upper())
        return node
    if name == "avg" and self.dialect == "tsql" and not _is_fractional(self, arguments[0]):
        raise self.refuse(node, "AVG of whole numbers is a whole number in tsql",
                          "write AVG(CAST(x AS FLOAT))")  # fmt: skip
    if name == "count_if" and "count_if" not in self._functions:
        raise self.refuse_unknown(node, "the function count_if")
    if name in self._functions:
        replacement = self._functions[name](arguments)
        if replacement is None:
            raise self.refuse_unknown(node, f"{name} with these arguments")
    elif name in names.COMMON:
        replacement = names.call(name, *arguments)
    else:
        raise self.refuse_unknown(node, f"the function {name}")
    if using:
        replacement.set("this", f"{replacement.this}{MARK}{using}")
    replacement.meta.update(node.meta)
    return replacement


_CHECKED: dict[type[exp.Expr], Callable[[SameMeaning, exp.Expr], exp.Expr]] = {
    exp.Identifier: _identifier,
    exp.Column: _column,
    exp.Table: _table,
    exp.Literal: _literal,
    **dict.fromkeys((*_COMPARISONS, exp.Is, exp.In, exp.Between), _comparison),
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.DPipe: _concatenation,
    exp.Pow: _power,
    exp.Div: _division,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.DataType: _data_type,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.Extract: _extract,
    exp.Substring: _substring,
    exp.Interval: _interval,
    exp.Fetch: _fetch,
    exp.LimitOptions: _limit_options,
    exp.Anonymous: _call,
    exp.WithinGroup: _within_group,
    exp.Bracket: _one_of_quantiles,
}

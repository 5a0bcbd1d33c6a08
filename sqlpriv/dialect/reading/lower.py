"""sqlglot's expressions → our small tree, node by node from a closed table.

`_TABLE` names, for every type of node that is read, the function that reads it and the arguments
that the function looks at. A node of another type, or one with another argument set, is refused
where it stands: what sqlglot learns to parse tomorrow is refused, not misread.

sqlglot groups operators by its own precedence. `_check_grouping` compares the shape of the tree
with DuckDB's precedence and refuses where the two differ, so that no statement is read otherwise
than DuckDB reads it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.constants import date_or_time, interval, moved_by_interval, number, refusal
from sqlpriv.dialect.constructs import CONSTRUCTS, LIST, STAR, SUBQUERY
from sqlpriv.dialect.marks import MARK, duckdb_text
from sqlpriv.dialect.reading.googlesql import (
    ANONYMIZED,
    ENDS_OF_INTERVAL,
    contribution_bounds,
    one_of_quantiles,
)
from sqlpriv.dialect.token_cursor import MAX_DEPTH
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import RESERVED, words
from sqlpriv.statements.tree import (
    Between,
    Binary,
    Bound,
    CaseWhen,
    Cast,
    Exists,
    FunctionCall,
    InList,
    InQuery,
    IsNull,
    Literal,
    Name,
    Node,
    Pos,
    Query,
    Span,
    Subquery,
    Unary,
)

if TYPE_CHECKING:
    from sqlpriv.dialect.reading.lower_query import QueryLowering

Glot = exp.Expr
OR, AND, NOT, IS, COMPARE, RANGE, OTHER, ADD, MULTIPLY, POWER, SIGN = range(1, 12)
_BINARY: dict[type[Glot], tuple[str, int]] = {
    exp.EQ: ("=", COMPARE), exp.NEQ: ("<>", COMPARE), exp.LT: ("<", COMPARE),
    exp.LTE: ("<=", COMPARE), exp.GT: (">", COMPARE), exp.GTE: (">=", COMPARE),
    exp.DPipe: ("||", OTHER), exp.Add: ("+", ADD), exp.Sub: ("-", ADD), exp.Mul: ("*", MULTIPLY),
    exp.Div: ("/", MULTIPLY), exp.IntDiv: ("//", MULTIPLY), exp.Mod: ("%", MULTIPLY),
    exp.Pow: ("^", POWER), exp.BitwiseAnd: ("&", OTHER), exp.BitwiseOr: ("|", OTHER),
}  # fmt: skip
_LEVELS: dict[type[Glot], int] = {
    exp.Or: OR, exp.And: AND, exp.Not: NOT, exp.Is: IS, exp.Between: RANGE, exp.In: RANGE,
    exp.NullSafeEQ: IS, exp.NullSafeNEQ: IS,
    exp.Like: RANGE, exp.ILike: RANGE, exp.Escape: RANGE, exp.Neg: SIGN,
    **{type_: level for type_, (_, level) in _BINARY.items()},
}  # fmt: skip
_LONG_CHAIN = 16
_TYPES = {
    "INT": "INTEGER", "TEXT": "VARCHAR", "REAL": "FLOAT", "INT128": "HUGEINT", "CHAR": "VARCHAR",
    "LOGICAL": "BOOLEAN", "DEC": "DECIMAL", "NUMERIC": "DECIMAL",
}  # fmt: skip
_BY_NAME = ("arguments by name are not read", "write the arguments in order")
_ORDERED = ("ORDER BY and NULL treatment inside a call are not answered privately",
            "write the arguments alone")  # fmt: skip
_REFUSED: dict[type[Glot], tuple[tuple[str, ...], tuple[str, str]]] = {
    exp.Window: (("OVER",), CONSTRUCTS["OVER"]),
    exp.Bracket: (("[",), LIST), exp.Array: (("[", "ARRAY"), LIST), exp.Struct: (("{",), LIST),
    exp.ToMap: (("MAP",), LIST), exp.Map: (("MAP",), LIST),
    exp.JSONExtract: (("->",), CONSTRUCTS["->"]),
    exp.JSONExtractScalar: (("->>",), CONSTRUCTS["->"]),
    exp.Lambda: (("->", "LAMBDA"), CONSTRUCTS["->"]),
    exp.Collate: (("COLLATE",), CONSTRUCTS["COLLATE"]),
    exp.Glob: (("GLOB",), CONSTRUCTS["GLOB"]), exp.SimilarTo: (("SIMILAR",), CONSTRUCTS["SIMILAR"]),
    exp.AtTimeZone: (("AT",), CONSTRUCTS["AT"]),
    exp.Interval: (("INTERVAL",), CONSTRUCTS["INTERVAL"]),
    exp.Tuple: ((",",), ("a row of values (a, b) is not answered privately",
                         "compare the columns one by one")),
    exp.PropertyEQ: ((":=",), _BY_NAME), exp.Kwarg: (("=>",), _BY_NAME),
    exp.Order: (("ORDER",), _ORDERED), exp.IgnoreNulls: (("IGNORE",), _ORDERED),
    exp.RespectNulls: (("RESPECT",), _ORDERED), exp.Star: (("*",), STAR),
    exp.Select: (("SELECT",), SUBQUERY), exp.Columns: (("COLUMNS",), STAR),
    exp.TableSample: (("TABLESAMPLE", "USING"), CONSTRUCTS["USING"]),
}  # fmt: skip
_OPENERS = ("(", "-", "+", "NOT", "CASE", "WHEN", "CAST", "TRY_CAST", "EXISTS", "EXTRACT", "FROM",
            "SUBSTRING")  # fmt: skip


class Lowering:
    """One statement's way from sqlglot's tree to ours.

    Args:
        tokens: The statement's tokens, the last of kind END.
        text: The whole text that their offsets refer to.
        queries: Reads the queries inside expressions.
    """

    def __init__(self, queries: QueryLowering) -> None:
        self.queries, self.binding = queries, queries.cursor.binding
        self.tokens, self.text = queries.cursor.tokens, queries.cursor.text
        self._by_start = {token.start: i for i, token in enumerate(self.tokens)}
        self._by_pos = {(t.pos.line, t.pos.column): i for i, t in enumerate(self.tokens)}
        self._depth = 0

    # --- places ---

    def token(self, node: Glot) -> Token:
        """Returns the first token that the node or one of its parts knows."""
        at = self._by_start.get(node.meta.get("start", -1))
        return self.tokens[self.index(node) if at is None else at]

    def index(self, node: Glot, *, last: bool = False) -> int:
        """Returns the index of the first token, or the last one, that the node's parts know."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        indexes = [self._by_start[start] for start in starts if start in self._by_start]
        return (max if last else min)(indexes, default=len(self.tokens) - 1)

    def index_of(self, pos: Pos) -> int:
        """Returns the index of the token at a place."""
        return self._by_pos.get((pos.line, pos.column), len(self.tokens) - 1)

    def before(self, pos: Pos, *signs: str) -> Pos:
        """Returns the place of the nearest of these signs before a place, with only what opens an
        expression between them; the place itself where there is none."""
        for i in range(self.index_of(pos) - 1, -1, -1):
            if self.tokens[i].upper in signs:
                return self.tokens[i].pos
            if self.tokens[i].upper not in _OPENERS:
                break
        return pos

    def cannot(self, node: Glot) -> Refused:
        """Returns the refusal of a node that is not in the table."""
        at = self.index(node)
        signs, why = _REFUSED.get(type(node), ((), ("", "")))
        if not signs:
            for i in range(at - 1, max(at - 3, -1), -1):
                token = self.tokens[i]
                if token.upper in ("~", "@", "ANY", "ALL", "SOME") or token.upper in CONSTRUCTS:
                    return self.refuse_unexpected(i, "an expression")
            return self.refuse_unexpected(at, "an expression")
        unknown = self.tokens[at].kind is Kind.END
        back = range(0) if unknown else range(at, max(at - 6, -1), -1)
        ahead = range(0 if unknown else at, len(self.tokens))
        place = next((i for i in (*back, *ahead) if self.tokens[i].upper in signs), at)
        return refusal(self.tokens[place], *why)

    def refuse_unexpected(self, index: int, expected: str) -> Refused:
        """Returns the refusal of the token with that index."""
        self.queries.cursor.index = index
        return self.queries.cursor.refuse_unexpected(expected)

    # --- nodes ---

    def expression(self, node: Glot) -> Node:
        """Returns the expression.

        Raises:
            Refused: It holds something that cannot be answered, or nests too deeply.
        """
        while isinstance(node, exp.Paren):  # without a frame of the stack
            self.check_arguments(node, _TABLE[exp.Paren][1])
            node = node.this
        entry = _TABLE.get(type(node))
        if entry is None:
            raise self.cannot(node)
        lower, args = entry
        self.check_arguments(node, args)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refusal(self.token(node),
                          f"the expression nests deeper than {MAX_DEPTH} levels",
                          "write long lists of alternatives as x IN (…)")  # fmt: skip
        lowered = lower(self, node)
        self._depth -= 1
        return lowered

    def expressions(self, nodes: Iterable[Glot]) -> tuple[Node, ...]:
        """Returns each of the expressions."""
        return tuple(self.expression(node) for node in nodes)

    def check_arguments(self, node: Glot, args: Iterable[str]) -> None:
        """Refuses a node with an argument that whoever reads it does not look at."""
        for name, value in node.args.items():
            if value is not None and value is not False and value != [] and name not in args:
                part = value[0] if isinstance(value, list) else value
                if isinstance(part, Glot) and type(part) in _REFUSED:
                    raise self.cannot(part)
                at = self.index(part if isinstance(part, Glot) else node)
                raise self.refuse_unexpected(at, "an expression")

    def name(self, node: Glot | None) -> str:
        """Returns what an identifier says, without our marks."""
        if node is None:
            return ""
        if not isinstance(node, exp.Identifier):
            raise self.cannot(node)
        name: str = node.this.split(MARK)[0]
        if not name:
            raise refusal(self.token(node), "a name is empty")
        return name

    def enclosed_text(self, node: Glot, inner: Pos) -> tuple[str, Bound]:
        """Returns the text between the parentheses around a query whose SELECT stands at `inner`,
        as DuckDB takes it, and its share of the parameters."""
        depth, first = 0, self.index_of(inner)
        while first and depth >= 0:
            first -= 1
            depth += (self.tokens[first].upper == ")") - (self.tokens[first].upper == "(")
        depth, last = 1, first
        while depth and last < len(self.tokens) - 1:
            last += 1
            depth += (self.tokens[last].upper == "(") - (self.tokens[last].upper == ")")
        part = self.tokens[first + 1 : last]
        cursor = self.queries.cursor
        if cursor.dialect != "duckdb":
            return duckdb_text(node), cursor.share(part)
        return self.text[part[0].start : part[-1].end], cursor.share(part)

    def query(self, node: Glot) -> Query:
        """Returns a query inside the expression."""
        return self.queries.enclosed_query(node)


def _check_grouping(self: Lowering, node: Glot, level: int) -> None:
    """Refuses operands that DuckDB would group otherwise, as sqlglot's tree has no parentheses."""
    is_prefix = type(node) in (exp.Not, exp.Neg)
    for name in ("this", "expression", "low", "high"):
        part = node.args.get(name)
        inner = _level(self, part)
        if (
            part is None
            or inner is None
            or inner > level
            or (inner == level and name == "this" and (is_prefix or level != COMPARE))
        ):
            continue
        at = self.index(part)
        if inner == level == COMPARE:
            right = node.args["expression"] if name == "this" else part.args["expression"]
            sign = self.before(self.expression(right).pos, *_COMPARISONS)
            raise refusal(self.tokens[self.index_of(sign)], "comparisons cannot be chained",
                          "use AND, as in a < b AND b < c")  # fmt: skip
        if type(part) is exp.Not:
            raise self.refuse_unexpected(at - 1, "an expression")
        raise refusal(self.tokens[at], "these operators are grouped in more than one way",
                      "write parentheses around what belongs together")  # fmt: skip


def _level(self: Lowering, part: Glot | None) -> int | None:
    """Returns how tightly the outermost operator of a part binds; None where it has none."""
    if part is None:
        return None
    level = _LEVELS.get(type(part))
    if type(part) is not exp.Not or type(part.this) not in _NEGATED:
        return level
    infix = self.tokens[self.index(part) - 1].upper != "NOT"  # as in `a NOT IN (1)`
    return _LEVELS[type(part.this)] if infix else level


_NEGATED = (exp.In, exp.Like, exp.ILike, exp.Between, exp.Is)
_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=")


def _column(self: Lowering, node: Glot) -> Node:
    identifier = node.this
    if isinstance(identifier, exp.Star):
        raise self.cannot(identifier)
    if node.args.get("db") is not None:
        raise refusal(self.token(node), "names of schemas and method calls are not read",
                      "write column or table.column, and function(x)")  # fmt: skip
    text = identifier.this
    if text.startswith(MARK):
        token = self.token(identifier)
        if token.kind is Kind.PARAMETER:
            return Literal(self.binding.value(token), token.pos)
        return Literal({"NULL": None, "TRUE": True, "FALSE": False}[token.upper], token.pos)
    table = node.args.get("table")
    return Name(self.name(identifier), self.name(table), self.token(table or identifier).pos)


def _literal(self: Lowering, node: Glot) -> Node:
    token = self.token(node)
    if node.args["is_string"]:
        return Literal(node.this, token.pos)
    return Literal(number(node.this, token), token.pos, "e" in node.this.lower())


def _constant(self: Lowering, node: Glot) -> Node:
    return Literal(None if isinstance(node, exp.Null) else node.this, self.token(node).pos)


def _paren(self: Lowering, node: Glot) -> Node:
    return self.expression(node.this)


def _unary(self: Lowering, node: Glot) -> Node:
    is_minus = isinstance(node, exp.Neg)
    _check_grouping(self, node, SIGN if is_minus else NOT)
    arg = self.expression(node.this)
    if is_minus:
        pos = self.before(arg.pos, "-")
        if isinstance(arg, Literal) and type(arg.value) in (int, float):
            minus = -arg.value  # type: ignore[operator]  # a number, just seen
            return replace(arg, value=minus, pos=pos)
        return Unary("-", arg, pos)
    if isinstance(arg, IsNull | InList | InQuery | Between) and not arg.negated:
        before = self.tokens[self.index_of(arg.pos) - 1].upper
        if isinstance(node.this, exp.Paren) or before == "NOT":
            return Unary("not", arg, self.before(arg.pos, "NOT"))
        return replace(arg, negated=True)
    return Unary("not", arg, self.before(arg.pos, "NOT"))


def _binary(self: Lowering, node: Glot) -> Node:
    op, level = _BINARY[type(node)]
    right = node.args["expression"]
    every = isinstance(right, exp.All) and op == "<>"
    some = isinstance(right, exp.Any) and op == "="
    if (every or some) and isinstance(right.this, exp.Subquery | exp.Select):
        return _is_among(self, node, right.this, negated=every)
    _check_grouping(self, node, level)
    left = self.expression(node.this)
    if op in "+-" and isinstance(right, exp.Interval):
        return _shift_by_interval(self, left, right, -1 if op == "-" else 1)
    if op == "^":
        return FunctionCall("pow", (left, self.expression(right)), pos=left.pos)
    return Binary(op, left, self.expression(right), left.pos)


def _shift_by_interval(self: Lowering, left: Node, node: Glot, sign: int) -> Node:
    self.check_arguments(node, ("this", "unit"))
    at = self.index(node)
    if self.tokens[at].kind is Kind.END or self.tokens[at].upper == "INTERVAL":
        starts = range(self.index_of(left.pos), len(self.tokens))
        at = next((i for i in starts if self.tokens[i].upper == "INTERVAL"), at - 1) + 1
    token, size, unit = self.tokens[at], node.this, node.args.get("unit")
    if isinstance(size, exp.Column):
        bound = self.expression(size)
        text = str(bound.value) if isinstance(bound, Literal) else ""
    else:
        text = size.this if isinstance(size, exp.Literal) else ""
    if not isinstance(left, Literal) or not isinstance(left.value, dt.date):
        named = unit.name if unit else ""
        span = Span(*interval(text, named, token), pos=token.pos)
        return Binary("-" if sign < 0 else "+", left, span, left.pos)
    return Literal(moved_by_interval(left.value, text, unit.name if unit else "", sign, token),
                   left.pos)  # fmt: skip


def _connective(self: Lowering, node: Glot) -> Node:
    """Reads all operands of one run of AND or OR; long runs become balanced trees."""
    level = _LEVELS[type(node)]
    terms, rest = [], node
    while type(rest) is type(node):
        self.check_arguments(rest, ("this", "expression"))
        right = rest.args["expression"]
        if _LEVELS.get(type(right), SIGN) <= level:
            raise self.cannot(right)
        terms.append(right)
        rest = rest.this
    if _LEVELS.get(type(rest), SIGN) < level:
        raise self.cannot(rest)
    return _join_terms("or" if level == OR else "and", self.expressions([rest, *reversed(terms)]))


def _join_terms(op: str, terms: tuple[Node, ...]) -> Node:
    if len(terms) > _LONG_CHAIN:  # Both connectives are associative, NULLs included.
        half = len(terms) // 2
        return Binary(
            op, _join_terms(op, terms[:half]), _join_terms(op, terms[half:]), terms[0].pos
        )
    node = terms[0]
    for term in terms[1:]:
        node = Binary(op, node, term, terms[0].pos)
    return node


def _is(self: Lowering, node: Glot) -> Node:
    _check_grouping(self, node, IS)
    left, right = self.expression(node.this), node.args["expression"]
    if isinstance(right, exp.Null):
        return IsNull(left, pos=left.pos)
    if not isinstance(right, exp.Boolean):
        raise self.cannot(right)
    truth: Node = Cast(left, "BOOLEAN", pos=left.pos)
    truth = truth if right.this else Unary("not", truth, left.pos)
    return FunctionCall("coalesce", (truth, Literal(False, left.pos)), pos=left.pos)


def _distinct_from(self: Lowering, node: Glot) -> Node:
    _check_grouping(self, node, IS)
    left, right = self.expression(node.this), self.expression(node.args["expression"])
    same = _same_value(left, right)
    return same if isinstance(node, exp.NullSafeEQ) else Unary("not", same, left.pos)


def _same_value(left: Node, right: Node) -> Node:
    """Returns IS NOT DISTINCT FROM: as =, but NULL is a value that equals itself alone."""
    both = Binary("and", IsNull(left, pos=left.pos), IsNull(right, pos=left.pos), left.pos)
    equal = Binary("=", left, right, left.pos)
    return FunctionCall("coalesce", (equal, both), pos=left.pos)


def _same_rows(self: Lowering, left: Glot, right: Glot) -> Node:
    """Returns `(a, b) = (c, d)`: rows are compared field by field, NULL as a value."""
    if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
        raise self.cannot(right)
    sides = (self.expressions(row.expressions) for row in (left, right))
    pairs = zip(*sides, strict=True)
    return _join_terms("and", tuple(_same_value(one, other) for one, other in pairs))


def _in(self: Lowering, node: Glot) -> Node:
    _check_grouping(self, node, RANGE)
    if isinstance(node.this, exp.Tuple) and node.args.get("query") is None:
        rows = [_same_rows(self, node.this, row) for row in node.expressions]
        return _join_terms("or", tuple(rows))
    left, query = self.expression(node.this), node.args.get("query")
    if query is None:
        return InList(left, self.expressions(node.expressions), pos=left.pos)
    self.check_arguments(query, ("this",))
    inner = self.query(query.this)
    text, bound = self.enclosed_text(query.this, inner.pos)
    return InQuery(left, inner, False, text, bound, left.pos)


def _is_among(self: Lowering, node: Glot, query: Glot, *, negated: bool) -> Node:
    """Reads `x = ANY (SELECT …)`, which is IN, and `x <> ALL (SELECT …)`, which is NOT IN."""
    left = self.expression(node.this)
    inner = self.query(query.this if isinstance(query, exp.Subquery) else query)
    text, bound = self.enclosed_text(query, inner.pos)
    return InQuery(left, inner, negated, text, bound, left.pos)


def _between(self: Lowering, node: Glot) -> Node:
    _check_grouping(self, node, RANGE)
    left = self.expression(node.this)
    low, high = self.expression(node.args["low"]), self.expression(node.args["high"])
    return Between(left, low, high, pos=left.pos)


def _like(self: Lowering, node: Glot) -> Node:
    escape: tuple[Node, ...] = ()
    if isinstance(node, exp.Escape):
        escape, node = (self.expression(node.args["expression"]),), node.this
        if not isinstance(node, exp.Like | exp.ILike):
            raise self.cannot(node)
        self.check_arguments(node, ("this", "expression", "negate"))
    _check_grouping(self, node, RANGE)
    left, right = self.expression(node.this), self.expression(node.args["expression"])
    word = "LIKE" if isinstance(node, exp.Like) else "ILIKE"
    ahead = range(self.index_of(left.pos), len(self.tokens))
    pos = next((self.tokens[i].pos for i in ahead if self.tokens[i].upper == word), left.pos)
    call = FunctionCall(word.lower(), (left, right, *escape), pos=pos)
    return Unary("not", call, left.pos) if node.args.get("negate") else call


def _case(self: Lowering, node: Glot) -> Node:
    operand = self.expression(node.this) if node.this is not None else None
    whens = []
    for branch in node.args["ifs"]:
        self.check_arguments(branch, ("this", "true"))
        whens.append((self.expression(branch.this), self.expression(branch.args["true"])))
    default = node.args.get("default")
    otherwise = self.expression(default) if default is not None else None
    first = operand or whens[0][0]
    return CaseWhen(tuple(whens), otherwise, operand, self.before(first.pos, "CASE"))


def _type_name(self: Lowering, type_: Glot, near: Glot) -> str:
    """Returns DuckDB's own name of a type, as in DECIMAL(10, 2)."""
    if not isinstance(type_, exp.DataType):
        raise self.cannot(type_)
    if type_.args.get("nested") or type_.this in (exp.DType.ARRAY, exp.DType.LIST):
        ahead = range(self.index(near), len(self.tokens))
        at = next((i for i in ahead if self.tokens[i].upper in ("[", "STRUCT", "MAP")), ahead[0])
        raise refusal(self.tokens[at], *LIST)
    self.check_arguments(type_, ("this", "expressions", "nested", "kind"))
    sizes = []
    for part in type_.expressions:
        size = part.this if isinstance(part, exp.DataTypeParam) else part
        if not isinstance(size, exp.Literal) or size.args["is_string"]:
            raise refusal(self.token(part), f"expected a number, found {self.token(part).shown}")
        sizes.append(str(size.this))
    bare = type_.copy()
    bare.set("expressions", None)
    name = bare.sql("duckdb").upper()
    name = _TYPES.get(name, name)
    return f"{name}({', '.join(sizes)})" if sizes and name != "VARCHAR" else name


def _cast_to(self: Lowering, node: Glot) -> Node:
    type_ = _type_name(self, node.args["to"], node.this)
    arg = self.expression(node.this)
    i = self.index_of(arg.pos)
    before = self.tokens[i - 1]
    is_string = isinstance(node.this, exp.Literal) and self.tokens[i].kind is Kind.STRING
    if is_string and before.kind is Kind.WORD and before.upper not in _BEFORE_STRINGS:
        if type_ not in ("DATE", "TIMESTAMP"):
            hint = "DATE '2020-12-31' and TIMESTAMP '2020-12-31 23:59:00' are"
            raise refusal(before, f"literals of type {before.shown} are not read", hint)
        return Literal(date_or_time(node.this.this, type_, self.tokens[i]), before.pos)
    pos = self.before(arg.pos, "CAST", "TRY_CAST") if before.upper != "::" else arg.pos
    if type_ in ("DATE", "TIMESTAMP") and isinstance(arg, Literal) and isinstance(arg.value, str):
        return Literal(date_or_time(arg.value, type_, self.tokens[i]), pos)
    return Cast(arg, type_, isinstance(node, exp.TryCast), pos)


_BEFORE_STRINGS = RESERVED | words("AND OR NOT BETWEEN LIKE ILIKE BY IS ESCAPE")
"""Words that may stand before a string and are not the name of its type."""


def _extract(self: Lowering, node: Glot) -> Node:
    """EXTRACT(part FROM x) is date_part('part', x)."""
    arg = self.expression(node.args["expression"])
    pos, part = self.before(arg.pos, "EXTRACT"), node.this
    if not isinstance(part, exp.Var | exp.Literal | exp.Column):
        raise self.cannot(part)
    i = self.index_of(arg.pos)
    while i and self.tokens[i].upper != "EXTRACT":
        i -= 1
    pos = self.tokens[i].pos
    return FunctionCall("date_part", (Literal(part.name.lower(), self.tokens[i + 2].pos), arg),
                        pos=pos)  # fmt: skip


def _substring(self: Lowering, node: Glot) -> Node:
    parts = [node.args.get(name) for name in ("this", "start", "length")]
    args = self.expressions(part for part in parts if part is not None)
    return FunctionCall("substring", args, pos=self.before(args[0].pos, "SUBSTRING"))


def _call(self: Lowering, node: Glot) -> Node:
    written = node.this.this if isinstance(node.this, exp.Identifier) else node.this
    name, _, using = written.partition(MARK)
    name, token = name.lower(), self.token(node)
    if (token.kind is not Kind.NUMBER and "." in token.text) or self.tokens[
        self.index(node) - 1
    ].upper == ".":
        raise refusal(token, "names of schemas and method calls are not read",
                      "write column or table.column, and function(x)")  # fmt: skip
    if name == "columns":
        raise refusal(token, *STAR)
    named = [arg for arg in node.expressions if isinstance(arg, exp.Kwarg)]
    bounds = contribution_bounds(self, named)
    args = [arg for arg in node.expressions if not isinstance(arg, exp.Kwarg)]
    distinct, star = False, False
    if len(args) == 1 and isinstance(args[0], exp.Star):
        self.check_arguments(args[0], ())
        args, star = [], True
    elif args and isinstance(args[0], exp.Distinct):
        self.check_arguments(args[0], ("expressions",))
        args, distinct = [*args[0].expressions, *args[1:]], True
    for arg in args:
        if isinstance(arg, exp.Select | exp.SetOperation):
            raise self.cannot(arg)
    if name in ("count", "count_star") and not args and not distinct:
        name, star = "count", True
    if name in _QUANTILES and len(args) == 2 and isinstance(args[1], exp.Array):
        self.check_arguments(args[1], ("expressions", "bracket_notation"))
        shares = FunctionCall("list_value", self.expressions(args[1].expressions), pos=token.pos)
        return FunctionCall(name, (self.expression(args[0]), shares), pos=token.pos)
    name = name.removeprefix("anon_") if name in ANONYMIZED else name
    if name in ENDS_OF_INTERVAL and len(args) == 1:
        (arg,) = self.expressions(args)
        width = FunctionCall("error", (arg,), pos=token.pos)
        return Binary(ENDS_OF_INTERVAL[name], arg, width, token.pos)
    lowered = self.expressions(args)
    return FunctionCall(name, lowered, star, distinct, None, using, token.pos, bounds)


_QUANTILES = ("percentile_cont", "percentile_disc", "quantile_cont", "quantile_disc", "mode",
              "quantile", "approx_quantile")  # fmt: skip


def _within_group(self: Lowering, node: Glot) -> Node:
    """Reads `WITHIN GROUP (ORDER BY x)` behind PERCENTILE_CONT(0.5): x is its first argument."""
    call, order = self.expression(node.this), node.args["expression"]
    ahead = range(self.index(node), len(self.tokens))
    at = next((i for i in ahead if self.tokens[i].upper == "WITHIN"), ahead[0])
    if not isinstance(call, FunctionCall) or call.name not in _QUANTILES:
        raise refusal(self.tokens[at], *CONSTRUCTS["WITHIN"])
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise refusal(self.tokens[at], *CONSTRUCTS["WITHIN"])
    self.check_arguments(order, ("expressions",))
    ordered = order.expressions[0]
    self.check_arguments(ordered, ("this", "nulls_first"))
    return replace(call, args=(self.expression(ordered.this), *call.args))


def _filter(self: Lowering, node: Glot) -> Node:
    call, where = self.expression(node.this), node.args["expression"]
    if not isinstance(call, FunctionCall) or not isinstance(where, exp.Where):
        raise self.cannot(node)
    self.check_arguments(where, ("this",))
    return replace(call, filter=self.expression(where.this))


def _exists(self: Lowering, node: Glot) -> Node:
    inner = self.query(node.this)
    i = self.index_of(inner.pos)
    while i and self.tokens[i].upper != "EXISTS":
        i -= 1
    return Exists(inner, self.tokens[i].pos)


def _subquery(self: Lowering, node: Glot) -> Node:
    inner = self.query(node.this)
    text, bound = self.enclosed_text(node.this, inner.pos)
    at = next((i for i in range(self.index_of(inner.pos), -1, -1)
               if self.tokens[i - 1].upper == "("), 0)  # fmt: skip
    return Subquery(inner, text, bound, self.tokens[at].pos)


Lower = Callable[[Lowering, Glot], Node]
_PAIR = frozenset({"this", "expression"})
_TABLE: dict[type[Glot], tuple[Lower, frozenset[str]]] = {
    exp.Column: (_column, frozenset({"this", "table", "db", "catalog"})),
    exp.Literal: (_literal, frozenset({"this", "is_string"})),
    exp.Null: (_constant, frozenset()),
    exp.Boolean: (_constant, frozenset({"this"})),
    exp.Paren: (_paren, frozenset({"this"})),
    exp.Not: (_unary, frozenset({"this"})),
    exp.Neg: (_unary, frozenset({"this"})),
    **dict.fromkeys(_BINARY, (_binary, _PAIR | {"typed", "safe"})),
    exp.And: (_connective, _PAIR),
    exp.Or: (_connective, _PAIR),
    exp.Is: (_is, _PAIR),
    exp.NullSafeEQ: (_distinct_from, _PAIR),
    exp.NullSafeNEQ: (_distinct_from, _PAIR),
    exp.In: (_in, frozenset({"this", "expressions", "query"})),
    exp.Between: (_between, frozenset({"this", "low", "high"})),
    exp.Like: (_like, _PAIR | {"negate"}),
    exp.ILike: (_like, _PAIR | {"negate"}),
    exp.Escape: (_like, _PAIR),
    exp.Case: (_case, frozenset({"this", "ifs", "default"})),
    exp.Cast: (_cast_to, frozenset({"this", "to"})),
    exp.TryCast: (_cast_to, frozenset({"this", "to", "safe"})),
    exp.Extract: (_extract, _PAIR),
    exp.Substring: (_substring, frozenset({"this", "start", "length"})),
    exp.Anonymous: (_call, frozenset({"this", "expressions"})),
    exp.Bracket: (one_of_quantiles, frozenset({"this", "expressions"})),
    exp.WithinGroup: (_within_group, _PAIR),
    exp.Filter: (_filter, _PAIR),
    exp.Exists: (_exists, frozenset({"this"})),
    exp.Subquery: (_subquery, frozenset({"this"})),
}

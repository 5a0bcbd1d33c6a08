"""sqlglot's expressions → our small tree, node by node from a closed table.

`node_table` names, for every type of node that is read, the function that reads it and the
arguments that the function looks at. A node of another type, or one with another argument set, is
refused where it stands: what sqlglot learns to parse tomorrow is refused, not misread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.constructs import CONSTRUCTS, NODE_REASONS, REFUSED_NODES
from sqlpriv.dialect.marks import MARK, duckdb_text
from sqlpriv.dialect.token_cursor import MAX_DEPTH
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words
from sqlpriv.statements.tree import Bound, Node, Pos, Query

if TYPE_CHECKING:
    from sqlpriv.dialect.lowering.query_lowering import QueryLowering

Glot = exp.Expr
Table = Mapping[type[Glot], tuple[Callable[["NodeLowering", Glot], Node], frozenset[str]]]
_OPENERS = words("( - + NOT CASE WHEN CAST TRY_CAST EXISTS EXTRACT FROM SUBSTRING")
"""Signs that may stand before an expression and belong to it."""


class NodeLowering:
    """One statement's way from sqlglot's tree to ours.

    Args:
        queries: Reads the queries inside expressions.
        table: What reads each type of node, and the arguments that it looks at.
    """

    def __init__(self, queries: QueryLowering, table: Table) -> None:
        self._table = table
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

    def ahead(self, index: int, *signs: str) -> int:
        """Returns the index of the first of these signs from a token on; that token's without."""
        places = range(index, len(self.tokens))
        return next((i for i in places if self.tokens[i].upper in signs), index)

    def behind(self, index: int, *signs: str) -> int:
        """Returns the index of the last of these signs up to a token; 0 where there is none."""
        while index and self.tokens[index].upper not in signs:
            index -= 1
        return index

    def start_in_parenthesis(self, index: int) -> int:
        """Returns the index behind the nearest `(` before a token; 0 where there is none."""
        at = self.behind(max(index - 1, 0), "(")
        return at + 1 if self.tokens[at].upper == "(" else 0

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
        signs = REFUSED_NODES.get(type(node).__name__, ())
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
        return Refused.at(self.tokens[place], *NODE_REASONS[signs[0]])

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
            self.check_arguments(node, ("this",))
            node = node.this
        entry = self._table.get(type(node))
        if entry is None:
            raise self.cannot(node)
        lower, args = entry
        self.check_arguments(node, args)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Refused.at(
                self.token(node),
                f"the expression nests deeper than {MAX_DEPTH} levels",
                "write long lists of alternatives as x IN (…)",
            )
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
                if isinstance(part, Glot) and type(part).__name__ in REFUSED_NODES:
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
            raise Refused.at(self.token(node), "a name is empty")
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

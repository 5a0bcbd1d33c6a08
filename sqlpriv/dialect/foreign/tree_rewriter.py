"""A tree of another dialect, node by node into what it means in DuckDB.

`_SAME` names the nodes that mean the same everywhere, with the arguments that may be set; writers
are for those that mean the same under a condition, or are rewritten. A node or an argument that
neither names is refused where it stands: what cannot be shown to mean the same is not answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from sqlpriv.dialect.foreign import function_names as names
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words

Writers = Mapping[type[exp.Expr], Callable[["TreeRewriter", exp.Expr], exp.Expr]]
_SAME_TEXT = """
Select: expressions from_ joins where group having order limit offset with_ distinct qualify windows
From Where Having Qualify Exists Paren Boolean Not Neg Var Any All: this
Order: this expressions
Tuple Rollup Cube: expressions
Distinct: expressions on
Ordered: this desc nulls_first
Limit: expression offset
Offset: expression
With: expressions recursive
CTE: this alias materialized
TableAlias: this columns
Alias: this alias
Star: except_ rename replace
LimitOptions: rows
Null CurrentDate:
Subquery: this alias with_ pivots
PivotAlias: this alias
Union Except Intersect: this expression distinct with_ order limit offset
Or And Mul Mod IntDiv Kwarg DataTypeParam Escape: this expression
Case: this ifs default
If: this true
Values: expressions alias
WindowSpec: kind start start_side end end_side
"""
_SAME: dict[type[exp.Expr], frozenset[str]] = {
    getattr(exp, name): words(arguments)
    for names, _, arguments in (line.partition(":") for line in _SAME_TEXT.strip().splitlines())
    for name in names.split()
}


class TreeRewriter:
    """One statement's way from another dialect's tree to DuckDB's.

    Args:
        cursor: The statement's tokens; its `dialect` is the one that they are written in.
        writers: What checks and writes nodes of a type that is not the same everywhere.
    """

    def __init__(self, cursor: TokenCursor, writers: Writers) -> None:
        self._writers = writers
        self.cursor, self.written = cursor, cursor.dialect
        self.dialect = names.FAMILY.get(cursor.dialect, cursor.dialect)  # that it is like
        self._by_start = {token.start: token for token in cursor.tokens}
        self.functions = names.BY_DIALECT[cursor.dialect]
        self.schema = ""  # that the statement's tables are written with

    def rewrite(self, tree: exp.Expr) -> exp.Expr:
        """Returns the tree with every node checked, and in DuckDB's form; it is changed in place.

        Raises:
            Refused: A node is not known to mean the same, at its place in the user's text.
        """
        for token in self.cursor.tokens:
            if token.glot is not None and any(x.startswith("!") for x in token.glot.comments):
                raise Refused.at(
                    token, "a comment that is run, /*! … */, is not read", "leave it out"
                )
        root = exp.Subquery(this=tree)
        for node in reversed(list(tree.walk())):  # parts come before what holds them
            replacement = self._rewrite_node(node)
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
            starts = {part.meta.get("start", -1) for part in within.walk()}
            if places := starts & self._by_start.keys():
                return self._by_start[min(places)]
            within = within.parent
        return self.cursor.tokens[0]

    def refuse(self, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
        """Returns the refusal that points at a node."""
        return Refused.at(self.token(node), message, hint)

    def refuse_unknown(self, node: exp.Expr, what: str, meant: str = "") -> Refused:
        """Returns the refusal of what no table names; `meant` asks which name was meant."""
        return self.refuse(
            node,
            f"{what} is not known to mean the same in DuckDB as in {self.written}",
            f"{meant}write it as DuckDB does, after SET privacy_dialect = 'duckdb'",
        )

    # --- nodes ---

    def _rewrite_node(self, node: exp.Expr) -> exp.Expr:
        arguments = _SAME.get(type(node))
        if arguments is not None:
            self.check_arguments(node, arguments)
            return node
        write = self._writers.get(type(node))
        if write is None:
            raise self.refuse_unknown(node, _word_of(node))
        return write(self, node)

    def check_arguments(self, node: exp.Expr, known: str | frozenset[str]) -> None:
        """Refuses a node with an argument that is not known to mean the same."""
        for name, value in node.args.items():
            if (
                value is not None
                and value is not False
                and value != []
                and name not in (words(known) if isinstance(known, str) else known)
            ):
                part = value[0] if isinstance(value, list) else value
                at = part if isinstance(part, exp.Expr) else node
                raise self.refuse_unknown(at, f"{_word_of(node)} with {name.strip('_')}")


def _word_of(node: exp.Expr) -> str:
    """Returns what a message calls a node."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()

"""sqlglot's queries → ours: WITH, SELECT and their clauses.

    [WITH name AS (query), …]
    SELECT [WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]] items FROM source [WHERE …]
    [GROUP BY …] [STRATIFY BY … [WEIGHTS FROM table]] [HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]

A name that WITH introduced stands for its query: each use is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlpriv.dialect.bracket_parts import TooManyCopies
from sqlpriv.dialect.clauses import Clauses, begins_with, inside_parentheses
from sqlpriv.dialect.constructs import CONSTRUCTS
from sqlpriv.dialect.lowering.group_lowering import has_plain_distinct, lower_group_by
from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.lowering.node_table import TABLE
from sqlpriv.dialect.lowering.output_lowering import lower_outputs
from sqlpriv.dialect.lowering.source_lowering import first_table, lower_source, rename_outputs
from sqlpriv.dialect.marked_tokens import CLAUSES
from sqlpriv.dialect.marks import marked_name
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words

MAX_COPIES = 100
"""Uses of the queries of WITH, those inside others counted each time."""
_CLAUSE_ARGS = words("expressions from_ joins where group having order limit offset with_")
_SIGNS = {
    "distinct": ("DISTINCT",),
    "windows": ("WINDOW",),
    "qualify": ("QUALIFY",),
    "pivots": ("PIVOT",),
    "laterals": ("LATERAL",),
    "sample": ("USING", "TABLESAMPLE"),
    "fetch": ("FETCH",),
}


class QueryLowering:
    """One statement's queries.

    Args:
        cursor: The statement's tokens, its text, and the values of its parameters.
        clauses: What was cut out of it, by mark.
        of_rows: Whether its outputs are columns of synthetic rows: * may stand among them.
    """

    def __init__(
        self, cursor: TokenCursor, clauses: Mapping[str, Clauses], *, of_rows: bool = False
    ) -> None:
        self.cursor, self._clauses, self._first = cursor, clauses, cursor.index
        self._of_rows = of_rows
        self.nodes = NodeLowering(self, TABLE)
        self._queries: dict[str, t.Query] = {}  # what WITH introduced, by lower-case name
        self._weights: dict[str, int] = {}  # how many queries a use of one stands for
        self._copies = 0

    def statement(self, node: Glot) -> t.Select:
        """Returns the SELECT that is a whole statement, with the queries of its WITH as `stages`.

        Raises:
            Refused: It is not of the form that can be answered, at the first place where it is not.
        """
        stages = self.stages(node)
        if isinstance(node, exp.SetOperation):
            self.select(node.this) if isinstance(node.this, exp.Select) else None
            raise self._refuse_sign(node, "UNION", "INTERSECT", "EXCEPT")
        return replace(self.select(node), stages=stages)

    def stages(self, node: Glot) -> tuple[tuple[str, t.Query], ...]:
        """Reads WITH name [(columns)] AS (query), …; each is known to what comes after it."""
        with_ = node.args.get("with_")
        if with_ is None:
            return ()
        if with_.args.get("recursive"):
            at = self.cursor.tokens[self.nodes.ahead(0, "RECURSIVE")]
            hint = "write WITH name AS (…)"
            raise Refused.at(at, "recursive queries are not answered privately", hint)
        self.nodes.check_arguments(with_, ("expressions",))
        stages: list[tuple[str, t.Query]] = []
        for cte in with_.expressions:
            self.nodes.check_arguments(cte, ("this", "alias", "materialized"))
            name, columns = self.alias(cte)
            before = self._copies
            query = rename_outputs(self.enclosed_query(cte.this), columns, self.nodes.token(cte))
            self._weights[name.lower()] = 1 + self._copies - before
            self._queries[name.lower()] = query
            stages.append((name, query))
        return tuple(stages)

    def enclosed_query(self, node: Glot) -> t.Query:
        """Returns a query inside parentheses: WITH, SELECT, UNION ALL."""
        outside = dict(self._queries)
        self.stages(node)
        parts = self._parts(node)
        self._queries = outside
        return parts[0] if len(parts) == 1 else t.UnionAll(tuple(parts), parts[0].pos)

    def _parts(self, node: Glot) -> list[t.Select]:
        if not isinstance(node, exp.Union):
            if isinstance(node, exp.SetOperation):
                raise self._refuse_sign(node, "INTERSECT", "EXCEPT")
            return [self.select(node, inside=True)]
        allowed = ("this", "expression", "distinct", "with_")
        self.nodes.check_arguments(node, allowed)
        parts = self._parts(node.this)
        last = self._parts(node.args["expression"])
        if node.args.get("distinct"):
            at = self.nodes.index_of(last[0].pos)
            raise Refused.at(
                self.cursor.tokens[at],
                "UNION takes equal rows together, over all units",
                "write UNION ALL",
            )
        return parts + last

    def select(self, node: Glot, *, inside: bool = False) -> t.Select:
        """Returns one SELECT without its WITH; * is an output of queries inside and of rows."""
        if not isinstance(node, exp.Select):
            raise self._no_select(node)
        select, expressions, clauses = self._outputs(node, inside)
        rows_once = inside and has_plain_distinct(node)
        for name, value in node.args.items():
            if value and name not in _CLAUSE_ARGS and not (rows_once and name == "distinct"):
                raise self.refuse_clause(name, select)
        items = lower_outputs(self.nodes, expressions, inside or self._of_rows, select)
        if node.args.get("from_") is None:
            last = max((self.nodes.index(x, last=True) for x in expressions), default=0)
            raise self.nodes.refuse_unexpected(last + 1, "FROM and the name of a table")
        source = lower_source(self, node)
        one = source if isinstance(source, t.Table) else None
        where = self._clause(node, "where")
        grouping = lower_group_by(self.nodes, node.args.get("group"), every=rows_once)
        strata = self._stratify(clauses, inside)
        return t.Select(
            items,
            one.name if one else first_table(source),
            one.alias if one else "",
            where,
            *grouping,
            strata,
            self._clause(node, "having"),
            self._order(node, len(items)),
            self._limit(node, "limit"),
            self._limit(node, "offset"),
            clauses.is_priced or strata is not None,
            clauses.options,
            source=None if one else source,
            pos=select.pos,
        )

    def _no_select(self, node: Glot) -> Exception:
        tokens = self.cursor.tokens
        if isinstance(node, exp.Subquery | exp.Values | exp.Table):
            return begins_with(tokens[self.nodes.ahead(0, "(", "VALUES", "TABLE", "FROM")])
        at = self.nodes.start_in_parenthesis(self.nodes.index(node))
        if node.args.get("with_") is not None:
            at = body_index(tokens, self._first) or at
        return self.nodes.refuse_unexpected(at, "SELECT")

    def _refuse_sign(self, node: Glot, *signs: str) -> Refused:
        at = self.nodes.ahead(self.nodes.index(node), *signs)
        return Refused.at(self.cursor.tokens[at], *CONSTRUCTS[signs[0]])

    def refuse_clause(self, name: str, select: Token) -> Exception:
        at = self.nodes.index_of(select.pos)
        signs = _SIGNS.get(name, ())
        for token in self.cursor.tokens[at:]:
            if token.upper in signs:
                return Refused.at(token, *CONSTRUCTS[token.upper])
        return self.nodes.refuse_unexpected(at + 1, CLAUSES)

    def _outputs(self, node: Glot, inside: bool) -> tuple[Token, list[Glot], Clauses]:
        """Returns the token SELECT, the outputs, and our clauses of the query. `FROM t` alone is a
        query inside another; as a whole statement it asks for rows."""
        expressions = list(node.expressions)
        tokens = self.cursor.tokens
        first = expressions[0] if expressions else None
        clauses = self._clauses.get(marked_name(first))
        if clauses is not None:
            return clauses.select, expressions[1:], clauses
        at = self.nodes.index(first or node)
        if isinstance(first, exp.Star) and tokens[at].upper != "*" and not inside:
            if tokens[at].kind is Kind.END:  # of TABLE t, whose * nobody wrote
                at = self.nodes.behind(at, "TABLE")
            raise begins_with(tokens[at])
        depth = 0  # of the parentheses that are closed between SELECT and the first known token
        while at > self._first and not (tokens[at].upper == "SELECT" and depth <= 0):
            at -= 1
        return tokens[at], expressions, Clauses(tokens[at])

    def alias(self, node: Glot) -> tuple[str, tuple[str, ...]]:
        """Returns a table's alias, and the names that it gives to columns."""
        alias = node.args.get("alias")
        if alias is None:
            return "", ()
        self.nodes.check_arguments(alias, ("this", "columns"))
        columns = tuple(self.nodes.name(x) for x in alias.args.get("columns") or ())
        return self.nodes.name(alias.this), columns

    def common_query(self, name: str, token: Token) -> t.Query | None:
        """Returns the query of WITH that a name means; each use is counted.

        Raises:
            TooManyCopies: There are too many uses.
        """
        query = self._queries.get(name.lower())
        if query is not None:
            self._copies += self._weights[name.lower()]
            if self._copies > MAX_COPIES:
                raise TooManyCopies.at(
                    token,
                    f"the queries of WITH are used more than {MAX_COPIES} times",
                    "each use is read anew: a WITH that doubles itself grows exponentially",
                )
        return query

    # --- the other clauses ---

    def _clause(self, node: Glot, name: str) -> t.Node | None:
        clause = node.args.get(name)
        if clause is None:
            return None
        self.nodes.check_arguments(clause, ("this",))
        return self.nodes.expression(clause.this)

    def _stratify(self, clauses: Clauses, inside: bool) -> t.Stratify | None:
        token = clauses.strata
        if token is None:
            return None
        if inside:
            raise inside_parentheses(token, "STRATIFY BY")
        for node in clauses.columns:
            if isinstance(node, exp.Alias):
                at = self.nodes.index(node.args["alias"])
                raise self.nodes.refuse_unexpected(at, CLAUSES)
        by = self.nodes.expressions(clauses.columns)
        return t.Stratify(by, clauses.weights, token.pos)

    def _order(self, node: Glot, count: int) -> tuple[t.Order, ...]:
        """Returns the terms of ORDER BY; ALL are the outputs, so many."""
        order = node.args.get("order")
        if order is None:
            return ()
        self.nodes.check_arguments(order, ("expressions",))
        first = order.expressions[0].this
        if (
            len(order.expressions) == 1
            and isinstance(first, exp.Var)
            and first.name.upper() == "ALL"
        ):
            (term,) = order.expressions
            return tuple(self._order_term(term, t.Literal(n)) for n in range(1, count + 1))
        return tuple(self._order_term(x, self.nodes.expression(x.this)) for x in order.expressions)

    def _order_term(self, term: Glot, expr: t.Node) -> t.Order:
        self.nodes.check_arguments(term, ("this", "desc", "nulls_first"))
        nulls_first = True if term.args.get("nulls_first") else None
        return t.Order(expr, bool(term.args.get("desc")), nulls_first)

    def _limit(self, node: Glot, name: str) -> t.Node | None:
        limit = node.args.get(name)
        if limit is None:
            return None
        if not isinstance(limit, exp.Limit | exp.Offset):
            raise self.refuse_clause("fetch", self.cursor.tokens[0])
        options = limit.args.get("limit_options")
        if options is not None:
            at = self.nodes.ahead(self.nodes.index(limit, last=True), "PERCENT", "%", "WITH")
            raise Refused.at(
                self.cursor.tokens[at], "LIMIT by percentage is not read", "write LIMIT n"
            )
        self.nodes.check_arguments(limit, ("expression",))
        return self.nodes.expression(limit.args["expression"])


def body_index(tokens: Sequence[Token], start: int) -> int:
    """Returns the index of the first token behind WITH name AS (…), …; 0 where there is none."""
    depth = 0
    for i, token in enumerate(tokens[start:], start):
        after = tokens[i - 1].upper == ")" and token.upper not in (",", "AS")
        if depth == 0 and i > start and after:
            return i
        depth += (token.upper == "(") - (token.upper == ")")
    return 0

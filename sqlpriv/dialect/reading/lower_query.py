"""sqlglot's queries → ours: SELECT, WITH, FROM with its joins, GROUP BY with its sets.

    [WITH name AS (query), …]
    SELECT [WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]] items FROM source [WHERE …]
    [GROUP BY …] [STRATIFY BY … [WEIGHTS FROM table]] [HAVING …] [ORDER BY …] [LIMIT …] [OFFSET …]

A name that WITH introduced stands for its query: each use is a copy. In GROUP BY as in DuckDB:
ROLLUP (a, b) is (a, b), (a), (); CUBE has every subset; the elements of GROUP BY are combined, each
set of one with each of the others; in GROUPING SETS they stand beside each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from sqlglot import exp

from sqlpriv.dialect.bracket_parts import TooManyCopies
from sqlpriv.dialect.clauses import CLAUSES, Clauses, begins_with
from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.constructs import CONSTRUCTS, QUERY_HEADS, STAR
from sqlpriv.dialect.marks import MARK, marked_name
from sqlpriv.dialect.reading.lower import Glot, Lowering
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements.tree import (
    NATURAL,
    Derived,
    Item,
    Joined,
    Literal,
    Name,
    Node,
    Order,
    Query,
    Select,
    Source,
    Stratify,
    Table,
    UnionAll,
)

MAX_COPIES = 100
"""Uses of the queries of WITH, those inside others counted each time."""
MAX_SETS = 128
"""Sets of keys of one statement: CUBE of seven keys."""
_CLAUSE_ARGS = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit",
                "offset", "with_"}  # fmt: skip
_SIGNS = {"distinct": "DISTINCT", "windows": "WINDOW", "qualify": "QUALIFY", "pivots": "PIVOT",
          "laterals": "LATERAL", "sample": "USING", "fetch": "FETCH"}  # fmt: skip
_KINDS = {("", ""): "inner", ("", "INNER"): "inner", ("", "CROSS"): "cross", ("LEFT", ""): "left",
          ("LEFT", "OUTER"): "left", ("RIGHT", ""): "right", ("RIGHT", "OUTER"): "right",
          ("", "SEMI"): "semi", ("", "ANTI"): "anti"}  # fmt: skip
_Keys = tuple[Node, ...]


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
        self._lowering = Lowering(self)
        self._queries: dict[str, Query] = {}  # what WITH introduced, by lower-case name
        self._weights: dict[str, int] = {}  # how many queries a use of one stands for
        self._copies = 0

    # --- whole queries ---

    def statement(self, node: Glot) -> Select:
        """Returns the SELECT that is a whole statement, with the queries of its WITH as `stages`.

        Raises:
            Refused: It is not of the form that can be answered, at the first place where it is not.
        """
        stages = self.stages(node)
        if isinstance(node, exp.SetOperation):
            self.select(node.this) if isinstance(node.this, exp.Select) else None
            raise self._refuse_sign(node, "UNION", "INTERSECT", "EXCEPT")
        return replace(self.select(node), stages=stages)

    def stages(self, node: Glot) -> tuple[tuple[str, Query], ...]:
        """Reads WITH name [(columns)] AS (query), …; each is known to what comes after it."""
        with_ = node.args.get("with_")
        if with_ is None:
            return ()
        if with_.args.get("recursive"):
            tokens = self.cursor.tokens
            at = next((t for t in tokens if t.upper == "RECURSIVE"), tokens[0])
            raise refusal(at, "recursive queries are not answered privately",
                          "write WITH name AS (…)")  # fmt: skip
        self._lowering.check_arguments(with_, ("expressions",))
        stages: list[tuple[str, Query]] = []
        for cte in with_.expressions:
            self._lowering.check_arguments(cte, ("this", "alias", "materialized"))
            name, columns = self._alias(cte)
            before = self._copies
            query = _rename_outputs(
                self.enclosed_query(cte.this), columns, self._lowering.token(cte)
            )
            self._weights[name.lower()] = 1 + self._copies - before
            self._queries[name.lower()] = query
            stages.append((name, query))
        return tuple(stages)

    def enclosed_query(self, node: Glot) -> Query:
        """Returns a query inside parentheses: WITH, SELECT, UNION ALL.

        Raises:
            Refused: As `statement`; UNION without ALL.
        """
        outside = dict(self._queries)
        self.stages(node)
        parts = self._parts(node)
        self._queries = outside
        return parts[0] if len(parts) == 1 else UnionAll(tuple(parts), parts[0].pos)

    def _parts(self, node: Glot) -> list[Select]:
        if not isinstance(node, exp.Union):
            if isinstance(node, exp.SetOperation):
                raise self._refuse_sign(node, "INTERSECT", "EXCEPT")
            return [self.select(node, inside=True)]
        allowed = ("this", "expression", "distinct", "with_")
        self._lowering.check_arguments(node, allowed)
        parts = self._parts(node.this)
        last = self._parts(node.args["expression"])
        if node.args.get("distinct"):
            at = self._lowering.index_of(last[0].pos)
            raise refusal(self.cursor.tokens[at], "UNION takes equal rows together, over all units",
                          "write UNION ALL")  # fmt: skip
        return parts + last

    def select(self, node: Glot, *, inside: bool = False) -> Select:
        """Returns one SELECT without its WITH; * is an output of queries inside and of rows."""
        if not isinstance(node, exp.Select):
            raise self._no_select(node)
        select, expressions, clauses = self._outputs(node)
        for name, value in node.args.items():
            if value and name not in _CLAUSE_ARGS:
                raise self._refuse_clause(name, select)
        items = self._items(expressions, inside or self._of_rows, select)
        if node.args.get("from_") is None:
            last = max((self._lowering.index(x, last=True) for x in expressions), default=0)
            raise self._lowering.refuse_unexpected(last + 1, "FROM and the name of a table")
        source = self._source(node)
        one = source if isinstance(source, Table) else None
        where = self._clause(node, "where")
        grouping = self._group_by(node.args.get("group"))
        strata = self._stratify(clauses, inside)
        return Select(
            items, one.name if one else _first_table(source), one.alias if one else "",
            where, *grouping, strata, self._clause(node, "having"), self._order(node, len(items)),
            self._limit(node, "limit"), self._limit(node, "offset"),
            clauses.is_priced or strata is not None, clauses.options,
            source=None if one else source, pos=select.pos,
        )  # fmt: skip

    def _no_select(self, node: Glot) -> Exception:
        tokens = self.cursor.tokens
        if isinstance(node, exp.Subquery | exp.Values | exp.Table):
            heads = ("(", "VALUES", "TABLE", "FROM")
            return begins_with(next((t for t in tokens if t.upper in heads), tokens[0]))
        at = self._lowering.index(node)
        while at and tokens[at - 1].upper != "(":
            at -= 1
        if node.args.get("with_") is not None:
            at = body_index(tokens, self._first) or at
        return self._lowering.refuse_unexpected(at, "SELECT")

    def _refuse_sign(self, node: Glot, *signs: str) -> Refused:
        at = self._lowering.index(node)
        ahead = self.cursor.tokens[at:]
        token = next((t for t in ahead if t.upper in signs), ahead[0])
        return refusal(token, *CONSTRUCTS[signs[0]])

    def _refuse_clause(self, name: str, select: Token) -> Exception:
        at = self._lowering.index_of(select.pos)
        sign = _SIGNS.get(name, "")
        for token in self.cursor.tokens[at:]:
            if sign and token.upper in (sign, "TABLESAMPLE" if name == "sample" else sign):
                return refusal(token, *CONSTRUCTS[token.upper])
        return self._lowering.refuse_unexpected(at + 1, CLAUSES)

    def _outputs(self, node: Glot) -> tuple[Token, list[Glot], Clauses]:
        """Returns the token SELECT, the outputs, and our clauses of the query."""
        expressions = list(node.expressions)
        tokens = self.cursor.tokens
        first = expressions[0] if expressions else None
        clauses = self._clauses.get(marked_name(first))
        if clauses is not None:
            return clauses.select, expressions[1:], clauses
        at = self._lowering.index(first or node)
        if isinstance(first, exp.Star) and tokens[at].upper != "*":  # FROM t, without SELECT
            raise begins_with(tokens[at])
        depth = 0  # of the parentheses that are closed between SELECT and the first known token
        while at > self._first and not (tokens[at].upper == "SELECT" and depth <= 0):
            at -= 1
        return tokens[at], expressions, Clauses(tokens[at])

    # --- outputs ---

    def _items(self, nodes: list[Glot], stars: bool, select: Token) -> tuple[Item, ...]:
        if not nodes:
            raise self._lowering.refuse_unexpected(self._lowering.index_of(select.pos) + 1,
                                            "an expression")  # fmt: skip
        return tuple(self._star(node) if stars and _is_star(node) else self._item(node)
                     for node in nodes)  # fmt: skip

    def _star(self, node: Glot) -> Item:
        """Reads * and t.* among the outputs of a query inside another, or of rows."""
        star = node if isinstance(node, exp.Star) else node.this
        self._lowering.check_arguments(star, ())
        if star is node:
            return Item(Name("*"))
        self._lowering.check_arguments(node, ("this", "table"))
        table = node.args["table"]
        return Item(Name("*", self._lowering.name(table), self._lowering.token(table).pos))

    def _item(self, node: Glot) -> Item:
        if isinstance(node, exp.Star):
            raise refusal(self._lowering.token(node), *STAR)
        if not isinstance(node, exp.Alias):
            expr = self._lowering.expression(node)
            return Item(expr, "", self._item_text(expr, None))
        self._lowering.check_arguments(node, ("this", "alias"))
        expr = self._lowering.expression(node.this)
        alias = node.args["alias"]
        return Item(expr, self._lowering.name(alias), self._item_text(expr, alias))

    def _item_text(self, expr: Node, alias: Glot | None) -> str:
        """Returns the user's own text of an output, without its alias."""
        tokens = self.cursor.tokens
        first = self._lowering.index_of(expr.pos)
        while first and tokens[first - 1].upper in ("(", "-", "+", "NOT"):
            first -= 1
        if alias is not None:
            last = self._lowering.index(alias) - 1
            last -= tokens[last].upper == "AS"
        else:
            last, depth = first, 0
            for i in range(first, len(tokens)):
                word = tokens[i].upper
                depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
                if depth < 0 or (depth == 0 and word in (",", "FROM")):
                    break
                if tokens[i].kind is Kind.END:
                    break
                last = i
        return self.cursor.text[tokens[first].start : tokens[max(first, last)].end]

    # --- FROM ---

    def _source(self, node: Glot) -> Source:
        joins = list(node.args.get("joins") or ())
        chains = [self._primary(node.args["from_"].this)]
        for join in joins:
            self._lowering.check_arguments(
                join, ("this", "side", "kind", "method", "on", "using", "pivots")
            )
            at = self._join_at(join)
            if self.cursor.tokens[at].upper == ",":
                chains.append(self._primary(join.this))
            else:
                chains[-1] = self._join(chains[-1], join, at)
        left = chains[0]
        for right in chains[1:]:
            left = Joined(left, right, "cross", None, (), left.pos)
        return left

    def _join_at(self, join: Glot) -> int:
        """Returns the index of the comma or of the first word of JOIN before a join's table."""
        tokens = self.cursor.tokens
        at = self._lowering.index(join.this)
        while at and tokens[at].upper not in (",", "JOIN"):
            at -= 1
        while tokens[at - 1].upper in ("LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "SEMI",
                                       "ANTI", "NATURAL", "ASOF", "POSITIONAL"):  # fmt: skip
            at -= 1
        return at

    def _join(self, left: Source, join: Glot, at: int) -> Source:
        words = (str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper())
        token = self.cursor.tokens[at]
        kind = _KINDS.get(words)
        natural = str(join.args.get("method") or "").upper() == "NATURAL"
        if kind is None or (join.args.get("method") and not natural):
            raise refusal(token, *CONSTRUCTS.get(token.upper, CONSTRUCTS["JOIN"]))
        right = self._primary(join.this)
        on, using = join.args.get("on"), join.args.get("using")
        if natural and kind in ("inner", "left", "right") and on is None and not using:
            return Joined(left, right, kind, None, (NATURAL,), token.pos)
        if kind != "cross" and on is None and not using:
            last = self._lowering.index(join.this, last=True)
            raise self._lowering.refuse_unexpected(last + 1, "ON or USING")
        if kind == "cross" and (on is not None or using):
            raise self._lowering.cannot(join)
        lowered = self._lowering.expression(on) if on is not None else None
        columns = tuple(self._column_name(x) for x in using or ())
        return Joined(left, right, kind, lowered, columns, token.pos)

    def _column_name(self, node: Glot) -> str:
        if isinstance(node, exp.Column) and node.args.get("table") is None:
            node = node.this
        return self._lowering.name(node)

    def _primary(self, node: Glot) -> Source:
        if isinstance(node, exp.Paren):
            return self._primary(node.this)
        if isinstance(node, exp.Subquery):
            return self._derived_table(node)
        if not isinstance(node, exp.Table):
            raise self._refuse_source(node)
        token = self._lowering.token(node)
        if isinstance(node.this, exp.Anonymous):
            raise refusal(token, f"{token.shown}() is a table function, not a table of the vault",
                          "query a table by its name")  # fmt: skip
        if not isinstance(node.this, exp.Identifier):
            raise self._refuse_source(node)
        if token.kind is Kind.STRING:
            raise refusal(token, "a file is not a table of the vault", "an owner loads it first")
        for name in ("sample", "pivots", "laterals"):
            if node.args.get(name):
                raise self._refuse_clause(name, token)
        self._lowering.check_arguments(node, ("this", "db", "alias", "joins"))
        name = self._lowering.name(node.this)
        schema = self._lowering.name(node.args.get("db"))
        if schema and schema.lower() != "main":
            raise refusal(token, f"{schema} is a schema or database of its own",
                          "name the table alone")  # fmt: skip
        alias, columns = self._alias(node)
        common_query = None if schema else self._queries.get(name.lower())
        if common_query is not None:
            self._copies += self._weights[name.lower()]
            if self._copies > MAX_COPIES:
                raise TooManyCopies.at(
                    token.pos,
                    f"the queries of WITH are used more than {MAX_COPIES} times",
                    "each use is read anew: a WITH that doubles itself grows exponentially",
                )
            source: Source = Derived(common_query, alias or name, token.pos)
        else:
            source = Table(name, alias, token.pos)
        if columns:
            raise self._refuse_columns(node.args["alias"])
        return self._with_joins(source, node)

    def _with_joins(self, source: Source, node: Glot) -> Source:
        for join in node.args.get("joins") or ():
            self._lowering.check_arguments(join, ("this", "side", "kind", "method", "on", "using"))
            source = self._join(source, join, self._join_at(join))
        return source

    def _refuse_columns(self, alias: Glot) -> Refused:
        at = self._lowering.index(alias.args["columns"][0]) - 1
        return refusal(self.cursor.tokens[at], "aliases of columns are for subqueries",
                       "write FROM table AS alias")  # fmt: skip

    def _refuse_source(self, node: Glot) -> Exception:
        at = self._lowering.index(node)
        for i in range(at, max(at - 4, -1), -1):
            if self.cursor.tokens[i].upper in CONSTRUCTS:
                return refusal(self.cursor.tokens[i], *CONSTRUCTS[self.cursor.tokens[i].upper])
        return self._lowering.refuse_unexpected(at, "the name of a table")

    def _derived_table(self, node: Glot) -> Source:
        for name in ("sample", "pivots"):
            if node.args.get(name):
                raise self._refuse_clause(name, self._lowering.token(node))
        inner = node.this
        if isinstance(inner, exp.Table | exp.Subquery) and node.args.get("alias") is None:
            self._lowering.check_arguments(node, ("this", "joins"))
            return self._with_joins(self._primary(inner), node)
        if not isinstance(inner, exp.Select | exp.SetOperation):
            raise self._refuse_source(node)
        self._lowering.check_arguments(node, ("this", "alias", "joins", "with_"))
        if node.args.get("with_") is not None:
            raise self._lowering.cannot(node)
        query = self.enclosed_query(inner)
        at = self._lowering.index_of(query.pos)
        while at and not (
            self.cursor.tokens[at].upper == "(" and self.cursor.tokens[at + 1].upper in QUERY_HEADS
        ):
            at -= 1
        token = self.cursor.tokens[at]
        alias, columns = self._alias(node)
        source = Derived(_rename_outputs(query, columns, token), alias, token.pos)
        return self._with_joins(source, node)

    def _alias(self, node: Glot) -> tuple[str, tuple[str, ...]]:
        alias = node.args.get("alias")
        if alias is None:
            return "", ()
        self._lowering.check_arguments(alias, ("this", "columns"))
        columns = tuple(self._lowering.name(x) for x in alias.args.get("columns") or ())
        return self._lowering.name(alias.this), columns

    # --- the other clauses ---

    def _clause(self, node: Glot, name: str) -> Node | None:
        clause = node.args.get(name)
        if clause is None:
            return None
        self._lowering.check_arguments(clause, ("this",))
        return self._lowering.expression(clause.this)

    def _stratify(self, clauses: Clauses, inside: bool) -> Stratify | None:
        token = clauses.strata
        if token is None:
            return None
        if inside:
            raise refusal(token, "STRATIFY BY … stands inside parentheses",
                          "write it in the outermost SELECT, which is over one table")  # fmt: skip
        for node in clauses.columns:
            if isinstance(node, exp.Alias):
                at = self._lowering.index(node.args["alias"])
                raise self._lowering.refuse_unexpected(at, CLAUSES)
        by = self._lowering.expressions(clauses.columns)
        return Stratify(by, clauses.weights, token.pos)

    def _order(self, node: Glot, count: int) -> tuple[Order, ...]:
        """Returns the terms of ORDER BY; ALL are the outputs, so many."""
        order = node.args.get("order")
        if order is None:
            return ()
        self._lowering.check_arguments(order, ("expressions",))
        terms = order.expressions
        first = terms[0]
        word = first.this.name.upper() if isinstance(first.this, exp.Var) else ""
        if len(terms) == 1 and word == "ALL":
            self._lowering.check_arguments(first, ("this", "desc", "nulls_first"))
            nulls = True if first.args.get("nulls_first") else None
            descending = bool(first.args.get("desc"))
            return tuple(Order(Literal(n), descending, nulls) for n in range(1, count + 1))
        return tuple(map(self._order_term, terms))

    def _order_term(self, term: Glot) -> Order:
        self._lowering.check_arguments(term, ("this", "desc", "nulls_first"))
        expr = self._lowering.expression(term.this)
        first = True if term.args.get("nulls_first") else None
        return Order(expr, bool(term.args.get("desc")), first)

    def _limit(self, node: Glot, name: str) -> Node | None:
        limit = node.args.get(name)
        if limit is None:
            return None
        if not isinstance(limit, exp.Limit | exp.Offset):
            raise self._refuse_clause("fetch", self.cursor.tokens[0])
        options = limit.args.get("limit_options")
        if options is not None:
            at = self._lowering.index(limit, last=True)
            ahead, signs = self.cursor.tokens[at:], ("PERCENT", "%", "WITH")
            token = next((x for x in ahead if x.upper in signs), ahead[0])
            raise refusal(token, "LIMIT by percentage is not read", "write LIMIT n")
        self._lowering.check_arguments(limit, ("expression",))
        return self._lowering.expression(limit.args["expression"])

    # --- GROUP BY ---

    def _group_by(self, group: Glot | None) -> tuple[_Keys, bool, tuple[tuple[int, ...], ...]]:
        """Returns every key once, whether ALL was written, and the positions of each set's keys;
        no sets where all keys are the one set."""
        if group is None:
            return (), False, ()
        self._lowering.check_arguments(group, ("expressions", "all"))
        if group.args.get("all"):
            return (), True, ()
        plain, sets = True, [()]  # type: tuple[bool, list[_Keys]]
        for element in group.expressions:
            alone, more = self._grouping(element)
            plain, sets = plain and alone, [(*one, *other) for one in sets for other in more]
            self._check_sets(len(sets), element)
        if plain:
            return sets[0], False, ()
        by = tuple(dict.fromkeys(key for one in sets for key in one))
        return by, False, tuple(tuple(dict.fromkeys(map(by.index, one))) for one in sets)

    def _grouping(self, node: Glot) -> tuple[bool, list[_Keys]]:
        """Returns whether an element of GROUP BY is a key as it is, and its sets."""
        name = node.this if isinstance(node, exp.Anonymous) else ""
        kind = name.removesuffix(MARK).lower() if isinstance(name, str) else ""
        if kind in ("grouping sets", "rollup", "cube") and not node.expressions:
            raise self._lowering.cannot(node)
        if kind == "grouping sets":
            sets = []
            for part in node.expressions:
                sets += self._grouping(part)[1]
                self._check_sets(len(sets), part)
            return False, sets
        if kind in ("rollup", "cube"):
            parts = [self._keys(part) for part in node.expressions]
            if kind == "rollup":
                return False, [_flat(parts[:n]) for n in range(len(parts), -1, -1)]
            self._check_sets(2 ** min(len(parts), 60), node, past=True)
            sizes = range(len(parts), -1, -1)
            return False, [_flat(some) for size in sizes for some in combinations(parts, size)]
        return not isinstance(node, exp.Tuple), [self._keys(node)]

    def _keys(self, node: Glot) -> _Keys:
        if isinstance(node, exp.Tuple):
            return self._lowering.expressions(node.expressions)
        return (self._lowering.expression(node),)

    def _check_sets(self, sets: int, node: Glot, *, past: bool = False) -> None:
        if sets > MAX_SETS:
            at = self._lowering.index(node, last=True) + (2 if past else 1)
            token = self.cursor.tokens[min(at, len(self.cursor.tokens) - 1)]
            raise refusal(token, f"GROUP BY has more than {MAX_SETS} sets of keys",
                          "ask for fewer at once: each is measured and paid for")  # fmt: skip


def _is_star(node: Glot) -> bool:
    """Returns whether an output is * or t.*."""
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )


def _flat(parts: Iterable[_Keys]) -> _Keys:
    return tuple(key for part in parts for key in part)


def _rename_outputs(query: Query, names: tuple[str, ...], token: Token) -> Query:
    """Returns the query with other names for its outputs, from the first on."""
    if isinstance(query, UnionAll):
        first = _rename_outputs(query.parts[0], names, token)
        assert isinstance(first, Select)
        return replace(query, parts=(first, *query.parts[1:]))
    if len(names) > len(query.items):
        raise refusal(token, "there are more names than columns", "name each column once")
    items = [replace(item, alias=name) for item, name in zip(query.items, names, strict=False)]
    return replace(query, items=(*items, *query.items[len(names) :]))


def _first_table(source: Source) -> str:
    """Returns the first table that is named: what messages are about."""
    while isinstance(source, Joined):
        source = source.left
    if isinstance(source, Table):
        return source.name
    return source.query.parts[0].table if isinstance(source.query, UnionAll) else source.query.table


def body_index(tokens: Sequence[Token], start: int) -> int:
    """Returns the index of the first token behind WITH name AS (…), …; 0 where there is none."""
    depth = 0
    for i, token in enumerate(tokens[start:], start):
        after = tokens[i - 1].upper == ")" and token.upper not in (",", "AS")
        if depth == 0 and i > start and after:
            return i
        depth += (token.upper == "(") - (token.upper == ")")
    return 0

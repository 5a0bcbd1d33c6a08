"""Our clauses are cut out of a query's tokens, so that sqlglot's stock parser reads the rest.

Cut: `WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]` behind SELECT, `STRATIFY BY … [WEIGHTS FROM t]`, and
`USING estimator` inside a call. What has to be found again in sqlglot's tree leaves a mark there: a
name that holds a NUL character, which no text of a user does. Marks also give a place to what has
none in sqlglot's tree (parameters, NULL, TRUE, FALSE), and keep sqlglot from reading functions as
its own: a marked function is `Anonymous`, with its name and arguments as they were written.

STRATIFY is a clause only where BY follows it; anywhere else it is a name like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.constructs import CONSTRUCTS, MISPLACED, PRICED
from sqlpriv.dialect.token_cursor import TokenCursor, check_number
from sqlpriv.dialect.tokens import Kind, Token, replacement_token
from sqlpriv.statements.keywords import RESERVED, words
from sqlpriv.statements.tree import Options

MARK = "\0"
CLAUSES = "WHERE, GROUP BY, STRATIFY BY, HAVING, ORDER BY, LIMIT or the end of the statement"
PRICE = ("WITH DIFFERENTIAL_PRIVACY stands in the wrong place",
         "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) …")  # fmt: skip
_AFTER = words("HAVING ORDER LIMIT OFFSET")
_SETS = words("UNION INTERSECT EXCEPT")
_END_OF_STRATA = _AFTER | _SETS | words("USING WHERE GROUP STRATIFY QUALIFY WINDOW )")
_CALLABLE = Dialect.get_or_raise("duckdb").parser_class.FUNC_TOKENS | {Type.ROLLUP, Type.CUBE}
_OWN_GRAMMAR = RESERVED | words(
    """CAST TRY_CAST EXTRACT SUBSTRING OVER WITHIN FILTER SETS MATERIALIZED EXCLUDE KEY VALUES
    RECURSIVE LIKE ILIKE GLOB RLIKE ISNULL XOR INSERT MERGE OFFSET WINDOW EXISTS INTERVAL STRUCT
    MAP UNNEST ROW BETWEEN"""
)
"""Words before a parenthesis that are no function, or one with words among its arguments."""
_OWN_ELSEWHERE = words(
    "RLIKE REGEXP MINUS APPLY TOP SAFE_CAST BINARY ORDINAL SAFE_OFFSET SAFE_ORDINAL"
)
"""The same in other dialects; DIV and MOD are operators there behind an operand."""
_OF_STAR = words("EXCLUDE EXCEPT REPLACE RENAME LIKE ILIKE")
"""Words that change a star before them; any other call behind `*` is a factor."""


@dataclass
class Cut:
    """A query whose clauses are taken out.

    Args:
        glots: What is left, as sqlglot's parser takes it.
        prices: The options of WITH DIFFERENTIAL_PRIVACY, by the mark in the list of outputs.
        price_places: By the same mark, the first token of the clause and the one behind its last.
        strata: STRATIFY and the tokens of its columns, or None; `weights` is the table's name.
        by: What stands behind STRATIFY BY, as sqlglot's parser takes it.
    """

    glots: list[GlotToken] = field(default_factory=list)
    prices: dict[str, Options] = field(default_factory=dict)
    price_places: dict[str, tuple[int, int]] = field(default_factory=dict)
    strata: Token | None = None
    by: list[GlotToken] = field(default_factory=list)
    weights: str = ""


def cut_clauses(c: TokenCursor, *, of_synthetic_table: bool = False) -> Cut:
    """Returns the query that begins at `c`, without our clauses.

    Args:
        c: Where the query begins; it is read to the end of the tokens.
        of_synthetic_table: The query ends before the USING of CREATE SYNTHETIC TABLE.

    Raises:
        Refused: A clause stands where it cannot.
    """
    done = Cut()
    first_places: dict[str, Token] = {}
    calls: list[int | None] = []  # open brackets: where in `glots` their function stands
    first = c.peek()
    while c.peek().kind is not Kind.END:
        token = c.peek()
        word = token.upper
        if c.at("STRATIFY", "BY"):
            _check_place(c, first, first_places, len(calls))
            _cut_strata(c, done)
            continue
        if c.at("WITH") and c.peek(1).upper in PRICED and c.peek(2).upper not in ("AS", "("):
            raise c.refuse(*PRICE)
        if of_synthetic_table and not calls and word == "USING" and c.peek(1).upper != "(":
            break
        if word == "USING" and c.peek(2).upper == ")" and calls and calls[-1] is not None:
            c.next()
            call = done.glots[calls[-1]]
            estimator = c.name("the name of an estimator").lower()
            done.glots[calls[-1]] = replacement_token(call, call.token_type, call.text + estimator)
            continue
        if c.at("CLAMPED", "BETWEEN") and calls and calls[-1] is not None:
            done.glots += _clamps(c, done.glots[calls[-1]].text)
            continue
        if not calls:
            first_places.setdefault(word, token)
        if word in ("(", "[", "{"):
            called = word == "(" and done.glots and MARK in done.glots[-1].text
            calls.append(len(done.glots) - 1 if called else None)
        elif word in (")", "]", "}") and calls:
            calls.pop()
        done.glots += _mark(c)
        if word == "SELECT":
            _cut_price(c, token, done)
    return done


def _clamps(c: TokenCursor, function: str) -> list[GlotToken]:
    """Returns `CLAMPED BETWEEN low AND high` as the argument by name that GoogleSQL has now."""
    glot = c.next().glot
    c.next()
    assert glot is not None
    by_row = any(word in function.lower() for word in ("var", "stddev", "percentile", "quantiles"))
    name = f"contribution_bounds_per_{'row' if by_row else 'group'}"
    signs = {Type.COMMA: ",", Type.VAR: name, Type.FARROW: "=>", Type.L_PAREN: "("}
    tokens = [replacement_token(glot, type_, text) for type_, text in signs.items()]
    depth = 0
    while c.peek().kind is not Kind.END:
        word = c.peek().upper
        if depth == 0 and word in (")", ","):
            break
        depth += (word == "(") - (word == ")")
        if word == "AND" and depth == 0:
            c.next()
            tokens.append(replacement_token(glot, Type.COMMA, ","))
        else:
            tokens += _mark(c)
    return [*tokens, replacement_token(glot, Type.R_PAREN, ")")]


def _check_place(c: TokenCursor, first: Token, first_places: dict[str, Token], depth: int) -> None:
    """Refuses a STRATIFY BY that stands in the wrong place."""
    if depth:
        raise c.refuse("STRATIFY BY … stands inside parentheses",
                       "write it in the outermost SELECT, which is over one table")  # fmt: skip
    if first.upper in ("FROM", "VALUES", "TABLE"):
        raise begins_with(first)
    for word in _SETS & first_places.keys():
        raise refusal(first_places[word], *CONSTRUCTS[word])
    if _AFTER & first_places.keys():
        raise c.refuse("STRATIFY BY comes before HAVING, ORDER BY and LIMIT", MISPLACED[1])
    if "FROM" not in first_places:
        raise c.refuse(*MISPLACED)


def begins_with(first: Token) -> Exception:
    """Returns the refusal of a query that does not begin with SELECT."""
    return refusal(first, f"a query that begins with {first.text} is not answered privately",
                   "begin with SELECT and the aggregates you want")  # fmt: skip


def _cut_price(c: TokenCursor, select: Token, done: Cut) -> None:
    c.accept("ALL")
    first = c.index
    if not any(c.accept("WITH", word) for word in PRICED):
        return
    options: Options = ()
    if c.accept("OPTIONS", "("):
        c.index -= 1  # `options` reads its own parenthesis
        options = c.options()
    mark = f"{MARK}price {select.start}"
    done.prices[mark], done.price_places[mark] = options, (first, c.index)
    assert select.glot is not None
    done.glots += [
        replacement_token(select.glot, Type.IDENTIFIER, mark),
        replacement_token(select.glot, Type.COMMA, ","),
    ]


def _cut_strata(c: TokenCursor, done: Cut) -> None:
    done.strata = c.peek()
    c.expect("STRATIFY", "BY")
    depth = 0
    while c.peek().kind is not Kind.END:
        word, before = c.peek().upper, c.tokens[c.index - 1].upper
        ends = word in _END_OF_STRATA or (word == "WEIGHTS" and before not in (",", "BY"))
        if depth == 0 and ends and (word != "STRATIFY" or c.at("STRATIFY", "BY")):
            break
        depth += (word in ("(", "[")) - (word in (")", "]"))
        done.by += _mark(c)
    if not done.by:
        raise c.refuse_unexpected("an expression")
    if c.at("WEIGHTS"):
        if not c.accept("WEIGHTS", "FROM"):
            raise c.refuse_unexpected(CLAUSES)
        done.weights = c.table()
    for clause in (("WHERE",), ("GROUP", "BY")):
        if c.at(*clause):
            raise c.refuse(f"{' '.join(clause)} comes before STRATIFY BY", MISPLACED[1])
    if c.at("STRATIFY", "BY"):
        raise c.refuse("STRATIFY BY is written twice", "list all strata columns in one")


def _mark(c: TokenCursor) -> list[GlotToken]:
    """Goes past one token, and returns what sqlglot's parser is to see of it."""
    before = c.tokens[c.index - 1] if c.index else c.tokens[-1]
    sets = c.at("GROUPING", "SETS", "(")
    token = c.next()
    glot, following = token.glot, c.peek()
    if glot is None:
        return []
    if sets:
        c.next()
        return [replacement_token(glot, Type.VAR, f"grouping sets{MARK}")]
    if token.upper == "," and following.upper == ")":
        raise c.refuse_unexpected("an expression")
    match token.kind:
        case Kind.PARAMETER:
            return [replacement_token(glot, Type.IDENTIFIER, f"{MARK}parameter")]
        case Kind.ESCAPE if c.dialect != "duckdb" and glot.token_type is Type.NATIONAL_STRING:
            return [replacement_token(glot, Type.STRING, glot.text)]
        case Kind.ESCAPE:
            raise refusal(token, "E'…' strings are not read", "write the text as it is, in '…'")
        case Kind.STRING if before.upper == "AS" and token.value:
            return [replacement_token(glot, Type.IDENTIFIER, token.value)]
        case Kind.STRING:
            if before.kind is Kind.STRING:
                raise refusal(token, f"expected {CLAUSES}, found {token.shown}")
            return [replacement_token(glot, Type.STRING, token.value)]
        case Kind.NUMBER:
            check_number(token, following)
        case Kind.WORD if token.upper in ("NULL", "TRUE", "FALSE"):
            if before.upper not in ("IS", "NOT"):
                return [replacement_token(glot, Type.IDENTIFIER, f"{MARK}{token.upper}")]
        case Kind.WORD | Kind.QUOTED if following.upper == "(":
            factor = before.upper == "*" and _is_operand(c.peek(-3))
            of_star = before.upper == "*" and token.upper in _OF_STAR and not factor
            special = token.upper in _OWN_GRAMMAR or before.upper in ("::", "AS") or of_star
            if c.dialect != "duckdb":
                operator = token.upper in ("DIV", "MOD") and _is_operand(before)
                special = (special and token.upper != "ISNULL") or operator
                special = special or token.upper in _OWN_ELSEWHERE
            if glot.token_type in _CALLABLE and not special:
                return [replacement_token(glot, Type.VAR, token.value + MARK)]
    return [glot]


def _is_operand(token: Token) -> bool:
    """Returns whether an operator may stand behind a token: it ends a value."""
    is_name = token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.upper not in RESERVED)
    return is_name or token.kind in (Kind.NUMBER, Kind.STRING) or token.upper in (")", "]")

"""Our clauses are cut out of a query's tokens, so that sqlglot's stock parser reads the rest.

Cut: `WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]` behind SELECT or `|> AGGREGATE`, `STRATIFY BY …
[WEIGHTS FROM t]`, and `USING estimator` inside a call. What has to be found again in sqlglot's tree
leaves a mark there: a name that holds a NUL character, which no text of a user does. Marks also
give a place to what has none in sqlglot's tree (parameters, NULL, TRUE, FALSE), and keep sqlglot
from reading functions as its own: a marked function is `Anonymous`, with its name and arguments as
they were written.

STRATIFY is a clause only where BY follows it; anywhere else it is a name like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.constructs import CONSTRUCTS, MISPLACED, PRICED
from sqlpriv.dialect.marked_tokens import CLAUSES, marked_tokens
from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token, replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words
from sqlpriv.statements.tree import Options

PRICE = (
    "WITH DIFFERENTIAL_PRIVACY stands in the wrong place",
    "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) …",
)
_AFTER = words("HAVING ORDER LIMIT OFFSET")
_SETS = words("UNION INTERSECT EXCEPT")
_END_OF_STRATA = _AFTER | _SETS | words("USING WHERE GROUP STRATIFY QUALIFY WINDOW )")


@dataclass
class Clauses:
    """Our clauses of one SELECT.

    Args:
        select: The word SELECT.
        is_priced: WITH DIFFERENTIAL_PRIVACY stands behind it, with `options`.
        strata: The word STRATIFY, or None; `weights` is the table's name.
        by: What stands behind STRATIFY BY, as sqlglot's parser takes it.
        columns: The same as it reads it.
    """

    select: Token
    is_priced: bool = False
    options: Options = ()
    strata: Token | None = None
    by: list[GlotToken] = field(default_factory=list)
    columns: list[exp.Expr] = field(default_factory=list)
    weights: str = ""

    @property
    def mark(self) -> str:
        """The name that stands for the clauses as the first output of their SELECT."""
        return f"{MARK}clauses {self.select.start}"


@dataclass
class Cut:
    """A query whose clauses are taken out.

    Args:
        glots: What is left, as sqlglot's parser takes it.
        clauses: What was taken out, by mark.
        refusal: Why the query cannot be answered as a whole; its parts may be.
    """

    glots: list[GlotToken] = field(default_factory=list)
    clauses: dict[str, Clauses] = field(default_factory=dict)
    refusal: Refused | None = None

    def refuse(self, refusal: Refused) -> None:
        """Keeps the first reason why the query cannot be answered as a whole."""
        self.refusal = self.refusal or refusal


@dataclass
class _Level:
    """A SELECT while its brackets are open.

    Args:
        called: Where in `glots` the function stands whose bracket this is; None where none does.
        clauses: Of the SELECT that is read; `behind` is the place in `glots` behind its SELECT.
        places: Its words, each at its first place.
        set_word: UNION, INTERSECT or EXCEPT before it.
    """

    called: int | None = None
    clauses: Clauses | None = None
    behind: int = 0
    places: dict[str, Token] = field(default_factory=dict)
    set_word: Token | None = None


def cut_clauses(c: TokenCursor, *, of_synthetic_table: bool = False) -> Cut:
    """Returns the query that begins at `c`, without our clauses.

    Args:
        c: Where the query begins; it is read to the end of the tokens.
        of_synthetic_table: The query ends before the USING of CREATE SYNTHETIC TABLE.

    Raises:
        Refused: A clause stands where it cannot.
    """
    cut = Cut()
    try:
        _cut_into(cut, c, of_synthetic_table)
    except Refused as refusal:
        raise cut.refusal or refusal from None
    return cut


def _cut_into(cut: Cut, c: TokenCursor, of_synthetic_table: bool) -> None:
    levels = [_Level()]
    first = c.peek()
    while c.peek().kind is not Kind.END:
        token, level = c.peek(), levels[-1]
        word, call = token.upper, level.called
        if c.at("STRATIFY", "BY"):
            _check_place(c, first, levels, cut)
            _cut_strata(c, level, cut)
            continue
        if c.at("WITH", "DIFFERENTIAL", "PRIVACY"):
            raise c.refuse("DIFFERENTIAL PRIVACY is written in one word", PRICE[1])
        if c.at("WITH", "AGGREGATION_THRESHOLD"):
            raise c.refuse(
                "a threshold alone protects nobody: differences tell of one row", PRICE[1]
            )
        if c.at("WITH") and c.peek(1).upper in PRICED and c.peek(2).upper not in ("AS", "("):
            if c.index == 0 or c.peek(-1).upper != "DISTINCT" or level.clauses is None:
                raise c.refuse(*PRICE)
            cut.refuse(c.refuse(*PRICE))
            _cut_price(c, level, cut)
            continue
        if of_synthetic_table and len(levels) == 1 and word == "USING" and c.peek(1).upper != "(":
            break
        if word == "USING" and c.peek(2).upper == ")" and call is not None:
            c.next()
            function = cut.glots[call]
            text = function.text + c.name("the name of an estimator").lower()
            cut.glots[call] = replacement_token(function, function.token_type, text)
            continue
        if c.at("CLAMPED", "BETWEEN") and call is not None:
            cut.glots += _clamps(c, cut, cut.glots[call].text)
            continue
        if word in _SETS:
            levels[-1] = level = _Level(call, set_word=level.set_word or token)
        level.places.setdefault(word, token)
        if word in ("(", "[", "{"):
            is_call = word == "(" and bool(cut.glots) and MARK in cut.glots[-1].text
            levels.append(_Level(len(cut.glots) - 1 if is_call else None))
        elif word in (")", "]", "}") and len(levels) > 1:
            levels.pop()
        cut.glots += marked_tokens(c, cut.refuse)
        if word == "DISTINCT" and level.clauses is not None and len(cut.glots) == level.behind + 1:
            level.behind += 1
        if word == "SELECT" or (word == "AGGREGATE" and c.peek(-2).upper == "|>"):
            level.clauses, level.behind = Clauses(token), len(cut.glots)
            c.accept("ALL")
            if c.at("WITH") and c.peek(1).upper in PRICED:
                _cut_price(c, level, cut)


def _clamps(c: TokenCursor, cut: Cut, function: str) -> list[GlotToken]:
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
            tokens += marked_tokens(c, cut.refuse)
    return [*tokens, replacement_token(glot, Type.R_PAREN, ")")]


def _check_place(c: TokenCursor, first: Token, levels: list[_Level], cut: Cut) -> None:
    """Refuses a STRATIFY BY that stands in the wrong place."""
    level = levels[-1]
    if len(levels) > 1:
        inside = inside_parentheses(c.peek(), "STRATIFY BY")
        cut.refuse(inside)
        if level.clauses is None:
            raise inside
        return
    if first.upper in ("FROM", "VALUES", "TABLE"):
        raise begins_with(first)
    if level.set_word is not None:
        cut.refuse(Refused.at(level.set_word, *CONSTRUCTS[level.set_word.upper]))
    if _AFTER & level.places.keys():
        raise c.refuse("STRATIFY BY comes before HAVING, ORDER BY and LIMIT", MISPLACED[1])
    if "FROM" not in level.places or level.clauses is None:
        raise c.refuse(*MISPLACED)


def inside_parentheses(token: Token, words: str) -> Refused:
    """Returns the refusal of a clause of ours in a query inside another."""
    hint = "write it in the outermost SELECT, which is over one table"
    return Refused.at(token, f"{words} … stands inside parentheses", hint)


def begins_with(first: Token) -> Refused:
    """Returns the refusal of a query that does not begin with SELECT."""
    hint, word = "begin with SELECT and the aggregates you want", first.text or "TABLE"
    return Refused.at(first, f"a query that begins with {word} is not answered privately", hint)


def _keep(level: _Level, cut: Cut) -> Clauses:
    """Returns the clauses of the SELECT that is read; their mark is put behind its word."""
    clauses = level.clauses
    assert clauses is not None
    assert clauses.select.glot is not None
    if clauses.mark not in cut.clauses:
        cut.clauses[clauses.mark] = clauses
        cut.glots[level.behind : level.behind] = [
            replacement_token(clauses.select.glot, Type.IDENTIFIER, clauses.mark),
            replacement_token(clauses.select.glot, Type.COMMA, ","),
        ]
    return clauses


def _cut_price(c: TokenCursor, level: _Level, cut: Cut) -> None:
    c.index += 2
    clauses = _keep(level, cut)
    clauses.is_priced = True
    if c.accept("OPTIONS", "("):
        c.index -= 1  # `options` reads its own parenthesis
        clauses.options = c.options()


def _cut_strata(c: TokenCursor, level: _Level, cut: Cut) -> None:
    clauses = _keep(level, cut)
    clauses.strata = c.peek()
    c.expect("STRATIFY", "BY")
    depth = 0
    while c.peek().kind is not Kind.END:
        word, before = c.peek().upper, c.tokens[c.index - 1].upper
        ends = word in _END_OF_STRATA or (word == "WEIGHTS" and before not in (",", "BY"))
        if depth == 0 and ends and (word != "STRATIFY" or c.at("STRATIFY", "BY")):
            break
        depth += (word in ("(", "[")) - (word in (")", "]"))
        clauses.by += marked_tokens(c, cut.refuse)
    if not clauses.by:
        raise c.refuse_unexpected("an expression")
    if c.at("WEIGHTS"):
        if not c.accept("WEIGHTS", "FROM"):
            raise c.refuse_unexpected(CLAUSES)
        clauses.weights = c.table()
    for clause in (("WHERE",), ("GROUP", "BY")):
        if c.at(*clause):
            raise c.refuse(f"{' '.join(clause)} comes before STRATIFY BY", MISPLACED[1])
    if c.at("STRATIFY", "BY"):
        raise c.refuse("STRATIFY BY is written twice", "list all strata columns in one")

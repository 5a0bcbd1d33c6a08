"""Pipes, `FROM t |> WHERE a |> AGGREGATE COUNT(*) GROUP BY b`, as nested SELECTs.

BigQuery and Spark read each operator over the rows that the one before it gives (Shute et al., "SQL
Has Problems. We Can Fix Them: Pipe Syntax In SQL", VLDB 2024). sqlglot has a transformation of its
own, which puts several operators into one SELECT also where SQL would then run them in another
order: it counts all rows behind `|> LIMIT 5`, and filters by a column before SELECT has computed
it. Here an operator joins the SELECT before it only where SQL runs both in the order of the pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.pipes.token_lists import (
    OPEN,
    Glots,
    comma_list,
    in_parentheses,
    outside_brackets,
    parts_between,
    read_item,
    sign,
)
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words

DIALECTS = ("bigquery", "spark", "databricks")
_SUBTOTALS = words("ROLLUP CUBE GROUPING ALL")


@dataclass(frozen=True)
class _Select:
    """The SELECT that the operators so far make.

    Args:
        at: The token in whose place new ones are put.
        source: What stands behind FROM.
        name: What columns of the source may be written with, where it is one table.
        outputs: What stands behind SELECT; empty for `*`.
        where, grouped, order, limit: What stands behind these words; empty where there is none.
    """

    at: GlotToken
    source: Glots
    name: GlotToken | None = None
    outputs: Glots = field(default_factory=list)
    where: Glots = field(default_factory=list)
    grouped: Glots = field(default_factory=list)
    order: Glots = field(default_factory=list)
    limit: Glots = field(default_factory=list)

    @property
    def is_of_rows(self) -> bool:
        """Whether it gives the source's rows, or some of them, as they are."""
        return not (self.outputs or self.grouped or self.order or self.limit)

    def tokens(self) -> Glots:
        """Returns the SELECT as tokens."""
        clauses = {
            Type.SELECT: self.outputs or [sign(self.at, Type.STAR)],
            Type.FROM: self.source,
            Type.WHERE: self.where,
            Type.GROUP_BY: self.grouped,
            Type.ORDER_BY: self.order,
            Type.LIMIT: self.limit,
        }
        written = ([sign(self.at, type_), *rest] for type_, rest in clauses.items() if rest)
        return [glot for clause in written for glot in clause]

    def as_source(self, name: GlotToken | None = None) -> _Select:
        """Returns a SELECT over what this one gives, called by `name`, or by the name before."""
        return _select_from(self.at, self.tokens(), name or self.name)

    def select_rows(self) -> _Select:
        """Returns a SELECT over the same rows that has no outputs, groups and order yet."""
        return self if self.is_of_rows else self.as_source()


def without_pipes(glots: Glots, c: TokenCursor) -> Glots:
    """Returns the tokens of a query with SELECTs in the place of its pipes.

    Args:
        glots: The query's tokens, without our clauses (see `clauses`).
        c: Its statement, for refusals.

    Raises:
        Refused: The dialect has no pipes, or an operator is none of those that are read.
    """
    pipe = next((glot for glot in glots if glot.token_type is Type.PIPE_GT), None)
    if pipe is None:
        return glots
    if c.dialect not in DIALECTS:
        hint = "SET privacy_dialect = 'bigquery' reads them; or write nested SELECTs"
        raise _refuse(c, pipe, f"{c.dialect} has no pipes", hint)
    return _unfold(glots, c)


def _unfold(glots: Sequence[GlotToken], c: TokenCursor) -> Glots:
    """Returns tokens without pipes, inside brackets, too."""
    inside: Glots = []
    for part in outside_brackets(glots):
        inside += part if len(part) == 1 else [part[0], *_unfold(part[1:-1], c), part[-1]]
    first, *operators = parts_between(inside, Type.PIPE_GT)
    if not operators:
        return inside
    at, start = 0, len(first)  # the query begins behind the queries of WITH
    for part in outside_brackets(first):
        if part[0].token_type in (Type.SELECT, Type.FROM):
            start = min(start, at)
        at += len(part)
    if start == len(first):
        pipe = next(glot for glot in inside if glot.token_type is Type.PIPE_GT)
        raise _refuse(c, pipe, "a pipe begins with FROM or SELECT", "write FROM t |> …")
    query = first[start:]
    if query[0].token_type is Type.FROM:
        select = _Select(query[0], query[1:], _only_name(query[1:]))
    else:
        select = _select_from(query[0], query, None)
    for operator in operators:
        if not operator:
            raise _refuse(c, inside[-1], "a pipe leads nowhere", "write an operator behind |>")
        select = _apply(select, operator, c)
    return [*first[:start], *select.tokens()]


def _apply(select: _Select, operator: Glots, c: TokenCursor) -> _Select:
    """Returns the SELECT that an operator makes of the one before it."""
    word = operator[0].text.partition(MARK)[0].upper().split()[0]
    if word not in _OPERATORS:
        message = f"the pipe operator {word} is not read"
        raise _refuse(c, operator[0], message, "write what it does as a nested SELECT")
    return _OPERATORS[word](select, operator, c)


def _where(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    select = select.select_rows()
    condition = in_parentheses(operator[0], operator[1:])
    also = [sign(operator[0], Type.AND)] if select.where else []
    return replace(select, where=[*select.where, *also, *condition])


def _select(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    return replace(select.select_rows(), outputs=operator[1:])


def _extend(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    star = [sign(operator[0], Type.STAR), sign(operator[0], Type.COMMA)]
    return replace(select.select_rows(), outputs=[*star, *operator[1:]])


def _set(select: _Select, operator: Glots, c: TokenCursor) -> _Select:
    columns: list[Glots] = []
    for part in parts_between(operator[1:], Type.COMMA):
        name, *value = part or operator[:1]
        if not value or value[0].token_type is not Type.EQ:
            raise _refuse(c, name, "SET gives columns values", "write |> SET age = age + 1")
        columns.append([*in_parentheses(name, value[1:]), sign(name, Type.ALIAS), name])
    return _change_star(select, operator[0], Type.REPLACE, comma_list(operator[0], columns))


def _drop(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    return _change_star(select, operator[0], Type.EXCEPT, operator[1:])


def _rename(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    return _change_star(select, operator[0], Type.RENAME, operator[1:])


def _change_star(select: _Select, at: GlotToken, change: Type, columns: Glots) -> _Select:
    changed = [sign(at, Type.STAR), sign(at, change), *in_parentheses(at, columns)]
    return replace(select.select_rows(), outputs=changed)


def _aggregate(select: _Select, operator: Glots, c: TokenCursor) -> _Select:
    """Returns the groups' keys and aggregates. `GROUP AND ORDER BY` also orders by the keys, and
    ASC or DESC behind an item orders by it."""
    starts = [i for i, glot in enumerate(operator) if glot.text.upper().split()[:1] == ["GROUP"]]
    end = starts[-1] if starts else len(operator)
    outputs = [read_item(glots) for glots in parts_between(operator[1:end], Type.COMMA) if glots]
    by_keys = operator[end + 1 : end + 2] and operator[end + 1].token_type is Type.AND
    behind = operator[end + (3 if by_keys else 1) :]
    keys = [read_item(glots) for glots in parts_between(behind, Type.COMMA) if glots]
    if not all(item.written for item in (*keys, *outputs)):
        raise _refuse(c, operator[0], "ASC and DESC stand behind an item", "write the item: a DESC")
    for key in keys:
        first = key.written[0]
        subtotals = first.text.partition(MARK)[0].upper().split()[:1]
        if first.token_type is Type.NUMBER or _SUBTOTALS.intersection(subtotals):
            hint = "write the columns; subtotals are written as SELECT … GROUP BY"
            raise _refuse(c, first, "AGGREGATE groups by expressions alone", hint)
    price = []
    if outputs and outputs[0].written[0].text.startswith(MARK):  # our clauses stand first
        price, outputs = [outputs[0].written], outputs[1:]
    order = [item.ordered for item in (*keys, *outputs) if item.order or (by_keys and item in keys)]
    at = operator[0]
    return replace(
        select.select_rows(),
        outputs=comma_list(at, [*price, *(item.output for item in (*keys, *outputs))]),
        grouped=comma_list(at, [key.written for key in keys]),
        order=comma_list(at, order),
    )


def _distinct(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    select = select.as_source() if select.order or select.limit else select
    outputs = select.outputs or [sign(operator[0], Type.STAR)]
    return replace(select, outputs=[operator[0], *outputs])


def _order(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    items = [read_item(glots) for glots in parts_between(operator[1:], Type.COMMA)]
    names_alone = all(len(item.written) == 1 for item in items)  # … are those of the outputs
    stays = not (select.order or select.limit) and (names_alone or not select.outputs)
    return replace(select if stays else select.as_source(), order=operator[1:])


def _limit(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    return replace(select.as_source() if select.limit else select, limit=operator[1:])


def _as(select: _Select, operator: Glots, c: TokenCursor) -> _Select:
    if len(operator) != 2:
        raise _refuse(c, operator[0], "AS gives the rows one name", "write |> AS t")
    return select.as_source(operator[1])


def _join(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    left = select if select.is_of_rows and not select.where else select.as_source()
    return replace(left, source=[*left.source, *operator], name=None)


def _set_operation(select: _Select, operator: Glots, _: TokenCursor) -> _Select:
    start = next((i for i, glot in enumerate(operator) if glot.token_type in OPEN), len(operator))
    at, word = operator[0], operator[:start]
    queries = [in_parentheses(at, select.tokens()), *parts_between(operator[start:], Type.COMMA)]
    joined = [[*([] if i == 0 else word), *query] for i, query in enumerate(queries)]
    return _select_from(at, [glot for part in joined for glot in part], None)


_OPERATORS: dict[str, Callable[[_Select, Glots, TokenCursor], _Select]] = {
    "WHERE": _where,
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "RENAME": _rename,
    "AGGREGATE": _aggregate,
    "DISTINCT": _distinct,
    "ORDER": _order,
    "LIMIT": _limit,
    "AS": _as,
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS"), _join),
    **dict.fromkeys(("UNION", "INTERSECT", "EXCEPT"), _set_operation),
}


def _select_from(at: GlotToken, query: Glots, name: GlotToken | None) -> _Select:
    """Returns a SELECT over a query's rows, called by a name."""
    alias = name or replacement_token(at, Type.VAR, "piped")
    source = [*in_parentheses(at, query), sign(at, Type.ALIAS), alias]
    return _Select(at, source, name)


def _only_name(source: Glots) -> GlotToken | None:
    """Returns the name of a source that is one table, maybe with an alias; else None."""
    plain = [glot for glot in source if glot.token_type is not Type.ALIAS]
    is_name = all(glot.token_type in (Type.VAR, Type.IDENTIFIER) for glot in plain)
    return plain[-1] if is_name and len(plain) in (1, 2) else None


def _refuse(c: TokenCursor, at: GlotToken, message: str, hint: str) -> Refused:
    place = next((token for token in c.tokens if token.start == at.start), c.peek())
    return Refused.at(place, message, hint)

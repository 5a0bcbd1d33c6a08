"""What writes rows, `generate_series(0, 3)` or `UNNEST([a, b])`, as VALUES in FROM.

SELECT person, unnest([home, work]) AS city FROM people
SELECT person, city FROM people LATERAL VIEW explode(array(home, work)) v AS city
SELECT person, f.value AS city FROM people, LATERAL FLATTEN(ARRAY_CONSTRUCT(home, work)) f
──► SELECT person, city FROM people CROSS JOIN (VALUES (home), (work)) AS v (city)
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from sqlpriv.dialect.common_tables import has_outputs_alone
from sqlpriv.dialect.constants import interval, moved_by_interval
from sqlpriv.dialect.marks import function_name
from sqlpriv.dialect.tokens import Token

MOST = 1_000
"""Rows that are written."""
_LAST_LEFT_OUT = ("range",)
_LISTS = ("array", "array_construct", "list_value", "array_value")
_EXPLODED = ("explode", "unnest")
_OF_MOMENTS = ("generate_series", "range")
"""Functions that make midnights of days, as DuckDB's and PostgreSQL's do."""
_SERIES = ("generate_series", "generate_array", "generate_date_array", "sequence", *_LAST_LEFT_OUT)


def write_rows(tree: exp.Expr, dialect: str, token: Token) -> None:
    """Writes such functions of literals in FROM as VALUES, in place; others stay as they are.

    Args:
        tree: The query.
        dialect: In which it is written: of PostgreSQL's and BigQuery's functions the alias is the
            column's name, too.
        token: Any of its tokens, for a refusal of an interval.
    """
    for select in list(tree.find_all(exp.Select)):
        _write_laterals(select)
        _write_listed_output(select)
    for node in list(tree.find_all(exp.Unnest, exp.Table)):
        if not isinstance(node.parent, exp.From | exp.Join):
            continue
        alias = node.args.get("alias")
        call = node.expressions[0] if isinstance(node, exp.Unnest) else node.this
        if isinstance(call, exp.Identifier) or node.args.get("offset"):
            continue
        own = exp.to_identifier(function_name(call) or "unnest")
        columns = [column.copy() for column in alias.columns] if alias else []
        name, values = (alias and alias.args.get("this")) or None, _values(call, token)
        if values is None or len(columns) > 1:
            continue
        if not columns:
            columns = [name if name and dialect in ("postgres", "bigquery") else own]
            columns = [exp.to_identifier("value")] if dialect == "tsql" else columns
        node.replace(_table_of([[value] for value in values], name or columns[0], columns))


def _write_laterals(select: exp.Select) -> None:
    """Writes LATERAL VIEW, FLATTEN and APPLY of values that are written as joins with VALUES."""
    for lateral in list(select.args.get("laterals") or ()):
        if (rows := _lateral_rows(lateral)) is not None:
            lateral.pop()
            select.append("joins", exp.Join(this=rows, kind="CROSS"))
    for join in select.args.get("joins") or ():
        lateral, side = join.this, join.side
        rows = _lateral_rows(lateral)
        if rows is None or side not in ("", "LEFT"):
            continue
        if lateral.args.get("cross_apply") is False:
            join.set("side", "LEFT")
            join.set("on", exp.true())
        elif not side and not join.args.get("on"):
            join.set("kind", "CROSS")
        join.set("this", rows)


def _lateral_rows(lateral: exp.Expr) -> exp.Values | None:
    """Returns the rows that a lateral part of FROM writes; None where it does something else."""
    source, alias = lateral.this, lateral.args.get("alias")
    inside = source.this if isinstance(source, exp.Subquery) else source
    if alias is None or not isinstance(lateral, exp.Lateral | exp.Subquery):
        return None
    if isinstance(inside, exp.Values) and isinstance(lateral, exp.Lateral):
        return exp.Values(expressions=inside.expressions, alias=alias.copy())
    name, arguments = function_name(source), source.expressions
    values = _list_values(arguments[0]) if name and len(arguments) == 1 else None
    is_unnest = has_outputs_alone(inside) and len(inside.expressions) == 1
    values = _unnested_values(inside.expressions[0].unalias()) if is_unnest else values
    if values is None or not alias.args.get("this"):
        return None
    columns = [column.copy() for column in alias.columns]
    rows = [[value] for value in values]
    if is_unnest:
        columns = columns or [exp.to_identifier(inside.expressions[0].alias or "unnest")]
    elif name == "flatten":
        columns = [exp.to_identifier("index"), exp.to_identifier("value")]
        rows = [[exp.Literal.number(at), value] for at, value in enumerate(values)]
    elif name != "explode" or len(columns) > 1:
        return None
    return _table_of(rows, alias.this, columns or [exp.to_identifier("col")])


def _table_of(
    rows: Iterable[Sequence[exp.Expr]], name: exp.Expr, columns: Sequence[exp.Expr]
) -> exp.Values:
    """Returns rows as VALUES, behind an alias with names for its columns."""
    alias = exp.TableAlias(this=name.copy(), columns=list(columns))
    return exp.Values(expressions=[exp.Tuple(expressions=list(x)) for x in rows], alias=alias)


def _write_listed_output(select: exp.Select) -> None:
    """Writes outputs `unnest([a, b])` as columns of one join with VALUES: they go side by side."""
    lists = {
        at: values
        for at, item in enumerate(select.expressions)
        if (values := _unnested_values(item.unalias())) is not None
    }
    lengths = {len(values) for values in lists.values()}
    if len(lengths) != 1 or select.args.get("from_") is None or select.args.get("group"):
        return
    names = {at: f"__listed{at}" for at in lists}
    for at, name in names.items():
        item = select.expressions[at]
        column = exp.column(name, table="__listed", quoted=True)
        title = item.alias if isinstance(item, exp.Alias) else "unnest"
        item.replace(exp.alias_(column, title, quoted=True))
    alias, *columns = (exp.to_identifier(x, quoted=True) for x in ("__listed", *names.values()))
    rows = _table_of(zip(*lists.values(), strict=True), alias, columns)
    select.append("joins", exp.Join(this=rows, kind="CROSS"))


def _unnested_values(node: exp.Expr) -> list[exp.Expr] | None:
    """Returns what `unnest([a, b])` makes rows of; None of anything else."""
    args = node.expressions if function_name(node) in _EXPLODED else [node.this]
    is_call = isinstance(node, exp.Explode) or function_name(node) in _EXPLODED
    return _list_values(args[0]) if is_call and len(args) == 1 else None


def _list_values(node: exp.Expr) -> list[exp.Expr] | None:
    """Returns the values that a list is written of; None where it is another, or none."""
    node = node.expression if isinstance(node, exp.Kwarg) else node
    if isinstance(node, exp.Array) or function_name(node) in _LISTS:
        return list(node.expressions) or None
    return None


def _values(call: exp.Expr, token: Token) -> list[exp.Expr] | None:
    """Returns what a list or a function of literals holds; None where that is not written."""
    if (values := _list_values(call)) is not None:
        return values
    ends = call.expressions if function_name(call) in _SERIES else []
    is_open = function_name(call) in _LAST_LEFT_OUT
    numbers = [number for number in map(_whole, ends) if number is not None]
    if ends and len(numbers) == len(ends):
        first, last, by = ([0, *numbers, 1] if len(numbers) == 1 else [*numbers, 1])[:3]
        series = range(first, last if is_open else last + (1 if by > 0 else -1), by or 1)
        fits = by != 0 and 0 < len(series) <= MOST
        return [exp.cast(exp.Literal.number(n), "BIGINT") for n in series] if fits else None
    days = [day for day in map(_day, ends[:2]) if day is not None]
    step = ends[2] if len(ends) == 3 else exp.Interval(this=exp.Literal.string("1 day"))
    if isinstance(step, exp.Cast) and step.to.this is exp.DType.INTERVAL:  # '1 day'::interval
        step = step.this
    if isinstance(step, exp.Literal) and step.is_string:
        step = exp.Interval(this=step)
    if len(days) < 2 or not isinstance(step, exp.Interval):
        return None
    listed = list(_days(days[0], days[1], step, token))
    listed = [day for day in listed if not is_open or day < days[1]]
    type_ = "TIMESTAMP" if function_name(call) in _OF_MOMENTS else "DATE"
    fits = 0 < len(listed) <= MOST
    return [exp.cast(exp.Literal.string(str(x)), type_) for x in listed] if fits else None


def _days(first: dt.date, last: dt.date, step: exp.Interval, token: Token) -> Iterator[dt.date]:
    size, unit = step.this, step.args.get("unit")
    span = interval(str(size.name), unit.name if unit else "", token)
    day: dt.date | dt.datetime = first
    for _ in range(MOST + 1):
        if day > last:
            return
        yield day
        moved = moved_by_interval(day, span, 1, token)
        if isinstance(moved, dt.datetime):
            if moved.time() != dt.time():
                return
            moved = moved.date()
        if moved <= day:
            return
        day = moved


def _whole(node: exp.Expr) -> int | None:
    sign, inside = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    return sign * int(inside.name) if isinstance(inside, exp.Literal) and inside.is_int else None


def _day(node: exp.Expr) -> dt.date | None:
    text = node.this if isinstance(node, exp.Cast) else node
    if not isinstance(text, exp.Literal) or not text.is_string:
        return None
    try:
        return dt.date.fromisoformat(text.name.removesuffix(" 00:00:00"))
    except ValueError:
        return None

"""What PostgreSQL calls outputs that a query does not name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken, StatementScan

_UNNAMED = "?column?"
_CALL = re.compile(r'"?([a-z_][a-z0-9_]*)"?\(')
_EXPRESSION = re.compile(r"\(.*\)|'.*'|[-+.0-9].*|CASE .*|CAST\(.*", re.DOTALL)
_ENDS = {"FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "UNION", "STRATIFY", "FETCH"}
_TYPES = {"integer": "int4", "int": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool"}
_TYPES |= {"decimal": "numeric", "real": "float4", "double": "float8", "character": "bpchar"}
_TYPES_OF_WORDS = {("DOUBLE", "PRECISION"), ("CHARACTER", "VARYING"), ("TIME", "ZONE")}
"""How types of several words end: no alias stands there."""
_ERROR = "_error"


def output_name(name: str) -> str:
    """Returns PostgreSQL's name for a column that DuckDB named by its text: a call by its function,
    another expression as `?column?`.

    >>> [output_name(x) for x in ("avg(income)", "count_star()", "(7 // 2)", "1", "income")]
    ['avg', 'count', '?column?', '?column?', 'income']
    """
    if call := _CALL.match(name):
        return "count" if call[1] == "count_star" else call[1]
    return _UNNAMED if _EXPRESSION.fullmatch(name) else name


def output_names(names: Sequence[str], scan: StatementScan) -> list[str]:
    """Returns PostgreSQL's names for the columns of an answer; `…_error` stays behind its column's.

    Args:
        names: DuckDB's.
        scan: The statement: what DuckDB ran may have been written in other words.

    >>> output_names(["sum(x)", "sum(x)_error"], StatementScan("SELECT sum(x) FROM t"))
    ['sum', 'sum_error']
    >>> output_names(["CASE WHEN …", "col1"], StatementScan("SELECT age::text, 1 AS col1 FROM t"))
    ['age', 'col1']
    """
    if scan.starts("VALUES"):
        return [f"column{at}" for at in range(1, len(names) + 1)]
    written = [output_name(name.removesuffix(_ERROR)) for name in names]
    own = [at for at, name in enumerate(names) if not name.endswith(_ERROR)]
    items = _items(scan)
    if len(items) == len(own):
        for at, item in zip(own, items, strict=True):
            if not _has_alias(item):
                written[at] = _name_of(item) or written[at]
    for at, name in enumerate(names):
        if name.endswith(_ERROR):
            is_of_column = at and names[at - 1] == name.removesuffix(_ERROR)
            written[at] = (written[at - 1] if is_of_column else written[at]) + _ERROR
    return written


def shown_columns(names: Sequence[str], scan: StatementScan) -> list[int]:
    """Returns the positions of the columns of an answer that a client gets.

    EXPLAIN PRIVACY has no column of the engine's SQL here, of which a cell fills a screen of psql.
    Sessions on a file, and Flight's clients, have it.

    >>> shown_columns(["cells", "sql"], StatementScan("EXPLAIN PRIVACY SELECT COUNT(*) FROM t"))
    [0]
    """
    is_explained = scan.starts("EXPLAIN", "PRIVACY")
    return [at for at, name in enumerate(names) if not (is_explained and name == "sql")]


def fold_names(names: Sequence[str], scan: StatementScan) -> list[str]:
    """Returns names in lower case but those that the statement has in quotes.

    >>> fold_names(["TABLE_NAME", "Kind"], StatementScan('SELECT a AS TABLE_NAME, b AS "Kind"'))
    ['table_name', 'Kind']
    """
    quoted = {token.name for token in scan.tokens if token.kind == "quoted"}
    return [name if name in quoted else name.lower() for name in names]


def source_columns(names: Sequence[str], scan: StatementScan) -> list[str]:
    """Returns the column that each output is, whatever it is called; '' for other expressions.

    >>> source_columns(["id", "n"], StatementScan("SELECT c.oid AS id, c.oid::int8 AS n FROM c"))
    ['oid', '']
    """
    items = _items(scan)
    return list(map(_source_of, items)) if len(items) == len(names) else list(names)


def _source_of(item: Sequence[SqlToken]) -> str:
    if _has_alias(item):
        item = item[: -2 if item[-2].upper == "AS" else -1]
    is_column = all((token.text == ".") if at % 2 else token.name for at, token in enumerate(item))
    return item[-1].name if is_column and item else ""


def _items(scan: StatementScan) -> list[Sequence[SqlToken]]:
    """Returns the items of the outermost SELECT's list; none where it cannot be told apart."""
    if not scan.starts("SELECT") or scan.words[1:2] in (("DISTINCT",), ("WITH",), ("ALL",)):
        return []
    items: list[list[SqlToken]] = [[]]
    depth = 0
    for token, word in zip(scan.tokens[1:], scan.words[1:], strict=True):
        is_within_group = word == "GROUP" and items[-1][-1:] and items[-1][-1].upper == "WITHIN"
        if depth == 0 and word in _ENDS and not is_within_group:
            break
        if depth == 0 and word == ",":
            items.append([])
            continue
        depth += (word in ("(", "[")) - (word in (")", "]"))
        items[-1].append(token)
    return [] if any(item and item[-1].text == "*" for item in items) else list(items)


def _has_alias(item: Sequence[SqlToken]) -> bool:
    """Tells whether an item ends with a name of its own, with or without AS."""
    if len(item) < 2 or not item[-1].name or item[-1].upper == "END":
        return False
    before = item[-2]
    if (before.upper, item[-1].upper) in _TYPES_OF_WORDS or before.upper == "OVER":
        return False
    follows_value = before.text in (")", "]") or before.kind in ("string", "number", "quoted")
    return before.upper == "AS" or follows_value or bool(before.name)


def _name_of(item: Sequence[SqlToken]) -> str:
    """Returns the name of an expression; '' where DuckDB's text tells it as well."""
    casts = [at for at, token in enumerate(item) if token.text == "::" and _is_outside(item, at)]
    if casts and all(_is_of_type(token) for token in item[casts[-1] + 1 :]):
        operand = item[: casts[0]]
        is_value = len(operand) == 1 or (operand[-1:] and operand[-1].text == ")")
        if not is_value and any(token.kind == "other" and token.text != "." for token in operand):
            return _UNNAMED
        name = _name_of(operand)
        return name if name not in ("", _UNNAMED) else _type_name(item[casts[-1] + 1 :])
    words = [token.upper for token in item]
    if words[:2] == ["CAST", "("] and "AS" in words:
        last = len(words) - 1 - words[::-1].index("AS")
        name = _name_of(item[2:last])
        return name if name not in ("", _UNNAMED) else _type_name(item[last + 1 : -1])
    if item and item[0].name and words[1:2] == ["("] and _is_one_call(item):
        return item[0].name
    if words[:1] == ["CASE"] and words[-1] == "END":
        return "case"
    if len(item) == 1 or all(token.text == "." for token in item[1::2]):
        return item[-1].name if item else ""
    is_typed_literal = len(item) == 2 and item[0].name and item[1].kind == "string"
    return _type_name(item) if is_typed_literal else ""


def _is_of_type(token: SqlToken) -> bool:
    return token.kind in ("word", "quoted", "number") or token.text in (
        "(",
        ")",
        "[",
        "]",
        ".",
        ",",
    )


def _is_one_call(item: Sequence[SqlToken]) -> bool:
    """Tells whether `f(…` is one call: WITHIN GROUP, FILTER and OVER behind it belong to it."""
    places = [at for at in range(2, len(item)) if _is_outside(item, at)]
    outside = [item[at].upper or item[at].text for at in places]
    if outside[-2:-1] == ["OVER"]:  # and the name of a window
        outside.pop()
    return set(outside) <= {"(", "WITHIN", "GROUP", "FILTER", "OVER"}


def _is_outside(item: Sequence[SqlToken], at: int) -> bool:
    depth = sum((token.text in ("(", "[")) - (token.text in (")", "]")) for token in item[:at])
    return depth == 0


def _type_name(tokens: Sequence[SqlToken]) -> str:
    """Returns a type's name in the catalog, of its last part: `pg_catalog.int4` is int4."""
    names = [token.name for token in tokens if token.name]
    if names[:1] == ["pg_catalog"]:
        names = names[1:]
    return _TYPES.get(names[0], names[0]) if names else _UNNAMED

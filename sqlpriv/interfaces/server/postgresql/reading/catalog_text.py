"""Queries over PostgreSQL's catalog, in DuckDB's words: names, casts and operators it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlpriv.interfaces.server.postgresql.reading.catalog_words import WordRewrites
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken, tokens
from sqlpriv.statements import literal

_TYPES = {
    "name": "VARCHAR",
    "char": "VARCHAR",
    "oid": "BIGINT",
    "xid": "BIGINT",
    "cstring": "VARCHAR",
    "sql_identifier": "VARCHAR",
    "cardinal_number": "INTEGER",
    "yes_or_no": "VARCHAR",
    "character_data": "VARCHAR",
    "regnamespace": "BIGINT",
    "regrole": "BIGINT",
    "regoper": "VARCHAR",
    "regoperator": "VARCHAR",
    "citext": "VARCHAR",
    "int2vector": "VARCHAR",
    "oidvector": "VARCHAR",
    "pg_node_tree": "VARCHAR",
    "bpchar": "VARCHAR",
    "numeric": "DOUBLE",  # of any number of digits; DuckDB's has three
    "decimal": "DOUBLE",
    "_text": "VARCHAR[]",
    "_oid": "BIGINT[]",
    "_name": "VARCHAR[]",
    "_int2": "SMALLINT[]",
    "_int4": "INTEGER[]",
    "_int8": "BIGINT[]",
}
_REGISTERED = {
    "regclass": "to_regclass",
    "regtype": "to_regtype",
    "regproc": "",
    "regprocedure": "",
}
VALUE_CALLS = {"current_schema", "current_database", "current_user", "session_user", "version"}
"""Functions of one value that may stand like a table: SELECT * FROM current_schema()."""
_PRINCIPALS = {"CURRENT_USER", "SESSION_USER", "CURRENT_ROLE", "USER"}
_FUNCTIONS = {
    "json_build_object": "json_object",
    "jsonb_build_object": "json_object",
    "json_build_array": "json_array",
    "jsonb_build_array": "json_array",
    "json_object_agg": "json_group_object",
    "jsonb_object_agg": "json_group_object",
    "to_jsonb": "to_json",
}
_SCHEMAS = {"information_schema": "infoschema.", "pg_catalog": "", "public": ""}


def to_duckdb(sql: str, principal: str) -> str:
    """Returns a query over the catalog as DuckDB reads it.

    >>> to_duckdb("SELECT 'people'::pg_catalog.regclass::oid, relname COLLATE pg_catalog.default"
    ...           " FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.!~) '^p'", "ada")
    "SELECT to_regclass( 'people')::BIGINT, relname FROM pg_class WHERE relname !~ '^p'"
    """
    return _text_of(list(tokens(sql)), principal)


def _text_of(left: Sequence[SqlToken], principal: str) -> str:
    words, at = list[str](), 0
    while at < len(left):
        at = _write_next(left, at, words, principal)
    return "".join(words).strip()


def _write_next(left: Sequence[SqlToken], at: int, words: list[str], principal: str) -> int:
    """Writes the words for the tokens at a place; returns the place after them."""
    token = left[at]
    following = left[at + 1].text if at + 1 < len(left) else ""
    is_apart = at > 0 and left[at - 1].start + len(left[at - 1].text) < token.start
    space = " " if is_apart else ""
    if following == "." and _is_database(left, at):
        words.append(space)
        return at + 2
    if token.name in _SCHEMAS and following == ".":
        words.append(space + _SCHEMAS[token.name])
        return at + 2
    rewrites = WordRewrites(left, at, words, space, lambda inner: _text_of(inner, principal))
    if end := rewrites.write():
        return end
    if token.upper == "OPERATOR" and following == "(":
        end = next((n for n in range(at, len(left)) if left[n].text == ")"), len(left))
        signs = [t.text for t in left[at + 2 : end] if t.kind == "other" and t.text != "."]
        words.append(f" {''.join(signs)}")
        return end + 1
    if token.upper == "COLLATE":
        return at + (4 if at + 2 < len(left) and left[at + 2].text == "." else 2)
    if token.upper == "AS" and _casts_to_object(left, at) and _name_object(left[at + 1], words):
        return at + 3
    if token.text == "::" or (token.upper == "AS" and _is_cast(left, at)):
        return _write_cast(left, at, words)
    if token.name == "unnest" and following == "(" and (end := _write_unnest(left, at, words)):
        return end
    if token.name == "generate_subscripts" and left[at - 1].upper == "FROM":
        return _write_subscripts(left, at, words)
    words_after = [t.name for t in left[at : at + 16]]
    if token.name == "pg_partition_ancestors" and "ordinality" in words_after:
        end = at + words_after.index("ordinality") - 2  # f(x) WITH ORDINALITY AS a(relid, depth)
        relation = "".join(token.text for token in left[at + 2 : end])
        words.append(f"{space}(SELECT {relation} AS relid, 1 AS depth) AS {left[end + 4].text}")
        return end + 10
    if token.name in VALUE_CALLS and at > 0 and left[at - 1].upper in ("FROM", "JOIN"):
        value = literal(principal) if token.upper in _PRINCIPALS else f"{token.name}()"
        words.append(f" (SELECT {value} AS {token.name})")
        return at + (3 if following == "(" else 1)
    if token.upper in _PRINCIPALS and following != "." and not _is_named(left, at):
        words.append(f" {literal(principal)}")
        return at + (3 if following == "(" else 1)
    if token.text.startswith("'{"):
        kind = [t.name or t.text for t in left[at + 1 : at + 5]]
        if kind == ["::", "regtype", "[", "]"]:
            words.append(space + _list_of(token.text, "to_regtype({})"))
            return at + 5
        is_any = [t.upper for t in left[max(0, at - 2) : at]] == ["ANY", "("]
        if is_any or (kind[:1] == ["::"] and kind[2:] == ["[", "]"]):
            words.append(space + _list_of(token.text))
            return at + 1
    is_alias = at > 0 and left[at - 1].upper == "AS"  # AS select FROM …
    if token.upper == "SELECT" and following.upper() == "FROM" and not is_alias:  # (SELECT FROM …)
        words.append(f"{space}SELECT 1")
        return at + 1
    if token.upper == "CURRENT_CATALOG":
        words.append(" current_database()")
        return at + 1
    words.append(space + _FUNCTIONS.get(token.name, token.text))
    return at + 1


def _write_subscripts(left: Sequence[SqlToken], at: int, words: list[str]) -> int:
    """Writes `FROM generate_subscripts(keys, 1) AS k` as a query; returns the place after it.

    Its list is a key's columns, which PostgreSQL counts from 0.
    """
    end = next((n for n in range(at, len(left)) if left[n].text == ","), len(left))
    keys = "".join(token.text for token in left[at + 2 : end])
    after = end + 3
    if after < len(left) and left[after].upper == "AS":
        after += 1
    alias = left[after].text if after < len(left) else "k"
    words.append(f" (SELECT unnest(range(len({keys}))) AS {alias})")
    return after + 1


def _write_unnest(left: Sequence[SqlToken], at: int, words: list[str]) -> int:
    """Writes `unnest(a, b) WITH ORDINALITY AS u(x, y, n)` as a query; returns the place after it.

    0 where it is of one list alone, or has no names: DuckDB reads that.
    """
    depth, close, commas = 0, at + 1, []
    for close in range(at + 1, len(left)):
        depth += (left[close].text == "(") - (left[close].text == ")")
        if depth == 1 and left[close].text == ",":
            commas.append(close)
        if depth == 0:
            break
    after = [token.upper for token in left[close + 1 : close + 4]]
    alias = close + 1 + 2 * (after[:2] == ["WITH", "ORDINALITY"])
    alias += alias < len(left) and left[alias].upper == "AS"
    if not commas or alias + 1 >= len(left) or left[alias + 1].text != "(":
        return 0
    end = next((n for n in range(alias, len(left)) if left[n].text == ")"), 0)
    names = [token.text for token in left[alias + 2 : end] if token.text != ","]
    bounds = [at + 1, *commas, close]
    lists = ["".join(t.text for t in left[a + 1 : b]) for a, b in pairwise(bounds)]
    values = [f"unnest({each})" for each in lists] + [f"unnest(range(1, len({lists[0]}) + 1))"]
    columns = [f"{value} AS {name}" for value, name in zip(values, names, strict=False)]
    words.append(f" (SELECT {', '.join(columns)}) AS {left[alias].text}")
    return end + 1


def _is_named(left: Sequence[SqlToken], at: int) -> bool:
    """Tells whether a word is a name here: `u.user`, `AS user`."""
    return at > 0 and (left[at - 1].text == "." or left[at - 1].upper == "AS")


def _list_of(text: str, call: str = "{}") -> str:
    """Returns an array's literal as DuckDB's list, each item in a call.

    >>> _list_of("'{r,v}'"), _list_of("'{int}'", "to_regtype({})")
    ("['r', 'v']", "[to_regtype('int')]")
    """
    items = [item.strip('" ') for item in text[2:-2].split(",") if item.strip()]
    return f"[{', '.join(call.format(literal(item)) for item in items)}]"


def _is_cast(left: Sequence[SqlToken], at: int) -> bool:
    """Tells whether AS stands in `CAST(x AS type)` before a type that DuckDB lacks."""
    name = left[at + 1].name if at + 1 < len(left) else ""
    return (
        (name in _REGISTERED or name in _TYPES) and at + 2 < len(left) and left[at + 2].text == ")"
    )


def _is_database(left: Sequence[SqlToken], at: int) -> bool:
    """Tells whether a name is that of a database: `shop.information_schema.columns`."""
    after = left[at + 2 : at + 4]
    is_first = at == 0 or left[at - 1].text != "."
    return is_first and len(after) == 2 and after[0].name in _SCHEMAS and after[1].text == "."


def _casts_to_object(left: Sequence[SqlToken], at: int) -> bool:
    """Tells whether AS stands in `CAST(… AS regclass)`, of a table, a type or a function."""
    after = left[at + 1 : at + 3]
    return len(after) == 2 and after[0].name in _REGISTERED and after[1].text == ")"


def _name_object(kind: SqlToken, words: list[str]) -> bool:
    """Writes a call instead of the CAST that was begun; false where there is none."""
    depth, function = 0, _REGISTERED[kind.name]
    for at in range(len(words) - 1, 0, -1):
        depth += (words[at].strip() == ")") - (words[at].strip() == "(")
        if depth < 0:
            if words[at - 1].strip().upper() != "CAST":
                return False
            words[at - 1] = f" {function}"
            words.append(")")
            return True
    return False


def _wrap_operand(words: list[str], function: str) -> None:
    """Calls a function with what was written last: a string, a name or brackets, but no call.

    >>> words = ["SELECT", " (", "a", " || b", ")"]
    >>> _wrap_operand(words, "to_regclass")
    >>> "".join(words)
    'SELECT to_regclass( (a || b))'
    """
    depth, start = 0, len(words) - 1
    for at in range(len(words) - 1, -1, -1):
        depth += (words[at].strip() == ")") - (words[at].strip() == "(")
        start = at
        if depth == 0:
            break
    while words[start].strip() != "(" and start >= 2 and words[start - 1] == ".":
        start -= 2
    is_call = words[start] == "(" and start > 0 and words[start - 1].strip() not in ("(", ",")
    if not is_call:
        words[start:] = [f" {function}({''.join(words[start:])})"]


def _write_cast(left: Sequence[SqlToken], at: int, words: list[str]) -> int:
    sign, at = left[at].text, at + 1
    while at + 1 < len(left) and left[at + 1].text == "." and left[at].name in _SCHEMAS:
        at += 2
    name = left[at].name if at < len(left) else ""
    is_list = at + 1 < len(left) and left[at + 1].text == "["
    if name in _REGISTERED and sign == "::" and not is_list:
        function = _REGISTERED[name]
        is_text = [t.name or t.text for t in left[at + 1 : at + 3]] == ["::", "text"]
        is_shown = at + 1 < len(left) and left[at + 1].upper in ("AS", "FROM")
        if function and (is_text or is_shown):
            _wrap_operand(words, f"{function[3:]}_text")
            return at + (3 if is_text else 1)
        if function and words and words[-1].lstrip().startswith(("'", ")", "$")):
            _wrap_operand(words, function)
        elif not function and words and words[-1].lstrip().startswith("'"):
            if "oid" in [t.name for t in left[at + 1 : at + 5]]:  # psql's \sf asks for a number
                _wrap_operand(words, "to_regproc")
            else:  # a column of functions holds their names
                words[-1] = words[-1].replace("'pg_catalog.", "'")
        return at + 1
    has_digits = at + 1 < len(left) and left[at + 1].text == "("  # numeric(10, 2)
    if name not in _REGISTERED and (name not in _TYPES or has_digits):
        words.append(f" {sign} " if sign == "AS" else sign)
        return at
    words.append(f" {sign} " if sign == "AS" else sign)
    words.append("VARCHAR" if name in _REGISTERED else _TYPES[name])
    return at + 1

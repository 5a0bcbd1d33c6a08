"""The types that DuckDB itself gives expressions, from the public types of their columns.

The kernel computes in few types: a TINYINT, an INTEGER and a HUGEINT are whole numbers to it. An
answer shows each value in the type that DuckDB has for what was written. DuckDB is asked for that
type: it binds the expression over columns of NULLs, in an engine without a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import duckdb

from sqlpriv.errors import Refused
from sqlpriv.kernel.sql.expressions import SQL_TYPES
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts.public_engine import public_engine
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.statements import sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import TITLES
from sqlpriv.statements.traverse import walk

KEPT_TYPES = 1_024
"""How many lists of types are kept: a statement that is asked again binds nothing."""


def engine_types(nodes: Sequence[t.Node], column_type: Callable[[t.Name], str]) -> tuple[str, ...]:
    """Returns DuckDB's name of the type of each expression; '' where it has none.

    Args:
        nodes: All with aggregates, or all without.
        column_type: Returns DuckDB's type of a column.
    """
    types = {
        part: column_type(part) for node in nodes for part in walk(node) if isinstance(part, t.Name)
    }
    places: dict[t.Node, str] = {part: f"c{place}" for place, part in enumerate(types)}
    texts = tuple(_text_in_engine(node, places) for node in nodes)
    return _bound_types(texts, tuple(types.values()))


def type_of_column(scope: Mapping[str, Shape], name: t.Name) -> str:
    """Returns DuckDB's type of a column, from the shapes of columns by lower-case name."""
    shape = scope.get(name.name.lower())
    return "INTEGER" if shape is None else shape_type(shape)


def number_type(node: t.Node, shape: Shape, scope: Mapping[str, Shape]) -> str:
    """Returns DuckDB's type of a number that a subquery computes; '' of anything else.

    Args:
        node: In normal form.
        shape: What is known of its values.
        scope: The shapes of columns by lower-case name.
    """
    if shape.type not in (Type.INTEGER, Type.REAL):
        return ""
    return engine_types([node], partial(type_of_column, scope))[0]


def common_type(shapes: Sequence[Shape]) -> str:
    """Returns DuckDB's type of a column of a UNION of numbers; '' of anything else.

    >>> common_type([Shape(Type.INTEGER, stored=x) for x in ("SMALLINT", "INTEGER")])
    'INTEGER'
    """
    if not shapes or any(s.type not in (Type.INTEGER, Type.REAL) for s in shapes):
        types = {s.stored for s in shapes}
        return types.pop() if len(types) == 1 else ""
    columns = ", ".join(f"c{place}" for place in range(len(shapes)))
    return _bound_types((f"coalesce({columns})",), tuple(map(shape_type, shapes)))[0]


def shape_type(shape: Shape) -> str:
    """Returns DuckDB's type of a column of that shape: as it is stored, where that is known."""
    return shape.stored or listed_sql_type(shape)


def listed_sql_type(shape: Shape) -> str:
    """Returns DuckDB's type for all values of a shape: its widest whole numbers and DECIMALs.

    >>> listed_sql_type(Shape(Type.INTEGER)), listed_sql_type(Shape(Type.REAL, scale=2))
    ('BIGINT', 'DECIMAL(38, 2)')
    """
    if shape.type is Type.REAL and shape.scale is not None:
        return f"DECIMAL(38, {shape.scale})"
    return SQL_TYPES[shape.type]


def text_in_engine(node: t.Node, places: Mapping[t.Node, str]) -> str:
    """Returns an expression as SQL that DuckDB types as the one that was written.

    Args:
        node: The expression.
        places: What stands for parts of it.

    Raises:
        Refused: There is no such text.
    """

    def rename(part: t.Node) -> str | None:
        if (place := places.get(part)) is not None:
            return place
        match part:
            case t.Literal(float(value), exponent=False, stored=""):
                text = repr(value)
                return text if "e" not in text else None  # a DECIMAL, as it was written
        if isinstance(part, t.FunctionCall) and part.name in TITLES:
            return TITLES[part.name].format(x=sql(part.args[0], rename))
        return None

    return sql(node, rename)


def _text_in_engine(node: t.Node, places: Mapping[t.Node, str]) -> str:
    try:
        return text_in_engine(node, places)
    except Refused:
        return ""


@lru_cache(KEPT_TYPES)
def _bound_types(texts: tuple[str, ...], column_types: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the types of SQL texts over columns c0, c1, … of these types; '' of what does not
    bind."""
    if "" in texts and len(texts) == 1:
        return ("",)
    columns = [f"CAST(NULL AS {type_}) AS c{place}" for place, type_ in enumerate(column_types)]
    rows = f" FROM (SELECT {', '.join(columns)})" if columns else ""
    try:
        relation = public_engine().cursor().sql(f"SELECT {', '.join(texts)}{rows}")
        return tuple(map(str, relation.types))
    except duckdb.Error:
        if len(texts) == 1:
            return ("",)
    return tuple(type_ for text in texts for type_ in _bound_types((text,), column_types))

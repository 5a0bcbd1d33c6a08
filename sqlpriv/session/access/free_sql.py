"""Plain SQL over what was released: free, exact, in an engine that holds nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.publish.release_file import quote_identifier as quoted
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.statements.printer import literal
from sqlpriv.system import arrow
from sqlpriv.system.interruptible_call import call_interruptibly
from sqlpriv.system.quiet_engine import read_whole

TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest"})
"""In FROM they read their arguments alone, and no table that a text of theirs names."""


def query(
    engine: duckdb.DuckDBPyConnection,
    public: Mapping[str, pa.Table],
    text: str,
    parameters: Parameters,
    running: set[duckdb.DuckDBPyConnection],
) -> pa.Table:
    """Runs plain SQL on what the engine sees, public tables beside it; nothing else can be reached.

    Args:
        engine: Sees released tables, or none; it is closed.
        public: The public tables, by name.
        text: One query.
        parameters: To be bound to it.
        running: Holds the engine while it runs, so that another thread may interrupt it.

    Raises:
        ProgrammingError: DuckDB's own message: there is nothing private in this engine.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    with engine:
        for name, rows in public.items():
            _register(engine, name, rows)
        running.add(engine)
        try:
            table = call_interruptibly(lambda: _rows(engine, text, parameters), engine.interrupt)
        except duckdb.Error as error:
            raise ProgrammingError(str(error)) from None
        finally:
            running.discard(engine)
    if table is None:
        raise ProgrammingError("this statement gives no rows")
    return table


def _rows(engine: duckdb.DuckDBPyConnection, text: str, parameters: Parameters) -> pa.Table | None:
    relation = engine.sql(text, params=parameters or None)
    if relation is None:
        return None
    rows = read_whole(relation)
    for name, type_ in zip(relation.columns, map(str, relation.types), strict=True):
        if type_ == "UHUGEINT" and any(x is not None and x < 0 for x in rows[name].to_pylist()):
            raise ProgrammingError(f'"{name}" has whole numbers above those of a HUGEINT')
    return rows


def _register(engine: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Lets an engine see rows under a name; texts with a list of labels are an ENUM of them, and
    whole numbers of 38 digits a HUGEINT.

    DuckDB gives its ENUMs to Arrow as dictionaries, and reads these as plain texts, which sort and
    compare otherwise. It gives a HUGEINT as a DECIMAL(38,0), and would compute with that.
    """
    types = {
        field.name: f"ENUM({', '.join(map(literal, column.chunk(0).dictionary.to_pylist()))})"
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if pa.types.is_dictionary(field.type) and column.num_chunks
    }
    types |= {field.name: "HUGEINT" for field in rows.schema if field.type == arrow.HUGEINT}
    if not types:
        engine.register(name, rows)
        return
    engine.register(hidden := f"__stored_{name}", rows)
    casts = [f"CAST({quoted(n)} AS {type_}) AS {quoted(n)}" for n, type_ in types.items()]
    engine.execute(
        f"CREATE TEMP VIEW {quoted(name)} AS "
        f"SELECT * REPLACE ({', '.join(casts)}) FROM {quoted(hidden)}"
    )


def columns_read(engine: duckdb.DuckDBPyConnection, text: str) -> frozenset[str] | None:
    """Returns lower-case names, those of all columns among them that a query may read; None where
    it may read more than it names.

    DuckDB parses the text. A name counts for every table, so that it means the same where columns
    that are not named are missing. More is read by a star, by a table's name as a value (a STRUCT
    of its columns), by NATURAL, PIVOT, new names for columns by place, and by functions in FROM.
    """
    try:
        parsed = engine.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    except duckdb.Error:
        return None
    tree = json.loads(parsed)
    if tree["error"]:
        return None
    names, values, tables = set[str](), set[str](), set[str]()
    for node in _nodes(tree):
        match node:
            case {"type": "STAR" | "PIVOT" | "SHOW_REF"} | {"ref_type": "NATURAL"}:
                return None
            case {"column_name_alias": [_, *_]}:
                return None
            case {"type": "TABLE_FUNCTION", "function": {"function_name": str(function)}}:
                if function not in TABLE_FUNCTIONS:
                    return None
            case {"type": "COLUMN_REF", "column_names": [*path]}:
                names |= {part.lower() for part in path}
                values |= {path[0].lower()} if len(path) == 1 else set()
        names |= {column.lower() for column in node.get("using_columns", ())}
        tables |= {
            node[k].lower() for k in ("table_name", "alias") if node.get(k) and "sample" in node
        }
    return None if values & tables else frozenset(names)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yields every node of a tree of lists and dictionaries."""
    parts: Iterable[Any] = ()
    if isinstance(tree, dict):
        yield tree
        parts = tree.values()
    elif isinstance(tree, list):
        parts = tree
    for part in parts:
        yield from _nodes(part)

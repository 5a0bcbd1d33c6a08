"""Plain SQL over what was released: free, exact, in an engine that holds nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.publish.release_file import quote_identifier as quoted
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.statements.printer import literal


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
    """
    with engine:
        for name, rows in public.items():
            _register(engine, name, rows)
        running.add(engine)
        try:
            relation = engine.sql(text, params=parameters or None)
            table: pa.Table | None = None if relation is None else relation.to_arrow_table()
        except duckdb.Error as error:
            raise ProgrammingError(str(error)) from None
        finally:
            running.discard(engine)
    if table is None:
        raise ProgrammingError("this statement gives no rows")
    return table


def _register(engine: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Lets an engine see rows under a name; texts with a list of labels are an ENUM of them.

    DuckDB gives its ENUMs to Arrow as dictionaries, and reads these as plain texts, which sort and
    compare otherwise.
    """
    labels = {
        field.name: rows.column(number).chunk(0).dictionary.to_pylist()
        for number, field in enumerate(rows.schema)
        if pa.types.is_dictionary(field.type) and rows.column(number).num_chunks
    }
    if not labels:
        engine.register(name, rows)
        return
    engine.register(hidden := f"__texts_of_{name}", rows)
    casts = []
    for column, texts in labels.items():
        listed = ", ".join(map(literal, texts))
        casts.append(f"CAST({quoted(column)} AS ENUM({listed})) AS {quoted(column)}")
    engine.execute(
        f"CREATE TEMP VIEW {quoted(name)} AS "
        f"SELECT * REPLACE ({', '.join(casts)}) FROM {quoted(hidden)}"
    )

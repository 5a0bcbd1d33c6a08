"""A result as a stream of Arrow record batches, and back.

The rows travel as they are. What else a result has travels as the batches' app_metadata: an Arrow
IPC stream that holds, for every noised output, the half-widths of the 95 % intervals of that
batch's rows, and in its schema's metadata, under `sqlpriv`, a JSON object: price, message, and rows
that are of all values of a key.
Clients that do not look for it see an ordinary stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from sqlpriv.kernel.terms.budget import KINDS
from sqlpriv.session.session import Result
from sqlpriv.system import arrow

ROWS = 10_000
"""Rows of a batch, at most."""
_KEY = b"sqlpriv"


def batches(result: Result) -> Iterator[tuple[pa.RecordBatch, bytes]]:
    """Yields the batches of a result with their metadata: one at least, if only an empty one."""
    table = pa.table({}) if result.table is None else result.table
    record_batches = table.to_batches(max_chunksize=ROWS) or [_empty(table.schema)]
    at = 0
    for batch in record_batches:
        yield batch, _metadata(result, at, batch.num_rows)
        at += batch.num_rows


def schema(result: Result) -> pa.Schema:
    """Returns the schema of the stream: no column at all where there are no rows."""
    return pa.schema([]) if result.table is None else result.table.schema


def result(columns: pa.Schema, chunks: Iterable[tuple[pa.RecordBatch | None, bytes | None]]) -> Any:
    """Returns the result that a stream holds; a Flight reader's chunks, as (data, metadata)."""
    rows, facts, widths = [], {}, dict[str, list[float | None]]()
    summed: dict[str, frozenset[int]] = {}
    for batch, metadata in chunks:
        if batch is not None:
            rows.append(batch)
        if metadata:
            with pa.ipc.open_stream(metadata) as reader:
                facts = json.loads((reader.schema.metadata or {}).get(_KEY, b"{}"))
                for column, places in facts.get("summed", {}).items():
                    summed[column] = summed.get(column, frozenset()) | frozenset(places)
                for column, values in reader.read_all().to_pydict().items():
                    widths.setdefault(column, []).extend(values)
    price = facts.get("price")
    return Result(
        pa.Table.from_batches(rows, schema=columns) if len(columns) else None,
        message=facts.get("message", ""),
        half_widths=widths,
        price=KINDS[price[0]](price[1]) if price else None,
        epsilon=facts.get("epsilon"),
        exact=facts.get("exact", False),
        summed=summed,
        changed=facts.get("changed", -1),
    )


def _metadata(result: Result, start: int, rows: int) -> bytes:
    facts = {
        "message": result.message,
        "price": result.price and [result.price.kind, result.price.nano],
        "epsilon": result.epsilon,
        "exact": result.exact,
        "summed": {
            name: [at for at in sorted(places) if start <= at < start + rows]
            for name, places in result.summed.items()
        },
        "changed": result.changed,
    }
    columns = {
        name: arrow.array(values[start : start + rows], pa.float64())
        for name, values in result.half_widths.items()
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(facts)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _empty(columns: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([arrow.array([], field.type) for field in columns], schema=columns)

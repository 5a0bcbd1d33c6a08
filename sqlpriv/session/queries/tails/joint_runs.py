"""Plain SQL run over many variants of its tables by one statement.

DuckDB plans such a statement once, and decorrelates it: seventeen variants of TPC-H's query 15 take
6 ms, where seventeen runs take 80 ms, most of which is planning. The rows of a variant have no
order then, and what fails for one variant fails for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from sqlpriv.publish.release_file import quote_identifier as quoted
from sqlpriv.system import arrow

NUMBER = "__sqlpriv_variant"
"""The column, and the table, that number the variants."""


def run_variants(
    run: Callable[[Mapping[str, pa.Table], str], pa.Table],
    variants: Sequence[Mapping[str, pa.Table]],
    text: str,
) -> list[pa.Table]:
    """Returns the rows that a query gives for each variant of some tables, in no order.

    Args:
        run: Runs a text beside tables.
        variants: Tables by name, at least one variant; a name has the same columns in all of them.
        text: The query, which reads the tables by their names.

    Raises:
        What `run` raises.
    """
    together = {
        f"{NUMBER}s_{name}": pa.concat_tables(
            variant[name].append_column(
                NUMBER, arrow.numbers(np.full(variant[name].num_rows, number))
            )
            for number, variant in enumerate(variants)
        )
        for name in variants[0]
    }
    of_one = ", ".join(
        f"{quoted(name)} AS (SELECT * EXCLUDE ({NUMBER}) FROM {quoted(stored)} AS stored"
        f" WHERE stored.{NUMBER} = {NUMBER}.number)"
        for name, stored in zip(variants[0], together, strict=True)
    )
    rows = run(
        together,
        f"SELECT {NUMBER}.number, answer.* FROM range({len(variants)}) AS {NUMBER}(number),"
        f" LATERAL (WITH {of_one} SELECT * FROM ({text}\n)) AS answer ORDER BY {NUMBER}.number",
    )
    lengths = np.bincount(rows.column(0).to_pylist(), minlength=len(variants)).tolist()
    starts = accumulate(lengths, initial=0)
    answers = rows.remove_column(0)
    return [answers.slice(start, length) for start, length in zip(starts, lengths, strict=False)]

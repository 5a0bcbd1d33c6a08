"""A gate for repetitions: the kernel's own SQL, lattice and noise, without a budget.

An experiment asks the same question hundreds of times, which no budget pays for. Everything that
makes an answer is the kernel's: `render` writes the SQL, and the object with which `Allowance`
answers a measurement draws the noise and confirms its price. Only the charge and the seal are left
out, and exact numbers of the same query are read once. It sees rows: it is for simulated or public
ones, never for a vault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import duckdb
import numpy as np

from sqlpriv.kernel.checked import parts_of, prepare_measurement
from sqlpriv.kernel.sql.cells import added_up
from sqlpriv.kernel.sql.queries import MACROS, render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement, Release


class Laboratory:
    """Answers measurements over a table that is no secret.

    Args:
        engine: DuckDB with the contract's table.
        contract: What is declared of it.
        remembered: How many exact answers are kept.
    """

    def __init__(
        self, engine: duckdb.DuckDBPyConnection, contract: TableContract, remembered: int = 64
    ) -> None:
        self.engine, self.contract, self._room = engine, contract, remembered
        self._exact: dict[a.Query, list[int]] = {}
        engine.execute(MACROS.replace("CREATE TEMP MACRO", "CREATE OR REPLACE TEMP MACRO"))

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Returns noised answers, as `Allowance.release` would."""
        scopes = (Scope(m.query.source, self.contract) for m in measurements)
        checked = [prepare_measurement(*pair) for pair in zip(measurements, scopes, strict=True)]
        missing = [q for m in measurements for q in parts_of(m.query) if q not in self._exact]
        groups: dict[object, list[a.Query]] = defaultdict(list)
        for query in dict.fromkeys(missing):
            groups[(query.source, query.strata)].append(query)
        read = {q: x for group in groups.values() for q, x in self._read(group).items()}
        found = []
        for m, waiting in zip(measurements, checked, strict=True):
            values = waiting.answer(*(self._exact.get(q) or read[q] for q in parts_of(m.query)))
            found.append(
                Release(0, m.query, values.reshape(a.shape(m.query)), waiting.sigma, m.price)
            )
        if len(self._exact) < self._room:
            self._exact |= read
        return tuple(found)

    def _read(self, queries: Sequence[a.Query]) -> dict[a.Query, list[int]]:
        asked = render(queries, self.contract, 0)
        answer = self.engine.execute(asked.sql)
        names = [column[0] for column in answer.description]
        columns = np.array(answer.fetchall(), object).reshape(-1, len(names)).T
        return added_up(asked.values, dict(zip(names, columns, strict=True)))

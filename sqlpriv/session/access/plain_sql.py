"""Plain SQL: for anybody over what is released and public, for an owner over the vault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from sqlpriv.errors import Refused, meant_among
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.publish.release_file import ReleaseStore, empty_engine
from sqlpriv.session.access import free_sql
from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.session.access.private_tables import PrivateTables
from sqlpriv.session.access.result import Result
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t
from sqlpriv.system.idle_engines import IdleEngines

KEPT_BYTES = 2**26
"""Rows of public tables that a session keeps."""
_IDLE = IdleEngines[duckdb.DuckDBPyConnection](most=2)
"""Engines without tables for the next session: to start one takes 15 ms of processor time. Rows are
registered with cursors alone, which are gone when the session is."""


@dataclass
class PlainSql:
    """Runs plain SQL for one person on one vault.

    Attributes:
        tables: The vault's tables, public ones among them.
        running: Engines that run plain SQL just now, which another thread may interrupt.
    """

    tables: PrivateTables
    running: set[duckdb.DuckDBPyConnection] = field(default_factory=set)
    _public: dict[tuple[int, str], pa.Table] = field(default_factory=dict)
    _empty: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    _released: list[duckdb.DuckDBPyConnection] = field(default_factory=list)

    @property
    def _store(self) -> ReleaseStore:
        return self.tables.store

    def close(self) -> None:
        """Lets go of what was kept."""
        while self._released:
            self._released.pop().close()
        while self._empty:
            _IDLE.keep(self._empty.pop())

    def released_names(self) -> frozenset[str]:
        """Returns the names of what was released, in lower case."""
        return frozenset(name.lower() for name in self._store.tables())

    def run_released(
        self,
        text: str,
        tables: Sequence[str],
        contracts: Mapping[str, TableContract],
        parameters: Parameters = None,
    ) -> Result:
        """Runs plain SQL where only released and public tables are: free, and exact on those."""
        named = {table.lower() for table in tables}
        public = [c.table for c in contracts.values() if c.public and c.table.lower() in named]
        if missing := named - self.released_names() - {p.lower() for p in public}:
            table = sorted(missing)[0]
            raise Refused.at(
                t.Pos(), f'there is no released or public table "{table}"', self.tables_hint(table)
            )
        rows = self.public_rows(public, contracts, text)
        return Result(self.run(rows, text, parameters))

    def run(self, rows: Mapping[str, pa.Table], text: str, parameters: Parameters) -> pa.Table:
        """Runs plain SQL on released tables and these rows."""
        if not self._store.state():  # nothing was released: an engine takes 10 ms to start
            return self.run_alone(rows, text, parameters)
        with self._released_engine() as engine:
            cursor = engine.cursor().execute("USE release")
            return free_sql.query(cursor, rows, text, parameters, self.running)

    @contextmanager
    def _released_engine(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yields an engine that sees the released tables as they are now, for one caller alone.

        It is kept, without the file: to start one takes 15 ms of processor time, and whoever opens
        the file for writing is not kept from it between two statements.
        """
        try:
            engine = self._released.pop()
        except IndexError:
            engine = self._store.connect_read_only()
        else:
            self._store.attach(engine)
        try:
            yield engine
            self._store.detach(engine)
        except BaseException:  # whatever it was, also an interrupt: its engine is not used again
            engine.close()
            raise
        self._released.append(engine)

    def run_subquery(
        self, part: t.Subquery | t.InQuery, contracts: Mapping[str, TableContract]
    ) -> pa.Table:
        """Runs a subquery over released and public tables alone; see `released`."""
        named = tables(part.query)
        if not all(name.lower() in contracts and contracts[name.lower()].public for name in named):
            rows = self.run_released(part.text, named, contracts, part.parameters).table
            return pa.table({}) if rows is None else rows
        rows = self.public_rows(named, contracts, part.text)
        return self.run_alone(rows, part.text, part.parameters)

    def run_alone(
        self, rows: Mapping[str, pa.Table], text: str, parameters: Parameters
    ) -> pa.Table:
        """Runs a query on these rows alone, in an engine that is kept."""
        return free_sql.query(self._empty_engine(), rows, text, parameters, self.running)

    def _empty_engine(self) -> duckdb.DuckDBPyConnection:
        if not self._empty:
            self._empty.append(_IDLE.take() or empty_engine())
        return self._empty[0].cursor()

    def public_rows(
        self, names: Iterable[str], contracts: Mapping[str, TableContract], text: str = ""
    ) -> dict[str, pa.Table]:
        """Returns the rows of public tables, small ones kept as long as nothing is written.

        Args:
            names: Of the tables.
            contracts: Of all tables, by lower-case name.
            text: The query that reads the rows, if columns that it names are enough.
        """
        rows_of: dict[str, pa.Table] = {}
        names = tuple(names)
        # DuckDB parses the text: 5 ms, where most tails read no public table
        read = free_sql.columns_read(self._empty_engine(), text) if text and names else None
        for name in names:
            if (contract := contracts.get(name.lower())) is None:
                raise Refused.at(
                    t.Pos(), f'there is no public table "{name}"', self.tables_hint(name)
                )
            key = (contract.snapshot, contract.table)
            rows, every = self._public.get(key), [column.name for column in contract.columns]
            wanted = [c for c in every if read is None or c.lower() in read] or every[:1]
            held = [] if rows is None else rows.column_names
            if rows is None or not {*wanted} <= {*held}:
                columns = [column for column in every if column in {*wanted, *held}]
                rows = self._read_public(contract, columns)
                if any(snapshot != contract.snapshot for snapshot, _ in self._public):
                    self._public.clear()
                self._public.pop(key, None)
                if sum(kept.nbytes for kept in (*self._public.values(), rows)) <= KEPT_BYTES:
                    self._public[key] = rows
            rows_of[contract.table] = rows
        return rows_of

    def _read_public(self, contract: TableContract, columns: Sequence[str]) -> pa.Table:
        """Returns columns of a public table. Texts of an ENUM have the labels that are there, in
        the order of the type: an Arrow dictionary, as DuckDB writes one."""
        rows = self.tables.kernel.public(contract.table, columns)
        enums = {column.name for column in contract.columns if column.sql_type == "ENUM"}
        for name in enums.intersection(columns):
            import pyarrow.compute as pc  # a tenth of a second, which most sessions need not wait

            levels = self.tables.kernel.public(contract.table, [name], once=True).column(name)
            labels = levels.drop_null().combine_chunks()
            if len(labels):
                places = pc.index_in(rows.column(name).combine_chunks(), value_set=labels)
                encoded = pa.DictionaryArray.from_arrays(places, labels)
                rows = rows.set_column(rows.column_names.index(name), name, encoded)
        return rows

    def run_exactly(self, text: str, parameters: Parameters, tables: Sequence[str] = ()) -> Result:
        """Runs plain SQL for the owner: on the vault, or on released tables if all are that.

        A view of the vault is read where a released table has its name: an analyst, who may not
        know of the view, could choose the name, and the owner would read rows of the analyst's.
        """
        assert self.tables.owner is not None
        names, released = {table.lower() for table in tables}, self.released_names()
        if names and names <= released and names.isdisjoint(self.tables.owner.view_names()):
            return self.run_released(text, tables, self.tables.contracts(), parameters)
        table = self.tables.owner.run(text, parameters)
        return Result(table, exact=table is not None)

    def tables_hint(self, wanted: str = "") -> str:
        """Says, for a hint, which tables there are, those that may be used and whose names are
        like the wanted one first."""
        released = self._store.tables()
        usable = [*(c.table for c in self.tables.contracts().values()), *released]
        listed = ", ".join(released) or "none so far"
        return f"{meant_among(wanted, usable)}SHOW PRIVACY TABLES lists them; released: {listed}"

"""Queries over the catalog, and previews of private tables: free, and without a private row."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqlpriv.interfaces.server.postgresql.catalog.catalog_facts import (
    CatalogFacts,
    catalog_facts,
    private_tables,
)
from sqlpriv.interfaces.server.postgresql.catalog.pg_catalog import CatalogDatabase
from sqlpriv.interfaces.server.postgresql.encoding.type_numbers import IS_OID
from sqlpriv.interfaces.server.postgresql.reading.catalog_text import VALUE_CALLS
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan
from sqlpriv.interfaces.server.postgresql.statements.client_settings import SETTINGS
from sqlpriv.interfaces.server.postgresql.statements.output_names import (
    fold_names,
    output_names,
    source_columns,
)
from sqlpriv.session.session import Session
from sqlpriv.session.session_like import reading_duckdb
from sqlpriv.statements import quote_name

_CATALOG_SECONDS = 10.0
"""After how long the facts that a catalog is made of are read again: another connection may have
declared something meanwhile."""
_PREVIEW_ROWS = 1_000
"""Rows of a synthetic table that previews of a private one may show."""

_OTHER_WORDS = frozenset({"SIMILAR", "TO_HEX"})
"""What means something else in DuckDB: a statement of constants with one of them is the session's,
which reads it as PostgreSQL does, or refuses it."""
_OID_COLUMN = re.compile(
    r"oid|\w*(relid|namespace|owner|objoid|classoid|objid|classid)|att(typid|collation)|inhparent"
    r"|con(indid|typid)|rel(type|am|tablespace)|typ(elem|array|basetype|collation)|usesysid"
    r"|dat(dba|tablespace)|enumtypid|rng(typid|subtype)|pro(lang|rettype)|seqtypid|member|roleid"
)
"""Names of columns that hold the numbers of the catalog's objects."""


@dataclass
class CatalogLooks:
    """The catalog that one connection sees.

    Args:
        session: Whose.
        previews: Private table in lower case → the synthetic table that previews of it show.
    """

    session: Session
    previews: Mapping[str, str]
    _catalog: CatalogDatabase | None = None
    _facts: CatalogFacts | None = None
    _private: frozenset[str] | None = None
    _read_at: float = 0.0

    def close(self) -> None:
        """Closes the catalog."""
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None

    def forget(self) -> None:
        """Has everything read anew at the next look: a statement may have changed it."""
        self._facts = self._private = None

    def is_preview(self, scan: StatementScan) -> bool:
        """Tells whether an analyst asks for the rows of a private table as they are."""
        if self.session.role == "owner" or not scan.is_listing:
            return False
        return scan.sources[0][-1].lower() in self.private_tables()

    def prepare_preview(self, scan: StatementScan) -> str:
        """Fills what is previewed with synthetic rows where the owner says so; returns the notice.

        The catalog's table is empty otherwise: no row of the vault is ever in it.
        """
        table = scan.sources[0][-1]
        synthetic = self.previews.get(table.lower(), "")
        released = {name.lower() for name in self.session.catalog().released}
        if synthetic.lower() not in released:
            return (
                f"the rows of {table} are private: none is shown, nothing was charged; ask for"
                " figures, as in SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*)"
                f" FROM {table}"
            )
        catalog = self.catalog()
        if not catalog.has_preview(table):
            sql = f"SELECT * FROM {quote_name(synthetic)} LIMIT {_PREVIEW_ROWS}"
            with reading_duckdb(self.session):
                rows = self.session.execute(sql).table
            assert rows is not None
            catalog.fill_preview(table, rows)
        return (
            f"the rows of {table} are private: these are of the synthetic table {synthetic}"
            f" ({_PREVIEW_ROWS} at most); nothing was charged"
        )

    def query(self, text: str, values: Sequence[Any], of_tables: bool = False) -> pa.Table:
        """Returns the rows of a query over the catalog; see `CatalogDatabase.query`."""
        table, scan = self.catalog().query(text, values, of_tables=of_tables), StatementScan(text)
        names = output_names(table.column_names, scan)
        if of_tables:
            return table.rename_columns(names)
        sources = source_columns(table.column_names, scan)
        named = table.rename_columns(fold_names(names, scan))
        typed = [
            field.with_metadata(IS_OID) if is_oid(source, field) else field
            for source, field in zip(sources, named.schema, strict=True)
        ]
        return named.cast(pa.schema(typed))

    def catalog(self) -> CatalogDatabase:
        """Returns the catalog; a new one where the facts that it is made of are others by now."""
        facts = self.facts()
        if self._catalog is None or not self._catalog.is_of(facts):
            fresh = CatalogDatabase(self.session, facts, SETTINGS)
            self.close()
            self._catalog = fresh
        return self._catalog

    def facts(self) -> CatalogFacts:
        """Returns what the catalog is made of, which is read in a sixth of the time."""
        self._forget_old()
        if self._facts is None:
            self._facts = catalog_facts(self.session)
        return self._facts

    def private_tables(self) -> frozenset[str]:
        """Returns the names of the private tables, in lower case."""
        self._forget_old()
        if self._private is None:
            self._private = private_tables(self.session)
        return self._private

    def _forget_old(self) -> None:
        if (now := time.monotonic()) - self._read_at > _CATALOG_SECONDS:
            self.forget()
            self._read_at = now


def is_oid(source: str, field: pa.Field) -> bool:
    """Tells whether an output is a column of objects' numbers, which are no bigint in PostgreSQL:
    node-postgres makes texts of those, and drivers that decode by type take nothing else."""
    return field.type == pa.int64() and _OID_COLUMN.fullmatch(source) is not None


def is_of_catalog(scan: StatementScan) -> bool:
    """Tells whether a query is of the catalog: of its tables, or of none at all."""
    if not scan.words or scan.words[0] not in ("SELECT", "WITH", "VALUES", "("):
        return False
    if "DIFFERENTIAL_PRIVACY" in scan.words:
        return False
    sources = [name for name in scan.sources if name[-1] not in VALUE_CALLS]
    if not scan.sources and _OTHER_WORDS & set(scan.words):
        return False
    return not sources or any(_is_catalog_name(name) for name in sources)


def _is_catalog_name(name: Sequence[str]) -> bool:
    schema, table = ("", *name)[-2:]
    return schema in ("pg_catalog", "information_schema") or (
        schema in ("", "public") and table.startswith("pg_")
    )

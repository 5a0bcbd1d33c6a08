"""A vault and its ledger: what is public of them, and the rows of public tables."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sqlpriv.errors import OperationalError, Refused
from sqlpriv.kernel.engine import fingerprint
from sqlpriv.kernel.ledger.records import Booking, Ledger, Sealed, Snapshot
from sqlpriv.kernel.proof.charged_units import charged_units
from sqlpriv.kernel.reader import Catalog, Reader, known_of
from sqlpriv.kernel.sql.queries import verifying
from sqlpriv.kernel.sql.relations import partner_count
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract, contracts_in_force
from sqlpriv.kernel.terms.release import Release

Serving = Callable[[a.Relation, TableContract, str, Price], int]


class Kernel:
    """A vault, which is opened for each statement, and the ledger beside it. Threads may share it.

    Attributes:
        serving: Returns, for a query over a relation, by its name and price, the snapshot whose
            answers serve it: the contract's own, unless a session knows of an earlier one.
    """

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.serving: Serving = lambda _, contract, *__: contract.snapshot
        self.ledger = Ledger(vault.with_suffix(".ledger"))
        self.close = self.ledger.close
        self._bound: tuple[object, dict[str, TableContract]] = (None, {})

    def fingerprint(self) -> str:
        """Returns a name of what the vault holds, '' where there is none: `engine.fingerprint`."""
        return fingerprint(self.vault) if self.vault.exists() else ""

    def contracts(self) -> dict[str, TableContract]:
        """Returns the contract of every table, by lower-case name. Reads no row."""
        contents = self.fingerprint()
        if catalog := known_of(contents).get("catalog"):
            return self.bind_contracts(contents, catalog)[0]
        with Reader(self.vault) as reader:
            return self.bind_contracts(reader.fingerprint, reader.catalog())[0]

    def bind_contracts(
        self, contents: str, catalog: Catalog
    ) -> tuple[dict[str, TableContract], Snapshot]:
        """Returns the contracts and the snapshot of these contents and the declarations in force.

        Claim: the ledger is asked each time. The contracts that were made last are returned only if
        contents, declarations and snapshot are the same; the catalog follows from the contents.
        """
        last, declared = self.ledger.declarations()
        snapshot = self.ledger.snapshot(f"{contents}:{last}")
        made_of, bound = (contents, last, declared, snapshot), self._bound
        if bound[0] != made_of:
            bound = self._bound = (
                made_of,
                contracts_in_force(catalog, declared, snapshot.facts or {}, snapshot.id),
            )
        return bound[1], snapshot

    def verify(self) -> None:
        """Records, for every table with a unit, which bounds this snapshot satisfies.

        This is for owners: it reads private rows without a charge. Its result decides only whether
        bounding passes are run (`queries.bounding`). A verifying query is run once for the same
        contents, so a declaration reads only the rows of the tables that it is about. Where a
        table's files are missing or differ, nothing is verified, and a pass enforces every bound.
        """
        with Reader(self.vault) as reader:
            try:
                reader.check_files()
            except OperationalError:
                return
            contracts, snapshot = self.bind_contracts(reader.fingerprint, reader.catalog())
            facts = {t: self._facts(reader, c) for t, c in contracts.items() if c.unit}
            if facts != (snapshot.facts or {}):
                self.ledger.record_facts(snapshot.id, facts)

    def _facts(self, reader: Reader, contract: TableContract) -> dict[str, Any]:
        named = contract.unit.columns if contract.unit and not contract.via else ()
        if contract.unique.intersection(named):  # the constraint says it: no unit has two rows
            return {"bounded": True, "constant": sorted(c.name.lower() for c in contract.columns)}
        bounded, *steady = reader.fact(verifying(contract), contract.engine)
        constant = {
            column.name.lower()
            for column, same in zip(contract.columns, steady, strict=True)
            if same and column.domain is not None
        }
        return {"bounded": bool(bounded), "constant": sorted(constant.union(named))}

    def hold(self) -> AbstractContextManager[object]:
        """Has nobody write the vault meanwhile; raises VaultBusy where somebody does."""
        return Reader(self.vault)

    def most_partners(
        self, contract: TableContract, relation: a.Relation, columns: tuple[str, ...]
    ) -> int:
        """Returns how many rows of a public relation a row can meet: see `unit_rows.Partners`.

        Claim: its tables are public in the state that is read, whatever they were when the contract
        was; Refused, or KernelError, otherwise.
        """
        with Reader(self.vault) as reader:
            contracts, _ = self.bind_contracts(reader.fingerprint, reader.catalog())
            if (current := contracts.get(contract.table.lower())) is None:
                raise Refused(f'there is no table "{contract.table}" any more; ask again')
            counted = partner_count(relation, columns, current)
            return int(reader.fact(counted, current.engine)[0])

    def find_seals(
        self, source: a.Relation, contract: TableContract, named: str, price: Price
    ) -> list[Sealed]:
        """Returns what a query over a relation is replayed from, dearest first.

        Claim: a replay is post-processing, whatever `serving` returns. Each of these answers was
        released under this name, at this price or a higher one. Which of them are returned follows
        from names, prices and the number of a snapshot; no row is read. A wrong `serving` makes an
        answer stale, or sells it a second time.
        """
        return self.ledger.find_seals(self.serving(source, contract, named, price), named, price)

    def public(self, table: str, columns: Sequence[str] = (), once: bool = False) -> pa.Table:
        """Returns the rows of a table that was declared public, exactly; all columns, or some. See
        `Reader.rows`."""
        with Reader(self.vault) as reader:
            contract = self.bind_contracts(reader.fingerprint, reader.catalog())[0].get(
                table.lower()
            )
            if contract is None or not contract.public:
                raise Refused(f'the table "{table}" is not public')
            return reader.rows(contract, columns, once)


def release_of(seal: Sealed, query: a.Asked, *, replayed: bool) -> Release:
    """Returns a sealed answer as it leaves the kernel: `values` are of `algebra.shape(query)`."""
    return Release(
        id=seal.id,
        query=query,
        values=np.frombuffer(seal.payload, "<f8").reshape(a.shape(query)),
        sigma=seal.sigma,
        price=seal.price,
        replayed=replayed,
    )


def booking(sources: Iterable[a.Relation], contract: TableContract) -> Booking:
    """Returns which units a charge for rows of these relations concerns, and in which snapshot."""
    return Booking(contract.snapshot, charged_units(sources, contract))

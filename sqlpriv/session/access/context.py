"""What a session holds: the vault, its ledger, what was released, and who asks."""

from __future__ import annotations

from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.kernel.vault import Kernel
from sqlpriv.publish.release_file import ReleaseStore
from sqlpriv.session.access.closed_rows import ClosedRows
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.access.plain_sql import PlainSql
from sqlpriv.session.access.private_tables import PrivateTables
from sqlpriv.session.intents.intents import Intents
from sqlpriv.statements import tree as t

DRAWN_BY = " More rows of its model by "
"""Stands, in the comment of a table that was drawn from a model, before who drew it."""


class Access:
    """One person's way to one vault.

    Attributes:
        kernel: The gate, and the ledger.
        store: The released tables.
        owner: The vault, open for plain SQL, if it is an owner who asks; else None.
        principal: Who asks, for the ledger.
        settings: What was SET.
        dialect: The SQL dialect that statements are read in.
        closed: Which earlier answers serve questions about closed rows.
        tables: What is declared, who pays, and what is left.
        intents: What sessions on this ledger are about to buy.
        sql: Plain SQL over what is released and public, and an owner's over the vault.
    """

    def __init__(
        self, kernel: Kernel, store: ReleaseStore, owner: OwnerEngine | None, principal: str
    ) -> None:
        self.kernel, self.store, self.owner, self.principal = kernel, store, owner, principal
        self.settings: dict[str, float] = {}
        self.dialect = "duckdb"
        self.closed = ClosedRows(kernel.ledger)
        kernel.serving = self.closed.serving
        self.intents = Intents(kernel.ledger, kernel.vault.with_suffix(".ledger"))
        self.tables = PrivateTables(kernel, store, owner, principal)
        self.sql = PlainSql(self.tables)

    def close(self) -> None:
        """Lets go of the ledger and of what was kept."""
        self.kernel.close()
        self.sql.close()

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when it was made
        and of which table. A principal who may not use all tables does not see the statement that
        made it.
        """
        comments = self.store.comments()
        if not self.tables.hides_tables():
            return comments
        return {table: text.partition(" Statement: ")[0] for table, text in comments.items()}

    def check_new_name(self, table: str, kind: str, or_replace: bool, pos: t.Pos) -> None:
        """Refuses a name for a table that is to be released: that of a table of the vault, or of a
        released one unless that is to be replaced; and to an analyst that of a table which somebody
        else made, since only owners drop tables.

        Args:
            table: The name.
            kind: Of what the statement creates: TABLE or SCHEMA.
            or_replace: The statement says OR REPLACE.
            pos: Where the statement says so.

        Raises:
            Refused: The name is taken.
            PermissionDenied: It is that of somebody else's table.
        """
        self.tables.check_name(table, pos)
        comments = {name.lower(): text for name, text in self.store.comments().items()}
        if (comment := comments.get(table.lower())) is None:
            return
        if not or_replace:
            hint = f"CREATE OR REPLACE SYNTHETIC {kind} …"
            raise Refused.at(pos, f'there is a table "{table}" already', hint)
        _, drawn_by, drawer = comment.rpartition(DRAWN_BY)
        is_mine = (
            drawer.startswith(f"{self.principal}: ")
            if drawn_by
            else f" by {self.principal}. Statement: " in comment
        )
        if not is_mine:
            self.needs_owner("replace a synthetic table that somebody else made", pos)

    def needs_owner(self, doing: str, pos: t.Pos) -> None:
        """Raises PermissionDenied unless it is an owner who asks."""
        if self.owner is None:
            hint = 'connect with role="owner" (sqlpriv shell VAULT --role owner)'
            raise PermissionDenied.at(pos, f"only an owner can {doing}", hint)

"""The rows of a relation, of which at most so many are kept of each unit wherever a join or a union
could multiply them.

Claim: at each input of a join and of a union at most `unit_rows.Reach.rows` rows of a unit are
kept. Which of them are kept depends only on that unit's rows, on the columns that are read and on
the snapshot's key (`rank_order`). Where the snapshot was verified to satisfy the declared bound,
bounding would change no row and is left out. Statements with strata rank by all columns, whichever
they read, because charges to strata rest on this: a unit's rows lie in the same strata in all
statements.

Claim: so no unit has more than `Reach.rows` rows in a join or union, whatever the tables hold.
Where that is no more than the bound of the query keeps, bounding the result once more would change
no row, and is left out. The rows of a public table that meet a unit's row are not counted here,
unless the equated column is UNIQUE in the public table.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from sqlpriv.kernel.sql.expressions import ROW
from sqlpriv.kernel.sql.relation_rows import LINK, UNIT, RelationRows, has_collation
from sqlpriv.kernel.terms.contract import Type


class BoundedRows(RelationRows):
    """Writes the rows of a relation as an input of others."""

    def as_select(self) -> str:
        """Returns the whole relation, bounded, as a SELECT."""
        return self.bound_rows().select(self.exports())

    def never_empty(self) -> str:
        """Returns the relation as `as_select` does, and with it one row of NULLs, of no unit."""
        return f"{self.as_select()} UNION ALL SELECT NULL{', NULL' * len(self.exports())}"

    def bound_rows(self) -> "BoundedRows":
        """Bounds a unit's rows where joins and unions could multiply them; returns this scope.

        Rows are ranked by the stored columns that are read or are UNIQUE; derived columns are
        functions of stored ones. `queries.bounding` says which units' rows are ranked. Where nobody
        reads the units, the link of a row of one table stands for its unit; any other row, such as
        a group inside a unit, has no link, and keeps its unit.
        """
        spared = self.hops > 0 and self.lists is not None and not self.keep_units
        if not self.owner or self.reach.limited or (self.facts.bounded and not spared):
            return self
        self.columns = {n: column for n, column in self.columns.items() if self._is_read(n)}
        names = {n: self.dialect.identifier(column.name) for n, column in self.columns.items()}
        texts = {
            n: self.dialect.form("bytes", names[n])
            for n, column in self.columns.items()
            if column.type is Type.TEXT and has_collation(self.contract)
        }
        (hashed, order), most = (
            self.rank_order([UNIT, *(names | texts).values()]),
            self.reach.rows,
        )
        columns = {names[n]: self.texts[n] for n in names} | (
            {} if self.keep_units else {LINK: self.link or self.owner}
        )
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        beyond, within, listed = self.halves(UNIT, columns, most, self.keep_units)
        kept = self.dialect.form(
            "ranked" if listed else "kept",
            beyond or f"SELECT {self.owner} AS {UNIT}{named}{self.source()}",
            ", NULL" * len(columns),
            UNIT,
            listed or "sqlpriv_all",
            f"count(*) > {most}",
            f"row_number() OVER (PARTITION BY {UNIT} ORDER BY {order}) <= {most}",
            hashed,
            most,
        )
        self.base = f"({kept}{within}) AS {ROW}"
        self.owner = f"{ROW}.{UNIT if self.keep_units else LINK}"
        self.texts = {n: f"{ROW}.{text}" for n, text in names.items()}
        self.reach, self.predicates, self.layers = self.reach._replace(limited=True), [], {}
        return self

    def halves(
        self, unit: str, columns: Mapping[str, str], most: int, keep_units: bool = True
    ) -> tuple[str, str, str]:
        """Returns the rows of one table as two SELECTs of units and columns: first the rows of
        units that have more than `most` rows in the table, then, behind UNION ALL, the rows of all
        other units; and the name of the list of the former. Returns empty texts where no list of
        such units is kept: for a join, and for a bound that is not the declared one.

        Args:
            unit: The name of the column of units.
            columns: Texts of a row's other columns, by quoted name.
            most: Rows that are kept of a unit.
            keep_units: Whether anybody reads the units of the rows that are kept. If nobody does,
                NULL stands for them, and the tables that a link leads through are not read.

        Claim: a unit with at most `most` rows in the whole table loses none of them, whatever
        filter a statement has. So the units that can exceed the bound follow from the table and its
        declared bound alone. The list is made once for a state of the vault: it holds the links to
        units with more rows (or the units' names, where rows hold these), and each link that leads
        to no unit. A row with any other link belongs to a unit within the bound, so it is kept
        without asking for its unit. Rows with a listed link are bounded as they were without the
        list, so the same rows of each unit are kept.

        Claim: rows with a listed link are not counted, since nearly all of their units exceed the
        bound; they are ranked (form `ranked`). Of a unit that is far beyond (more than eight times
        the bound in the whole table) only rows of small hashes are ranked: those below the least
        of a few fixed numbers below which at least `most` of its rows lie, or all of its rows. A
        row that is left out then has at least `most` rows of its unit before it in the order, whose
        first column is the hash. So the rows that are kept are those that ranking all would keep,
        and they depend on the unit's own rows. Why it is done: of 2,000,000 rows of 4,000 units the
        window sorted all, which took four times as long.

        Claim: the list always holds a link of NULL, which leads to no unit, and so do the tables
        that it is made of. So the first unit beyond its bound neither sets up a hash table nor
        saves or adds a scan. For the same reason the test whether a row has a unit also reads the
        row's link: the optimizer then leaves the test above the join.
        """
        declared, rows = self.scanned.unit or self.unit, self.table(self.scanned, ROW)
        m, g = declared.rows_per_unit, declared.groups_per_unit
        if self.lists is None or not self.of_one_table or most not in (m, m * g):
            return "", "", ""
        select = self.dialect.form("links", self.link, self.owner, self.outer, most)
        texts = rows, f'memory.sqlpriv."{sha256(select.encode()).hexdigest()}"', self.link
        self.lists[texts[1]] = select
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        tests = "".join(f" AND {self.value(p)}" for p in self.predicates)
        # The list is joined innermost, so that `_once`, above it, computes for these rows alone.
        above, _, met = self.base.rpartition(rows)
        within = f"{above}({self.dialect.form('within', *texts)}) AS {ROW}{met}"
        beyond = f"{above}({self.dialect.form('beyond', *texts)}) AS {ROW}{met}"
        far, is_far = self.owner, f"{self.owner} IS NOT NULL"
        if self.link != self.owner:
            beyond, far = self.dialect.form("linked beyond", *texts), "sqlpriv_far.unit"
            is_far = f"CASE WHEN {self.link} IS NOT NULL THEN {far} IS NOT NULL END"
            within = within if keep_units else within.removesuffix(met)
        return (
            f"SELECT {far} AS {unit}{named} FROM {beyond} WHERE {is_far}{tests}",
            f" UNION ALL SELECT {self.owner if keep_units else 'NULL'} AS {unit}{named}"
            f" FROM {within} WHERE {self.link} IS NOT NULL{tests}",
            texts[1],
        )

    def rank_order(self, columns: Sequence[str]) -> tuple[str, str]:
        """Returns the hash by which a unit's rows, or strata, are kept, and the order in which they
        are, of which the hash is the first: see `queries.bounding`.

        DuckDB combines the hashes of several columns by XOR. Ranks by such a hash would be uneven,
        so the joint hash is hashed once more.

        Args:
            columns: The unit first, then all columns that tell its rows, or strata, apart.
        """
        hashed = self.dialect.form("hash", self.hash_key, ", ".join(columns))
        return hashed, ", ".join(
            self.dialect.form("ascending", text) for text in (hashed, *columns[1:])
        )

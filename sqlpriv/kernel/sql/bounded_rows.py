"""The rows of a relation with so many of each unit at most, where joins and unions multiply them.

Claim: at each input of a join and of a union at most `unit_rows.Reach.rows` rows of a unit are
kept, which of them depending on that unit's rows, the columns that are read and the snapshot's key
alone (`rank_order`). Where the snapshot was found to satisfy the declared bound, this changes no
row and is left out. Statements with strata rank by all columns, whichever they read: what is
charged to strata rests on a unit's rows being in the same ones in all of them.

Claim: so no unit has more than `Reach.rows` rows in a join or union, whatever the tables hold.
Where that is no more than the bound of the query keeps, bounding the result would change no row:
the relation is bounded as it is written. Rows that one unit has of a public table are not counted
here, unless the equated column is unique there.
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
        """Returns the relation as `as_select` and one row of NULLs, which has no unit."""
        return f"{self.as_select()} UNION ALL SELECT NULL{', NULL' * len(self.exports())}"

    def bound_rows(self) -> "BoundedRows":
        """Bounds a unit's rows where joins and unions could multiply them; returns this scope.

        Rows are ranked by the stored columns that are read, or UNIQUE: derived columns are
        functions of these. See `queries.bounding` for whose rows are ranked.
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
        order, most = self.rank_order([UNIT, *(names | texts).values()]), self.reach.rows
        columns = {names[n]: self.texts[n] for n in names} | (
            {} if self.keep_units else {LINK: self.link}
        )
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        beyond, within = self.halves(UNIT, columns, most, self.keep_units)
        kept = self.dialect.form(
            "kept",
            beyond or f"SELECT {self.owner} AS {UNIT}{named}{self.source()}",
            ", NULL" * len(columns),
            UNIT,
            "sqlpriv_all",
            f"count(*) > {most}",
            f"row_number() OVER (PARTITION BY {UNIT} ORDER BY {order}) <= {most}",
        )
        self.base = f"({kept}{within}) AS {ROW}"
        self.owner = f"{ROW}.{UNIT if self.keep_units else LINK}"
        self.texts = {n: f"{ROW}.{text}" for n, text in names.items()}
        self.reach, self.predicates, self.layers = self.reach._replace(limited=True), [], {}
        return self

    def halves(
        self, unit: str, columns: Mapping[str, str], most: int, keep_units: bool = True
    ) -> tuple[str, str]:
        """Returns rows of one table as two SELECTs of their units and columns: rows of units that
        have more than `most` in the table, and, behind UNION ALL, those of all others. Two empty
        texts where there are no such lists: for joins, or a bound that is not the declared one.

        Args:
            unit: The name of the column of units.
            columns: Texts of a row's other columns, by quoted name.
            most: Rows that are kept of a unit.
            keep_units: Whether the units of rows that are kept are read again: else NULL stands for
                them, and the tables that a link leads through are not read.

        Claim: which units can be beyond follows from the table and its declared bound, whatever a
        statement asks: of a unit with no more rows in all, bounding leaves out none of those that
        pass a filter. So the links to units beyond (their names, where rows have these) are listed
        once for a state of the vault, and with them each link that leads to no unit. A row of any
        other link has a unit with no more than `most` rows: it is kept, and nobody asks whose it
        is. Rows of the links listed are bounded as ever, so the same rows are kept of each unit.

        Claim: the list has a link of NULL, which leads to no unit, as the tables that it is made of
        do. So the first unit beyond sets up no table and spares, or costs, no scan. For the same
        reason the test of a row's unit reads the row's link, too: it stays above the join.
        """
        declared, rows = self.scanned.unit or self.unit, self.table(self.scanned, ROW)
        m, g = declared.rows_per_unit, declared.groups_per_unit
        if self.lists is None or not self.of_one_table or most not in (m, m * g):
            return "", ""
        select = self.dialect.form("links", self.link, self.owner, self.outer, most)
        texts = rows, f'memory.sqlpriv."{sha256(select.encode()).hexdigest()}"', self.link
        self.lists[texts[1]] = select
        named = "".join(f", {text} AS {column}" for column, text in columns.items())
        tests = "".join(f" AND {self.value(p)}" for p in self.predicates)
        # innermost, so that what `_once` computes, above it, is computed of these rows alone
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
        )

    def rank_order(self, columns: Sequence[str]) -> str:
        """Returns the order in which a unit's rows, or strata, are kept: see `queries.bounding`.

        DuckDB joins the hashes of several columns by XOR, which alone would rank by a fixed tree,
        unevenly: so the joint hash is hashed once more.

        Args:
            columns: The unit first, then all that tells its rows, or strata, apart.
        """
        hashed = self.dialect.form("hash", self.hash_key, ", ".join(columns))
        return ", ".join(self.dialect.form("ascending", text) for text in (hashed, *columns[1:]))

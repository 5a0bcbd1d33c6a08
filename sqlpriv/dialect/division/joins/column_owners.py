"""Which part of FROM a column, and a condition, is of, as far as names tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlpriv.dialect.common_tables import (
    alias_of,
    bare_name,
    is_stored_table,
    query_in_from,
    sources_of,
)
from sqlpriv.dialect.division.terms.named_terms import column_names, conjuncts_of, output_name
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import marked_name


def other_sources(select: exp.Select, join: exp.Join) -> list[exp.Expr]:
    """Returns the parts of a query's FROM besides what is joined by one of its joins."""
    return [source for source in sources_of(select) if source is not join.this]


def column_name(output: exp.Expr) -> str:
    """Returns the lower-case name of the column that an output is."""
    return output_name(output).lower()


def lower_names(source: exp.Expr, tables: StoredTables) -> set[str] | None:
    """Returns the lower-case names of a part's columns; None where they cannot be told."""
    names = column_names(source, tables)
    return None if names is None else {*map(str.lower, names)}


def identifier_names(identifiers: Iterable[exp.Expr]) -> list[str]:
    """Returns the lower-case names of columns behind an alias."""
    return [name.name.lower() for name in identifiers]


def others_names(select: exp.Select, join: exp.Join, tables: StoredTables) -> set[str] | None:
    """Returns the lower-case names of the columns of FROM, but what is joined by one of its joins;
    None where they cannot be told."""
    names = [lower_names(source, tables) for source in other_sources(select, join)]
    return None if None in names else {name for of_one in names for name in of_one or ()}


def names_unit(column: exp.Column, select: exp.Select, tables: StoredTables) -> bool:
    """Returns whether a column of a query's FROM names units, by what stored tables declare; of a
    subquery there, what it is inside counts."""
    name = column.name.lower()
    for source in sources_of(select):
        if column.table and alias_of(source) != column.table.lower():
            continue
        if is_stored_table(source) and name in tables.row_names(bare_name(source))[1]:
            return True
        if (query := query_in_from(source)) is None:
            continue
        for item in query.expressions:
            inner = exp.column(name) if item.is_star else item.unalias()
            is_it = item.is_star or column_name(item) == name
            if is_it and isinstance(inner, exp.Column) and names_unit(inner, query, tables):
                return True
    return False


def columns_in(node: exp.Expr) -> list[exp.Column]:
    """Returns the columns in an expression, constants and parameters left out."""
    return [column for column in node.find_all(exp.Column) if not marked_name(column)]


def using_columns(
    select: exp.Select, join: exp.Join, tables: StoredTables
) -> list[tuple[exp.Column, exp.Column]]:
    """Returns the columns that USING equates: `(joined.k, other.k)` of `USING (k)`.

    Raises:
        NotDivisible: None or several of the other parts of FROM have such a column.
    """
    pairs = []
    others = other_sources(select, join)
    for name in join.args.get("using") or ():
        (key,) = identifier_names([name])
        holders = [source for source in others if key in (lower_names(source, tables) or ())]
        if len(holders) != 1:
            raise NotDivisible("USING of several tables")
        joined, other = (
            exp.column(name.name, table=alias_of(source), quoted=True)
            for source in (join.this, holders[0])
        )
        pairs.append((joined, other))
    return pairs


@dataclass(frozen=True)
class SidesOfJoin:
    """Whose columns are those of a query with one private source, which is joined last.

    Args:
        alias: The private source's, in lower case.
        names: The lower-case names of the private source's columns.
        spine: The same names by alias for the other sources; None where they cannot be told.
    """

    alias: str
    names: Collection[str]
    spine: Mapping[str, Collection[str] | None]

    def is_private(self, node: exp.Expr) -> bool:
        """Returns whether an expression has columns, all of the private source."""
        columns = columns_in(node)
        is_plain = not node.find(exp.Query)
        return bool(columns) and is_plain and all(map(self.is_private_column, columns))

    def is_of_spine(self, node: exp.Expr) -> bool:
        """Returns whether an expression has no columns but those of other sources."""
        return not node.find(exp.Query) and all(map(self._is_spine_column, columns_in(node)))

    def is_private_column(self, column: exp.Column) -> bool:
        """Returns whether a column is one of the private source."""
        if column.table:
            return column.table.lower() == self.alias
        return column.name.lower() in self.names and not self._is_spine_column(column)

    def _is_spine_column(self, column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() in self.spine
        return any(column.name.lower() in (names or ()) for names in self.spine.values())


def sides_of_join(select: exp.Select, join: exp.Join, tables: StoredTables) -> SidesOfJoin:
    """Returns whose columns are those of a query whose only private source is joined last.

    Raises:
        NotDivisible: The names of the private source's columns cannot be told.
    """
    names = lower_names(join.this, tables)
    if names is None:
        raise NotDivisible("columns of unknown names")
    others = other_sources(select, join)
    spine = {alias_of(source): lower_names(source, tables) for source in others}
    return SidesOfJoin(alias_of(join.this), names, spine)


@dataclass(frozen=True)
class ConditionsOfJoin:
    """What a join tests.

    Args:
        pairs: Equalities: an expression of private columns, and one of the spine's.
        private: Conditions of private columns alone.
        spine: Conditions of the spine's columns alone.
    """

    pairs: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    private: list[exp.Expr] = field(default_factory=list)
    spine: list[exp.Expr] = field(default_factory=list)


def conditions_of_join(
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, tables: StoredTables
) -> ConditionsOfJoin:
    """Returns what ON and USING test; nothing where ON has a condition of another kind.

    Raises:
        NotDivisible: None or several of the other parts of FROM have a column of USING.
    """
    conditions = ConditionsOfJoin([*using_columns(select, join, tables)])
    for test in conjuncts_of(join.args.get("on")):
        parts = [test.this, test.expression] if isinstance(test, exp.EQ) else []
        private = [part for part in parts if sides.is_private(part)]
        spine = [part for part in parts if sides.is_of_spine(part)]
        if sides.is_private(test):
            conditions.private.append(test)
        elif sides.is_of_spine(test):
            conditions.spine.append(test)
        elif len(private) == len(spine) == 1:
            conditions.pairs.append((private[0], spine[0]))
        else:
            return ConditionsOfJoin()
    return conditions

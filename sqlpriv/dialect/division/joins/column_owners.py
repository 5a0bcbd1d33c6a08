"""Which part of FROM a column, and a condition, is of, as far as names tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlpriv.dialect.common_tables import (
    alias_of,
    bare_name,
    common_table,
    is_stored_table,
    query_in_from,
    sources_of,
)
from sqlpriv.dialect.division.named_terms import conjuncts_of, output_name
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.parts import NotDivisible
from sqlpriv.dialect.division.unit_windows import RowNames
from sqlpriv.dialect.marks import MARK, clauses_mark, marked_name


def other_sources(select: exp.Select, join: exp.Join) -> list[exp.Expr]:
    """Returns the parts of a query's FROM besides what is joined by one of its joins."""
    return [source for source in sources_of(select) if source is not join.this]


def column_names(source: exp.Expr, columns_of: ColumnsOf) -> Collection[str] | None:
    """Returns the lower-case names of the columns of a part of FROM; None where it cannot be told.

    Args:
        source: A table, a query of WITH, a subquery, VALUES or a table function.
        columns_of: The columns of a stored table, by its lower-case name; None of another.
    """
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return identifier_names(alias.columns)
    if isinstance(source, exp.Table):
        if not isinstance(source.this, exp.Identifier):
            return None
        cte = common_table(source)
        if cte is None:
            return columns_of(bare_name(source))
        return identifier_names(cte.args["alias"].columns) or _output_names(cte.this, columns_of)
    if isinstance(source, exp.Subquery | exp.Lateral):
        return _output_names(source.this, columns_of)
    return None


def _output_names(query: exp.Expr, columns_of: ColumnsOf) -> list[str] | None:
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    while isinstance(query, exp.SetOperation):
        query = query.left.unnest() if isinstance(query.left, exp.Subquery) else query.left
    if not isinstance(query, exp.Select):
        return None
    items = [item for item in query.expressions if not clauses_mark(item)]
    if len(items) == 1 and isinstance(items[0], exp.Star):
        source = query.args.get("from_")
        if source is None or query.args.get("joins") or items[0].args.get("except_"):
            return None
        of_source = column_names(source.this, columns_of)
        return None if of_source is None else list(of_source)
    if any(item.is_star for item in items):
        return None
    return list(map(column_name, items))


def column_name(output: exp.Expr) -> str:
    """Returns the lower-case name of the column that an output is, without marks."""
    return output_name(output).partition(MARK)[0].lower()


def identifier_names(identifiers: Collection[exp.Expr]) -> list[str]:
    """Returns the lower-case names of columns behind an alias, without marks."""
    return [str(name.name).partition(MARK)[0].lower() for name in identifiers]


def names_unit(column: exp.Column, select: exp.Select, row_names: RowNames) -> bool:
    """Returns whether a column of a query's rows names units, by what stored tables declare.

    Args:
        column: Of the query's FROM; of a subquery there, what it is inside counts.
        select: The query.
        row_names: Tells which columns of a table name units.
    """
    name = column.name.partition(MARK)[0].lower()
    for source in sources_of(select):
        if column.table and alias_of(source) != column.table.lower():
            continue
        if is_stored_table(source) and name in row_names(bare_name(source))[1]:
            return True
        if (query := query_in_from(source)) is None:
            continue
        for item in query.expressions:
            inner = exp.column(name) if item.is_star else item.unalias()
            is_it = item.is_star or column_name(item) == name
            if is_it and isinstance(inner, exp.Column) and names_unit(inner, query, row_names):
                return True
    return False


def columns_in(node: exp.Expr) -> list[exp.Column]:
    """Returns the columns in an expression, constants and parameters left out."""
    return [column for column in node.find_all(exp.Column) if not marked_name(column)]


def using_columns(
    select: exp.Select, join: exp.Join, columns_of: ColumnsOf
) -> list[tuple[exp.Column, exp.Column]]:
    """Returns the columns that USING equates: `(joined.k, other.k)` of `USING (k)`.

    Raises:
        NotDivisible: None or several of the other parts of FROM have such a column.
    """
    pairs = []
    others = other_sources(select, join)
    for name in join.args.get("using") or ():
        (key,) = identifier_names([name])
        holders = [source for source in others if key in (column_names(source, columns_of) or ())]
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
        return _has(self.names, column) and not self._is_spine_column(column)

    def _is_spine_column(self, column: exp.Column) -> bool:
        if column.table:
            return column.table.lower() in self.spine
        return any(_has(names, column) for names in self.spine.values())


def _has(names: Collection[str] | None, column: exp.Column) -> bool:
    return column.name.partition(MARK)[0].lower() in (names or ())


def sides_of_join(select: exp.Select, join: exp.Join, columns_of: ColumnsOf) -> SidesOfJoin:
    """Returns whose columns are those of a query whose only private source is joined last.

    Raises:
        NotDivisible: The names of the private source's columns cannot be told.
    """
    names = column_names(join.this, columns_of)
    if names is None:
        raise NotDivisible("columns of unknown names")
    spine = {
        alias_of(source): column_names(source, columns_of) for source in other_sources(select, join)
    }
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
    select: exp.Select, join: exp.Join, sides: SidesOfJoin, columns_of: ColumnsOf
) -> ConditionsOfJoin:
    """Returns what ON and USING test; nothing where ON has a condition of another kind.

    Raises:
        NotDivisible: None or several of the other parts of FROM have a column of USING.
    """
    conditions = ConditionsOfJoin([*using_columns(select, join, columns_of)])
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

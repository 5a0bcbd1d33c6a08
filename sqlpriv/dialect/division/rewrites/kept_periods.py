"""Rows that a statement makes, kept by LEFT JOIN with private ones: each with what its key has.

    SELECT m.month, COUNT(b.id) AS n
    FROM (SELECT unnest(generate_series(…)) AS month) m
    LEFT JOIN bookings b ON date_trunc('month', b.arrival) = m.month GROUP BY m.month
    ──► SELECT m.month, CAST(coalesce(SUM(__kept.value0), 0) AS BIGINT) AS n
        FROM (SELECT unnest(generate_series(…)) AS month) m
        LEFT JOIN (SELECT date_trunc('month', arrival) AS __key0, COUNT(id) AS value0
                   FROM bookings GROUP BY 1) AS __kept ON __kept.__key0 = m.month GROUP BY m.month

A made row is kept whether it has private rows or not, and its private columns are NULL where it has
none (`rows_without_partner`). So an aggregate over a private column is that over the rows of all
keys that the group's rows have (`aggregates_by_key`).

Where ON finds rows by a range, or an aggregate does not add up over keys, the private query is
asked for the group's own keys, and the made rows are written into it (`spine_rows`):

    SELECT b.name, COUNT(p.id) AS n FROM unnest(…) AS b LEFT JOIN people p
    ON p.age BETWEEN b.low AND b.high GROUP BY b.name
    ──► SELECT b.name, CAST(coalesce(any_value(__kept.value0), 0) AS BIGINT) AS n
        FROM unnest(…) AS b
        LEFT JOIN (SELECT b.name AS __key0, COUNT(p.id) AS value0
                   FROM people p JOIN (VALUES …) AS b (name, low, high)
                   ON p.age BETWEEN b.low AND b.high GROUP BY b.name) AS __kept
        ON __kept.__key0 IS NOT DISTINCT FROM b.name GROUP BY b.name
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.helper import ensure_list

from sqlpriv.dialect.common_tables import is_stored_table, sources_of
from sqlpriv.dialect.division.joins.column_owners import (
    SidesOfJoin,
    conditions_of_join,
    sides_of_join,
)
from sqlpriv.dialect.division.rewrites.aggregates_by_key import (
    BY_KEY,
    addends,
    adds_up,
    aggregate_of_all_keys,
    aggregate_of_one_key,
)
from sqlpriv.dialect.division.rewrites.rows_without_partner import adds_nothing_without_partner
from sqlpriv.dialect.division.rewrites.spine_rows import has_one_row_a_group, spine_as_values
from sqlpriv.dialect.division.row_sources.written_rows import ROW_WITHOUT_PARTNER
from sqlpriv.dialect.division.terms.named_terms import common_text, group_terms, is_aggregate
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import (
    SHOWN_NAME,
    clauses_mark,
    copied_clauses,
    duckdb_name,
    marked_name,
    outputs_of,
)
from sqlpriv.errors import Refused

_OTHER_MATCH = Refused(
    "NATURAL and ASOF JOIN do not keep rows that a statement makes",
    hint="say which rows meet: LEFT JOIN … USING (column), or ON with the low and the high end of "
    "each made row",
)
_SHOWN = ("expressions", "having", "qualify", "order", "windows")


def with_kept_periods(root: exp.Expr, tables: StoredTables) -> Refused | None:
    """Rewrites queries that keep rows which the statement makes.

    Returns why such a query was left as it is; None where there is none.
    """
    refusal = None
    for select in list(root.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        if select.args.get("from_") is None or not joins:
            continue
        _turn_right_join(select, tables)
        *spine, last = sources_of(select)
        private = [source for source in (*spine, last) if tables.reads_private(source)]
        if private != [last] or joins[-1].side != "LEFT" or all(map(is_stored_table, spine)):
            continue
        try:
            sides = sides_of_join(select, joins[-1], tables)
            _KeptRows(select, joins[-1], sides, tables).rewrite()
        except NotDivisible:
            continue
        except Refused as reason:
            refusal = reason
    return refusal


def _turn_right_join(select: exp.Select, tables: StoredTables) -> None:
    """Writes `private RIGHT JOIN spine` as `spine LEFT JOIN private`."""
    first, joins = select.args["from_"], select.args["joins"]
    private, spine = first.this, joins[0].this
    if len(joins) > 1 or joins[0].side != "RIGHT" or is_stored_table(spine):
        return
    if tables.reads_private(private) and not tables.reads_private(spine):
        first.set("this", spine)
        joins[0].set("this", private)
        joins[0].set("side", "LEFT")


@dataclass
class _KeptRows:
    """One query that keeps rows which the statement makes.

    Args:
        select: The query; `rewrite` changes it.
        join: Its last join, with the private rows.
        sides: Whose its columns are.
        tables: What is known of stored tables.
        value_names: The name of its column in the private query, by an aggregate's text.
    """

    select: exp.Select
    join: exp.Join
    sides: SidesOfJoin
    tables: StoredTables
    value_names: dict[str, str] = field(default_factory=dict)

    def rewrite(self) -> None:
        """Writes the private side as what each key has.

        Raises:
            NotDivisible: It is no query of groups that rows of the spine tell.
            Refused: A row without a partner would count, or the join is NATURAL or ASOF.
        """
        if self.join.method:
            raise _OTHER_MATCH
        keys = self._group_keys()
        where = self.select.args.get("where")
        if where is not None and not self.sides.is_of_spine(where):
            raise NotDivisible("WHERE drops rows without a partner")
        conditions = conditions_of_join(self.select, self.join, self.sides, self.tables)
        aggregates = self._aggregates()
        self.value_names = {common_text(one): f"value{i}" for i, one in enumerate(aggregates)}
        inner_keys = [inner for inner, _ in conditions.pairs]
        alone = bool(inner_keys) and has_one_row_a_group(self.select, keys, self.tables)
        if inner_keys and (alone or all(map(adds_up, aggregates))):
            rows = self._query_by_key(None, inner_keys, conditions.private, aggregates, alone)
            tests = [
                exp.EQ(this=exp.column(f"__key{i}", table=BY_KEY), expression=outer.copy())
                for i, (_, outer) in enumerate(conditions.pairs)
            ]
            self._replace(rows, [*tests, *conditions.spine], alone)
        else:
            self._ask_by_group(keys, aggregates)

    # --- what the query says ---

    def _group_keys(self) -> list[exp.Expr]:
        """Returns the keys of GROUP BY, which are of the spine alone."""
        if any(self.select.args.get(x) for x in ("distinct", "laterals")):
            raise NotDivisible("no groups")
        keys = list(map(self._group_key, group_terms(self.select)))
        if not keys or not all(map(self.sides.is_of_spine, keys)):
            raise NotDivisible("keys of private rows")
        return keys

    def _group_key(self, term: exp.Expr) -> exp.Expr:
        """Returns what a term of GROUP BY means: an output's alias, or itself."""
        if isinstance(term, exp.Column) and not term.table and not self.sides.is_of_spine(term):
            outputs = self.select.expressions
            named = [x for x in outputs if isinstance(x, exp.Alias) and x.alias == term.name]
            if len(named) == 1:
                return named[0].unalias()
        return term

    def _aggregates(self) -> list[exp.Expr]:
        """Returns the outermost aggregates of what is shown, each once.

        Raises:
            NotDivisible: Private rows are read outside of them.
            Refused: A row without a partner would count in one.
        """
        aggregates: dict[str, exp.Expr] = {}
        for node in _shown_nodes(self.select):
            if _is_outermost_aggregate(node):
                aggregates.setdefault(common_text(node), node)
            elif isinstance(node, exp.Query) or (
                isinstance(node, exp.Column)
                and not marked_name(node)
                and self.sides.is_private_column(node)
            ):
                raise NotDivisible("a query, or a private column, outside of aggregates")
        if not all(adds_nothing_without_partner(one, self.sides) for one in aggregates.values()):
            raise ROW_WITHOUT_PARTNER
        return list(aggregates.values())

    # --- what is written ---

    def _query_by_key(
        self,
        join: exp.Join | None,
        keys: Sequence[exp.Expr],
        tests: Sequence[exp.Expr],
        aggregates: Sequence[exp.Expr],
        alone: bool,
    ) -> exp.Subquery:
        """Returns the private query behind an alias: keys, and what each has.

        Args:
            join: What the private rows are joined with, if anything.
            keys: Those of its GROUP BY.
            tests: What its WHERE tests.
            aggregates: Those of the query around.
            alone: Each group of the query around has one key.
        """
        outputs = [exp.alias_(key.copy(), f"__key{i}") for i, key in enumerate(keys)]
        for one in aggregates:
            name = self.value_names[common_text(one)]
            parts = {"": one.copy()} if alone else addends(one)
            outputs += [exp.alias_(part, f"{name}{end}") for end, part in parts.items()]
        inner = exp.Select(expressions=[*copied_clauses(self.select), *outputs]).from_(
            self.join.this.copy(), copy=False
        )
        if join is not None:
            inner.set("joins", [join])
        for test in tests:
            inner.where(test.copy(), copy=False)
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
        return inner.subquery(BY_KEY, copy=False)

    def _replace(self, rows: exp.Subquery, tests: Sequence[exp.Expr], alone: bool) -> None:
        """Joins the answer in place of the private side."""
        for item in outputs_of(self.select):
            if not isinstance(item, exp.Alias | exp.Column):
                item.meta[SHOWN_NAME] = item.meta.get(SHOWN_NAME) or duckdb_name(item)
        for one in filter(_is_outermost_aggregate, list(_shown_nodes(self.select))):
            name = self.value_names[common_text(one)]
            written = aggregate_of_one_key(one, name) if alone else aggregate_of_all_keys(one, name)
            if one.meta.get(SHOWN_NAME):
                written.meta[SHOWN_NAME] = one.meta[SHOWN_NAME]
            one.replace(written)
        on = exp.and_(*(test.copy() for test in tests))
        self.join.replace(exp.Join(this=rows, side="LEFT", on=on))

    def _ask_by_group(self, keys: Sequence[exp.Expr], aggregates: Sequence[exp.Expr]) -> None:
        """Writes the spine into the private query, and asks for the group's own keys."""
        if len(self.sides.spine) != 1:
            raise NotDivisible("rows of several sources")
        join = self.join.copy()
        (alias,) = self.sides.spine
        join.set("this", spine_as_values(self.select, alias, self.tables))
        join.set("side", None)
        join.set("kind", None)
        rows = self._query_by_key(join, keys, [], aggregates, alone=True)
        tests = [
            exp.NullSafeEQ(this=exp.column(f"__key{i}", table=BY_KEY), expression=key.copy())
            for i, key in enumerate(keys)
        ]
        self._replace(rows, tests, alone=True)


def _shown_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """Yields the nodes of what a query shows, nothing inside an aggregate."""
    for clause in _SHOWN:
        for part in ensure_list(select.args.get(clause)):
            if not clauses_mark(part):
                yield from part.walk(prune=_is_outermost_aggregate)


def _is_outermost_aggregate(node: exp.Expr) -> bool:
    """Returns whether a node is an aggregate over rows, and not a window's over groups."""
    return is_aggregate(node) and not isinstance(node.parent, exp.Window)

"""FROM and WHERE of several tables → a relation of the kernel's algebra, and what names mean in it.

The kernel lets rows of a join meet only within one unit. SQL does not say so: it joins whatever ON
says. Both agree where ON implies it, and only such joins are planned: private tables have to be
connected by equalities of columns that *identify* the same thing: the unit, or a row of a parent
that a link leads to. What is refused here would have been protected all the same, but answered
otherwise than SQL does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlpriv.kernel.proof.unit_rows import Partners
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.contribution_bound import with_all_partners
from sqlpriv.plan.relations.derived_tables import (
    MET_ONCE,
    aggregate_per_unit,
    aggregates_rows,
    changes_star,
    check_changes,
    name_beside,
    project,
    star_columns,
    unite,
)
from sqlpriv.plan.relations.joins.filter_placement import join_rows, place_filter
from sqlpriv.plan.relations.joins.join_conditions import check_connected, using_conditions
from sqlpriv.plan.relations.joins.join_order import with_connected_joins
from sqlpriv.plan.relations.joins.named_rows import (
    Naming,
    Rows,
    combine_sides,
    conjunction,
    with_unit_equalities,
)
from sqlpriv.plan.relations.joins.table_scan import read_table
from sqlpriv.plan.relations.kept_public_rows import check_kept_rows
from sqlpriv.plan.relations.per_unit import key_aliases
from sqlpriv.plan.relations.rows_at_extremes import join_extremes
from sqlpriv.statements import default_name, tables
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import conjuncts, row_fields, with_aliases


@dataclass
class FromReader:
    """Reads the FROM clauses of one statement; names of columns are unique over all of it.

    Args:
        contracts: By lower-case name.
        naming: Names and parts in use.
        partners: Counts rows of public tables that one row meets; None where none can be read.
    """

    contracts: Mapping[str, TableContract]
    naming: Naming = field(default_factory=Naming)
    partners: Partners | None = None

    def read_select(self, select: t.Select, aliases: Mapping[str, t.Node]) -> Rows:
        """Returns the rows that FROM and WHERE give.

        Raises:
            Refused: Joins that SQL answers across units, or what the algebra does not have.
        """
        source = select.source or t.Table(select.table, select.alias, select.pos)
        if isinstance(source, t.Joined):
            rows = self._read_join(source, outermost=True)
        else:
            rows = self.read_source(source)
        if rows.keeps_public:
            check_kept_rows(select, rows.binder, rows.leaves, aliases)
        if select.where is not None:
            rows = self.filter_rows(rows, select.where, aliases)
        check_connected(rows, source)
        if rows.private:
            tied = with_connected_joins(rows.relation, rows.leaves, self.contracts)
            rows = replace(rows, relation=tied)
        if self.partners is None or not (rows.private and isinstance(source, t.Joined)):
            return rows
        anchor = replace(
            next(c for c in self.contracts.values() if c.unit), others=dict(self.contracts)
        )
        bounded = with_all_partners(rows.relation, anchor, self.partners)
        return replace(rows, relation=bounded)

    def read_source(self, source: t.Source) -> Rows:
        """Returns the rows of a source."""
        match source:
            case t.Table():
                return read_table(source, self.contracts, self.naming)
            case t.Derived(query, alias):
                return self._read_derived(query, alias, source)
            case t.Joined():
                return self._read_join(source)

    def filter_rows(self, rows: Rows, where: t.Node, aliases: Mapping[str, t.Node]) -> Rows:
        """Returns the rows for which a condition is true; EXISTS and IN (SELECT …) are joins."""
        visible_aliases = {k: v for k, v in aliases.items() if k not in rows.binder.names}
        later: list[t.Node] = []
        for node in conjuncts(where):
            if isinstance(_without_not(node), t.Exists | t.InQuery):
                later.append(node)
                continue
            resolved = with_aliases(node, visible_aliases)
            for call in aggregate_calls(resolved):
                raise refuse(call, "WHERE cannot hold an aggregate", "filter groups with HAVING")
            predicate = rows.binder.bind_predicate(resolved, "WHERE")
            rows = with_unit_equalities(rows, predicate)
            kept = place_filter(rows.relation, predicate, self.contracts)
            rows = replace(rows, relation=kept, binder=rows.binder.binder_after_where(predicate))
        for node in later:  # by now it is known which tables are of one unit
            rows = self._partner_join(rows, node) or rows
        return rows

    # --- tables, joins ---

    def _read_join(self, join: t.Joined, outermost: bool = False) -> Rows:
        place = t.Literal(None, join.pos)
        left, right = self.read_source(join.left), self.read_source(join.right)
        kind = "inner" if join.kind == "cross" else join.kind
        if kind == "right":
            left, right, kind = right, left, "left"
        if kind == "inner" and right.private and not left.private:
            left, right = right, left
        keeps_public = right.private and not left.private
        kept_source = join.left if join.kind == "left" else join.right
        if keeps_public and not (outermost and kind == "left" and _is_of_tables(kept_source)):
            raise refuse(
                place,
                "a join that keeps public rows without private ones is not read here",
                "put the private table on the side that is kept, or this join last",
            )
        if keeps_public:  # see `kept_public_rows`
            left, right, kind = right, left, "inner"
        both = combine_sides(left, right, kind)
        tests: tuple[a.Expr, ...] = ()
        using = join.using
        if using == (t.NATURAL,):
            using = tuple(name for name in left.binder.names if name in right.binder.names)
            if not using:
                raise refuse(place, "these tables share no name of a column", "write JOIN … ON …")
        if using:
            tests = using_conditions(left, right, using, place)
            kept = (right if keeps_public else left).binder.names
            names = {**both.binder.names, **{u.lower(): kept[u.lower()] for u in using}}
            twice = both.binder.twice - {u.lower() for u in using}
            both = replace(both, binder=replace(both.binder, names=names, twice=twice))
        elif join.on is not None:
            # ON sees the right side's columns as they are, NULL only where they are stored so
            sides = combine_sides(left, right, "inner").binder
            tests = tuple(sides.bind_predicate(node, "ON") for node in conjuncts(join.on))
        on = conjunction(tests)
        both = with_unit_equalities(both, on)
        relation = join_rows(left.relation, right.relation, tests, kind, self.contracts)
        if kind in ("semi", "anti"):
            linked = with_unit_equalities(combine_sides(left, right, "inner"), on)
            check_connected(linked, join)
            return replace(left, relation=relation)
        if kind == "inner" and not keeps_public:
            both = replace(both, binder=both.binder.binder_after_where(on))
        return replace(both, relation=relation, keeps_public=keeps_public)

    # --- subqueries ---

    def _is_public(self, name: str) -> bool:
        contract = self.contracts.get(name.lower())
        return contract is not None and contract.public

    def _partner_join(self, rows: Rows, node: t.Node) -> Rows | None:
        """Returns the rows that a condition with a subquery leaves; None for another condition."""
        match node:
            case t.Unary("not", t.Exists(query)):
                return self._semi_or_anti_join(rows, query, None, "anti", node)
            case t.Exists(query):
                return self._semi_or_anti_join(rows, query, None, "semi", node)
            case t.Unary("not", t.InQuery(arg, query, negated)):
                return self._semi_or_anti_join(
                    rows, query, arg, "semi" if negated else "anti", node
                )
            case t.InQuery(arg, query, negated):
                return self._semi_or_anti_join(
                    rows, query, arg, "anti" if negated else "semi", node
                )
        return None

    def _semi_or_anti_join(
        self, rows: Rows, query: t.Query, arg: t.Node | None, kind: str, node: t.Node
    ) -> Rows:
        """Returns the rows with (semi) or without (anti) a partner in a subquery.

        x NOT IN (y, …) is not true where x or some y is NULL, so such pairs count as partners.
        """
        simple = isinstance(query, t.Select) and not (aggregates_rows(query) or changes_star(query))
        if simple:
            assert isinstance(query, t.Select)
            inner = self.read_source(query.source or t.Table(query.table, query.alias, query.pos))
            here, inner = self._inner_where(inner, query.where)
            items = query.items
        else:
            inner, here = self._read_derived(query, "", t.Table("", "", node.pos)), []
            items = (query.parts[0] if isinstance(query, t.UnionAll) else query).items
        if inner.private and not rows.private:
            raise refuse(
                node,
                "public rows cannot be picked by private ones",
                "start FROM with the private table",
            )
        both = combine_sides(inner, rows, "inner", shadow=True)
        tests = [both.binder.bind_predicate(test, "WHERE") for test in here]
        if arg is not None:
            fields = row_fields(arg)
            outputs: list[t.Node] = [item.expr for item in items]
            if not simple or outputs == [t.Name("*")]:
                outputs = [t.Name(name, "", node.pos) for name in inner.binder.names]
            if len(outputs) != len(fields):
                wanted = "one column" if len(fields) == 1 else f"{len(fields)} columns"
                raise refuse(node, f"IN takes a query of {wanted}", f"select {wanted}")
            for field, out in zip(fields, outputs, strict=True):
                sides = (rows.binder.bind(field), inner.binder.bind(out))
                equal: a.Expr = a.Call("=", sides)
                both.binder.shape(node, equal)
                both = with_unit_equalities(both, equal)
                if kind == "anti":
                    nulls = [
                        a.Call("is null", (x,))
                        for x, r in zip(sides, (rows, inner), strict=True)
                        if not r.binder.is_present(x)
                    ]
                    equal = a.Call("or", (equal, *nulls)) if nulls else equal
                tests.append(equal)
        on = conjunction(tuple(tests))
        check_connected(with_unit_equalities(both, on), t.Table("", "", node.pos))
        joined = join_rows(rows.relation, inner.relation, tuple(tests), kind, self.contracts)
        return replace(rows, relation=joined)

    def _inner_where(self, inner: Rows, where: t.Node | None) -> tuple[list[t.Node], Rows]:
        """Returns what WHERE says that may look outside, and the rows that its subqueries leave."""
        here: list[t.Node] = []
        for node in conjuncts(where):
            partner = self._partner_join(inner, node)
            inner, here = (partner, here) if partner else (inner, [*here, node])
        return here, inner

    def _read_derived(self, query: t.Query, alias: str, place: t.Source) -> Rows:
        """Returns the rows of a query in FROM: a projection, rows per unit, or a union."""
        at = t.Literal(None, place.pos)
        if isinstance(query, t.UnionAll):
            parts = [
                self._read_derived(part, f"{alias}{i}", place) for i, part in enumerate(query.parts)
            ]
            return unite(parts, alias, place, self.naming)
        if query.limit is not None or query.offset is not None:
            if all(self._is_public(name) for name in tables(query)):
                raise refuse(at, "rows of this public subquery may be met several times", MET_ONCE)
            raise refuse(
                at,
                "LIMIT in a subquery picks rows of all units together",
                "leave it out, or put it in the outermost SELECT; of the largest x, a hundredth of "
                "the rows, are WHERE x >= (SELECT QUANTILE_CONT(x, 0.99) FROM t)",
            )
        aliases = key_aliases(query)
        ends = self.naming.free_name("sqlpriv_ends")
        query = join_extremes(query, aliases, ends)
        rows = self.read_select(query, aliases)
        if aggregates_rows(query):
            return aggregate_per_unit(
                rows, query, aliases, alias, self.naming, self.contracts, self.partners
            )
        outer_aliases = {k: v for k, v in aliases.items() if k not in rows.binder.names}
        outputs: dict[str, tuple[t.Node, a.Expr]] = {}
        for item in query.items:
            if isinstance(item.expr, t.Name) and item.expr.name == "*":
                for name, column in star_columns(item, rows.binder).items():
                    outputs[name_beside(name, outputs)] = column
                continue
            name = (item.alias or default_name(item)).lower()
            if item.replaces:
                check_changes(item, outputs)
            bound = rows.binder.bind(with_aliases(item.expr, outer_aliases))
            outputs[name if item.replaces else name_beside(name, outputs)] = (item.expr, bound)
        return project(rows, outputs, alias, self.naming)


def _is_of_tables(source: t.Source) -> bool:
    """Returns whether a part of FROM has all rows of its tables, so that their columns list its
    groups."""
    if isinstance(source, t.Joined):
        return _is_of_tables(source.left) and _is_of_tables(source.right)
    return isinstance(source, t.Table)


def _without_not(node: t.Node) -> t.Node:
    return node.arg if isinstance(node, t.Unary) and node.op == "not" else node

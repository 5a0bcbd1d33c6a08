"""The grouping keys of a SELECT over private rows, and the columns that they have in its answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlpriv.dialect.clauses import Clauses
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    is_aggregate,
    is_same_name,
    output_name,
    term_of_number,
)
from sqlpriv.dialect.division.terms.parts import NotDivisible, has_distinct_rows, own_nodes
from sqlpriv.dialect.division.terms.value_frequencies import SEVERAL_SETS
from sqlpriv.dialect.marks import clauses_mark, function_name, outputs_of
from sqlpriv.statements.keywords import LABEL


@dataclass
class AnswerKeys:
    """The keys of one SELECT.

    Args:
        select: The SELECT.
        clauses: Our clauses of the whole statement, by mark.
        columns: The lower-case names of the columns of FROM: an alias hides behind one.
        named: Of each key: the expression, and its column's name in the answer.
    """

    select: exp.Select
    clauses: Mapping[str, Clauses]
    columns: Collection[str] = ()
    named: list[tuple[exp.Expr, str]] = field(default_factory=list)

    @property
    def strata(self) -> Sequence[exp.Expr]:
        """What STRATIFY BY names."""
        clauses = self.clauses.get(clauses_mark(self.select))
        return clauses.columns if clauses is not None else ()

    def resolve_group(self) -> exp.Group | None:
        """Finds the keys; returns GROUP BY with numbers and aliases written out."""
        group = self._written_group()
        if group is not None:
            for term in list(group.expressions):
                if function_name(term) in SEVERAL_SETS:
                    for column in list(term.find_all(exp.Column)):
                        self.add(column)
                else:
                    term.replace(self._resolve_term(term))
        for column in self.strata:
            self.add(column)
        return group

    def _written_group(self) -> exp.Group | None:
        """Returns GROUP BY; that of all outputs which are not computed, for ALL and DISTINCT."""
        outputs = outputs_of(self.select)
        written: exp.Group | None = self.select.args.get("group")
        if written is None and self.strata:
            return exp.Group(expressions=[])
        if written is None and (
            not has_distinct_rows(self.select) or any(map(_is_computed, outputs))
        ):
            return None
        if written is not None and not written.args.get("all"):
            return written.copy()
        if written is not None and written.expressions:
            raise NotDivisible("GROUP BY ALL with more behind it")
        terms = [item.unalias().copy() for item in outputs if not _is_computed(item)]
        for term in terms:
            self.add(term)
        return exp.Group(expressions=terms) if terms else None

    def _resolve_term(self, term: exp.Expr) -> exp.Expr:
        items = outputs_of(self.select)
        if isinstance(term, exp.Literal) and not term.is_string:
            return self.add(term_of_number(term, items))
        is_bare = isinstance(term, exp.Column) and not term.table
        if is_bare and term.name.lower() not in self.columns:
            for item in items:
                if isinstance(item, exp.Alias) and is_same_name(item.alias, term.name):
                    if isinstance(item.this, exp.Column):
                        return self.add(item.this)
                    self.named.append((item.this.copy(), item.alias))
                    return term.copy()
        return self.add(term)

    def add(self, key: exp.Expr) -> exp.Expr:
        """Takes an expression for a key, once; returns a copy of it."""
        if self.column(key) is None:
            self.named.append((key.copy(), f"__group{len(self.named)}{self._label(key)}"))
        return key.copy()

    def _label(self, key: exp.Expr) -> str:
        """Returns what notices call a key, as the end of its column's name: its output's name."""
        for item in outputs_of(self.select):
            if common_text(item.unalias()) == common_text(key):
                return f"{LABEL}{output_name(item)}"
        return ""

    def column(self, node: exp.Expr) -> exp.Column | None:
        """Returns the answer's column of a key; None where the expression is none.

        A key without its table takes that of the expression: whoever plans it knows the tables.
        """
        for place, (key, name) in enumerate(self.named):
            bare = isinstance(key, exp.Column) and not key.table
            if common_text(key) == common_text(node) or (
                isinstance(key, exp.Column)
                and isinstance(node, exp.Column)
                and is_same_name(key.name, node.name)
                and (bare or not node.table)
            ):
                if bare and isinstance(node, exp.Column):
                    self.named[place] = node.copy(), name
                return exp.column(name, quoted=True)
        return None


def _is_computed(item: exp.Expr) -> bool:
    """Returns whether an output is no key of GROUP BY ALL."""
    return any(is_aggregate(node) or isinstance(node, exp.Window) for node in own_nodes(item))

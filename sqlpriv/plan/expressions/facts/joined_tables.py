"""Which tables rows are made of, and which columns the joins between them equate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.terms import algebra as a


def scanned_tables(
    relation: object, is_kept: bool = False
) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yields each table that rows are made of.

    Args:
        relation: The rows; parts of a relation may be lists of relations.
        is_kept: Whether a left join around it keeps rows that have no partner in it.

    Yields:
        (prefix of its columns' names, name), both lower case; and whether a row may have no partner
        in it, so that all of its columns are NULL there.
    """
    if isinstance(relation, a.Scan):
        yield (relation.prefix.lower(), relation.table.lower()), is_kept
        return
    if isinstance(relation, a.Join):
        yield from scanned_tables(relation.left, is_kept)
        yield from scanned_tables(relation.right, is_kept or relation.kind == "left")
        return
    parts = vars(relation).values() if hasattr(relation, "__dataclass_fields__") else relation
    if isinstance(parts, Iterable) and not isinstance(parts, str):
        for part in parts:
            yield from scanned_tables(part, is_kept)


def columns_equated_by_joins(
    relation: a.Relation, kinds: Collection[str] = ("inner",)
) -> Iterator[tuple[str, str]]:
    """Yields the pairs of columns, lower case, that are equal by the condition of a join of one of
    these kinds. Behind a left join they are equal where the right side has a row."""
    match relation:
        case a.Join(left, right, on, kind):
            if kind in kinds:
                yield from equated_columns(on)
                yield from columns_equated_by_joins(right, kinds)
            yield from columns_equated_by_joins(left, kinds)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            yield from columns_equated_by_joins(source, kinds)

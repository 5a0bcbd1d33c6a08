"""Which tables rows are made of, and which columns the joins between them equate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlpriv.kernel.proof.unit_rows import equated_columns
from sqlpriv.kernel.terms import algebra as a


def scanned_tables(
    relation: object, is_kept: bool = False
) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yields the prefix and the name of each table that rows are made of, and whether it is behind
    a left join, which keeps rows without a partner there."""
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
    """Yields pairs of columns, lower case, that joins of these kinds equate where both rows are."""
    match relation:
        case a.Join(left, right, on, kind):
            if kind in kinds:
                yield from equated_columns(on)
                yield from columns_equated_by_joins(right, kinds)
            yield from columns_equated_by_joins(left, kinds)
        case a.Where(source) | a.Derive(source) | a.Bounded(source):
            yield from columns_equated_by_joins(source, kinds)

"""The private tables that random statements are about: their rows, declarations, keys and owners.

They are the suites' and, for units of two columns, `staff` and `shifts`.
"""

from __future__ import annotations

from dataclasses import dataclass

MORE_TABLES = """
CREATE TABLE staff AS SELECT ['A', 'B', 'C'][1 + i % 3] AS firm, (i // 3)::INTEGER AS badge,
    (i % 4)::INTEGER AS grade FROM range(30) AS t(i);
CREATE TABLE shifts AS SELECT i AS nr, ['A', 'B', 'C'][1 + i % 3] AS firm,
    (i // 3 % 10)::INTEGER AS badge, DATE '2024-01-01' + (i * 37 % 60)::INTEGER AS day,
    (i * 7 % 13)::INTEGER AS hours, 'post ' || (i * 5 % 4) AS post FROM range(200) AS t(i);
"""
MORE_DECLARATIONS = """
ALTER TABLE staff ADD PRIMARY KEY (firm, badge);
ALTER TABLE staff ADD PRIVACY_KEY (firm, badge);
ALTER TABLE staff SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE staff SET PU;
ALTER TABLE staff ALTER COLUMN grade SET PRIVACY DOMAIN BETWEEN (0, 3);
ALTER TABLE shifts ADD PRIMARY KEY (nr);
ALTER TABLE shifts SET PRIVACY BOUND (rows_per_unit = 4, groups_per_unit = 2);
ALTER TABLE shifts ADD PRIVACY_LINK (firm, badge) REFERENCES staff (firm, badge);
ALTER TABLE shifts ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN (0, 12);
ALTER TABLE shifts ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN ('2024-01-01', '2024-02-29');
"""
PAID = ("people", "visits", "stays", "events", "odd", "customers", "members", "staff")
BUDGETS = {
    "zcdp": "(epsilon = 1e5, delta = 1e-9, keys_delta = 1e-9)",
    "pure": "(epsilon = 1e6)",
    "periods": "(epsilon = 1e5, delta = 1e-9, per = 'day', total = 2e5)",
}
"""A vault of each kind: SET PRIVACY BUDGET of all units' tables."""


@dataclass(frozen=True)
class Table:
    """A private table: how to write questions about it, and whose its rows are.

    Attributes:
        family: The units' table, whose budget pays.
        unit: The column or columns of the unit; '' where a link of a link leads to it.
        order: A total order of a unit's rows.
        keys: Columns of few declared values.
        numbers: Columns of numbers.
        free: A column of undeclared values, '' for none.
    """

    family: str
    unit: str
    order: str
    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    free: str = ""


PRIVATE = {
    "people": Table("people", "id", "id", ("sex", "educ", "region"), ("age", "hours", "income")),
    "visits": Table("visits", "person", "id", ("ward",), ("ward", "id"), "id"),
    "stays": Table("stays", "person", "day, id", ("ward",), ("ward",), "id"),
    "events": Table(
        "events",
        "person",
        "seen_at, id",
        ("step", "source", "change"),
        ("amount", "score", "change"),
        "id",
    ),
    "odd": Table("odd", "u", "d, id", ("m", "s"), ("neg", "dec3", "rate", "f4", "u1")),
    "sales": Table(
        "customers", "cid", "sold, sid", ("channel", "store"), ("qty", "price", "discount"), "sid"
    ),
    "logins": Table("members", "mid", "seen, lid", ("device",), ("secs",)),
    "baskets": Table("members", "", "bid", ("item", "qty"), ("paid", "qty")),
    "shifts": Table("staff", "firm, badge", "day, nr", ("hours",), ("hours",), "post"),
}
FAMILIES = {
    family: tuple(name for name, table in PRIVATE.items() if table.family == family)
    for family in PAID
}
OWNERS = {"customers": "cid", "members": "mid", "staff": "firm, badge"}
"""Units' tables that have rows of links, and the columns that links name."""


def owners_of(family: str) -> tuple[tuple[str, str], ...]:
    """The tables of a family and the columns that name the unit, the last ones leading to others:
    'lid' of baskets leads to a login."""
    own = OWNERS.get(family) or PRIVATE[family].unit
    linked = [(name, PRIVATE[name].unit or "lid") for name in FAMILIES[family] if name != family]
    return ((family, own), *linked)

"""ARG_MIN and ARG_MAX, and MIN and MAX of texts, inside a unit; `tests/suites` compares answers."""

from __future__ import annotations

import pytest

from sqlpriv import dialect
from sqlpriv.errors import Refused
from sqlpriv.plan.relations.per_unit import key_aliases
from sqlpriv.plan.relations.rows_at_extremes import join_extremes
from sqlpriv.statements import tree as t
from sqlpriv.statements.printer import sql
from sqlpriv.statements.traverse import conjuncts, walk


def rewritten(text: str) -> t.Select:
    (select,) = dialect.read(text)
    assert isinstance(select, t.Select)
    return join_extremes(select, key_aliases(select), "e")


def test_it_is_a_join_of_the_rows_with_their_ends() -> None:
    select = rewritten(
        "SELECT person AS p, ARG_MIN(ward, day) FILTER (WHERE x > 1) + 1 AS w FROM stays"
        " WHERE x < 9 GROUP BY p HAVING MAX_BY(ward, id) > 0"
    )
    (call,) = [part for part in walk(select.items[1].expr) if isinstance(part, t.FunctionCall)]
    assert (call.name, call.args) == ("min", (t.Name("ward"),))
    assert call.filter is not None
    at_end, own = conjuncts(call.filter)
    assert (at_end, own) == (
        t.Binary("=", t.Name("day"), t.Name("sqlpriv_extreme0", "e")),
        t.Binary(">", t.Name("x"), t.Literal(1)),
    )
    assert isinstance(select.source, t.Joined)
    assert isinstance(select.source.right, t.Derived)
    ends = select.source.right.query
    assert isinstance(ends, t.Select)
    assert [item.alias for item in ends.items] == [
        "sqlpriv_unit_key",
        "sqlpriv_extreme0",
        "sqlpriv_extreme1",
    ]
    assert ends.where == select.where  # rows that WHERE drops are no ends
    assert select.having is not None
    assert "sqlpriv_extreme1" in sql(select.having)


def test_a_query_without_them_is_itself() -> None:
    text = "SELECT person, MIN(day) AS d FROM stays GROUP BY person"
    (select,) = dialect.read(text)
    assert rewritten(text) == select


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT person, ward, ARG_MIN(x, y) AS w FROM s GROUP BY person, ward", "a unit's rows"),
        ("SELECT ARG_MIN(x, y) AS w FROM s", "a unit's rows"),
        ("SELECT person, ARG_MIN(x) AS w FROM s GROUP BY person", "takes two arguments"),
        ("SELECT person, ARG_MIN(x, y, 3) AS w FROM s GROUP BY person", "takes two arguments"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        rewritten(text)

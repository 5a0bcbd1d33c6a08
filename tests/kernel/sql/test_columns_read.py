"""Which columns an expression reads: a filter on one that is not told of would read another row."""

from __future__ import annotations

import pytest

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import columns_read

TWO = a.Lit(2, Type.INTEGER)
SUM = a.Call("+", (a.Col("Age"), TWO))


@pytest.mark.parametrize(
    ("expr", "columns"),
    [
        (TWO, set()),
        (SUM, {"age"}),
        (a.Key(SUM, tuple(range(20_000))), {"age"}),
        (a.Call("in", (a.Col("n"), *(a.Lit(i, Type.INTEGER) for i in range(20_000)))), {"n"}),
        ((TWO, (a.Col("x"), (SUM,))), {"x", "age"}),
        (a.Count(a.Scan("people"), (), (a.Key(a.Col("k"), (1,)),)), {"k"}),
    ],
)
def test_columns_are_told_wherever_they_stand(expr: object, columns: set[str]) -> None:
    """Inside tuples of tuples, calls, keys and queries; values that are listed have none."""
    assert columns_read(expr) == columns

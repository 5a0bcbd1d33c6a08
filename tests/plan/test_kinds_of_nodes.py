"""Walks over expressions ask for a value's very class: a node of a subclass would be passed by."""

from __future__ import annotations

from typing import get_args

from sqlpriv.plan.relations import subqueries
from sqlpriv.statements import traverse
from sqlpriv.statements import tree as t


def test_no_kind_of_node_has_subclasses() -> None:
    kinds = get_args(t.Node)
    assert len(kinds) > 10
    assert {*kinds} == traverse._NODES
    assert {*kinds} - {t.Literal, t.Name} < subqueries._WITH_PARTS
    for kind in subqueries._WITH_PARTS | traverse._NODES:
        assert not kind.__subclasses__(), kind


def test_a_walk_goes_parents_first_and_in_the_order_written() -> None:
    listed = t.InList(t.Name("a"), (t.Literal(1), t.Unary("-", t.Literal(2))), False)
    whole = t.Binary("and", listed, t.FunctionCall("f", (t.Name("b"), t.Name("c"))))
    kinds = [type(part).__name__ for part in traverse.walk(whole)]
    assert kinds == [
        "Binary",
        "InList",
        "Name",
        "Literal",
        "Unary",
        "Literal",
        "FunctionCall",
        "Name",
        "Name",
    ]

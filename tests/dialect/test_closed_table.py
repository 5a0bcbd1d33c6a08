"""What sqlglot parses and our table does not name is refused, whatever sqlglot learns."""

import statistics
import time

import pytest
from sqlglot import exp
from support.places import ROOT

from sqlpriv.dialect import read
from sqlpriv.dialect.lowering.node_table import TABLE
from sqlpriv.dialect.lowering.query_lowering import QueryLowering
from sqlpriv.dialect.parameters import bind
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import lex
from sqlpriv.errors import Refused


def classes(base=exp.Expr):
    for below in base.__subclasses__():
        yield below
        yield from classes(below)


def lowering():
    tokens = lex("SELECT a FROM t")
    cursor = TokenCursor(tokens, "SELECT a FROM t", bind(tokens, None))
    return QueryLowering(cursor, {}).nodes


ALL = sorted(
    {kind for kind in classes() if kind.__module__.startswith("sqlglot")},
    key=lambda kind: kind.__name__,
)


ABSTRACT = {kind for kind in ALL if not issubclass(kind, exp.Expression)}
"""Roots of families of classes: sqlglot itself cannot walk them."""


def test_every_class_of_sqlglot_is_in_the_table_or_refused():
    assert len(ALL) > 900  # sqlglot 30.30 has 1,000 and more; none of them escapes the walk
    assert set(ALL) >= TABLE.keys()
    for kind in set(ALL) - TABLE.keys() - ABSTRACT:
        with pytest.raises(Refused):
            lowering().expression(kind())


def test_what_is_abstract_is_no_node_of_a_tree():
    assert not ABSTRACT & TABLE.keys()
    for kind in ABSTRACT:
        assert not issubclass(kind, exp.Expression) or kind.__subclasses__()


@pytest.mark.parametrize("kind", sorted(TABLE, key=lambda kind: kind.__name__))
def test_an_argument_that_nobody_reads_is_refused(kind):
    node = kind()
    node.set("learnt_tomorrow", exp.Column(this=exp.to_identifier("a")))
    with pytest.raises(Refused):
        lowering().expression(node)


def fastest(text, times=7):
    seconds = []
    for _ in range(times):
        start = time.process_time()
        read(text)
        seconds.append(time.process_time() - start)
    return min(seconds)


def test_a_query_of_tpch_is_read_in_five_milliseconds():
    texts = [path.read_text() for path in sorted((ROOT / "examples" / "tpch").glob("q*.sql"))]
    assert len(texts) == 22
    assert statistics.median(map(fastest, texts)) < 0.005


def test_the_time_grows_with_the_length_of_nested_queries():
    def nested(levels):
        return "SELECT a FROM " + "(SELECT a FROM " * levels + "t" + ") x" * levels

    assert fastest(nested(24)) < 8 * fastest(nested(6))
    with pytest.raises(Refused, match="nest deeper"):
        read(nested(50))

"""Patterns of names: every one is matched in a time that its length does not drive up."""

import re
import threading
import time

from hypothesis import given
from hypothesis import strategies as st
from pyarrow import flight

from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol.catalog import fits_pattern


@given(st.text("ab_%é", max_size=8), st.text("ab_é", max_size=8))
def test_a_pattern_fits_what_the_same_regular_expression_fits(pattern, name):
    expression = re.escape(pattern).replace("%", ".*").replace("_", ".")
    assert fits_pattern(name, pattern) == (re.fullmatch(expression, name, re.DOTALL) is not None)


def test_a_pattern_of_many_wildcards_holds_nobody_up():
    """A matcher that goes back never ends on the first: it tries 2^30 ways and more."""
    name = "a" * 60
    start = time.perf_counter()
    for pattern in ("%a" * 30 + "%b", "%_" * 31 + "%b", "%" * 2_000_000, "a%" * 1_000_000):
        assert fits_pattern(name, pattern) == (pattern[-2:] == "%%")
    assert time.perf_counter() - start < 2.0


def test_the_server_answers_others_while_somebody_asks_with_many_wildcards(serve):
    served = serve()
    name = "a" * 60
    served.connect("olga").execute(f"CREATE TABLE {name} (x INTEGER)")
    client, call = served.flight("ada")
    pattern = "%a" * 40 + "%b"
    command = m.wrap("CommandGetTables", table_name_filter_pattern=pattern, include_schema=False)

    def ask():
        client.do_get(flight.Ticket(command), call).read_all()

    thread = threading.Thread(target=ask, daemon=True)
    start = time.perf_counter()
    thread.start()
    assert served.connect("bob").execute("SELECT 1 AS a").fetchall() == [(1,)]
    thread.join(30)
    assert not thread.is_alive()
    assert time.perf_counter() - start < 30

"""Labels that look like something else, and queries in which labels stand in all places."""

from __future__ import annotations

import random

from engines.random_plans import contracts

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, Type

TAME = [f"label {i}" for i in range(6)]
LABELS = {
    "quotes": ["it's", '"', "`", "\\", "''", "\\'"],
    "statements": ["'; DROP TABLE people; --", "/*", "*/", "') OR t IN ('", "\\') OR true --", ";"],
    "numbers": ["1", "-0", "1e5", "0x1F", " 7", "9223372036854775808"],
    "values": ["NULL", "null", "", "NaN", "true", "2000-01-01"],
    "letters": ["é", "e\u0301", "日本", "\U0010ffff", "\u202e", "ﬁ"],
    "cases": ["a", "A", "ß", "SS", "İ", "ı"],
    "controls": ["\n", "\r\n", "\t", "\x01", "\x1a", "\x7f"],
    "forms": ["{0}", "{", "}", "%s", "${x}", ":x"],
    "patterns": ["%", "_", "[a]", "*", "?", "^$"],
    "long": [f"{i}{'x' * 60}" for i in range(6)],
}
"""Six of each kind."""
T, U = a.Col("t"), a.Col("u")
PEOPLE, VISITS, SHOPS = a.Scan("people"), a.Scan("visits"), a.Scan("shops")


def contract_of(labels: list[str]) -> TableContract:
    """The contract of `people` beside two other tables, whose domains are the labels."""
    return contracts(random.Random(0), labels, [2, 1])["people"]


def asked(labels: list[str]) -> dict[str, a.Query]:
    """A query for each place in which a label can stand."""
    first, second, *_ = texts = [a.Lit(label, Type.TEXT) for label in labels]
    of_t, of_u = a.Key(T, (*labels, None)), a.Key(U, tuple(labels[:5]))
    is_first = a.Call("=", (T, first))
    either = a.Call("coalesce", (U, first))
    per_unit = a.PerUnit(VISITS, (("key", either),), (a.Fold("n", "distinct", U, reach=9),))
    joined = a.Join(VISITS, SHOPS, a.Call("=", (a.Col("k"), a.Col("k2"))))
    return {
        "keys": a.Count(PEOPLE, (), (of_t,)),
        "strata": a.Count(VISITS, (of_u,)),
        "a list": a.Count(a.Where(PEOPLE, a.In(T, tuple(labels)))),
        "comparisons": a.Count(a.Where(PEOPLE, a.Call("or", (is_first, a.Call(">", (T, second)))))),
        "a sum's condition": a.Sum(PEOPLE, a.Case(((is_first, a.Col("x")),), a.Col("n")), -2, 5),
        "a sum over a join": a.Sum(
            joined, a.Case(((a.Call("=", (U, first)), a.Col("k")),), a.Lit(0, Type.INTEGER)), -2, 5
        ),
        "a case": a.Count(PEOPLE, (), (a.Key(a.Case(((is_first, second),), T), tuple(labels)),)),
        "functions": a.Count(a.Where(VISITS, a.Call("<", (a.Substring(either, 1, 3), second)))),
        "greatest": a.Count(a.Where(VISITS, a.Call("<", (a.Call("greatest", (U, *texts)), U)))),
        "different values": a.Distinct(VISITS, (), (of_u,), either),
        "picked numbers": a.Sum(PEOPLE, a.Pick((of_t,), tuple(map(float, range(7)))), 0.0, 9.0),
        "groups of units": a.Count(per_unit, (), (a.Key(a.Col("key"), tuple(labels)),)),
        "a public table": a.Count(
            a.Where(joined, a.In(a.Col("town"), tuple(labels[:3]))),
            (),
            (a.Key(a.Col("town"), tuple(labels[:3])),),
        ),
        "a semi-join": a.Count(
            a.Join(
                PEOPLE,
                VISITS,
                a.Call("and", (a.Call("=", (a.Col("n"), a.Col("k"))), a.Call("<>", (U, first)))),
                "semi",
            ),
            (),
            (of_t,),
        ),
    }

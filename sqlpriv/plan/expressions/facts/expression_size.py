"""How long a row expression is where it is written out for the engine."""

from __future__ import annotations

from sqlpriv.plan.expressions.facts.conditions import parts_within

MOST_TERMS = 20_000
"""Of one CASE. Nine CASE x WHEN of three values in one another are more."""

WRITTEN_OFTEN = "x stands in CASE x WHEN once for each value, and in nullif(x, y) twice"
"""What to say where there are more."""


def count_terms(expr: object, sizes: dict[int, int] | None = None) -> int:
    """Returns how many operations, columns and literals the text of an expression holds; each as
    often as it stands there.

    Args:
        expr: In the kernel's algebra; a part that several places share is looked at once.
        sizes: Terms of parts by their ids.

    >>> from sqlpriv.kernel.terms import algebra as a
    >>> age = a.Col("age")
    >>> total = a.Call("+", (age, age))
    >>> count_terms(age), count_terms(total), count_terms(a.Call("*", (total, total)))
    (1, 3, 7)
    """
    sizes = {} if sizes is None else sizes
    if id(expr) not in sizes:
        parts = sum(count_terms(part, sizes) for part in parts_within(expr))
        sizes[id(expr)] = parts + (not isinstance(expr, tuple) and bool(parts_within(expr)))
    return sizes[id(expr)]

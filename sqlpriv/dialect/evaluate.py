"""`EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY …`: an owner's comparison."""

from __future__ import annotations

from sqlpriv.dialect.commands import Evaluate
from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.literals import options

KNOWN = ("target", "positive", "held_out", "report")


def evaluate(c: Cursor) -> Evaluate:
    """Returns `EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY a, b [OPTIONS (…)]`.

    Raises:
        Refused: Another shape, a column twice, or an option that there is not.
    """
    first = c.peek()
    c.expect("EVALUATE", "SYNTHETIC", "TABLE")
    synthetic = c.table()
    c.expect("AGAINST")
    real = c.table()
    c.expect("STRATIFY", "BY")
    strata: list[str] = []
    while True:
        token = c.peek()
        column = c.name("a column of the strata")
        if column.lower() in map(str.lower, strata):
            raise refusal(token, f"{column} is named twice")
        strata.append(column)
        if not c.accept(","):
            break
    token = c.peek()
    given = options(c) if c.accept("OPTIONS") else ()
    for name, _ in given:
        if name not in KNOWN:
            raise refusal(token, f"there is no option {name}", f"one of: {', '.join(KNOWN)}")
    c.end()
    return Evaluate(synthetic, real, tuple(strata), given, c.since(first), first.pos)

"""Constants of the text: numbers, strings, dates; and `(name = constant, …)` lists of them."""

from __future__ import annotations

import datetime as dt
import math
import re

from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.dialect.tree import Options
from sqlpriv.kernel.terms.contract import Value

_DATE = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(
    _DATE.pattern + r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
)
_HUGEINT_DIGITS = 38
WORDS: dict[str, Value] = {"NULL": None, "TRUE": True, "FALSE": False}
MOMENTS = {"DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "DATETIME": "TIMESTAMP"}


def number(c: Cursor) -> int | float:
    """Returns the number that stands here: an exact integer, or a float where it has a point,
    an exponent, or more digits than a HUGEINT holds (as DuckDB reads them).

    Raises:
        Refused: None stands here, or it runs into a name, or is too large.
    """
    if c.peek().kind is not Kind.NUMBER:
        raise c.unexpected("a number")
    token = c.next()
    after = c.peek()
    if after.start == token.end and after.kind in (Kind.WORD, Kind.NUMBER, Kind.QUOTED):
        raise refusal(token, f"the number {token.text[:40]} runs into {after.shown}",
                      "put a space between them; hexadecimal numbers are not read")  # fmt: skip
    digits = token.text.replace("_", "")
    if digits.isdecimal() and len(digits.lstrip("0")) <= _HUGEINT_DIGITS:
        return int(digits)
    value = float(digits)
    if not math.isfinite(value):
        raise refusal(token, "the number is too large")
    return value


def moment(text: str, type_: str, token: Token) -> dt.date | dt.datetime:
    """Returns the date or timestamp that the text of a literal says.

    Args:
        text: `2020-12-31`, for a TIMESTAMP also `2020-12-31 23:59[:59[.123456]]`.
        type_: DATE or TIMESTAMP.
        token: Where a refusal points.

    Raises:
        Refused: It says none.
    """
    pattern = _DATE if type_ == "DATE" else _TIMESTAMP
    found = pattern.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        year, month, day, *clock = [int(part or 0) for part in found.groups()[:6]]
        if type_ == "DATE":
            return dt.date(year, month, day)
        hour, minute, second = clock
        micro = int((found.group(7) or "").ljust(6, "0"))
        return dt.datetime(year, month, day, hour, minute, second, micro)
    except ValueError:
        example = "DATE '2020-12-31'" if type_ == "DATE" else "TIMESTAMP '2020-12-31 23:59:00'"
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise refusal(token, f"'{shown}' is not a {type_}", f"write {example}") from None


def constant(c: Cursor) -> Value:
    """Returns the constant that stands here: a signed number, a string, NULL, TRUE, FALSE, a DATE
    or TIMESTAMP literal, or a parameter.

    Raises:
        Refused: Something else stands here.
    """
    token = c.peek()
    if c.at("-") or c.at("+"):
        return _signed(c)
    if token.kind is Kind.NUMBER:
        return number(c)
    if token.upper in MOMENTS and c.peek(1).kind is Kind.STRING:
        return moment(c.peek(1).value, MOMENTS[c.next().upper], c.next())
    if token.kind is Kind.STRING or token.upper in WORDS:
        c.next()
        return token.value if token.kind is Kind.STRING else WORDS[token.upper]
    if token.kind is Kind.PARAMETER:
        return c.binding.value(c.next())
    raise c.unexpected("a constant: a number, 'text', DATE '2020-12-31', TRUE, FALSE or NULL")


def options(c: Cursor) -> Options:
    """Returns `(name = constant, …)`, names in lower case; a bare word is a constant, too.

    Raises:
        Refused: Another shape, or a name written twice.
    """
    found: dict[str, Value] = {}
    c.expect("(")
    while True:
        token = c.peek()
        name = c.name("the name of an option").lower()
        if name in found:
            raise refusal(token, f"the option {name} is written twice")
        c.expect("=")
        found[name] = c.next().value.lower() if _bare_word(c) else constant(c)
        if not c.accept(","):
            break
    c.expect(")")
    return tuple(found.items())


def _bare_word(c: Cursor) -> bool:
    word = c.peek().kind is Kind.WORD and c.at_name()
    return word and c.peek(1).kind is not Kind.STRING


def _signed(c: Cursor) -> int | float:
    sign = -1 if c.next().text == "-" else 1
    if c.peek().kind is not Kind.NUMBER:
        raise c.unexpected("a number")
    return sign * number(c)


def whole(value: Value, name: str, token: Token) -> int:
    """Returns the value as an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal(token, f"{name} is a whole number")
    return value

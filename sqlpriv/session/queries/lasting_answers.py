"""Answers of public queries that private ones are asked with: whether another asking has the same.

A statement is free when it is asked again. One with the moment of its asking in it, or a random
number, is another question each time, and would be paid anew.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlpriv.dialect.lowering.current_day import DAY_UNITS, NOW_CALLS
from sqlpriv.dialect.tokens import Kind, Token, lex
from sqlpriv.errors import Refused
from sqlpriv.plan.expressions.row_functions import HINTS
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words

_WORD = re.compile(r"\w+")
_RANDOM = words(
    "random uuid uuidv4 uuidv7 gen_random_uuid nextval currval setval txid_current "
    "current_transaction_id current_query_id current_connection_id"
)
_CALLED = NOW_CALLS | words(
    "current_localtime get_current_time ago pg_conf_load_time pg_postmaster_start_time"
)
_KEYWORDS = words("current_timestamp localtimestamp localtime current_time")
_OF_THE_MOMENT = _RANDOM | _CALLED | _KEYWORDS | words("sample tablesample")
_DRAW = re.compile(rf"\b(?:{'|'.join(_RANDOM)}) \(")
_CLOCK = re.compile(rf"\b(?:{'|'.join(_CALLED)}) \(|(?<!\. )\b(?:{'|'.join(_KEYWORDS)})\b")

_UNIT = rf"(?:{'|'.join(DAY_UNITS)})s?"
_SPAN = re.compile(rf"[+-]?\d+(?: {_UNIT})?|{_UNIT}")
_NOW = (
    rf"\b(?:(?:{'|'.join(NOW_CALLS)}) \( \)"
    r"|current_timestamp\b|localtimestamp\b)"
)
_STAMP = r"timestamp(?:tz| with time zone)?\b"
_MOMENT = rf"(?:{_NOW}(?: :: {_STAMP})*|\bcast \( {_NOW} as {_STAMP} \))"
_DAYS = (
    rf"interval (?:\d+ {_UNIT}|'[+-]?\d+' {_UNIT}|\( \d+ \) {_UNIT}|'[+-]?\d+ {_UNIT}')"
    r"|to_days \( \d+ \)"
)
_MOVED = rf"{_MOMENT}(?: [+-] (?:{_DAYS}))*"
_INSIDE = rf"(?:{_MOVED}|\( {_MOVED} \)|\bcast \( \( {_MOVED} \) as {_STAMP} \))"
_LASTING = re.compile(
    rf"\b(?:date_trunc|datetrunc) \( '{_UNIT}' , {_INSIDE} \)"
    rf"|\b(?:try_)?cast \( {_INSIDE} as date \)"
    rf"|(?:(?<=[,(<>=+-] )|(?<=select ))\( {_MOVED} \) :: date\b"
    rf"|{_MOMENT} :: date\b"
)
"""The clock where only its day, or a longer unit, counts. Each form is whole: nothing around it can
bring the time of day back."""
_HELD = (type(None), bool, int, float, Decimal, str, dt.date, dt.time)


class AnotherEachTime(Refused):
    """A public query gives another answer at each asking."""


def lasting_answer(text: str, run: Callable[[], pa.Table], place: t.Pos) -> pa.Table:
    """Returns the answer of a public query; one that samples rows is run twice.

    Args:
        text: The query.
        run: Runs it.
        place: Where it stands.

    Raises:
        AnotherEachTime: It draws random numbers, reads more of the clock than the day, or the
            second answer is not the first.
    """
    answer = run()
    if _OF_THE_MOMENT.isdisjoint(_WORD.findall(text.lower())):
        return answer
    bare = _text_of_tokens(text)
    draws = _DRAW.search(bare) is not None
    if draws or _CLOCK.search(_LASTING.sub("?", bare)) or not answer.equals(run()):
        message = "this subquery has another answer at each asking"
        raise AnotherEachTime.at(place, message, HINTS["random" if draws else "now"])
    return answer


def _text_of_tokens(text: str) -> str:
    """Returns a query's tokens in lower case with one blank between two: names without their
    quotes, and `?` for texts other than units and spans of days."""
    return " ".join(map(_text_of, lex(text)))


def _text_of(token: Token) -> str:
    value = token.value.lower()
    if token.kind is Kind.QUOTED:
        return re.sub(r"\W", "_", value)
    if token.kind in (Kind.STRING, Kind.ESCAPE):
        return f"'{value}'" if _SPAN.fullmatch(value) else "?"
    return token.text.lower()


def values_of(column: pa.ChunkedArray, place: t.Pos) -> list[Any]:
    """Returns the values of an answer that stand in a private query's text.

    Raises:
        Refused: One is no number, text or moment, or a moment that no literal can have.
    """
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        message = "a moment before the year 1 or after 9999 cannot be compared with private rows"
        raise Refused.at(place, message, "give one that is there, as DATE '9999-12-31'") from None
    if not all(isinstance(value, _HELD) for value in values):
        message = f"a subquery beside private rows gives no {column.type}"
        raise Refused.at(place, message, "select numbers, texts or moments, one in each row")
    return values

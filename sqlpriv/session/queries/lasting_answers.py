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

from sqlpriv.errors import Refused
from sqlpriv.plan.expressions.row_functions import HINTS
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import words

_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"(\w+)\s*\(")
_RANDOM = words("random uuid uuidv4 uuidv7 gen_random_uuid nextval")
_OF_THE_MOMENT = _RANDOM | words(
    "now current_timestamp get_current_timestamp transaction_timestamp localtimestamp localtime "
    "current_localtimestamp current_localtime current_time get_current_time sample tablesample"
)
_HELD = (type(None), bool, int, float, Decimal, str, dt.date, dt.time)


class AnotherEachTime(Refused):
    """A public query gives another answer at each asking."""


def lasting_answer(text: str, run: Callable[[], pa.Table], place: t.Pos) -> pa.Table:
    """Returns the answer of a public query; one that reads the clock is run twice.

    Args:
        text: The query.
        run: Runs it.
        place: Where it stands.

    Raises:
        AnotherEachTime: It draws random numbers, or the second answer is not the first.
    """
    bare = _QUOTED.sub("", text.lower())
    answer = run()
    if not _OF_THE_MOMENT.isdisjoint(_WORD.findall(bare)):
        draws = not _RANDOM.isdisjoint(_CALLED.findall(bare))
        if draws or not answer.equals(run()):
            name = "random" if draws else "now"
            message = "this subquery has another answer at each asking"
            raise AnotherEachTime.at(place, message, HINTS[name])
    return answer


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

"""Formats of moments in other dialects as DuckDB's strftime has them: to_char, date_format, …

A format is read word by word from a closed table. What it does not name, a letter in no word or a
word that pads with blanks, has no format here: its call is refused where it stands.
"""

from __future__ import annotations

import datetime as dt
import re

from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import (
    Arguments,
    Writer,
    joined_texts,
    parenthesize,
)
from sqlpriv.dialect.marks import duckdb_call, function_name

_COMMON = "%Y=%Y %y=%y %m=%m %d=%d %H=%H %I=%I %S=%S %p=%p %j=%j %b=%b %a=%a %T=%H:%M:%S %%=%%"
_WORDS = {
    "postgres": """YYYY=%Y yyyy=%Y YY=%y yy=%y MM=%m mm=%m DD=%d dd=%d HH24=%H hh24=%H HH12=%I
        hh12=%I HH=%I hh=%I MI=%M mi=%M SS=%S ss=%S AM=%p PM=%p DDD=%j ddd=%j Mon=%b Dy=%a IW=%V
        iw=%V IYYY=%G iyyy=%G ID=%u FMMonth=%B FMDay=%A FMDD=%-d FMMM=%-m FMHH24=%-H MS=%g ms=%g
        US=%f us=%f Q=%q FF3=%g FF6=%f TMMonth=%B TMMon=%b TMDay=%A TMDy=%a""",
    "snowflake": """YYYY=%Y yyyy=%Y YY=%y yy=%y MMMM=%B MM=%m mm=%m MON=%b Mon=%b DD=%d dd=%d DY=%a
        HH24=%H hh24=%H HH12=%I hh12=%I MI=%M mi=%M SS=%S ss=%S AM=%p PM=%p FF3=%g FF6=%f""",
    "spark": """yyyy=%Y yy=%y y=%Y MMMM=%B MMM=%b MM=%m M=%-m dd=%d d=%-d DDD=%j D=%-j HH=%H H=%-H
        hh=%I h=%-I mm=%M m=%-M ss=%S s=%-S a=%p Q=%q q=%q EEEE=%A EEE=%a EE=%a E=%a""",
    "tsql": """yyyy=%Y yy=%y MMMM=%B MMM=%b MM=%m dddd=%A ddd=%a dd=%d HH=%H hh=%I mm=%M ss=%S
        tt=%p""",
    "bigquery": f"{_COMMON} %M=%M %B=%B %A=%A %F=%Y-%m-%d %G=%G %V=%V %u=%u %w=%w %R=%H:%M %Q=%q",
    "mysql": f"{_COMMON} %M=%B %W=%A %i=%M %s=%S %h=%I %e=%-d %c=%-m %k=%-H %l=%-I %v=%V %x=%G"
    " %f=%f",
    "oracle": """YYYY=%Y yyyy=%Y YY=%y yy=%y MM=%m mm=%m DD=%d dd=%d HH24=%H hh24=%H HH12=%I
        hh12=%I MI=%M mi=%M SS=%S ss=%S AM=%p PM=%p DDD=%j ddd=%j Mon=%b Dy=%a IW=%V iw=%V IYYY=%G
        iyyy=%G Q=%q FF3=%g FF6=%f""",
    "sqlite": "%Y=%Y %m=%m %d=%d %H=%H %M=%M %S=%S %j=%j %w=%w %W=%W %%=%%",
}
"""Dialect → its words, each with strftime's; %q is the quarter, of which strftime has none."""
_QUOTES = {"postgres": '"', "snowflake": '"', "spark": "'", "oracle": '"'}
"""Dialect → what stands around letters that are written as they are."""
_PERCENT = ("bigquery", "mysql", "sqlite")
"""Dialects in which any letter that is not behind % is written as it is."""


def strftime_format(dialect: str, text: str) -> str | None:
    """Returns the format that DuckDB's strftime has for a dialect's; None where one is not known.

    >>> strftime_format("postgres", 'YYYY-MM-DD"T"HH24:MI')
    '%Y-%m-%dT%H:%M'
    >>> strftime_format("postgres", "HH24:MI:SS.US"), strftime_format("postgres", "SS.FF3")
    ('%H:%M:%S.%f', '%S.%g')
    >>> strftime_format("mysql", "%d %M"), strftime_format("postgres", "Month")
    ('%d %B', None)
    >>> strftime_format("oracle", "YYYY-Q")
    '%Y-%q'
    """
    words = dict(entry.split("=", 1) for entry in _WORDS[dialect].split())
    quote = _QUOTES.get(dialect, "\0")
    longest = sorted(map(re.escape, words), key=len, reverse=True)
    plain = r"[^%'\"\\]" if dialect in _PERCENT else r"[^\w%'\"\\]|\d"
    pattern = re.compile(f"({'|'.join(longest)})|{quote}([^{quote}%]+){quote}|({plain})")
    written, at = "", 0
    while at < len(text):
        part = pattern.match(text, at)
        if part is None:
            return None
        word, quoted, sign = part.groups()
        written, at = written + (words[word] if word else quoted or sign), part.end()
        repeated = word and word[-1].isalpha() and text[at : at + 1] == word[-1]
        if repeated and not word.startswith("%"):
            return None  # MMMMM is another word than MMMM
    return written if "%" in written else None  # 99.99 is a format of numbers


def moment_format(dialect: str, *, format_first: bool = False) -> Writer:
    """Writes a call of a moment and a format as strftime; None where the format is not known."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 2:
            return None
        moment, text = reversed(args) if format_first else args
        if not isinstance(text, exp.Literal) or not text.is_string:
            return None
        pattern = strftime_format(dialect, str(text.this))
        if pattern is None:
            return None
        first, *rest = pattern.split("%q")
        texts = [_format_part(moment, first)]
        for part in rest:
            quarter = duckdb_call("quarter", moment.copy())
            texts += [exp.cast(quarter, "TEXT"), _format_part(moment.copy(), part)]
        return joined_texts([text for text in texts if str(text.this) or rest == []])

    return write


def moment_of_seconds(dialect: str) -> Writer:
    """Writes FROM_UNIXTIME: a moment, in UTC; behind a format, and in Spark always, its text."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) not in (1, 2):
            return None
        million = exp.cast(exp.Literal.number(1_000_000), "BIGINT")
        micros = exp.Mul(this=parenthesize(args[0]), expression=million)
        moment = duckdb_call("make_timestamp", exp.cast(micros, "BIGINT"))
        inside = args[0].this if isinstance(args[0], exp.Cast) else None
        if function_name(inside) == "epoch" and inside is not None:  # of UNIX_TIMESTAMP(x)
            moment = inside.expressions[0]
        if dialect == "mysql" and len(args) == 1:
            return moment
        text = args[1] if len(args) == 2 else exp.Literal.string("yyyy-MM-dd HH:mm:ss")
        return moment_format(dialect)([moment, text])

    return write


def _format_part(moment: exp.Expr, pattern: str) -> exp.Expr:
    text = exp.Literal.string(pattern)
    return duckdb_call("strftime", moment, text) if "%" in pattern else text


def day_of_text(dialect: str, *, format_first: bool = False) -> Writer:
    """Writes `to_date('01.02.2023', 'DD.MM.YYYY')`, both literals, as the date; None otherwise."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) == 1 and dialect in ("snowflake", "spark"):
            return exp.cast(args[0], "DATE")
        if len(args) != 2:
            return None
        value, form = reversed(args) if format_first else args
        if not isinstance(form, exp.Literal):
            return None
        # a name is read in any case
        written = strftime_format(dialect, str(form.this).replace("MON", "Mon"))
        if _writes_days(value) and written == "%Y-%m-%d":
            return exp.cast(value, "DATE")
        moment = _moment_of(value, written)
        return exp.cast(exp.Literal.string(moment.date().isoformat()), "DATE") if moment else None

    return write


def _writes_days(node: exp.Expr) -> bool:
    """Returns whether a text is made of a moment as DuckDB reads a day, '2024-02-01'."""
    return bool(re.fullmatch(r"(%Y|\d{4})-(%m|\d\d)-(%d|\d\d)", _format_of(node)))


def _format_of(node: exp.Expr) -> str:
    """Returns the format of a moment's text, also where literals are joined with it."""
    call = node.unnest()
    if isinstance(call, exp.DPipe):
        return _format_of(call.this) + _format_of(call.expression)
    text = call.expressions[1] if function_name(call) == "strftime" else call
    return text.name if isinstance(text, exp.Literal) else ""


def moment_of_text(args: Arguments) -> exp.Expr | None:
    """Writes PostgreSQL's `to_timestamp('2023-02-01 12:00', 'YYYY-MM-DD HH24:MI')`, both literals,
    as the moment, which is read in UTC; None otherwise."""
    if len(args) != 2 or not isinstance(args[1], exp.Literal) or not args[1].is_string:
        return None
    moment = _moment_of(args[0], strftime_format("postgres", args[1].name))
    written = moment and moment.replace(tzinfo=dt.UTC).isoformat(sep=" ")
    return exp.cast(exp.Literal.string(written), "TIMESTAMPTZ") if written else None


def _moment_of(value: exp.Expr, pattern: str | None) -> dt.datetime | None:
    """Returns the moment that a text says in strftime's format; None of another value."""
    if not isinstance(value, exp.Literal) or not value.is_string or pattern is None:
        return None
    try:
        return dt.datetime.strptime(value.name, pattern)
    except (ValueError, re.error):  # a part that is written twice is a group of two places
        return None

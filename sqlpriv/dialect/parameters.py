"""Values bound to `?`, `$1`, `$name` and `:name`: they become literals, never text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlpriv.dialect.tokens import Kind, Token, lex
from sqlpriv.errors import DataError, ProgrammingError
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements.tree import Bound

Parameters = Sequence[object] | Mapping[str, object] | None


@dataclass(frozen=True)
class Binding:
    """Which value stands at which parameter of a text; `by_start` is keyed by token offset."""

    by_start: Mapping[int, object]

    def value(self, token: Token) -> Value:
        """Returns the value bound at that parameter, as a literal's.

        Raises:
            DataError: It is of a type that literals do not have.
        """
        return literal_value(self.by_start[token.start])

    def values(self, token: Token) -> tuple[Value, ...] | None:
        """Returns the values of a list that is bound at that parameter; None of another value."""
        bound = self.by_start[token.start]
        return tuple(map(literal_value, bound)) if isinstance(bound, list | tuple) else None

    def share(self, tokens: Sequence[Token]) -> Bound:
        """Returns what DuckDB is to be given beside the text of those tokens."""
        marks = [token for token in tokens if token.kind is Kind.PARAMETER]
        if any(mark.value == "" for mark in marks):
            return tuple(self.by_start[mark.start] for mark in marks)
        return {mark.value: self.by_start[mark.start] for mark in marks} if marks else ()


def bind(tokens: Sequence[Token], parameters: Parameters) -> Binding:
    """Returns the binding of the caller's parameters to those of the text, all statements alike.

    Raises:
        ProgrammingError: Too few, too many, missing or surplus values, or `?` mixed with names.
    """
    marks = [token for token in tokens if token.kind is Kind.PARAMETER]
    names = [mark.value for mark in marks]
    if "" in names and any(names):
        raise ProgrammingError("write all parameters as ?, or all as $1 or $name")
    if isinstance(parameters, Mapping):
        return _bind_by_name(marks, parameters)
    if isinstance(parameters, str | bytes):
        raise ProgrammingError("parameters are given as a list, a tuple or a mapping, not as text")
    values = tuple(parameters or ())
    if any(not name.isdecimal() for name in names if name):
        raise ProgrammingError(
            f"the statement names its parameters ({_name_list(names)}): "
            "give the values as a mapping"
        )
    numbers = [int(name[:9]) for name in names] if any(names) else list(range(1, len(marks) + 1))
    expected = max(numbers, default=0)
    if min(numbers, default=1) < 1:
        raise ProgrammingError("parameters are numbered from $1")
    if expected != len(values):
        raise ProgrammingError(
            f"the statement has {_count_text(expected)}, "
            f"{len(values) or 'none'} {'was' if len(values) <= 1 else 'were'} given"
        )
    return Binding({mark.start: values[n - 1] for mark, n in zip(marks, numbers, strict=True)})


def parameter_names(sql: str, dialect: str = "duckdb") -> tuple[str, ...]:
    """Returns the names of a text's parameters; those of `?` and `$1` are "1", "2", …"""
    names = [token.value for token in lex(sql, dialect) if token.kind is Kind.PARAMETER]
    numbers = [int(name[:9]) for name in names if name.isdecimal()]
    count = max(numbers, default=0) if numbers else names.count("")
    written_names = [name for name in names if name and not name.isdecimal()]
    return (*map(str, range(1, count + 1)), *dict.fromkeys(written_names))


def literal_value(value: object) -> Value:
    """Returns a caller's value as a literal's: a Decimal becomes a float, and a datetime with a
    time zone the same moment in UTC.

    Raises:
        DataError: Another type, NaN or an infinity.
    """
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError("a parameter is NaN or infinite")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if value is None or isinstance(value, bool | int | float | str | dt.date):
        return value
    raise DataError(
        f"a parameter is of type {type(value).__name__}: give None, bool, int, float, str, "
        "Decimal, date or datetime; a list in x = ANY($1)"
    )


def _bind_by_name(marks: Sequence[Token], parameters: Mapping[str, object]) -> Binding:
    names = {mark.value for mark in marks}
    if "" in names:
        raise ProgrammingError(
            f"the statement has {_count_text(len(marks))} written ?: "
            "give the values as a list or a tuple"
        )
    if missing := names - set(parameters):
        raise ProgrammingError(
            f"the statement has {_count_text(len(names))}; "
            f"no value is given for {_name_list(missing)}"
        )
    if surplus := {str(name) for name in parameters} - names:
        raise ProgrammingError(f"the statement has no parameter {_name_list(surplus)}")
    return Binding({mark.start: parameters[mark.value] for mark in marks})


def _count_text(number: int) -> str:
    return f"{number or 'no'} parameter{'' if number == 1 else 's'}"


def _name_list(names: Sequence[str] | set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(set(names)))

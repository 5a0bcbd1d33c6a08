"""Errors as PostgreSQL's clients know them: a severity, an SQLSTATE, a place, our own words."""

from __future__ import annotations

import logging
import re

from sqlpriv import errors
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.protocol.wire_errors import Cancelled, TimedOut, with_own_words

_LONGEST = 4_000
"""Characters of a message."""
_WITHHELD = "an internal error of the server; its text is withheld, what was charged stays charged"
_log = logging.getLogger("sqlpriv.server")
_STATES: tuple[tuple[type[errors.Error], str], ...] = (
    (Cancelled, "57014"),  # query_canceled
    (TimedOut, "57014"),
    (wire.ProtocolViolation, "08P01"),
    (errors.PermissionDenied, "42501"),  # insufficient_privilege
    (errors.BudgetExhausted, "53400"),  # configuration_limit_exceeded
    (errors.VaultBusy, "55006"),  # object_in_use
    (errors.DeclarationError, "42P16"),  # invalid_table_definition
    (errors.ProgrammingError, "42000"),  # syntax_error_or_access_rule_violation
    (errors.NotSupportedError, "0A000"),  # feature_not_supported
    (errors.DataError, "22023"),  # invalid_parameter_value
    (errors.InterfaceError, "55000"),  # object_not_in_prerequisite_state
    (errors.InternalError, "XX000"),
    (errors.IntegrityError, "XX001"),  # data_corrupted
    (errors.OperationalError, "58000"),  # system_error
)
_BY_WORDS = (
    (r"there is no (released or public )?table\b", "42P01"),  # undefined_table
    (r"there is no column\b", "42703"),  # undefined_column
    (r"the function \S+ is not known", "42883"),  # undefined_function
    (r".* is not known to mean the same|EXPLAIN ", "0A000"),  # feature_not_supported
    (r"expected |.* does not begin a statement|.* never closed|.* is not read in", "42601"),
    (r"Parser Error", "42601"),  # syntax_error
    (r"Binder Error: Referenced column ", "42703"),  # undefined_column
    (r"Binder Error: Referenced table ", "42P01"),  # undefined_table
    (r"Binder Error: Ambiguous reference to column ", "42702"),  # ambiguous_column
    (r"Invalid Input Error: More than one row returned by a subquery", "21000"),
    (r"Out of Memory Error", "53200"),  # out_of_memory
    (r"Invalid Input Error: Division by zero", "22012"),  # division_by_zero
    (r"Conversion Error: date field value out of range", "22008"),  # datetime_field_overflow
    (r"Conversion Error: .* out of range|Out of Range Error", "22003"),  # numeric_value_…
    (r"Conversion Error", "22P02"),  # invalid_text_representation
)
"""How the message of a wrong statement begins that PostgreSQL has a state of its own for: of ours,
and of DuckDB's about constants and public rows."""


_OWN_TEXT = (
    # DuckDB names a setting that an analyst cannot change.
    (re.compile(r"Invalid Input Error: Division by zero .*", re.DOTALL), "division by zero"),
    # It names settings that an analyst cannot change.
    (re.compile(r"\n\n(Possible solutions:|Use \"SET ).*", re.DOTALL), ""),
    # It quotes the statement as it was written for DuckDB, which nobody sent.
    (re.compile(r"\n\nLINE \d+: .*", re.DOTALL), ""),
)
"""Parts of DuckDB's messages, and what a client of PostgreSQL is told in their place."""


class SqlStateError(errors.ProgrammingError):
    """An error that is PostgreSQL's own, with its state.

    Args:
        state: SQLSTATE.
        words: What is wrong.
    """

    def __init__(self, state: str, words: str) -> None:
        self.state = state
        super().__init__(words)


def error_message(
    error: Exception, sql: str = "", severity: str = "ERROR", start: int = 0
) -> bytes:
    """Returns the ErrorResponse that tells a client of an error.

    Of an error that is not sqlpriv's only a fixed text leaves, and the log has the rest.

    Args:
        error: What happened.
        sql: The statement, for the place.
        severity: ERROR or FATAL.
        start: Where the statement begins in the text that the client sent, in characters from 0.
    """
    error = with_own_words(error)
    if not isinstance(error, errors.Error):
        _log.error("a statement failed", exc_info=error)
        return wire.error(severity, "XX000", _WITHHELD)
    state = _state(error)
    if isinstance(error, errors.Refused):
        words, hint = error.message[:_LONGEST], (error.hint or "")[:_LONGEST]
        place = position(sql, error.line, error.column)
        return wire.error(severity, state, words, hint, place and start + place)
    words = str(error)
    for pattern, own in _OWN_TEXT:
        words = pattern.sub(own, words)
    return wire.error(severity, state, words[:_LONGEST])


def position(sql: str, line: int, column: int) -> int:
    """Returns the place of a line and column in a text, in characters from 1; 0 for none.

    >>> position("SELECT\\n  x", 2, 3)
    10
    """
    lines = sql.split("\n")
    if not 1 <= line <= len(lines):
        return 0
    return sum(len(each) + 1 for each in lines[: line - 1]) + column


def _state(error: errors.Error) -> str:
    if isinstance(error, SqlStateError):
        return error.state
    has_words = isinstance(error, errors.ProgrammingError | errors.OperationalError)
    if has_words and not isinstance(error, errors.PermissionDenied):
        words = error.message if isinstance(error, errors.Refused) else str(error)
        for beginning, state in _BY_WORDS:
            if re.match(beginning, words):
                return state
    return next((state for kind, state in _STATES if isinstance(error, kind)), "XX000")

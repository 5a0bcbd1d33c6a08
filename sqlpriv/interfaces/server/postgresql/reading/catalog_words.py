"""Words of queries over PostgreSQL's catalog that mean something else, or nothing, in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken

_SYSTEM_COLUMNS = {"tableoid": "abs(0)", "ctid": "concat('(0,1)')"}
_SYSTEM_COLUMNS |= dict.fromkeys(("xmin", "xmax", "cmin", "cmax"), "abs(1)")
"""Columns that each row of PostgreSQL has: tools look whether a row has changed since.

They are calls here, since a bare number behind ORDER BY would be a column's place.
"""
_PROCEDURES = {"typinput", "typoutput", "typreceive", "typsend"}
"""Columns of functions, which PostgreSQL compares to a number and we keep by name."""
_TRANSACTIONS = {"relfrozenxid", "datfrozenxid", "transactionid", "backend_xid", "backend_xmin"}
_TRANSACTIONS |= set(_SYSTEM_COLUMNS)
_VECTORS = {"indkey", "indoption", "indclass", "indcollation"}
"""Columns of lists that PostgreSQL counts from 0, and DuckDB from 1."""
_ROWS_OF_ONE = {"pg_indexam_has_property", "string_to_array"}
"""Functions of one value that stand in FROM: their alias is the value's name."""
_LISTS_OF_ROWS = {"json_agg", "jsonb_agg"}
"""Aggregates that are macros in DuckDB, which take no ORDER BY."""
_IN_FROM = ("FROM", "JOIN", "LATERAL")


@dataclass(frozen=True)
class WordRewrites:
    """One place of a query, and the words that were written for what stands before it.

    Args:
        left: The query's tokens.
        at: The place.
        words: What was written so far; whatever is written here is added.
        space: What stands before the token.
        translate: Returns the text for tokens that stand inside of what is written.
    """

    left: Sequence[SqlToken]
    at: int
    words: list[str]
    space: str
    translate: Callable[[Sequence[SqlToken]], str]

    def write(self) -> int:
        """Writes the words for the tokens at the place; returns the place after them, or 0 where
        nothing is to be said in another way."""
        token = self.left[self.at]
        if token.name in _SYSTEM_COLUMNS and self._text(-1).upper() != "AS":
            return self._write_value(_SYSTEM_COLUMNS[token.name])
        if token.name in _PROCEDURES:
            return self._write_procedure()
        if token.text == "0" and self._name(-2) in _PROCEDURES:
            return self._write("'0'")
        if token.upper == "AT" and self._text(1).upper() != "TIME":
            return self._write('"at"')  # a word of DuckDB's, and pgAdmin's name for pg_attribute
        if token.upper in ("LIKE", "ILIKE") and self._text(2).upper() != "ESCAPE":
            return self._write_pattern()
        if token.name in _VECTORS and self._text(1) == "[":
            close = self._close()
            place = self.translate(self.left[self.at + 2 : close])
            return self._write(f"{token.text}[({place}) + 1]", close + 1)
        if token.name in _VECTORS and self._text(1).upper() in ("::", "AS"):
            return self._write_vector()
        if self._text(1) == "(":
            return self._write_call(token.name)
        return 0

    def _write_value(self, value: str) -> int:
        """Writes a value in the place of `alias.column`."""
        if self.words[-1:] == ["."]:
            del self.words[-2:]
        self.words.append(f" {value}")
        return self.at + 1

    def _write_vector(self) -> int:
        """Writes a vector that is cast to a text: `1 2` in PostgreSQL, `[1, 2]` in DuckDB."""
        if self._name(2) not in ("varchar", "text"):
            return 0
        column = self._take_qualified()
        self.words.append(f" array_to_string({column}, ' ')")
        return self.at + 1

    def _take_qualified(self) -> str:
        """Returns the column at the place with the alias that was written before it, which goes."""
        column = self.left[self.at].text
        if self._text(-1) == ".":
            column = "".join(self.words[-2:]).strip() + column
            del self.words[-2:]
        return column

    def _write_procedure(self) -> int:
        """Writes a function's number where it is compared to one: `pg_proc.oid = typreceive`."""
        is_qualified = self._text(-1) == "."
        before = -3 if is_qualified else -1
        is_number = (self._text(before), self._name(before - 1)) == ("=", "oid")
        is_number |= self._text(1) == "=" and "oid" in (self._name(2), self._name(4))
        if not is_number:
            return 0
        self.words.append(f" regproc_oid({self._take_qualified()})")
        return self.at + 1

    def _write_pattern(self) -> int:
        """Writes `LIKE 'a\\_b'`: a backslash takes an underscore's meaning in PostgreSQL alone."""
        pattern = self.left[self.at + 1] if self.at + 1 < len(self.left) else None
        is_whole = self._text(2) not in ("||", "::") and pattern is not None
        if not is_whole or pattern is None or pattern.kind not in ("string", "parameter"):
            return 0
        if pattern.kind == "string" and "\\" not in pattern.text:
            return 0
        self.words.append(f" {self.left[self.at].text} {pattern.text} ESCAPE '\\'")
        return self.at + 2

    def _write_call(self, name: str) -> int:
        """Writes a call otherwise than PostgreSQL does; returns the place after it, or 0.

        What stands in the brackets is translated only where the call is written here. Translated
        first, and once more by the caller where 0 was returned, it took twice as long for each
        bracket: fifty brackets around a 1 took longer than any time limit.
        """
        close = self._close()
        of_vector = any(token.name in _VECTORS for token in self.left[self.at : close])
        if name == "generate_series" and not self._is_in_from():
            return self._write(f"unnest({self._call(name, close)})", close + 1)
        if name in _LISTS_OF_ROWS:
            end = self._end_of_filter(close)
            condition = self.translate(self.left[close + 1 : end])
            return self._write(f"to_json({self._call('list', close)} {condition})", end)
        if name == "generate_subscripts" and of_vector and not self._is_in_from():
            return self._write(f"({self._call(name, close)} - 1)", close + 1)
        if name == "age" and self.left[close - 1].name in _TRANSACTIONS:
            return self._write("abs(0)", close + 1)
        if name in _ROWS_OF_ONE and self._is_in_from() and close + 1 < len(self.left):
            alias = close + 1 + (self.left[close + 1].upper == "AS")
            alias_name, call = self.left[alias].text, self._call(name, close)
            return self._write(f"(SELECT {call} AS {alias_name}) AS {alias_name}", alias + 1)
        return 0

    def _call(self, name: str, close: int) -> str:
        """Returns the call of a function at the place, whose bracket closes at another one."""
        return f"{name}({self.translate(self.left[self.at + 2 : close])})"

    def _end_of_filter(self, close: int) -> int:
        """Returns the place behind `FILTER (…)` after a call's bracket, or behind the bracket."""
        words = [token.upper for token in self.left[close + 1 : close + 3]]
        return self._close(close + 1) + 1 if words == ["FILTER", "("] else close + 1

    def _close(self, name: int | None = None) -> int:
        """Returns where the bracket closes that stands behind a name: the one at the place, or
        another."""
        depth = 0
        for place in range((self.at if name is None else name) + 1, len(self.left)):
            text = self.left[place].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if depth == 0:
                return place
        return len(self.left) - 1

    def _is_in_from(self) -> bool:
        """Tells whether the place is one for a table: after FROM, or a comma behind it."""
        depth = 0
        for place in range(self.at - 1, -1, -1):
            token = self.left[place]
            if depth == 0 and token.upper in ("SELECT", "WHERE", "ON", "BY", "HAVING"):
                return False
            if depth == 0 and token.upper in _IN_FROM:
                return True
            depth += (token.text == ")") - (token.text == "(")
            if depth < 0:
                return False
        return False

    def _write(self, text: str, end: int = 0) -> int:
        self.words.append(self.space + text)
        return end or self.at + 1

    def _text(self, away: int) -> str:
        place = self.at + away
        return self.left[place].text if 0 <= place < len(self.left) else ""

    def _name(self, away: int) -> str:
        place = self.at + away
        return self.left[place].name if 0 <= place < len(self.left) else ""

"""`SET PRIVACY FROM 'dictionary.csv'`: what a data dictionary says, as declarations.

A dictionary is written by people who know what a column may hold, without the rows. It is the owner
who says that it is public.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlpriv.errors import DeclarationError
from sqlpriv.kernel.terms.contract import Column, TableContract, Type
from sqlpriv.session.declarations.dictionary_files import (
    ColumnEntry,
    DataDictionary,
    read_dictionary,
)
from sqlpriv.statements import declarations as decl

_LINK = re.compile(r"link\s+(?:to\s+)?(\w+)\s*\(\s*(\w+)\s*\)", re.IGNORECASE)
NULLS = ("level", "never")
"""NULL is a level of its own; the owner promises that there is none."""
CheckDomain = Callable[[Column, decl.Action], None]


def declarations_of_dictionary(
    path: Path, contract: TableContract, check: CheckDomain
) -> tuple[list[decl.Action], list[str]]:
    """Returns what a dictionary declares of a table, and what in it declares nothing.

    Args:
        path: The file.
        contract: The table.
        check: Raises DeclarationError of a domain that does not fit its column.

    Raises:
        DeclarationError: With the line of what does not fit the table.
    """
    dictionary = read_dictionary(path, contract.table)
    actions: list[decl.Action] = []
    for entry in dictionary.entries:
        column = contract.column(entry.column)
        if column is None:
            names = ", ".join(c.name for c in contract.columns)
            message = f"{contract.table} has no column {entry.column}; it has {names}"
            raise dictionary.refuse(entry.line, message)
        try:
            for action in _actions(entry, column, dictionary.is_text):
                if isinstance(action, decl.SetDomainIn | decl.SetDomainBetween):
                    check(column, action)
                actions.append(action)
        except DeclarationError as error:
            raise dictionary.refuse(entry.line, str(error)) from None
    if any(isinstance(action, decl.AddPrivacyKey) for action in actions):
        actions.append(decl.SetUnit(True))
    if not actions:
        raise DeclarationError(f"{dictionary.name} declares nothing of {contract.table}")
    return actions, _notes(dictionary)


def _notes(dictionary: DataDictionary) -> list[str]:
    return [f"{dictionary.name}: {note}" for note in dictionary.notes]


def _actions(entry: ColumnEntry, column: Column, is_text: bool) -> Iterator[decl.Action]:
    words = entry.words
    if role := str(words.get("role", "")).strip():
        link = _LINK.fullmatch(role)
        if role.lower() == "key":
            yield decl.AddPrivacyKey((column.name,))
        elif link is not None:
            yield decl.AddPrivacyLink(column.name, link[1], link[2])
        else:
            raise DeclarationError(f"the role {role} is neither key nor link parent(column)")
    bounds = {word: _count(words[word], word) for word in BOUNDS if word in words}
    if bounds and not role:
        raise DeclarationError(f"{next(iter(bounds))} is of a key or a link")
    if bounds:
        yield decl.SetBound(**bounds)
    nulls = str(words.get("nulls", "")).lower()
    if nulls not in ("", *NULLS):
        raise DeclarationError(f"nulls is level or never, not {words['nulls']}")
    if "values" in words:
        if "lower" in words or "upper" in words:
            raise DeclarationError("a column has values, or lower and upper, not both")
        listed = _list_of_values(words["values"], column, is_text)
        null_level = (None,) if nulls == "level" and None not in listed else ()
        yield decl.SetDomainIn(column.name, (*listed, *null_level), nulls == "never")
    elif "lower" in words or "upper" in words:
        if "lower" not in words or "upper" not in words:
            raise DeclarationError("lower and upper come together")
        lower, upper = (_read(words[end], column, is_text) for end in ("lower", "upper"))
        yield decl.SetDomainBetween(column.name, lower, upper, nulls == "level", nulls == "never")
    elif nulls:
        raise DeclarationError("nulls is of a column with values, or with lower and upper")


BOUNDS = ("rows_per_unit", "groups_per_unit")


def _count(said: Any, word: str) -> int:
    try:
        return int(str(said))
    except ValueError:
        raise DeclarationError(f"{word} is a whole number, not {said}") from None


def _list_of_values(entry: Any, column: Column, is_text: bool) -> tuple[Any, ...]:
    if is_text:
        entry = [item.strip() for item in str(entry).split("|")]
    if not isinstance(entry, list):
        raise DeclarationError("values is a list")
    return tuple(_read(item, column, is_text) for item in entry)


def _read(said: Any, column: Column, is_text: bool) -> Any:
    """Returns a value; a text from CSV as its column's type, a text of nothing as NULL."""
    if not is_text:
        if column.type is Type.TEXT and isinstance(said, bool):
            raise DeclarationError(f"YAML reads {said} as a truth value: put it in quotes")
        return said
    text = str(said)
    if text == "":
        return None
    try:
        match column.type:
            case Type.INTEGER:
                return int(text)
            case Type.REAL:
                return float(text)
            case Type.BOOLEAN:
                return {"true": True, "false": False}[text.lower()]
            case Type.DATE:
                return dt.date.fromisoformat(text)
            case Type.TIMESTAMP:
                return dt.datetime.fromisoformat(text)
    except (ValueError, KeyError):
        raise DeclarationError(f"{text} is no {column.sql_type}") from None
    return text

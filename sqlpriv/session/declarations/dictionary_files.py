"""Data dictionaries in files: what is said of each column, and on which line.

Three forms are read: CSV with a row for each column, YAML with `columns:`, and the YAML metadata of
SmartNoise SQL (https://docs.smartnoise.org/sql/metadata.html), whose table is found by its name.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from sqlpriv.errors import DeclarationError

WORDS = ("role", "values", "lower", "upper", "nulls", "rows_per_unit", "groups_per_unit")
"""What may be said of a column."""
FREE_WORDS = ("type", "description", "label", "unit", "notes")
"""What may stand there for people, and declares nothing."""
LARGEST = 2**22
"""Bytes of a dictionary."""
_OF_TABLES = (
    "max_ids",
    "row_privacy",
    "rows",
    "rows_exact",
    "sample_max_ids",
    "censor_dims",
    "clamp_counts",
    "clamp_columns",
    "use_dpsu",
)
"""What SmartNoise says of a table beside its columns."""


@dataclass(frozen=True)
class ColumnEntry:
    """What a dictionary says of one column.

    Args:
        column: Its name, as written.
        line: Where it stands, from 1.
        words: WORDS → what is said; texts from CSV, values from YAML. None of what is not said.
    """

    column: str
    line: int
    words: Mapping[str, Any]


@dataclass
class DataDictionary:
    """A dictionary as it was read.

    Args:
        name: Of the file, for messages.
        entries: In the file's order.
        notes: What in it declares nothing here, in words for the owner.
        is_text: Whether values are texts that are still to be read as their column's type.
    """

    name: str
    entries: list[ColumnEntry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_text: bool = False

    def refuse(self, line: int, message: str) -> DeclarationError:
        """Returns the error that names a line."""
        return DeclarationError(f"{self.name}, line {line}: {message}")

    def add(self, column: str, line: int, words: Mapping[str, Any]) -> None:
        """Adds what is said of a column.

        Raises:
            DeclarationError: A word that says nothing here, or a column twice.
        """
        for word in words:
            if word not in (*WORDS, *FREE_WORDS):
                readable = ", ".join((*WORDS, *FREE_WORDS))
                raise self.refuse(line, f"{word} says nothing here; there are {readable}")
        for earlier in self.entries:
            if earlier.column.lower() == column.lower():
                raise self.refuse(line, f"{column} stands on line {earlier.line} already")
        filled = {w: v for w, v in words.items() if w in WORDS and v is not None and v != ""}
        self.entries.append(ColumnEntry(column, line, filled))


def read_dictionary(path: Path, table: str) -> DataDictionary:
    """Reads a dictionary; its form follows from the file's name.

    Args:
        path: Ends in .csv, .yaml or .yml.
        table: Whose columns are wanted, where the file is about several.

    Raises:
        DeclarationError: It cannot be read, with the line.
    """
    dictionary = DataDictionary(path.name)
    if path.suffix.lower() not in (".csv", ".yaml", ".yml"):
        raise DeclarationError(f"{path.name}: a data dictionary is a .csv, .yaml or .yml file")
    try:
        if path.stat().st_size > LARGEST:
            raise DeclarationError(f"{path.name}: a data dictionary has at most {LARGEST} bytes")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise DeclarationError(f"{path.name} is not a text file in UTF-8") from None
    except OSError as error:
        raise DeclarationError(f"{path} cannot be read: {error.strerror}") from None
    if path.suffix.lower() == ".csv":
        _read_csv(text, dictionary)
    else:
        _read_yaml(text, dictionary, table)
    if not dictionary.entries:
        raise DeclarationError(f"{path.name} says nothing of any column")
    return dictionary


def _read_csv(text: str, dictionary: DataDictionary) -> None:
    rows, head = csv.reader(StringIO(text)), list[str]()
    dictionary.is_text = True
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not head:
                head = [cell.lower() for cell in cells]
                if "column" not in head:
                    first = "the first line names the columns of the dictionary: column, values, …"
                    raise dictionary.refuse(rows.line_num, first)
                continue
            if len(cells) != len(head):
                message = f"{len(cells)} cells under {len(head)} heads; quote what holds a comma"
                raise dictionary.refuse(rows.line_num, message)
            words = dict(zip(head, cells, strict=True))
            dictionary.add(words.pop("column"), rows.line_num, words)
    except csv.Error as error:
        raise dictionary.refuse(rows.line_num, str(error)) from None


def _read_yaml(text: str, dictionary: DataDictionary, table: str) -> None:
    import yaml

    try:
        root = yaml.compose(text, yaml.SafeLoader)
        top = {key: (line, node) for key, line, node in _items(root, dictionary)}
        if "columns" in top:
            for column, line, node in _items(top["columns"][1], dictionary):
                words = {word: _value(part) for word, _, part in _items(node, dictionary)}
                dictionary.add(column, line, words)
            return
        top.pop("engine", None)
        _read_smartnoise(top, dictionary, table)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "this is no YAML"
        raise dictionary.refuse(mark.line + 1 if mark else 1, problem) from None


def _read_smartnoise(
    top: Mapping[str, tuple[int, Any]], dictionary: DataDictionary, table: str
) -> None:
    tables = dict[str, tuple[int, Any]]()
    for _, collection in top.values():
        for _, _, schema in _items(collection, dictionary):
            tables |= {name: (line, node) for name, line, node in _items(schema, dictionary)}
    named = next((name for name in tables if name.lower() == table.lower()), None)
    if named is None:
        form = (
            f"it is about {', '.join(tables)}" if tables else "it has neither `columns:` nor tables"
        )
        remedy = "write `columns:` at its top, and below it a line for each column"
        raise DeclarationError(f"{dictionary.name} says nothing of {table}: {form}; {remedy}")
    items = list(_items(tables[named][1], dictionary))
    of_table = {word: (line, _value(node)) for word, line, node in items if word in _OF_TABLES}
    if (row_privacy := of_table.get("row_privacy")) and row_privacy[1]:
        message = "row_privacy: a unit has a column that names it here; add one, as private_id"
        raise dictionary.refuse(row_privacy[0], message)
    if unused := [word for word in of_table if word not in ("max_ids", "row_privacy")]:
        dictionary.notes.append(f"{', '.join(unused)} of {named} declare nothing here")
    most_rows = of_table.get("max_ids", (0, 1))[1]
    for column, line, node in items:
        if column in _OF_TABLES:
            continue
        values = {word: _value(part) for word, _, part in _items(node, dictionary)}
        has_list = values.get("type") == "boolean"
        words = {word: values.get(word) for word in ("lower", "upper")}
        if has_list:
            words["values"] = [False, True]
        if values.get("private_id"):
            words = {"role": "key", "rows_per_unit": most_rows}
        elif has_list or values.get("lower") is not None:
            words["nulls"] = "level" if values.get("nullable", True) else "never"
        else:
            dictionary.notes.append(f"{column} gets no domain: the file lists no values of it")
        if values.get("missing_value") is not None:
            dictionary.notes.append(f"missing_value of {column} is not put in the place of NULL")
        dictionary.add(column, line, words)


def _items(node: Any, dictionary: DataDictionary) -> Iterator[tuple[str, int, Any]]:
    """Yields the keys of a YAML mapping with their lines and the nodes behind them."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1 if node is not None else 1
        raise dictionary.refuse(line, "expected `name: …` here")
    for key, value in node.value:
        yield str(key.value), key.start_mark.line + 1, value


def _value(node: Any) -> Any:
    import yaml

    return yaml.SafeLoader("").construct_object(node, deep=True)

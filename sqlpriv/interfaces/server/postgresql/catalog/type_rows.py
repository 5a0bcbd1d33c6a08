"""The types of PostgreSQL, as pg_type tells of them."""

from __future__ import annotations

from importlib import resources


def type_rows() -> list[tuple[int, str, str, int, int, str, str]]:
    """Returns oid, typname, SQL name, typelem, typlen, typcategory and typtype of every type.

    >>> [row for row in type_rows() if row[1] in ("int8", "_int8")]
    [(20, 'int8', 'bigint', 0, 8, 'N', 'b'), (1016, '_int8', 'bigint[]', 20, -1, 'A', 'b')]
    """
    text = resources.files(__package__).joinpath("pg_types.txt").read_text("utf-8")
    rows = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        oid, name, length, category, kind, array, sql_name = line.split()
        sql_type = sql_name.replace("_", " ") if kind == "b" and "_" not in name else sql_name
        rows.append((int(oid), name, sql_type, 0, int(length), category, kind))
        if array != "0":
            rows.append((int(array), f"_{name}", f"{sql_type}[]", int(oid), -1, "A", "b"))
    return rows

"""The types of PostgreSQL that columns of a vault have, as pg_type tells of them."""

from __future__ import annotations

from sqlpriv.interfaces.server.postgresql.encoding import wire_values as v

_TYPE_NAMES = {
    v.BOOL: "bool",
    v.INT8: "int8",
    v.INT2: "int2",
    v.INT4: "int4",
    v.FLOAT4: "float4",
    v.FLOAT8: "float8",
    v.TIME: "time",
    v.TIMESTAMP: "timestamp",
    v.TIMESTAMPTZ: "timestamptz",
    v.VARCHAR: "varchar",
}


def type_rows() -> list[tuple[int, str, str, int, int, str]]:
    """Returns oid, typname, SQL name, typelem, typlen and typcategory of every type."""
    names = {**v.NAMES, v.NAME: "name", v.OID: "oid", v.VARCHAR: "character varying"}
    names[v.INT2VECTOR] = "int2vector"
    rows = [
        (oid, _TYPE_NAMES.get(oid, name), name, 0, v.SIZES.get(oid, -1), _category(oid))
        for oid, name in names.items()
    ]
    for array, item in v.ARRAYS.items():
        rows.append(
            (array, f"_{_TYPE_NAMES.get(item, names[item])}", f"{names[item]}[]", item, -1, "A")
        )
    return rows


def _category(oid: int) -> str:
    if oid in v.NUMBERS or oid == v.OID:
        return "N"
    if oid in (v.DATE, v.TIME, v.TIMESTAMP, v.TIMESTAMPTZ):
        return "D"
    return {v.BOOL: "B", v.INTERVAL: "T", v.UUID: "U", v.BYTEA: "U"}.get(oid, "S")

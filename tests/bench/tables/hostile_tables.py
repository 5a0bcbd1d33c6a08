"""Small tables that synthesizers may fall over, as text: see `tests/bench/hostile.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """A table.

    Args:
        columns: SQL of each column by name, over `i`, the number of the row.
        domains: By column, what stands after SET PRIVACY DOMAIN.
        strata: STRATIFY BY these.
        rows: Of the table.
    """

    columns: dict[str, str]
    domains: dict[str, str]
    strata: str
    rows: int


UUIDS = ", ".join(f"'00000000-0000-0000-0000-00000000000{k}'" for k in range(3))
FORTY = ", ".join(f"'v{k}'" for k in range(40))
ODD = """'it''s', 'say "x"', '😀 é', '', ' ', 'a;b--c', '%_\\', 'NULL', 'other'"""
TEXT = f"""
# all NULL
x = NULL::INT | BETWEEN (0, 9) OR NULL
y = NULL::DOUBLE | BETWEEN (0, 1) OR NULL
z = NULL::VARCHAR | IN ('a', 'b', NULL)
# constant
x = 7 | BETWEEN (7, 7)
y = 1.5::DOUBLE | BETWEEN (0, 3)
# one row, 1
x = 7 | BETWEEN (0, 99)
y = 1.5::DOUBLE | BETWEEN (0, 3)
# no row, 0
x = 7 | BETWEEN (0, 99)
y = 'a' | IN ('a', 'b')
# 1e15
x = (hash(i) % 2000000000000000)::BIGINT - 1000000000000000 | BETWEEN (-1e15, 1e15)
y = (hash(i, 2) % 1000) * 1e12::DOUBLE | BETWEEN (0, 1e15)
# negative zero
x = CASE WHEN i % 2 = 0 THEN '-0.0'::DOUBLE ELSE i / 100.0 END | BETWEEN (-1, 4)
y = (-(i % 5) / 10.0)::FLOAT | BETWEEN (-1, 0)
# old dates
x = DATE '1650-01-01' + (hash(i) % 100000)::INT | BETWEEN (DATE '1650-01-01', DATE '1950-12-31')
y = TIMESTAMP '1850-06-01' + to_hours(i * 999) | BETWEEN ('1800-01-01', '2100-01-01')
# 300 labels
x = 'label ' || (hash(i) % 300) | IN ({", ".join(f"'label {k}'" for k in range(300))})
y = (i % 3 * 10 + hash(i, 4) % 7)::INT | BETWEEN (0, 30)
# 60 columns, 1000
{"".join(f"c{k} = (hash(i, {k // 3}) % 4)::TINYINT | BETWEEN (0, 3){chr(10)}" for k in range(59))}
# booleans
s = CASE WHEN i % 3 = 0 THEN NULL ELSE i % 3 = 1 END | IN (true, false, NULL)
x = CASE hash(i) % 5 WHEN 0 THEN NULL WHEN 1 THEN false ELSE true END | IN (true, false, NULL)
y = (i % 7)::UTINYINT | BETWEEN (0, 6)
# odd strings
s = [{ODD}][1 + i % 9] | IN ({ODD})
x = [{ODD}][1 + (hash(i) % 9)::INT] | IN ({ODD}, NULL)
it's "y" = (i % 5)::INT | BETWEEN (0, 4)
# decimals
x = (i * 1.0123456789)::DECIMAL(38,10) | BETWEEN (0, 500)
y = ((hash(i) % 100000) / 100)::DECIMAL(18,2) | BETWEEN (0, 1000)
z = (i % 4 / 4)::DECIMAL(4,2) | IN (0, 0.25, 0.5, 0.75)
h = ((hash(i) % 1000000000)::HUGEINT * 1000000000) | BETWEEN (0, 1000000000000000000)
# nested strata
s = (i % 3)::INT | BETWEEN (0, 4)
town = ((i % 3) * 4 + hash(i) % 2)::INT | BETWEEN (0, 19)
x = (i % 50)::INT | BETWEEN (0, 49)
k = CASE WHEN i % 9 = 0 THEN 'a' ELSE 'b' END | IN ('a', 'b', 'c')
# heavy zeros, 2000
x = CASE WHEN hash(i) % 20 = 0 THEN hash(i, 1) % 10000 ELSE 0 END::INT | BETWEEN (0, 99999)
y = CASE WHEN hash(i, 2) % 50 = 0 THEN 77.25 ELSE 0 END::DOUBLE | BETWEEN (-1000, 1000)
# near-duplicates, 2000
x = (hash(i) % 1000)::INT | BETWEEN (0, 1000)
y = (hash(i) % 1000 + i % 2)::INT | BETWEEN (0, 1001)
z = (hash(i) % 1000)::DOUBLE / 3 | BETWEEN (0, 400)
k = (hash(i) % 1000 // 300)::INT | BETWEEN (0, 3)
# types
x = '2020-01-01'::TIMESTAMPTZ + to_days(i::INT) | BETWEEN ('2019-12-01 00:00Z', '2022-01-01 00:00Z')
e = (['lo', 'mid', 'hi'][1 + i % 3])::ENUM('lo', 'mid', 'hi') | IN ('lo', 'mid', 'hi')
u = uuid() |
b = i % 2 = 0 | IN (true, false)
m = (i % 100 / 10)::DECIMAL(5,1) | BETWEEN (0, 10)
# undeclared
k = CASE i % 4 WHEN 0 THEN 'secret' WHEN 1 THEN NULL ELSE 'a' END | IN ('a', 'b')
x = (i % 200)::INT - 50 | BETWEEN (0, 99)
# time of day
x = TIME '08:00:00' + to_minutes(i) |
y = (i % 5)::INT | BETWEEN (0, 4)
# lists
x = [i, i + 1] |
y = (i % 5)::INT | BETWEEN (0, 4)
# listed uuids
u = ('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID | IN ({UUIDS})
y = (i % 50)::INT | BETWEEN (0, 49)
# amounts, 2000
x = exp(4 + (hash(i) % 1000) / 300.0)::DECIMAL(18,4) | BETWEEN (0, 1000000000)
y = exp(9 + (hash(i, 1) % 1000) / 500.0)::DECIMAL(12,2) | BETWEEN (-1e9, 1e9) OR NULL
# mostly unused enum
e = ('v' || (i % 3))::ENUM({FORTY}) | IN ({FORTY}, NULL)
x = (i % 20)::INT | BETWEEN (0, 1000000)
# 2000 labels, 3000
x = 'v' || (hash(i) % (1 + hash(i, 1) % 2000)) | IN ({", ".join(f"'v{k}'" for k in range(2000))})
y = (hash(i) % 3)::INT | BETWEEN (0, 2)
# NULL not declared
x = NULL::INT | BETWEEN (0, 9)
y = (i % 5)::INT | BETWEEN (0, 4)
# five alike, 3000
{"".join(f"c{k} = (hash(i) % 40)::INT | BETWEEN (0, 1000){chr(10)}" for k in range(5))}
# huge integers
x = 4000000000000000000 - (i % 9) | BETWEEN (-4e18, 4e18)
y = (4000000000000000000 - i)::UBIGINT | BETWEEN (0, 4000000000000000000)
z = i::HUGEINT * 10000000000000000 | BETWEEN (-4e18, 4e18)
# one row far out, 3000
x = CASE WHEN i = 7 THEN 1000000 ELSE i % 13 END::INT | BETWEEN (0, 1000000)
y = DATE '2020-01-01' + (i % 13)::INT | BETWEEN ('1900-01-01', '2100-01-01')
# tiny and no numbers
x = i * 1e-300::DOUBLE | BETWEEN (0, 1)
y = ['nan', 'inf', '-inf', '1'][1 + i % 4]::DOUBLE | BETWEEN (0, 2)
# one minute of a century
x = TIMESTAMP '2020-02-03' + to_microseconds(i * 149999) | BETWEEN ('1950-01-01', '2050-01-01')
y = (i % 7)::DOUBLE / 7 | BETWEEN (-1e9, 1e9)
"""
"""`# name, rows` (400 without), then `column = SQL | domain`. A column `s` of three whole numbers
is put first where there is none. Strata are `s`, and `town` where there is one."""


def hostile_tables() -> dict[str, Hostile]:
    """Returns the tables of TEXT by name."""
    tables = {}
    for part in TEXT.strip().removeprefix("# ").split("\n# "):
        head, *lines = [line for line in part.splitlines() if line]
        name, _, rows = head.partition(", ")
        columns, domains = {"s": "(i % 3)::INT"}, {"s": "IN (0, 1, 2)"}
        for line in lines:
            column, _, rest = line.partition(" = ")
            columns[column], _, domain = (x.strip() for x in rest.rpartition(" |"))
            if domain:
                domains[column] = domain
        strata = "s, town" if "town" in columns else "s"
        tables[name] = Hostile(columns, domains, strata, int(rows or 400))
    return tables

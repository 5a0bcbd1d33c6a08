"""Random statements over the tables of `suites.vault`, as text: expressions of every type, nested.

Whoever runs them compares the answers with DuckDB's. Left out is what is read otherwise on purpose
(docs/types.md): NaN, division by zero, sums of small integers that overflow in DuckDB, and figures
that are differences of large sums.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Columns = Mapping[str, Sequence[str]]
TABLES: Mapping[str, tuple[str, Columns]] = {
    "people": (
        "id",
        {"int": ["year", "age", "hours"], "real": ["income"], "text": ["sex", "educ", "region"]},
    ),
    "odd": (
        "u",
        {"int": ["big"], "dec": ["dec3"], "date": ["d"], "moment": ["ts"], "text": ["s"]},
    ),
    "stays": ("person", {"int": ["ward"], "date": ["day"], "moment": ["arrived"]}),
    "logins": ("mid", {"int": ["secs"], "text": ["device"], "moment": ["seen"]}),
    "sales JOIN products USING (pid)": (
        "cid",
        {"int": ["qty", "discount"], "dec": ["price", "cost"], "date": ["sold"]}
        | {"text": ["category", "channel"]},
    ),
    "sales JOIN customers USING (cid)": (
        "cid",
        {"int": ["qty", "born"], "dec": ["price"], "date": ["sold"], "text": ["country", "tier"]},
    ),
}
"""FROM → the column of the unit, and columns by type."""
NUMBERS = ("int", "dec", "real")
LITERALS: Columns = {
    "int": ["0", "1", "3", "-5", "100"],
    "dec": ["0.5", "1.25", "-0.1"],
    "real": ["1.5e0", "-2e0"],
    "text": ["'a'", "''", "'A b'", "'north'"],
    "date": ["DATE '1970-01-01'", "DATE '2023-02-01'"],
    "moment": ["TIMESTAMP '1970-01-01'", "TIMESTAMP '2023-02-01 12:30:00'"],
}
FORMS: Columns = {
    "int": [
        "({int} + {int})",
        "({int} * {int})",
        "({int} // 7)",
        "({int} % 3)",
        "abs({int})",
        "(-{int})",
        "coalesce({int}, 1)",
        "nullif({int}, {int})",
        "greatest({int}, {int})",
        "CAST({dec} AS INTEGER)",
        "floor({real})::INTEGER",
        "({bool})::INTEGER",
        "CASE WHEN {bool} THEN {int} ELSE {int} END",
    ],
    "dec": [
        "({dec} + {dec})",
        "({dec} * {int})",
        "(-{dec})",
        "round({dec}, 1)",
        "CAST({real} AS DECIMAL(15, 4))",
        "coalesce({dec}, 0.5)",
        "CASE WHEN {bool} THEN {dec} END",
    ],
    "real": [
        "({real} + {int})",
        "({dec} / 4)",
        "sqrt(abs({int}))",
        "ln(abs({dec}) + 1)",
        "({int})::DOUBLE",
        "CASE WHEN {bool} THEN {real} ELSE {real} END",
    ],
    "text": [
        "lower({text})",
        "upper({text})",
        "substr({text}, 1, 2)",
        "left({text}, -1)",
        "coalesce({text}, 'x')",
        "CASE WHEN {bool} THEN {text} ELSE {text} END",
    ],
    "date": [
        "({date} + INTERVAL 2 MONTH)::DATE",
        "date_trunc('month', {date})::DATE",
        "({date} - 7)",
        "last_day({date})",
        "coalesce({date}, DATE '2000-01-01')",
    ],
    "moment": [
        "({moment} + INTERVAL 90 MINUTE)",
        "date_trunc('hour', {moment})",
        "({date})::TIMESTAMP",
    ],
    "bool": [
        "({int} < {dec})",
        "({real} >= {int})",
        "({dec} = {int})",
        "({text} <> {text})",
        "({text} LIKE '%a%')",
        "({date} <= {date})",
        "({moment} > {date})",
        "({int} IN (2, {int}, 7))",
        "({text} NOT IN ({text}, 'a'))",
        "({dec} BETWEEN 0.5 AND {int})",
        "({int} IS NULL)",
        "({int} IS DISTINCT FROM {int})",
        "({bool} AND {bool})",
        "({bool} OR {bool})",
        "(NOT {bool})",
    ],
}
"""Type → how a value of it is made of others, which stand in braces by their types."""


@dataclass(frozen=True)
class Statement:
    """A random statement.

    Args:
        text: Its SQL. One output is `n`, the number of rows.
        keys: How many of its first outputs are keys.
    """

    text: str
    keys: int = 0


class RandomExpressions:
    """Makes random expressions of some columns.

    Args:
        dice: What is drawn from.
        columns: By type.
    """

    def __init__(self, dice: random.Random, columns: Columns) -> None:
        self._dice, self._columns = dice, columns

    def of_type(self, type_: str, depth: int) -> str:
        """Returns an expression of a type that is nested at most so deep."""
        forms = FORMS[type_]
        if depth <= 0 or (type_ != "bool" and self._dice.random() < 0.3):
            columns = self._columns.get(type_, ())
            if columns and self._dice.random() < 0.8:
                return self._dice.choice(columns)
            if type_ != "bool":
                return self._dice.choice(LITERALS[type_])
            forms = forms[:-3]  # of comparisons alone
        form = self._dice.choice(forms)
        for part in FORMS:
            while f"{{{part}}}" in form:
                form = form.replace(f"{{{part}}}", self.of_type(part, depth - 1), 1)
        return form

    def aggregate(self, depth: int) -> str:
        """Returns an aggregate of such an expression, of some rows perhaps."""
        argument = self.of_type(self._dice.choice(NUMBERS), depth)
        form = self._dice.choice(("SUM({})", "AVG({})", "COUNT({})", "COUNT(DISTINCT {})"))
        where = f" FILTER (WHERE {self.of_type('bool', 1)})" if self._dice.random() < 0.2 else ""
        return form.format(argument) + where


def random_statement(seed: int) -> Statement:
    """Returns a statement: totals, groups by one or two keys, or figures over each unit's own."""
    dice = random.Random(seed)
    source = dice.choice(list(TABLES))
    unit, columns = TABLES[source]
    terms, depth = RandomExpressions(dice, columns), dice.choice((1, 2, 2, 3))
    where = f" WHERE {terms.of_type('bool', depth)}" if dice.random() < 0.6 else ""
    kind = dice.choice(("totals", "groups", "two keys", "units", "quotients"))
    if kind == "totals":
        outputs = f"COUNT(*) AS n, {terms.aggregate(depth)} AS a, {terms.aggregate(depth)} AS b"
        return Statement(f"SELECT {outputs} FROM {source}{where}")
    if kind == "quotients":
        outputs = f"COUNT(*) AS n, {terms.aggregate(1)} / (COUNT(*) + 1) AS a"
        return Statement(f"SELECT {outputs} FROM {source}{where}")
    if kind == "units":
        inner = f"{unit}, MAX({terms.of_type(dice.choice(NUMBERS), 1)}) AS v, COUNT(*) AS c"
        of_units = RandomExpressions(dice, {"int": ["c"], "real": ["v"]})
        outputs = f"c AS k, COUNT(*) AS n, {of_units.aggregate(1)} AS a"
        by_unit = f"(SELECT {inner} FROM {source}{where} GROUP BY {unit})"
        return Statement(f"SELECT {outputs} FROM {by_unit} GROUP BY 1", 1)
    keys = [terms.of_type("text" if "text" in columns else "int", 1)]
    keys += [terms.of_type("bool", 1)] if kind == "two keys" else []
    named = ", ".join(f"{key} AS k{number}" for number, key in enumerate(keys))
    outputs = f"{named}, COUNT(*) AS n, {terms.aggregate(depth)} AS a"
    group_by = ", ".join(f"k{number}" for number in range(len(keys)))
    return Statement(f"SELECT {outputs} FROM {source}{where} GROUP BY {group_by}", len(keys))

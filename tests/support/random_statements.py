"""Random statements of kinds that analysts write, about the tables of `private_tables`."""

from __future__ import annotations

import random
from collections.abc import Callable

from suites.run import classes, in_its_dialect, statements

from support.private_tables import PRIVATE


class Questioner:
    """Draws statements."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def table(self, *, least: str = "unit") -> str:
        """The name of a private table that has what a kind needs: 'unit', 'rows' of a unit, or
        'free' values."""
        rng = self.rng
        named = [n for n, t in PRIVATE.items() if t.unit or least == "any"]
        if least in ("rows", "free"):
            named = [n for n in named if n != "people"]
        return rng.choice([n for n in named if least != "free" or PRIVATE[n].free])

    def test(self, table: str, prefix: str = "") -> str:
        """A predicate about a row."""
        rng, of = self.rng, PRIVATE[table]
        number = prefix + rng.choice(of.numbers)
        return rng.choice(
            [
                f"{number} > {rng.choice([0, 1, 2, 5, 40])}",
                f"{number} BETWEEN {rng.randint(-3, 1)} AND {rng.randint(1, 50)}",
                f"{prefix}{rng.choice(of.keys)} IS NOT NULL",
                f"NOT ({number} = {rng.randint(0, 3)})",
                f"coalesce({number}, 1) % 2 = {rng.randint(0, 1)}",
                "true",
            ]
        )

    def output(self, number: str) -> str:
        """An aggregate of a number."""
        low, high = self.rng.choice([(0, 3), (-2, 9), (0, 100)])
        return self.rng.choice(
            [
                "COUNT(*)",
                f"COUNT({number})",
                f"SUM(least(greatest({number}, {low}), {high}))",
                f"AVG(least(greatest({number}, {low}), {high}))",
                f"COUNT(DISTINCT least(greatest({number}, {low}), {min(high, 9)}))",
            ]
        )

    def group(self, table: str) -> str:
        """A key, and HAVING now and then."""
        key = self.rng.choice(PRIVATE[table].keys)
        return f" GROUP BY {key}" + self.rng.choice(["", "", " HAVING COUNT(*) > 3"])

    def in_unit(self, table: str) -> str:
        """A window's frame inside a unit."""
        of = PRIVATE[table]
        return f"(PARTITION BY {of.unit} ORDER BY {of.order})"

    def unpivot(self) -> str:
        rng, table = self.rng, self.table(least="any")
        numbers = rng.sample(PRIVATE[table].numbers, min(2, len(PRIVATE[table].numbers)))
        nulls = rng.choice(["", " INCLUDE NULLS"])
        v = self.output("v")
        return (
            f"SELECT n, {v} AS a FROM {table} UNPIVOT{nulls} (v FOR n IN ({', '.join(numbers)}))"
            f" GROUP BY n"
        )

    def pivot(self) -> str:
        rng, table = self.rng, self.table(least="any")
        of = PRIVATE[table]
        on, number = rng.choice(of.keys), rng.choice(of.numbers)
        by = rng.choice([f" GROUP BY {k}" for k in of.keys if k != on] or [""])
        figure = rng.choice(["COUNT(*)", f"SUM({number})", f"AVG({number})"])
        return f"PIVOT {table} ON {on} USING {figure}{by}"

    def unit_window(self) -> str:
        """ROW_NUMBER, values of rows before, running sums."""
        rng, table = self.rng, self.table(least="rows")
        of, frame = PRIVATE[table], self.in_unit(table)
        number, key = rng.choice(of.numbers), rng.choice(of.keys)
        value, test = rng.choice(
            [
                (f"ROW_NUMBER() OVER {frame}", "w <= 2"),
                (f"LAG({number}) OVER {frame}", f"w < {number}"),
                (f"LEAD({key}) OVER {frame}", f"w = {key}"),
                (f"SUM({number}) OVER {frame}", "w > 2"),
                (f"COUNT(*) OVER (PARTITION BY {of.unit})", "w > 1"),
                (f"MAX({number}) OVER (PARTITION BY {of.unit})", f"w = {number}"),
                (f"FIRST_VALUE({key}) OVER {frame}", f"w = {key}"),
            ]
        )
        columns = ", ".join(dict.fromkeys((key, number)))
        inner = f"SELECT {of.unit}, {columns}, {number} AS x, {value} AS w FROM {table}"
        grouped = rng.choice(["", f" GROUP BY {key}"])
        rows = f"{inner} WHERE {self.test(table)}"
        return f"SELECT {self.output('x')} AS a FROM ({rows}) WHERE {test}{grouped}"

    def qualify(self) -> str:
        rng, table = self.rng, self.table(least="rows")
        of = PRIVATE[table]
        key, number = rng.choice(of.keys), rng.choice(of.numbers)
        columns = ", ".join(dict.fromkeys((key, number)))
        test = rng.choice(
            [
                f"ROW_NUMBER() OVER {self.in_unit(table)} <= {rng.randint(1, 2)}",
                f"{key} <> LAG({key}) OVER {self.in_unit(table)}",
                f"COUNT(*) OVER (PARTITION BY {of.unit}) >= 2",
            ]
        )
        inner = f"SELECT {columns} FROM {table} WHERE {self.test(table)} QUALIFY {test}"
        return f"SELECT {self.output(number)} AS a FROM ({inner})" + rng.choice(
            ["", f" GROUP BY {key}"]
        )

    def distinct_on(self) -> str:
        rng, table = self.rng, self.table(least="rows")
        of = PRIVATE[table]
        key, number = rng.choice(of.keys), rng.choice(of.numbers)
        columns = ", ".join(dict.fromkeys((key, number)))
        inner = (
            f"SELECT DISTINCT ON ({of.unit}) {of.unit}, {columns} FROM {table}"
            f" ORDER BY {of.unit}, {of.order}"
        )
        return f"SELECT {key}, {self.output(number)} AS a FROM ({inner}) GROUP BY {key}"

    def answer_window(self) -> str:
        rng, table = self.rng, self.table(least="any")
        key, number = rng.choice(PRIVATE[table].keys), rng.choice(PRIVATE[table].numbers)
        over = rng.choice(
            [
                "RANK() OVER (ORDER BY COUNT(*) DESC)",
                "SUM(COUNT(*)) OVER ()",
                "COUNT(*) / SUM(COUNT(*)) OVER ()",
                f"LAG(COUNT(*)) OVER (ORDER BY {key})",
            ]
        )
        test = self.test(table)
        return (
            f"SELECT {key}, {self.output(number)} AS a, {over} AS w FROM {table} WHERE {test}"
            f" GROUP BY {key}"
        )

    def grouping_sets(self) -> str:
        rng, table = self.rng, self.table(least="any")
        of = PRIVATE[table]
        keys = rng.sample(of.keys, min(2, len(of.keys)))
        form = rng.choice(["ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())"])
        listed = ", ".join(keys)
        output = self.output(rng.choice(of.numbers))
        return f"SELECT {listed}, {output} AS a FROM {table} GROUP BY {form.format(listed)}"

    def strata(self) -> str:
        table = self.table(least="any")
        key, number = self.rng.choice(PRIVATE[table].keys), self.rng.choice(PRIVATE[table].numbers)
        test = self.test(table)
        return (
            f"SELECT {key}, {self.output(number)} AS a FROM {table} WHERE {test} STRATIFY BY {key}"
        )

    def set_operation(self) -> str:
        rng, table = self.rng, self.table(least="rows")
        of = PRIVATE[table]
        word = rng.choice(["INTERSECT", "EXCEPT", "UNION", "UNION ALL"])
        more = rng.choice(["", f", {rng.choice(of.keys)}"])
        one, other = (f"SELECT {of.unit}{more} FROM {table} WHERE {self.test(table)}" for _ in "12")
        return f"SELECT COUNT(*) AS a FROM ({one} {word} {other})"

    def exists(self) -> str:
        rng = self.rng
        table = self.table(least="rows")
        of = PRIVATE[table]
        same = " AND ".join(f"i.{c} = o.{c}" for c in of.unit.split(", "))
        word = rng.choice(["", "NOT "])
        outer = rng.choice([table, of.family])
        key = rng.choice(of.keys) if outer == table else ""
        inner = f"SELECT 1 FROM {table} AS i WHERE {same} AND {self.test(table, 'i.')}"
        grouped = f" GROUP BY o.{key}" if key and rng.random() < 0.5 else ""
        return f"SELECT COUNT(*) AS a FROM {outer} AS o WHERE {word}EXISTS ({inner}){grouped}"

    def filtered(self) -> str:
        table = self.table(least="any")
        numbers = PRIVATE[table].numbers
        outputs = ", ".join(
            f"{self.output(self.rng.choice(numbers))} FILTER (WHERE {self.test(table)}) AS a{i}"
            for i in range(2)
        )
        return f"SELECT {outputs} FROM {table}" + self.group(table)

    def per_unit(self) -> str:
        """Aggregates inside a unit, one or two of them deep."""
        rng, table = self.rng, self.table(least="rows")
        of = PRIVATE[table]
        number, key = rng.choice(of.numbers), rng.choice(of.keys)
        made = rng.choice(
            ["COUNT(*)", f"MAX({number})", f"SUM({number})", f"COUNT(DISTINCT {key})"]
        )
        if rng.random() < 0.5:
            inner = f"SELECT {of.unit}, {made} AS k FROM {table} GROUP BY {of.unit}"
            return f"SELECT {self.output('k')} AS a FROM ({inner}) WHERE k >= {rng.randint(0, 2)}"
        inner = f"SELECT {of.unit}, {key}, {made} AS k FROM {table} GROUP BY {of.unit}, {key}"
        outer = f"SELECT {of.unit}, MAX(k) AS k2, COUNT(*) AS n FROM ({inner}) GROUP BY {of.unit}"
        return f"SELECT {self.output('k2')} AS a FROM ({outer}) WHERE n >= {rng.randint(0, 2)}"

    def composite(self) -> str:
        """Units of two columns, and their linked rows."""
        rng = self.rng
        return rng.choice(
            [
                f"SELECT {self.output('hours')} AS a FROM shifts WHERE {self.test('shifts')}",
                f"SELECT grade, {self.output('hours')} AS a FROM shifts"
                " JOIN staff USING (firm, badge) GROUP BY grade",
                "SELECT COUNT(*) AS a FROM (SELECT firm, badge, SUM(hours) AS h FROM shifts"
                f" GROUP BY firm, badge) WHERE h > {rng.randint(0, 20)}",
                "SELECT COUNT(*) AS a FROM staff AS o WHERE EXISTS (SELECT 1 FROM shifts AS i WHERE"
                " i.firm = o.firm AND i.badge = o.badge AND hours > 2)",
            ]
        )

    def linked(self) -> str:
        """Rows met over links, and bounds of the statement."""
        rng = self.rng
        m, g = rng.randint(1, 4), rng.randint(1, 3)
        bound = (
            f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2, max_rows_contributed = {m}"
            f"{rng.choice(['', f', max_groups_contributed = {g}'])})"
        )
        source, key, number = rng.choice(
            [
                ("sales s JOIN customers c USING (cid)", "country", "qty"),
                ("customers c LEFT JOIN sales s USING (cid)", "tier", "price"),
                ("baskets b JOIN logins l USING (lid)", "device", "paid"),
                ("baskets b JOIN logins l USING (lid) JOIN members USING (mid)", "level", "secs"),
                ("sales s JOIN products USING (pid)", "category", "cost"),
                ("sales s JOIN sales t USING (cid, store)", "s.channel", "t.qty"),
            ]
        )
        by = rng.choice([f" GROUP BY {key}", f" STRATIFY BY {key}", ""])
        return f"SELECT {rng.choice([bound, ''])} {self.output(number)} AS a FROM {source}{by}"

    def selected_keys(self) -> str:
        """Keys of a threshold, and what is asked of them."""
        table = self.table(least="free")
        of = PRIVATE[table]
        key = f"{of.free} % {self.rng.randint(2, 9)}" if of.free != "post" else of.free
        a = self.output(self.rng.choice(of.numbers))
        return f"SELECT {key} AS k, {a} AS a FROM {table} GROUP BY k"

    def median(self) -> str:
        table = self.table(least="any")
        number = self.rng.choice(PRIVATE[table].numbers)
        what = self.rng.choice(["MEDIAN({})", "QUANTILE_CONT({}, 0.9)", "MODE({})", "MAX({})"])
        return f"SELECT {what.format(number)} AS a FROM {table}{self.group(table)}"

    def of_the_suites(self) -> str:
        """A statement of the suites, in its dialect, which the first line names."""
        dialect, sql = in_its_dialect(self.rng.choice(_SUITES))
        return f"-- {dialect}\n{sql}"

    def of_a_dialect(self) -> str:
        """A statement of the suites that is not in DuckDB's dialect."""
        dialect, sql = in_its_dialect(self.rng.choice(_FOREIGN))
        return f"-- {dialect}\n{sql}"


_SUITES = [text for name in classes() for text in statements(name)]
_FOREIGN = [text for text in _SUITES if in_its_dialect(text)[0] != "duckdb"]
KINDS: dict[str, Callable[[Questioner], str]] = {
    "unpivot": Questioner.unpivot,
    "pivot": Questioner.pivot,
    "windows inside a unit": Questioner.unit_window,
    "qualify": Questioner.qualify,
    "distinct on": Questioner.distinct_on,
    "windows over answers": Questioner.answer_window,
    "grouping sets": Questioner.grouping_sets,
    "strata": Questioner.strata,
    "set operations": Questioner.set_operation,
    "correlated exists": Questioner.exists,
    "filter": Questioner.filtered,
    "aggregates inside a unit": Questioner.per_unit,
    "composite units": Questioner.composite,
    "links and bounds": Questioner.linked,
    "selected keys": Questioner.selected_keys,
    "levels": Questioner.median,
    "suites": Questioner.of_the_suites,
    "dialects": Questioner.of_a_dialect,
}
"""How a statement of each kind is drawn."""

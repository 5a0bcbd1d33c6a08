"""The SQL of each engine as data: quotes, types and forms of one text that the proofs are about.

Claim: both values of `Dialect` write the same functions of a row, so a query has the same exact
cells in either engine (`tests/engines`). Where an engine's own function differs (Spark's `floor`
gives a BIGINT and saturates), its form is put together of ones that do not.

Claim: no text from outside can close its own quotes. Identifiers are quoted, and a quote inside is
doubled; so are DuckDB's text literals. In Spark, where a backslash escapes a quote, text literals
are written as hexadecimal digits. So are Spark's names of tables, which therefore never equal the
name of a part of the statement (`rows`, `kept`).

Claim: no row makes Spark's text fail with `spark.sql.ansi.enabled` off, as it is (`SETTINGS`).

Two functions are not the same in all engines, and no bound rests on them: the hash by which a
unit's rows are ranked, and the last bit of `exp`, `ln`, `log2`, `log10`, `cbrt` and `pow`.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.terms.contract import Number, Value
from sqlpriv.kernel.terms.operations import MAX_SCALE, OPERATIONS, SANE


@dataclass(frozen=True, eq=False)
class Dialect:
    """How one engine writes names, literals, types and what is computed of a row.

    Attributes:
        name: That of the engine, as `TableContract.engine` has it.
        quote: Stands around identifiers, doubled inside.
        hexed: Text and the names of tables are written as hexadecimal digits.
        forms: Texts over rendered parts, by name: {0}, {1}, ….
        types: What the engine calls DuckDB's types, where it has other names.
        operations: Texts in place of those in `operations.OPERATIONS`; '' for none in this engine.
    """

    name: str
    quote: str
    hexed: bool
    forms: Mapping[str, str]
    types: Mapping[str, str] = field(default_factory=dict)
    operations: Mapping[str, str] = field(default_factory=dict)

    def identifier(self, name: str) -> str:
        """Returns a quoted identifier.

        >>> print(DUCKDB.identifier('a "quoted" name'), SPARK.identifier("a `quoted` name"))
        "a ""quoted"" name" `a ``quoted`` name`
        """
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def table(self, table: str) -> str:
        """Returns the name of a table of the vault, which no part of a statement has.

        >>> print(DUCKDB.table("rows"), SPARK.table("Rows"))
        main."rows" sqlpriv_table_726f7773
        """
        return self.form(
            "table", table.lower().encode().hex() if self.hexed else self.identifier(table)
        )

    def form(self, name: str, *texts: object, is_macro: bool = False) -> str:
        """Returns a form with these texts in it: see `fill`."""
        return self.fill(self.forms[name], *texts, is_macro=is_macro)

    def fill(self, form: str, *texts: object, is_macro: bool = False, **named: str) -> str:
        """Returns a form filled with texts. Where a form repeats a long text, that text gets a name
        and is written once: nested, round(round(x) * y) would write it 15 times at each step for
        Spark, and 1 / (1 / x) twice for either engine. A macro (`is_macro`) repeats its argument,
        too: the engine bound six copies of a sum's value before it found that they are one, 0.7 s
        for a hundred and fifty logarithms and 2.8 s for twice as many.

        Claim: it is the same function of the row. The named text is computed where the form stands.
        The name is not quoted, and no other text refers to it by chance: every use stands inside
        the step that names it, and longer texts than those inside them have other names.
        """
        repeated = (
            i
            for i, text in enumerate(texts)
            if len(str(text)) >= 1_000 and (is_macro or form.count(f"{{{i}}}") > 1)
        )
        if (at := next(repeated, None)) is None:  # a function of a list is slower than short texts
            return form.format(*texts, **named)
        name = f"sqlpriv_named{sum(len(str(text)) for text in texts)}"
        return self.form(
            "named",
            texts[at],
            name,
            self.fill(form, *texts[:at], name, *texts[at + 1 :], is_macro=False, **named),
        )

    def operation(self, op: str) -> str:
        """Returns the text of an operation; Refused where the engine has none."""
        if not (text := self.operations.get(op, OPERATIONS[op].sql)):
            raise Refused(f"tables that {self.name} reads cannot use {op.upper()}")
        return text

    def cast(self, text: str, sql_type: str) -> str:
        """Returns a text as a value of a type, which goes by DuckDB's name."""
        return f"CAST({text} AS {self.types.get(sql_type, sql_type)})"

    def literal(self, value: Value) -> str:
        """Returns a literal whose type the engine reads as the algebra does.

        >>> print(DUCKDB.literal("it's"), SPARK.literal("it's"), SPARK.literal(0.5))
        'it''s' CAST(X'69742773' AS STRING) (0.5D)
        """
        match value:
            case None:
                return "NULL"
            case bool():
                return "true" if value else "false"
            case int():
                return f"({value})" if abs(value) < 2**63 else self.form("wide", value)
            case float() if math.isfinite(value):
                end = "" if self.hexed or "e" in repr(value) else "e0"
                return f"({self.form('double', value)}{end})"
            case str() if "\0" not in value and self.hexed:
                return self.form("text", value.encode().hex())
            case str() if "\0" not in value:
                return "'" + value.replace("'", "''") + "'"
            case dt.datetime():
                return self.form("moment", value.isoformat(sep=" "))
            case dt.date() | dt.time():
                return f"{'DATE' if isinstance(value, dt.date) else 'TIME'} '{value.isoformat()}'"
        raise KernelError("this value has no literal")

    def like(self, text: str, pattern: str, escape: str, fold: bool) -> str:
        """Returns the text of LIKE. Without ESCAPE a backslash is a character like others: Spark is
        given an escape character that the pattern does not hold."""
        text = self.form("ilike" if fold else "like", text, self.literal(pattern))
        if self.hexed:
            free = (
                c for c in map(chr, range(33, 700)) if c not in f"%_'{pattern}{pattern.lower()}"
            )
            escape = (escape or next(free)).replace("\\", "\\\\")
        return f"({text} ESCAPE '{escape}')" if escape else f"({text})"

    def item(self, values: Iterable[Number], place: str, sql_type: str) -> str:
        """Returns the text of the value at a 0-based place of a list, NULL where there is none."""
        return self.form(
            "item",
            ", ".join(
                self.forms["double" if isinstance(v, float) else "digits"].format(v) for v in values
            ),
            place,
            sql_type,
        )


_BEYOND = "JOIN sqlpriv_beyond ON {2} IS NOT DISTINCT FROM sqlpriv_beyond.unit"
_DUCKDB_FORMS = {
    "table": "main.{0}",
    "digits": "{0}",
    "double": "{0!r}",
    "wide": "({0})::HUGEINT",
    "moment": "TIMESTAMP '{0}'",
    # of a row
    "named": "list_extract(list_transform([{0}], lambda {1}: {2}), 1)",
    "number": "sqlpriv_number({0})",  # a double without NaN
    "whole number": "sqlpriv_number({0})",  # of a whole number, computed as one or as a double
    "clamp": "sqlpriv_clamp({0}, {1}, {2})",
    "quantise": "sqlpriv_quantise({0}, {1}, {2}, {3})",
    "rounded": "CAST(round(({0} - {1}) / {2}) AS BIGINT)",
    "whole": "TRY_CAST({0} AS BIGINT)",
    "below": "CAST(floor({0}) AS INTEGER)",
    "position": "list_position([{0}], {1}) - 1",
    "item": "list_extract(CAST('[{0}]' AS {2}[]), {1} + 1)",
    "bytes": "encode(CAST({0} AS VARCHAR))",  # equal under any collation only where they are
    "of bytes": "decode({0})",
    "counted": "encode(octet_length({0}) || ':') || {0}",
    "sane": SANE,
    "zoned": "make_timestamp(epoch_us({0}))",
    "moment of units": "TRY_CAST({0} AS TIMESTAMP)",
    "shift": "{0} + to_months({1}) + to_days({2}) + to_microseconds({3})",
    "like": "{0} LIKE {1}",
    "ilike": "{0} ILIKE {1}",
    # of rows
    "sum": "sum({0})",
    "wide sum": "sum({0})",
    "hash": "hash(hash({0}::UBIGINT, {1}))",
    "ascending": "{0}",
    # those of units of which {4} is true, in {3}: all rows, or their numbers by stratum, pass {5};
    # a row of NULLs goes the whole way, and out
    "kept": "WITH sqlpriv_all AS MATERIALIZED ({0} UNION ALL SELECT NULL{1}),"
    " sqlpriv_beyond AS MATERIALIZED (SELECT {2} AS unit"
    " FROM {3} GROUP BY {2} HAVING {4} OR {2} IS NULL)"
    f" SELECT * FROM sqlpriv_all ANTI {_BEYOND} UNION ALL SELECT * FROM sqlpriv_all SEMI {_BEYOND}"
    " QUALIFY CASE WHEN {2} IS NOT NULL THEN {5} END",
    # rows {0} of units in the list {3}: of units far beyond {7} rows those of small hashes {6}, {7}
    # of them at least, are ranked; a bare `far` would spare the scan parts of the list
    "ranked": "WITH sqlpriv_all AS MATERIALIZED"
    " (SELECT *, {6} AS sqlpriv_hash FROM ({0} UNION ALL SELECT NULL{1})),"
    " sqlpriv_near AS MATERIALIZED (SELECT {2} AS unit, CASE "
    + " ".join(
        f"WHEN count(CASE WHEN sqlpriv_hash < {end} THEN 1 END) >= {{7}} THEN {end - 1}"
        for end in (2**54, 2**56, 2**58, 2**60, 2**62)
    )
    + f" ELSE {2**64 - 1} END AS most"
    + " FROM sqlpriv_all SEMI JOIN"
    " (SELECT unit FROM {3} WHERE CASE WHEN far THEN true END) AS sqlpriv_far"
    " ON {2} IS NOT DISTINCT FROM sqlpriv_far.unit GROUP BY {2})"
    " SELECT * EXCLUDE (sqlpriv_hash) FROM (SELECT * FROM sqlpriv_all ANTI JOIN sqlpriv_near"
    " ON {2} IS NOT DISTINCT FROM sqlpriv_near.unit AND sqlpriv_hash > sqlpriv_near.most)"
    " QUALIFY CASE WHEN {2} IS NOT NULL THEN {5} END",
    # links {0} of units {1} with more than {3} rows in {2}, and links to no unit: see
    # `BoundedRows.halves`
    "links": "WITH sqlpriv_all AS MATERIALIZED (SELECT {0} AS link, {1} AS unit, count(*) AS n"
    " FROM {2} GROUP BY {0}, {1} UNION ALL SELECT NULL, NULL, 0), sqlpriv_beyond AS MATERIALIZED"
    " (SELECT unit, unit IS NULL OR sum(n) > 8 * {3} AS far"
    " FROM sqlpriv_all GROUP BY unit HAVING sum(n) > {3} OR unit IS NULL)"
    " SELECT link, sqlpriv_all.unit, far FROM sqlpriv_all JOIN sqlpriv_beyond"
    " ON sqlpriv_all.unit IS NOT DISTINCT FROM sqlpriv_beyond.unit",
    # rows {0} whose link {2} is in such a list {1}, and those whose link is not
    "linked beyond": "{0} JOIN {1} AS sqlpriv_far ON {2} IS NOT DISTINCT FROM sqlpriv_far.link",
    "beyond": "SELECT * FROM {0} SEMI JOIN {1} AS sqlpriv_far"
    " ON {2} IS NOT DISTINCT FROM sqlpriv_far.link",
    "within": "SELECT * FROM {0} ANTI JOIN {1} AS sqlpriv_far"
    " ON {2} IS NOT DISTINCT FROM sqlpriv_far.link",
    "strata": "(SELECT {0}, count(*) AS sqlpriv_n FROM sqlpriv_all GROUP BY {1})",
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "semi": "SEMI JOIN",
    "anti": "ANTI JOIN",
}
DUCKDB = Dialect("duckdb", '"', False, _DUCKDB_FORMS)

_SANE = "CASE WHEN {0} BETWEEN DATE '-99999-01-01' AND DATE '+200000-01-01' THEN {0} END"
_LATER = _SANE.replace("{0}", "{1}")
_MICROS = "unix_micros(CAST({0} AS TIMESTAMP))"
# to the nearest, of two the one away from zero: `rint` takes the even one
_ROUND = (
    "(rint({0}) + CASE WHEN {0} > 0 AND {0} - rint({0}) = 0.5D THEN 1D"
    " WHEN {0} < 0 AND {0} - rint({0}) = -0.5D THEN -1D ELSE 0D END)"
)
_TRUNC = (
    "(rint({0}) + CASE WHEN {0} > 0 AND rint({0}) > {0} THEN -1D"
    " WHEN {0} < 0 AND rint({0}) < {0} THEN 1D ELSE 0D END)"
)
_SPARK_FORMS = _DUCKDB_FORMS | {
    "table": "sqlpriv_table_{0}",
    "double": "{0!r}D",
    "wide": "CAST({0} AS DECIMAL(38,0))",
    "text": "CAST(X'{0}' AS STRING)",
    "moment": "TIMESTAMP_NTZ '{0}'",
    "named": "get(transform(array({0}), {1} -> {2}), 0)",
    "number": "nanvl({0}, CAST(NULL AS DOUBLE))",
    "whole number": "nullif({0}, CAST('NaN' AS DOUBLE))",  # nanvl gives a double: 2^53 of 2^53 + 1
    "clamp": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "quantise": "CAST("
    + _ROUND.replace(
        "{0}",
        "CASE WHEN nanvl({0}, CAST(NULL AS DOUBLE)) IS NOT NULL THEN"
        " least(greatest(({0} - {1}) / {2}, CAST(-{3} AS DOUBLE)), CAST({3} AS DOUBLE)) END",
    )
    + " AS BIGINT)",
    "rounded": "CAST(" + _ROUND.replace("{0}", "(({0} - {1}) / {2})") + " AS BIGINT)",
    # Spark's own cast of 2^63, a double, gives 2^63 - 1
    "whole": "CASE WHEN {0} < CAST(9223372036854775808 AS DECIMAL(38,0))"
    " THEN try_cast({0} AS BIGINT) END",
    "below": "CAST({0} AS INT)",  # of what is not negative
    "position": "nullif(array_position(array({0}), {1}), 0) - 1",
    "item": "get(CAST(array({0}) AS ARRAY<{2}>), {1})",
    "bytes": "CAST({0} AS STRING)",
    "of bytes": "{0}",
    "counted": "octet_length({0}) || ':' || {0}",
    "sane": _SANE,
    "zoned": "CAST({0} AS TIMESTAMP_NTZ)",
    "moment of units": "TRY_CAST({0} AS TIMESTAMP_NTZ)",
    "shift": "CAST({0} AS TIMESTAMP_NTZ) + make_ym_interval(0, {1})"
    " + make_dt_interval({2}, 0, 0, CAST({3} AS DECIMAL(38,0)) / 1000000)",
    # per character, as DuckDB folds; "Σ" and "İ" are folded by what is next to them, or to two
    "ilike": "lower(translate({0}, 'Σİ', 'σi')) LIKE lower(translate({1}, 'Σİ', 'σi'))",
    # of up to 2^43 rows, each within ±2^40; Spark's BIGINT wraps around
    "sum": "(CAST(sum(shiftright(CAST({0} AS BIGINT), 20)) AS DECIMAL(20,0)) * 1048576"
    " + sum(CAST({0} AS BIGINT) & 1048575))",
    "wide sum": "sum(CAST({0} AS DECIMAL(28,0)))",
    "hash": "xxhash64(CAST({0} AS DECIMAL(20,0)), {1})",
    "ascending": "{0} NULLS LAST",
    # all rows are ranked, of whatever units: to count them first takes 2.6 times as long
    "kept": "SELECT * FROM ({0} UNION ALL SELECT NULL{1})"
    " QUALIFY CASE WHEN {2} IS NOT NULL THEN {5} END",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}
_SPARK_OPERATIONS = {
    **{part: f"{part}(CAST({{0}} AS DATE))" for part in ("year", "quarter", "month", "day")},
    **{part: f"{part}({{0}})" for part in ("hour", "minute")},
    "week": f"weekofyear(CAST({_SANE} AS DATE))",
    "dow": "(dayofweek(CAST({0} AS DATE)) - 1)",
    "isodow": "(weekday(CAST({0} AS DATE)) + 1)",
    "doy": "dayofyear(CAST({0} AS DATE))",
    "date": f"CAST({_SANE} AS DATE)",
    "midnight": f"CAST({_SANE} AS TIMESTAMP_NTZ)",
    "days": f"datediff(CAST({_SANE} AS DATE), DATE '1970-01-01')",
    **{
        f"trunc {part}": f"CAST(date_trunc('{part}', {_SANE}) AS TIMESTAMP_NTZ)"
        for part in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    },
    **{
        f"trunc {part}": f"CAST(make_date(year(CAST({_SANE} AS DATE)) div {years} * {years}, 1, 1)"
        " AS TIMESTAMP_NTZ)"
        for part, years in (("century", 100), ("decade", 10))
    },
    **{
        f"diff {part}": f"({number.format(_LATER)} - {number.format(_SANE)})"
        for part, number in (
            ("decade", "(year(CAST({0} AS DATE)) div 10)"),
            ("year", "year(CAST({0} AS DATE))"),
            ("quarter", "((12 * year(CAST({0} AS DATE)) + month(CAST({0} AS DATE)) - 1) div 3)"),
            ("month", "(12 * year(CAST({0} AS DATE)) + month(CAST({0} AS DATE)))"),
            *(
                (unit, f"(({_MICROS} - pmod({_MICROS}, {n}000000)) div {n}000000)")
                for unit, n in (("hour", 3600), ("minute", 60), ("second", 1))
            ),
        )
    },
    "diff week": f"(datediff(CAST({_LATER} AS DATE), CAST({_SANE} AS DATE)) div 7)",
    **{f"sub {part}": "" for part in ("year", "quarter", "month")},  # months have many lengths
    # folded otherwise, or counted so
    **dict.fromkeys(("micros", "clock", "length", "strlen", "lower", "upper"), ""),
    **{
        f"sub {unit}": "(({} - {}) div {}000000)".format(
            _MICROS.format(_LATER).replace("-99999", "-89999").replace("200000", "90000"),
            _MICROS.format(_SANE).replace("-99999", "-89999").replace("200000", "90000"),
            seconds,
        )
        for unit, seconds in (
            ("week", 604800),
            ("day", 86400),
            ("hour", 3600),
            ("minute", 60),
            ("second", 1),
        )
    },
    "floor": "(rint({0}) - CASE WHEN rint({0}) > {0} THEN 1D ELSE 0D END)",
    "ceil": "(rint({0}) + CASE WHEN rint({0}) < {0} THEN 1D ELSE 0D END)",
    "round": _ROUND,
    "trunc": _TRUNC,
    "integer": "rint({0})",
    "//": _TRUNC.replace("{0}", "({0} / nullif({1}, 0))"),
    "sign": "CASE WHEN isnan({0}) THEN 0D ELSE sign({0}) END",
    **{  # Spark's own are NULL where there is no number
        f: f"CASE WHEN {{0}} > 0 THEN {f}({{0}}) WHEN {{0}} = 0 THEN CAST('-Infinity' AS DOUBLE)"
        " WHEN {0} < 0 THEN CAST('NaN' AS DOUBLE) END"
        for f in ("ln", "log2", "log10")
    },
    "pow": "CASE WHEN {0} = 1 AND {1} IS NOT NULL OR {0} = -1 AND abs({1}) = "
    "CAST('Infinity' AS DOUBLE) THEN 1D ELSE pow({0} + 0D, {1}) END",
    **{  # in doubles, as DuckDB does it
        f"scale {d}": f"CASE WHEN abs({rounded}) < CAST('Infinity' AS DOUBLE) THEN {rounded}"
        " ELSE {0} END"
        for d in range(-MAX_SCALE, MAX_SCALE + 1)
        for up, down in [("*", "/") if d >= 0 else ("/", "*")]
        for power in [f"{10.0 ** abs(d)!r}D"]
        for rounded in [f"({_ROUND.replace('{0}', f'({{0}} {up} {power})')} {down} {power})"]
    },
    **{
        op: f"({_SPARK_FORMS['whole']} {op} {_SPARK_FORMS['whole'].replace('{0}', '{1}')})"
        for op in ("&", "|")
    },
    **{f: f"{f}({{all}}, {{0}})" for f in ("least", "greatest")},  # Spark's take two or more
}
SPARK = Dialect(
    name="spark",
    quote="`",
    hexed=True,
    forms=_SPARK_FORMS,
    types={
        "HUGEINT": "DECIMAL(38,0)",
        "VARCHAR": "STRING",
        "TIMESTAMP": "TIMESTAMP_NTZ",
        "UTINYINT": "SMALLINT",
        "USMALLINT": "INT",
        "UINTEGER": "BIGINT",
    },
    operations=_SPARK_OPERATIONS,
)
DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, SPARK)}

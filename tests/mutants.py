"""`python tests/mutants.py`: one-line breaks of the kernel, each of which the tests must catch.

Each mutant is applied to a copy of the repository; the tests named beside it run there. A mutant
that survives, or whose text no longer occurs exactly once, makes the exit code 1. Two run at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
WORKERS = 2
K = "sqlpriv/kernel/"


@dataclass(frozen=True)
class Mutant:
    """One break: in `file`, `old` (which occurs once) becomes `new`; `tests` must notice."""

    what: str
    file: str
    old: str
    new: str
    tests: str
    slow: bool = False  # of tests so marked; a server of Spark's is among what they need


SPARK_TEXT, SPARK_FORMS = K + "sql/dialect.py", "tests/engines/test_broken_forms.py"
RELATIONS = "tests/kernel/sql/test_relations.py"
SENSITIVITY, RENDER = "tests/kernel/proof/test_sensitivity.py", "tests/kernel/sql/test_queries.py"
GATE, LEDGER = "tests/kernel/test_gate.py", "tests/kernel/ledger/test_records.py"
LEDGER_FILE = "tests/kernel/ledger/test_ledger_file.py"
MARK = "tests/attacks/test_put_back.py"
KEYS = "tests/kernel/test_key_selection.py"
COLLATIONS = "tests/kernel/sql/test_collations.py"
STRATA, RANKS = "tests/kernel/proof/test_charged_units.py", "tests/kernel/proof/test_ranks.py"
CELLS, ROOTS = "tests/kernel/sql/test_cells.py", "tests/kernel/sql/test_roots.py"
CLIPPED = "tests/kernel/proof/test_clipped_sums.py"
BOUNDING = "tests/kernel/sql/test_bounding.py"
BYTES = "tests/kernel/sql/test_byte_groups.py"
GROUP_SUMS = "tests/kernel/sql/test_group_sums.py"
DELAY = "tests/kernel/proof/test_delay.py"
UNIT_ROWS = "tests/kernel/proof/test_unit_rows.py"
SIDES = "tests/kernel/sql/test_join_sides.py"
PLACEMENT = "sqlpriv/plan/relations/filter_placement.py"
PLACED = "tests/plan/relations/test_filter_placement.py"
READER, SELECTION = "tests/kernel/test_reader.py", "tests/kernel/test_selection.py"
NOISE, BUDGET = "tests/kernel/proof/test_noise.py", "tests/kernel/test_budget.py"
DATABASE, SHARED = "tests/kernel/ledger/test_database.py", "tests/session/test_shared_ledger.py"
MOVE = "tests/session/test_ledger_move.py"
FILES = "tests/session/test_file_tables.py"
PERIODS = "tests/kernel/ledger/test_periods.py"
RENAMES = "tests/attacks/test_renames.py"
KEPT, NAMED = "tests/session/test_kept_programs.py", "tests/answer/test_named_outputs.py"
PLANNED_ONCE = "tests/interfaces/server/test_reads_and_plans.py"
QUERIES, ACCESS = "sqlpriv/session/queries/", "sqlpriv/session/access/"
TIMES, CLOSED = "sqlpriv/plan/row_times.py", "tests/session/test_closed_rows.py"
WINDOWS, LATE_ROWS = "tests/session/test_windows.py", "tests/attacks/test_late_rows.py"
GRANTS = "tests/session/test_grants.py"
ORACLES, AVERAGING = "tests/attacks/test_oracles.py", "tests/attacks/test_averaging.py"

MUTANTS = (
    # --- what the owner promised is enforced ---
    Mutant(
        "the clamp's upper end is dropped",
        "udfs/clamp.sql",
        "WHEN x > high THEN high",
        "WHEN x > high THEN x",
        SENSITIVITY,
    ),
    Mutant(
        "the clamp's lower end is dropped",
        "udfs/clamp.sql",
        "WHEN x < low THEN low",
        "WHEN x < low THEN x",
        ORACLES,
    ),
    Mutant(
        "NaN is a number",
        "udfs/number.sql",
        "CASE WHEN isnan(x) THEN NULL ELSE x END",
        "x",
        f"{ORACLES} {RENDER}",
    ),
    Mutant(
        "whole seconds are counted between moments of all time",
        K + "terms/operations.py",
        'NEAR = SANE.replace("100000", "90000").replace("200000", "90000")',
        "NEAR = SANE",
        RENDER,
    ),
    Mutant(
        "microseconds are counted to moments of all time",
        K + "terms/operations.py",
        "TIMESTAMP '1970-01-01', {NEAR})",
        "TIMESTAMP '1970-01-01', {{0}})",
        RENDER,
    ),
    Mutant(
        "moments of all time are moved",
        K + "sql/expressions.py",
        'self.dialect.form("sane", self.value(arg))',
        "self.value(arg)",
        RENDER,
    ),
    Mutant(
        "a moment is moved any number of months",
        K + "terms/operations.py",
        "abs(n) > most for n, most",
        "abs(n) > most**2 for n, most",
        RENDER,
    ),
    Mutant(
        "a bin is open at its lower edge",
        K + "sql/expressions.py",
        "WHEN {at} >= {end}",
        "WHEN {at} > {end}",
        RENDER,
    ),
    Mutant(
        "the lattice is clamped too late",
        "udfs/quantise.sql",
        "-steps::DOUBLE, steps::DOUBLE",
        "-2 * steps::DOUBLE, 2 * steps::DOUBLE",
        SENSITIVITY,
    ),
    Mutant(
        "a rounded end of a clamp is left as it is",
        K + "sql/expressions.py",
        "self.clamp(self.stored_text(of) if plain else whole, *ends)",
        "self.clamp(self.stored_text(of), *ends) if plain else whole",
        SENSITIVITY,
    ),
    Mutant(
        "whole numbers are not centred",
        K + "sql/expressions.py",
        'how = f"2 * {total} - {self.dialect.literal(int(2 * grid.middle))} * {n}"',
        'how = f"2 * {total}"',
        SENSITIVITY,
    ),
    Mutant(
        "the count that centres a sum may overflow",
        K + "sql/expressions.py",
        'self.dialect.cast("count({0})", "HUGEINT")',
        '"count({0})"',
        RENDER,
    ),
    Mutant(
        "a real that ends on half a step is rounded beyond its lattice",
        K + "sql/expressions.py",
        "- grid.steps) < 0.5",
        "- grid.steps) < 2**42",
        GROUP_SUMS,
    ),
    Mutant(
        "a step of 0 divides",
        K + "sql/expressions.py",
        "step and abs(",
        "abs(",
        GROUP_SUMS,
    ),
    Mutant(
        "a real that is declared to reach further is not clamped to its sum's ends",
        K + "sql/expressions.py",
        "if self.clamped_to(of) == (lower, upper) and all(",
        "if self.clamped_to(of) and all(",
        GROUP_SUMS,
    ),
    Mutant(
        "a sum of bins goes beyond its ends",
        K + "sql/expressions.py",
        "whole = self.clamp(number_texts[query.of], int(query.lower), int(query.upper))",
        "whole = number_texts[query.of]",
        GROUP_SUMS,
    ),
    Mutant(
        "a sum of a group's number overflows",
        K + "sql/expressions.py",
        "twice = f\"2 * {self.dialect.cast(whole, 'HUGEINT')}\"",
        'twice = f"2 * {whole}"',
        GROUP_SUMS,
    ),
    Mutant(
        "different values are counted as rows of their bin",
        K + "sql/expressions.py",
        "if type(query) is a.Count and query.of == bins.arg",
        "if isinstance(query, a.Count) and query.of == bins.arg",
        GROUP_SUMS,
    ),
    Mutant(
        "NULL is counted with its bin",
        K + "sql/expressions.py",
        "self.dialect.cast(f'{column} IS NOT NULL', 'BIGINT')",
        "self.dialect.cast('true', 'BIGINT')",
        GROUP_SUMS,
    ),
    Mutant(
        "a place in a list of some bins is a bin",
        K + "terms/algebra.py",
        "isinstance(self.expr, Bin) and self.values == (*range(len(self.expr.edges) + 1),)",
        "isinstance(self.expr, Bin)",
        f"{GROUP_SUMS} {CELLS}",
    ),
    Mutant(
        "reals are grouped by value",
        K + "sql/expressions.py",
        "few = self.type(expr.arg) is Type.INTEGER and ",
        "few = ",
        GROUP_SUMS,
    ),
    Mutant(
        "rows are grouped by whole numbers however many there are",
        K + "sql/expressions.py",
        " and expr.stop - expr.start <= a.ROOTS",
        "",
        GROUP_SUMS,
    ),
    Mutant(
        "rows are grouped by whole numbers that no declaration bounds",
        K + "sql/expressions.py",
        "if few and self._within(expr.arg, expr.start, expr.stop)",
        "if few",
        GROUP_SUMS,
    ),
    Mutant(
        "every number is taken for a decimal, which is never NaN",
        K + "sql/expressions.py",
        'decimal = "DECIMAL" in self.columns[n.lower()].sql_type.upper()',
        "decimal = True",
        f"{GROUP_SUMS} {ROOTS}",
    ),
    Mutant(
        "a long integer is read as a short one",
        K + "sql/expressions.py",
        '"USMALLINT", "INTEGER"), "INTEGER"',
        '"USMALLINT", "INTEGER", "BIGINT"), "INTEGER"',
        f"{ORACLES} {RENDER}",
    ),
    Mutant(
        "a look at the file gives up the lock on it",
        K + "rows_in_files.py",
        "os.fstat(file).st_mtime_ns\n",
        "os.fstat(file).st_mtime_ns\n        os.close(_FILES.pop())\n",
        READER,
    ),
    Mutant(
        "a name more of a file is an engine more of it",
        K + "engine.py",
        "{vault.resolve()}.spill",
        "{vault}.spill",
        READER,
    ),
    Mutant(
        "servers sell without a lock",
        K + "ledger/database.py",
        '"SELECT one FROM guard FOR UPDATE"',
        '"SELECT one FROM guard"',
        f"{DATABASE} {SHARED}",
    ),
    Mutant(
        "a commit does not wait for the disk",
        K + "ledger/database.py",
        "SET synchronous_commit = on",
        "SET synchronous_commit = off",
        DATABASE,
    ),
    Mutant(
        "a database whose guards are gone is a ledger",
        K + "ledger/database.py",
        "hexdigest() != SHAPE:",
        'hexdigest() == "":',
        DATABASE,
    ),
    Mutant(
        "what failed is not undone",
        K + "ledger/store.py",
        'self.execute("ROLLBACK")',
        "pass",
        f"{LEDGER} {DATABASE}",
    ),
    Mutant(
        "another database is believed",
        K + "ledger/store.py",
        "if marked and name != ledger:",
        "if False:",
        DATABASE,
    ),
    Mutant(
        "a file sells after its move",
        "sqlpriv/session/commands/ledger_place.py",
        "old.execute(CLOSING.format(table))",
        "pass",
        MOVE,
    ),
    Mutant(
        "a ledger is moved into another",
        "sqlpriv/session/commands/ledger_place.py",
        "!= (there or 0):",
        "< 0:",
        MOVE,
    ),
    Mutant(
        "who only reads sees two states",
        K + "ledger/database.py",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "BEGIN READ ONLY",
        DATABASE,
    ),
    Mutant(
        "files that change while they are read are answered of",
        K + "reader.py",
        "same = unread or",
        "same = True or",
        FILES,
    ),
    Mutant(
        "a file is known by its size and time",
        K + "rows_in_files.py",
        'return f"{place} {_FOOTERS[place]}"',
        "return str((path, at.st_size, at.st_mtime_ns))",
        FILES,
    ),
    Mutant(
        "a view with a condition is a table",
        K + "rows_in_files.py",
        r"(?:, {TEXT})*\)\)",
        r"(?:, {TEXT})*\)\).*",
        FILES,
    ),
    Mutant(
        "columns of files are those of another day",
        K + "reader.py",
        "            bind_views(self._duckdb, self._engine.files)\n",
        "",
        FILES,
    ),
    Mutant(
        "a DuckDB file's table is as it was",
        K + "rows_in_files.py",
        "if not missing and (known or _is_as_made(connection, listed)):",
        "if not missing:",
        FILES,
    ),
    Mutant(
        "a DuckDB file that is written is the same",
        K + "rows_in_files.py",
        "(_database_state if listed.inside else state_of)(path)",
        '("" if listed.inside else state_of(path))',
        FILES,
    ),
    Mutant(
        "a writer is noticed after the charge",
        K + "rows_in_files.py",
        "if known and not listed.inside:",
        "if known:",
        FILES,
    ),
    Mutant(
        "a lost file is found out after the charge",
        K + "gate.py",
        "        reader.check_files()\n",
        "",
        FILES,
    ),
    Mutant(
        "files of other columns are read",
        K + "rows_in_files.py",
        "return connection.execute(LAYOUTS.format(paths)).fetchall() == [(1,)]",
        "return True",
        FILES,
    ),
    Mutant(
        "the files of tables are no content",
        K + "engine.py",
        "engine.fingerprint = _with_files(contents, vault)",
        "engine.fingerprint = contents",
        FILES,
    ),
    Mutant(
        "what spills may be read by all",
        K + "engine.py",
        "engine.spills.mkdir(0o700)",
        "engine.spills.mkdir()",
        READER,
    ),
    Mutant(
        "where rows spill to can be guessed", K + "engine.py", "os.urandom(4).hex()", '"1"', READER
    ),
    Mutant(
        "a folder of others is spilled into",
        K + "engine.py",
        "if os.path.lexists(engine.spills) or os.access(engine.spills.parent, os.W_OK):",
        "if not os.path.lexists(engine.spills):",
        READER,
    ),
    Mutant(
        "what was spilled stays when nobody reads",
        K + "engine.py",
        "_ENGINES.pop(engine.spills, engine).main.close()",
        "pass",
        READER,
    ),
    Mutant(
        "a broken engine's words leave with who read",
        K + "engine.py",
        "suppress(duckdb.Error, OSError)",
        "suppress(OSError)",
        READER,
    ),
    Mutant(
        "the engine's words leave as macros are looked for",
        K + "reader.py",
        "self.truths(MACROS_THERE) != (0,)",
        "self._duckdb.execute(MACROS_THERE).fetchone() != (0,)",
        READER,
    ),
    Mutant(
        "a result is kept with its connection",
        K + "engine.py",
        'connection.execute("USE memory")',
        "connection",
        READER,
    ),
    Mutant(
        "the connection of a failed read is kept",
        K + "reader.py",
        '"" if failure else _MACROS',
        "_MACROS",
        READER,
    ),
    Mutant(
        "some bins are taken for all",
        K + "sql/quoting.py",
        "if key.has_all_bins:",
        "if isinstance(key.expr, a.Bin):",
        RENDER,
    ),
    Mutant(
        "what a join reads is read of what it leaves",
        K + "sql/relations.py",
        "self.checked.clear()",
        "pass",
        RELATIONS,
    ),
    Mutant(
        "what is undone is paid for",
        K + "gate.py",
        "begun = self._statement or self._begin()",
        "begun = self._statement = self._statement or self._begin()",
        GATE,
    ),
    Mutant(
        "who leaves takes the vault from all",
        K + "engine.py",
        "engine.readers.discard(connection)",
        "engine.readers.clear()",
        READER,
    ),
    Mutant(
        "a vault stays open when nobody reads",
        K + "engine.py",
        "engine.readers.discard(connection)",
        "pass",
        READER,
    ),
    Mutant(
        "what an interrupt left attached is taken for the vault",
        K + "engine.py",
        "IF EXISTS vault; {",
        "IF EXISTS no; {",
        READER,
    ),
    Mutant(
        "queries of one statement change places",
        K + "sql/queries.py",
        "dict(zip(queries, named, strict=True))",
        "dict(zip(queries, [*named][::-1]))",
        GATE,
    ),
    Mutant(
        "what has no level is in the next one's cell",
        K + "sql/cells.py",
        "(code < size)",
        "(code <= size)",
        CELLS,
    ),
    Mutant(
        "of groups of one cell the last counts",
        K + "sql/cells.py",
        "np.add.at(dense, cell[inside], columns[name][inside])",
        "dense[cell[inside]] = columns[name][inside]",
        CELLS,
    ),
    Mutant(
        "rows of nobody are read",
        K + "sql/relations.py",
        'kept = [f"{self.owner} IS NOT NULL", *kept]',
        "pass",
        ORACLES,
    ),
    Mutant(
        "a row too many is kept",
        K + "sql/queries.py",
        "{row}) <= {m}",
        "{row}) <= {m + 1}",
        SENSITIVITY,
    ),
    Mutant(
        "a bound of a statement is found to hold unseen",
        K + "sql/relations.py",
        "self.facts.bounded and kept >= held",
        "self.facts.bounded",
        SENSITIVITY,
    ),
    Mutant(
        "no row at all may be claimed to be kept",
        K + "proof/sensitivity.py",
        "max(1, (rows, groups)[side])",
        "(rows, groups)[side]",
        SENSITIVITY,
    ),
    Mutant("a stratum too many is kept", K + "sql/queries.py", "<= {g}", "<= {g + 1}", SENSITIVITY),
    Mutant(
        "undeclared strata take a unit's place",
        K + "sql/queries.py",
        "*(listed if levelled else ())",
        "*()",
        SENSITIVITY,
    ),
    Mutant(
        "moments near the ends of time are cut down, too",
        K + "terms/operations.py",
        "CASE WHEN {0} BETWEEN DATE '100000-01-01 (BC)' AND DATE '200000-01-01' THEN {0} END",
        "{0}",
        RENDER,
    ),
    Mutant(
        "equal values are counted again",
        K + "sql/expressions.py",
        '"count(DISTINCT {0})" if',
        '"count({0})" if',
        SENSITIVITY,
    ),
    Mutant(
        "different values are counted by all keys of a batch",
        K + "sql/queries.py",
        "alone = query if isinstance(query, a.Distinct) else None",
        "alone = None",
        GATE,
    ),
    Mutant(
        "a vault may be swapped while it is opened",
        K + "engine.py",
        "if fingerprint(vault) == engine.fingerprint:",
        "if True:",
        READER,
    ),
    Mutant(
        "a selection takes what is no whole number for NULL",
        K + "sql/queries.py",
        "{scope.source(*whole)}),",
        "{scope.source()}),",
        KEYS,
    ),
    Mutant(
        "0.3 is the level of 0",
        K + "sql/quoting.py",
        'f" AND {at} = {text}" if at != text',
        '"" if at != text',
        f"{SENSITIVITY} {RENDER}",
    ),
    Mutant(
        "a double is its own level",
        K + "sql/quoting.py",
        'if held in ("INTEGER", "BIGINT")',
        'if held in ("INTEGER", "BIGINT", "DOUBLE")',
        f"{SENSITIVITY} {RENDER}",
    ),
    Mutant(
        "one listed value of a cell's is enough",
        K + "sql/quoting.py",
        "' AND '.join(tests)",
        "' OR '.join(tests)",
        RENDER,
    ),
    Mutant(
        "without keys there is no cell",
        K + "sql/quoting.py",
        'if tests else number or "0"',
        "if tests else number",
        RENDER,
    ),
    Mutant(
        "any numbers are picked from",
        K + "terms/operations.py",
        "all(map(math.isfinite, numbers))",
        "True",
        RENDER,
    ),
    Mutant(
        "which rows are kept is not keyed",
        K + "sql/dialect.py",
        '"hash(hash({0}::UBIGINT, {1}))"',
        '"hash(hash(0::UBIGINT, {1}))"',
        SENSITIVITY,
    ),
    Mutant(
        "a unit's rows are told apart by where they lie",
        K + "sql/queries.py",
        'f"r{i}": text',
        'f"r{i}": "sqlpriv_row.rowid"',
        BOUNDING,
    ),
    Mutant(
        "a unit's rows are told apart by nothing but what is asked",
        K + "sql/queries.py",
        "if column in scope.row_names",
        "if False",
        BOUNDING,
    ),
    Mutant(
        "what was found of a table says which rows are kept",
        K + "sql/queries.py",
        'rank_order(["u", *columns])',
        'rank_order(["u", *(c for c in columns if not (one_stratum and c in marks))])',
        SENSITIVITY,
    ),
    Mutant(
        "rows of one hash are kept as they lie",
        K + "sql/relations.py",
        "for text in (hashed, *columns[1:]))",
        "for text in (hashed,))",
        SENSITIVITY,
    ),
    Mutant(
        "a number is picked for the next cell",
        K + "sql/dialect.py",
        "AS {2}[]), {1} + 1)",
        "AS {2}[]), {1} + 2)",
        RENDER,
    ),
    Mutant(
        "a column of the table passes for what is picked",
        K + "sql/expressions.py",
        "while self.dialect.identifier(alias) in taken:",
        "while False:",
        RENDER,
    ),
    Mutant(
        "one column holds whatever is picked",
        K + "sql/expressions.py",
        'f"sqlpriv_once{len(self.layers)}"',
        '"sqlpriv_once"',
        RENDER,
    ),
    Mutant(
        "`within` is not filtered",
        K + "sql/cells.py",
        "a.strata_count(query) + 1, -1)",
        "a.strata_count(query) + 1, 0)",
        CELLS,
    ),
    Mutant(
        "facts are always true",
        K + "vault.py",
        '{"bounded": bool(bounded)',
        '{"bounded": True',
        GATE,
    ),
    Mutant(
        "NULL does not vary inside a unit",
        K + "sql/queries.py",
        "count({c}) = count(*) AND ",
        "",
        SENSITIVITY,
    ),
    Mutant(
        "a constraint of another schema is believed",
        K + "sql/catalog.sql",
        "k.table_oid = c.table_oid AND",
        "k.table_name = c.table_name AND",
        GATE,
    ),
    Mutant(
        "labels of an ENUM are public",
        K + "sql/catalog.sql",
        "'VARCHAR', 'g'",
        "'\\0', 'g'",
        READER,
    ),
    Mutant(
        "one spelling of a text stands for another",
        K + "sql/queries.py",
        "        and not has_collation(contract)\n",
        "",
        COLLATIONS,
    ),
    Mutant(
        "of a unit's equal texts whichever is met first stands for all",
        K + "sql/relations.py",
        "arg_min({text}, {self.bytes_of(text)})",
        "first({text})",
        COLLATIONS,
    ),
    Mutant(
        "what a collation calls equal is constant",
        K + "sql/queries.py",
        "if column.type is Type.TEXT else c  #",
        "if False else c  #",
        COLLATIONS,
    ),
    Mutant(
        "any character escapes",
        K + "terms/operations.py",
        "escape not in ESCAPES or ",
        "",
        COLLATIONS,
    ),
    Mutant(
        "anything is escaped",
        K + "terms/operations.py",
        "[{re.escape(escape)}%_]",
        "[^%]",
        COLLATIONS,
    ),
    Mutant(
        "equal queries read different rows",
        K + "sql/quoting.py",
        "int(v) if isinstance(v, float)",
        "v if isinstance(v, float)",
        RELATIONS,
    ),
    Mutant(
        "what is said of other tables is believed",
        K + "gate.py",
        "if contracts != {**self.contract.others, self.contract.table.lower(): self.contract}:",
        "if contracts.get(self.contract.table.lower()) != self.contract:",
        GATE,
    ),
    Mutant(
        "EXPLAIN shows facts of other tables",
        "sqlpriv/plan/pricing/predictions.py",
        "facts=TableFacts(), others=others)",
        "facts=TableFacts())",
        GATE,
    ),
    # --- bounding is left out where it changes nothing; a selection counts units ---
    Mutant(
        "a selection counts all units",
        K + "sql/queries.py",
        "count(*) - 1 AS n",
        "count(*) AS n",
        BOUNDING,
    ),
    Mutant(
        "a selection counts two units less",
        K + "sql/queries.py",
        "count(*) - 1 AS n",
        "count(*) - 2 AS n",
        BOUNDING,
    ),
    Mutant(
        "a value of one unit is drawn for",
        K + "sql/queries.py",
        "HAVING count(*) > 1",
        "HAVING count(*) > 0",
        BOUNDING,
    ),
    Mutant(
        "a value of two units is never seen",
        K + "sql/queries.py",
        "HAVING count(*) > 1",
        "HAVING count(*) > 2",
        BOUNDING,
    ),
    Mutant(
        "a unit counts in a value once a row",
        K + "sql/queries.py",
        "SELECT DISTINCT {scope.owner} AS u, {named}",
        "SELECT {scope.owner} AS u, {named}",
        BOUNDING,
    ),
    Mutant(
        "a unit counts in one value more",
        K + "sql/queries.py",
        "ORDER BY {order}) <= {m})",
        "ORDER BY {order}) <= {m + 1})",
        BOUNDING,
    ),
    Mutant(
        "a unit counts in one value less",
        K + "sql/queries.py",
        "ORDER BY {order}) <= {m})",
        "ORDER BY {order}) < {m})",
        BOUNDING,
    ),
    Mutant(
        "values are ranked for all units together",
        K + "sql/queries.py",
        '" row_number() OVER (PARTITION BY u ORDER BY',
        '" row_number() OVER (ORDER BY',
        BOUNDING,
    ),
    Mutant(
        "values are ranked by no key",
        K + "sql/queries.py",
        "scope = Scope(source, contract, hash_key=hash_key)",
        "scope = Scope(source, contract)",
        BOUNDING,
    ),
    Mutant(
        "values are ranked alike for every unit",
        K + "sql/queries.py",
        'rank_order(["u", *keys])',
        'rank_order(["1", *keys])',
        BOUNDING,
    ),
    Mutant(
        "a unit of several rows is taken for one of one row",
        K + "sql/queries.py",
        "scope.facts.bounded and scope.unit.rows_per_unit == 1",
        "scope.facts.bounded",
        BOUNDING,
    ),
    Mutant(
        "one row is enough, bounded or not",
        K + "sql/queries.py",
        "scope.facts.bounded and scope.unit.rows_per_unit == 1",
        "scope.unit.rows_per_unit == 1",
        BOUNDING,
    ),
    Mutant(
        "one constant column makes one stratum",
        K + "sql/queries.py",
        "alone or all(",
        "alone or any(",
        BOUNDING,
    ),
    Mutant(
        "a column of a stratum is constant if another is",
        K + "sql/queries.py",
        "<= scope.facts.constant for key",
        "& scope.facts.constant for key",
        BOUNDING,
    ),
    Mutant(
        "a stratum fewer than rows is enough",
        K + "sql/queries.py",
        "g >= m)",
        "g >= m - 1)",
        BOUNDING,
    ),
    Mutant(
        "as many strata as rows are not enough", K + "sql/queries.py", "g >= m)", "g > m)", BOUNDING
    ),
    Mutant(
        "few strata are enough without a bound on rows",
        K + "sql/queries.py",
        "return bounded and (one_stratum or g >= m)",
        "return one_stratum or (bounded and g >= m)",
        BOUNDING,
    ),
    Mutant(
        "rows that are known to be few need no bound on strata",
        K + "sql/queries.py",
        "return bounded and (one_stratum or g >= m)",
        "return bounded",
        BOUNDING,
    ),
    Mutant(
        "rows are bounded over all strata together",
        K + "sql/queries.py",
        "*([] if one_stratum else marks)]",
        "*([] if True else marks)]",
        BOUNDING,
    ),
    Mutant(
        "where rows are few, strata are not bounded either",
        K + "sql/queries.py",
        "*([] if one_stratum else [among])",
        "*([] if one_stratum or bounded else [among])",
        BOUNDING,
    ),
    Mutant(
        "a list takes places of rows that it does not hold",
        K + "sql/queries.py",
        "listed if levelled else ()",
        "()",
        BOUNDING,
    ),
    Mutant(
        "strata are ranked for all units together",
        K + "sql/queries.py",
        "dense_rank() OVER (PARTITION BY u ORDER",
        "dense_rank() OVER (ORDER",
        BOUNDING,
    ),
    Mutant(
        "a unit's sum is cast before it is clamped",
        K + "sql/relations.py",
        'cast(self.clamp(aggregate, int(low), int(high)), "BIGINT")',
        'self.clamp(cast(aggregate, "BIGINT"), int(low), int(high))',
        BOUNDING,
    ),
    Mutant(
        "a unit's sum is not clamped",
        K + "sql/relations.py",
        'cast(self.clamp(aggregate, int(low), int(high)), "BIGINT")',
        'cast(aggregate, "BIGINT")',
        BOUNDING,
    ),
    Mutant(
        "a log is known by its size",
        K + "rows_in_files.py",
        "digest.update(log.read_bytes())",
        "digest.update(str(log.stat().st_size).encode())",
        BOUNDING,
    ),
    Mutant(
        "a log is not looked at",
        K + "rows_in_files.py",
        "digest.update(log.read_bytes())",
        "pass",
        BOUNDING,
    ),
    # --- the work for one unit is bounded by public numbers ---
    Mutant(
        "rows of a unit multiply as they are stored",
        K + "sql/relations.py",
        "{ranked} <= {self.reach.rows}",
        "{ranked} <= 1000000",
        UNIT_ROWS,
    ),
    Mutant(
        "a row of a unit too many meets another table",
        K + "sql/relations.py",
        "{ranked} <= {self.reach.rows}",
        "{ranked} <= {self.reach.rows + 1}",
        UNIT_ROWS,
    ),
    Mutant(
        "parts of a union are not bounded",
        K + "sql/relations.py",
        "p.select(x, p.kept_rows())",
        'p.select(x, "")',
        UNIT_ROWS,
    ),
    Mutant(
        "rows that meet are kept as they lie",
        K + "sql/relations.py",
        "rank_order([self.owner, *(texts[n] for n in self.columns)])",
        "rank_order([self.owner])",
        f"{UNIT_ROWS} {RELATIONS}",
    ),
    # --- a join or union of which no unit has more rows than are kept is not bounded again ---
    Mutant(
        "whatever is joined has few rows of a unit",
        K + "sql/relations.py",
        "0 < self.reach.rows <= self.unit.rows_per_unit",
        "self.reach.rows > 0",
        BOUNDING,
    ),
    Mutant(
        "a row more than is kept is few",
        K + "sql/relations.py",
        "0 < self.reach.rows <= self.unit.rows_per_unit",
        "0 < self.reach.rows <= self.unit.rows_per_unit + 6",
        BOUNDING,
    ),
    Mutant(
        "a row has one partner in a public table",
        K + "sql/relations.py",
        "lambda *_: 10**9",
        "lambda *_: 1",
        BOUNDING,
    ),
    Mutant(
        "what is grouped inside the unit is few",
        K + "sql/relations.py",
        "inner.facts.bounded or not grouping.keys",
        "True",
        BOUNDING,
    ),
    Mutant(
        "a column of a left join's right side does not vary",
        K + "sql/relations.py",
        'if join.kind == "inner" else frozenset()',
        "if True else frozenset()",
        BOUNDING,
    ),
    # --- few levels are grouped by a byte, for which memory is set up before a row comes ---
    Mutant(
        "any column is grouped as it is stored",
        K + "sql/expressions.py",
        '.upper().startswith("ENUM")',
        '.upper().startswith("")',
        BYTES,
    ),
    Mutant(
        "groups under a filter are hashed",
        K + "sql/queries.py",
        "        and not scope.predicates\n",
        "",
        BYTES,
    ),
    Mutant(
        "groups of a join or union are hashed",
        K + "sql/queries.py",
        "        scope.of_one_table\n        and not",
        "        not",
        BYTES,
    ),
    Mutant(
        "a byte is to hold twice as many levels",
        K + "sql/queries.py",
        "n in sizes.values()) <= 2**8",
        "n in sizes.values()) <= 2**9",
        BYTES,
    ),
    Mutant(
        "half of what a byte holds is hashed",
        K + "sql/queries.py",
        "n in sizes.values()) <= 2**8",
        "n in sizes.values()) <= 2**7",
        BYTES,
    ),
    Mutant(
        "an unlisted level is the next key's first",
        K + "sql/queries.py",
        "{math.prod(m + 1 for m in",
        "{math.prod(m for m in",
        BYTES,
    ),
    Mutant(
        "an unlisted level is the last that is listed",
        K + "sql/queries.py",
        'f"coalesce({column}, {n}) *',
        'f"coalesce({column}, {n - 1}) *',
        BYTES,
    ),
    # --- whether a side of a join has rows decides nothing about the work on the other ---
    Mutant(
        "a right side may be empty",
        K + "sql/relations.py",
        "right.never_empty() if pairwise else partners",
        "partners",
        SIDES,
    ),
    Mutant(
        "no NULL unit enters the hash table",
        K + "sql/relations.py",
        '"IS NOT DISTINCT FROM" if pairwise else "="',
        '"="',
        SIDES,
    ),
    Mutant(
        "what is compared with a literal filters a side",
        K + "sql/relations.py",
        "two_sided = all(reads) and",
        "two_sided =",
        SIDES,
    ),
    Mutant(
        "no NULL value enters the hash table",
        K + "sql/relations.py",
        "{mine} IS NOT DISTINCT FROM {theirs} AND",
        "{mine} = {theirs} AND",
        SIDES,
    ),
    Mutant("NULL equals NULL", K + "sql/relations.py", " AND {mine} IS NOT NULL", "", SIDES),
    Mutant(
        "a predicate above a join can be moved into its right side",
        K + "sql/relations.py",
        "kept if self.of_one_table else [*map(self.hide, kept)]",
        "kept",
        SIDES,
    ),
    Mutant(
        "a disjunction in ON can be moved into the right side",
        K + "sql/relations.py",
        "return self.hide(self.value(test))",
        "return self.value(test)",
        SIDES,
    ),
    Mutant(
        "a comparison with a private side keeps its NULLs out",
        K + "sql/relations.py",
        "if two_sided and not right.owner:",
        "if two_sided:",
        SIDES,
    ),
    Mutant(
        "the engine swaps the sides", K + "engine.py", '    "build_side_probe_side",\n', "", SIDES
    ),
    Mutant(
        "the engine drops a side by its statistics",
        K + "engine.py",
        '    "empty_result_pullup",\n    "statistics_propagation",\n',
        "",
        SIDES,
    ),
    Mutant(
        "a predicate moves into the right side of a left join",
        PLACEMENT,
        'if kind == "inner" and used <= column_names(right',
        'if kind in ("inner", "left") and used <= column_names(right',
        PLACED,
    ),
    Mutant(
        "a predicate that reads both sides moves into the left one",
        PLACEMENT,
        "if used <= column_names(left",
        "if used & column_names(left",
        PLACED,
    ),
    # --- what rows of a unit may multiply to ---
    Mutant(
        "parts of a key are put together without their lengths",
        K + "sql/relations.py",
        '" || ".join(dialect.form("counted", text) for text in texts)',
        '" || ".join(texts)',
        f"{RELATIONS}::test_a_key_of_several_columns_tells_combinations_apart",
    ),
    Mutant(
        "one column of a key of several names the unit",
        K + "sql/relations.py",
        "for column in unit.columns]",
        "for column in unit.columns[:1]]",
        "tests/session/test_composite_keys.py",
    ),
    Mutant(
        "a key without one of its columns protects",
        K + "terms/contract.py",
        "and all(map(table.column, key))",
        "and any(map(table.column, key))",
        "tests/session/test_composite_keys.py",
    ),
    Mutant(
        "a part of a key identifies its unit",
        "sqlpriv/plan/expressions/conditions.py",
        "if counts and len(parts) == counts[0]",
        "if counts",
        "tests/session/test_composite_keys.py",
    ),
    Mutant(
        "a public side's rows bound groups",
        K + "proof/unit_rows.py",
        "x.rows and {*read",
        "{*read",
        UNIT_ROWS,
    ),
    Mutant(
        "one key's side bounds groups by several",
        K + "proof/unit_rows.py",
        "{*read.values()} <= x.types.keys()",
        "{*read.values()} & x.types.keys()",
        UNIT_ROWS,
    ),
    Mutant(
        "the missing partner is in no group",
        K + "proof/unit_rows.py",
        '*((right, *right.sides) if join.kind == "inner" else ())',
        "right, *right.sides",
        UNIT_ROWS,
    ),
    Mutant(
        "every key is unique among groups",
        K + "proof/unit_rows.py",
        "if column in of.alone)",
        ")",
        UNIT_ROWS,
    ),
    Mutant(
        "a join adds rows up",
        K + "proof/unit_rows.py",
        "left.rows * right.rows",
        "left.rows + right.rows",
        UNIT_ROWS,
    ),
    Mutant(
        "what a join handles is not counted",
        K + "proof/unit_rows.py",
        "left.work + right.work + met",
        "left.work + right.work",
        UNIT_ROWS,
    ),
    Mutant(
        "public rows multiply nothing",
        K + "proof/unit_rows.py",
        "(1 if one_right else partners(contract, join.right, same))",
        "1",
        UNIT_ROWS,
    ),
    Mutant(
        "a double is as unique as a whole number",
        K + "proof/unit_rows.py",
        "left.types[mine] not in (None, Type.REAL)",
        "left.types[mine] is not None",
        UNIT_ROWS,
    ),
    Mutant(
        "what is unique of one side is so of a product",
        K + "proof/unit_rows.py",
        "(left.alone if one_right else frozenset())",
        "left.alone",
        UNIT_ROWS,
    ),
    Mutant(
        "left rows without a partner are not counted",
        K + "proof/unit_rows.py",
        'left.rows if join.kind == "left" and not one_right else 0',
        "0",
        UNIT_ROWS,
    ),
    Mutant(
        "either of two equalities ties a partner",
        K + "proof/unit_rows.py",
        'case a.Call("and", args):',
        'case a.Call("and" | "or", args):',
        UNIT_ROWS,
    ),
    Mutant(
        "any multiple of the bound is read",
        K + "proof/unit_rows.py",
        "if factor > allowed or",
        "if factor > allowed**3 or",
        UNIT_ROWS,
    ),
    Mutant(
        "any number of scans is read",
        K + "proof/unit_rows.py",
        " or reach.scans > MAX_SCANS",
        "",
        UNIT_ROWS,
    ),
    Mutant(
        "scans on the right of a join are not counted",
        K + "proof/unit_rows.py",
        "left.scans + right.scans",
        "left.scans",
        UNIT_ROWS,
    ),
    Mutant(
        "scans of public tables are counted",
        K + "proof/unit_rows.py",
        "int(bound > 0)",
        "1",
        UNIT_ROWS,
    ),
    Mutant(
        "a large bound multiplies like a small one",
        K + "proof/unit_rows.py",
        "min(MAX_FACTOR, max(LEAST_FACTOR, MAX_WORK // reach.bound))",
        "MAX_FACTOR",
        UNIT_ROWS,
    ),
    Mutant(
        "nothing is refused at the gate",
        K + "gate.py",
        "return check_work(source, self.contract, self._kernel.most_partners)",
        "return 8",
        UNIT_ROWS,
    ),
    Mutant(
        "reads are not delayed",
        K + "gate.py",
        "delay.scans = sum(scans[source] for source in sources)",
        "",
        DELAY,
    ),
    Mutant(
        "a batch is delayed as its first statement",
        K + "gate.py",
        "sum(scans[source] for source in sources)",
        "scans[sources[0]]",
        DELAY,
    ),
    Mutant(
        "a selection of keys is not delayed",
        K + "gate.py",
        "delay.scans = self._scans(source)",
        "self._scans(source)",
        DELAY,
    ),
    Mutant(
        "every delay is the mean one",
        K + "proof/delay.py",
        "SystemRandom().uniform(0, WIDTH * self.scans)",
        "WIDTH * self.scans / 2",
        DELAY,
    ),
    Mutant(
        "a delay does not grow with its scans",
        K + "proof/delay.py",
        "WIDTH * self.scans",
        "WIDTH * bool(self.scans)",
        DELAY,
    ),
    Mutant(
        "a read of one scan is not delayed",
        K + "proof/unit_rows.py",
        "return reach.scans",
        "return reach.scans - 1",
        DELAY,
    ),
    Mutant(
        "partners are counted once for all times",
        K + "reader.py",
        "(number := _PARTNERS.get((self.fingerprint, sql)))",
        "(number := next((n for (_, s), n in _PARTNERS.items() if s == sql), None))",
        UNIT_ROWS,
    ),
    # --- relations are partitioned by unit ---
    Mutant(
        "partners may be another unit's",
        K + "sql/relations.py",
        '[f"{LEFT}.{UNIT} {equals} {RIGHT}.{UNIT}", *tests]',
        '[f"{LEFT}.{UNIT} = {RIGHT}.{UNIT}", *tests][pairwise:]',
        RELATIONS,
    ),
    Mutant(
        "rows of another unit keep a row from an anti join",
        K + "sql/relations.py",
        '[f"{LEFT}.{UNIT} {equals} {RIGHT}.{UNIT}", *tests]',
        '[f"{LEFT}.{UNIT} {equals} {RIGHT}.{UNIT}", *tests][not pairwise:]',
        RELATIONS,
    ),
    Mutant(
        "rows are folded over all units",
        K + "sql/relations.py",
        "f\" GROUP BY {', '.join(grouped)}\")",
        "f\" GROUP BY {', '.join(['true', *grouped[1:]])}\").replace("
        "inner.owner, f'min({inner.owner})', 1)",
        RELATIONS,
    ),
    Mutant(
        "a link may lead to many rows",
        K + "terms/contract.py",
        "link) if unique else None for w",
        "link) for w",
        RELATIONS,
    ),
    Mutant(
        "a parent's key is taken on trust",
        K + "sql/relations.py",
        "or link.parent.lower() not in up.unique",
        "",
        RELATIONS,
    ),
    Mutant(
        "of two units the first is protected",
        K + "terms/contract.py",
        "if len(owners) == 1 and None not in owners:",
        "if owners and None not in owners[:1]:",
        RELATIONS,
    ),
    Mutant(
        "a unit may be another's row",
        K + "terms/contract.py",
        "None) if len(above) == 1 else None)",
        "None))",
        RELATIONS,
    ),
    Mutant(
        "units of two tables meet",
        K + "sql/relations.py",
        "or table.unit.table != self.contract.unit.table",
        "",
        RELATIONS,
    ),
    Mutant(
        "a join keeps the bound of its coarser side",
        K + "proof/sensitivity.py",
        "return max(_declared_bound(part, contract, side) for part in (left, right))",
        "return _declared_bound(left, contract, side)",
        RELATIONS,
    ),
    Mutant(
        "a public side may stand left",
        K + "sql/relations.py",
        "            left.check_same_unit(right)\n",
        "            pass\n",
        RELATIONS,
    ),
    # --- the price and the noise ---
    Mutant(
        "L1 forgets the strata",
        K + "proof/sensitivity.py",
        "l1=m * g * steps",
        "l1=m * steps",
        SENSITIVITY,
    ),
    Mutant(
        "L2 forgets the rows",
        K + "proof/sensitivity.py",
        "l2_squared=m * m * g",
        "l2_squared=m * g",
        SENSITIVITY,
    ),
    Mutant(
        "the price of a batch is rounded down",
        K + "proof/sensitivity.py",
        "nano += -(-sum(sorted(each, reverse=True)[:g]) // g)",
        "nano += sum(sorted(each, reverse=True)[:g]) // g",
        SENSITIVITY,
    ),
    Mutant(
        "a batch costs its cheapest strata",
        K + "proof/sensitivity.py",
        "sorted(each, reverse=True)",
        "sorted(each)",
        SENSITIVITY,
    ),
    Mutant(
        "what strata have cost so far is forgotten",
        K + "gate.py",
        "self.spent, self._losses = joint, losses",
        "self.spent = joint",
        GATE,
    ),
    Mutant(
        "a selection pays for its first stratum alone",
        K + "gate.py",
        "[Measurement(first, price)], missing",
        "[Measurement(replace(first, within=(0,)), price)], missing",
        GATE,
    ),
    Mutant(
        "a kept marginal is handed out whole",
        K + "gate.py",
        "cells[at].ravel()",
        "cells[: len(at)].ravel()",
        GATE,
    ),
    Mutant(
        "Gaussian noise is halved",
        K + "proof/noise.py",
        "gaussian(root_above(l2_squared), price)",
        "gaussian(root_above(l2_squared) / 2, price)",
        GATE,
    ),
    Mutant(
        "Laplace noise is for one row",
        K + "checked.py",
        "noise.additive(moved.l1, moved",
        "noise.additive(lattice.steps, moved",
        GATE,
    ),
    Mutant(
        "what may be spent is rounded up",
        K + "terms/budget.py",
        "math.floor(",
        "math.ceil(",
        BUDGET,
    ),
    Mutant(
        "scores forget rows_per_unit",
        K + "proof/sensitivity.py",
        "* SCORE_UNIT * rows_per_unit",
        "* SCORE_UNIT",
        SELECTION,
    ),
    Mutant(
        "a sum of scores moves as far as one score",
        K + "proof/sensitivity.py",
        "max(1, sum(weights))",
        "max(1, max(weights))",
        SELECTION,
    ),
    Mutant(
        "a sum of scores forgets rows_per_unit",
        K + "proof/sensitivity.py",
        "return rows_per_unit * SCORE_UNIT * max(",
        "return SCORE_UNIT * max(",
        SELECTION,
    ),
    Mutant(
        "distances are of one stratum of a unit",
        K + "gate.py",
        "far * far * g, price",
        "far * far, price",
        SELECTION,
    ),
    Mutant(
        "Laplace noise of distances is for one stratum",
        K + "gate.py",
        "noise.additive(far * g,",
        "noise.additive(far,",
        SELECTION,
    ),
    Mutant(
        "distances leave without noise",
        K + "gate.py",
        "(x + z) / SCORES_TO_ROWS for",
        "x / SCORES_TO_ROWS for",
        SELECTION,
    ),
    Mutant(
        "every stratum selects at the whole price",
        K + "gate.py",
        "type(price)(price.nano // share)",
        "price",
        SELECTION,
    ),
    Mutant(
        "snapshots are compared, not added up",
        K + "ledger/records.py",
        "return sum(\n        largest_sum(",
        "return (lambda losses: max([0, *losses]))(\n        largest_sum(",
        STRATA,
    ),
    Mutant(
        "strata of any table count",
        K + "proof/charged_units.py",
        "or unit.table != contract.table.lower() ",
        "",
        STRATA,
    ),
    Mutant(
        "strata of a unit with many rows count",
        K + "proof/charged_units.py",
        " or unit.column not in contract.unique",
        "",
        STRATA,
    ),
    Mutant(
        "a condition of an OR pins",
        K + "terms/operations.py",
        'case a.Call("and", args):',
        'case a.Call("and" | "or", args):',
        STRATA,
    ),
    Mutant(
        "text of any collation is told apart",
        K + "proof/charged_units.py",
        "(exact is str and contract.collated)",
        "False",
        STRATA,
    ),
    Mutant("two threads pay at once", K + "gate.py", "with self._paying:", "if True:", GATE),
    Mutant(
        "a double pins as an integer does",
        K + "proof/charged_units.py",
        "(value,) if of in _EXACT else ()",
        "(value,)",
        STRATA,
    ),
    Mutant(
        "a vault swapped for a changed copy is the same",
        K + "rows_in_files.py",
        "sha256(head + str(written).encode())",
        "sha256(head)",
        READER,
    ),
    Mutant(
        "a batch concerns its first query's strata",
        K + "proof/charged_units.py",
        "set.intersection(*map(set, pinned)) if pinned",
        "set(pinned[0]) if pinned",
        STRATA,
    ),
    Mutant(
        "a ceiling binds nobody",
        K + "ledger/records.py",
        'for h in ("", *mine)',
        'for h in ("",)',
        LEDGER,
    ),
    Mutant(
        "a ceiling binds its holder in one case alone",
        K + "ledger/records.py",
        "if h and h.lower() == who.lower()",
        "if h and h == who",
        LEDGER,
    ),
    Mutant(
        "what was paid under another case is not under the ceiling",
        K + "ledger/running_sums.py",
        'for who in ("", principal.lower()):',
        'for who in ("", principal):',
        LEDGER,
    ),
    Mutant(
        "sums keep charges that may be undone",
        K + "ledger/records.py",
        "keep=not self.store.holds_new_charge",
        "keep=True",
        LEDGER,
    ),
    Mutant(
        "the last charge is added again",
        K + "ledger/running_sums.py",
        "WHERE charge.id > ?",
        "WHERE charge.id >= ?",
        LEDGER,
    ),
    Mutant(
        "a new charge is not added",
        K + "ledger/running_sums.py",
        "WHERE charge.id > ?",
        "WHERE charge.id > ? + 1",
        LEDGER,
    ),
    Mutant(
        "a value that no charge names loses nothing",
        K + "proof/charged_units.py",
        "largest_sum(everywhere, inside) if unnamed else 0",
        "0",
        STRATA,
    ),
    Mutant(
        "the guards of any table are not looked at",
        K + "ledger/file.py",
        "tbl_name NOT IN ('login', 'user')",
        "tbl_name NOT IN ('login', 'charge')",
        LEDGER_FILE,
    ),
    Mutant(
        "an earlier version of the ledger is the last",
        K + "ledger/file.py",
        '("schema_1", "schema_2", "schema_3", "schema_4", "schema_5")',
        '("schema_1", "schema_2", "schema_3")',
        LEDGER,
    ),
    Mutant(
        "a rank's score moves by the smaller share",
        K + "proof/sensitivity.py",
        "return max(share, of - share) * rows_per_unit",
        "return min(share, of - share) * rows_per_unit",
        RANKS,
    ),
    Mutant(
        "a choice of a level forgets rows_per_unit",
        K + "proof/sensitivity.py",
        "- share) * rows_per_unit",
        "- share)",
        RANKS,
    ),
    Mutant(
        "every stratum chooses its level at the whole price",
        K + "checked.py",
        "noise.chooser(distance, type(price)(price.nano // g))",
        "noise.chooser(distance, price)",
        RANKS,
    ),
    Mutant(
        "scores of any size are cut to 64 bits",
        K + "proof/noise.py",
        "np.clip(exact, -MAX_SCORE, MAX_SCORE)",
        "exact",
        NOISE,
    ),
    Mutant(
        "the threshold is for one group",
        K + "proof/noise.py",
        "math.log(groups * YOCTO / yocto)",
        "math.log(YOCTO / yocto)",
        KEYS,
    ),
    Mutant(
        "OpenDP's map of a threshold is not asked",
        K + "proof/noise.py",
        "or Fraction(delta) > Fraction(yocto, YOCTO)",
        "",
        KEYS,
    ),
    Mutant(
        "a unit counts in every group that it has",
        K + "sql/queries.py",
        "ORDER BY {order}) <= {m})",
        "ORDER BY {order}) <= 99)",
        KEYS,
    ),
    Mutant(
        "one unit's own spelling stands for a group",
        K + "sql/queries.py",
        "Type.INTEGER if loose else Type.TEXT",
        "Type.TEXT",
        KEYS,
    ),
    Mutant(
        "delta for keys is not spent",
        K + "ledger/records.py",
        "if account.keys_spent + yocto > account.budget.keys:",
        "if yocto > account.budget.keys:",
        KEYS,
    ),
    Mutant(
        "an older ledger is believed",
        K + "ledger/store.py",
        "if there < marked:",
        "if False:",
        f"{MARK} {DATABASE}",
    ),
    Mutant(
        "the mark is not raised", K + "ledger/store.py", "if there > marked:", "if False:", MARK
    ),
    Mutant("a read may take for ever", K + "reader.py", "clock.start()", "pass", MARK),
    # --- charge, read, noise, seal ---
    Mutant(
        "the charge comes after the read",
        K + "gate.py",
        "                charge = self._charge(measurements)\n"
        "                for batch, text in zip(batches, texts, strict=True):\n"
        "                    cells = reader.cells(text)\n",
        "                for text in texts:\n"
        "                    reader.cells(text)\n"
        "                charge = self._charge(measurements)\n"
        "                for batch, text in zip(batches, texts, strict=True):\n"
        "                    cells = reader.cells(text)\n",
        GATE,
    ),
    Mutant(
        "a dearer answer is replayed where one of the price is sealed",
        K + "gate.py",
        "else seal.price != price",
        "else 0",
        GATE,
    ),
    Mutant(
        "what was bought later answers a statement that is asked again",
        K + "gate.py",
        "seal.price.nano if self.repeatable",
        "seal.price != price if self.repeatable",
        f"{GATE} tests/synth/test_asked_again.py",
    ),
    # --- what is read ahead ---
    Mutant(
        "what was read ahead is free",
        K + "gate.py",
        "        else:\n            charge = self._charge(measurements)\n",
        "        else:\n            charge = self._charged\n",
        GATE,
    ),
    Mutant(
        "what is foreseen is not checked",
        K + "gate.py",
        "for part in chain(*ahead):\n",
        "for part in ():\n",
        GATE,
    ),
    Mutant(
        "what is kept is there when the allowance is closed",
        K + "gate.py",
        "self._kept.clear()",
        "pass",
        GATE,
    ),
    Mutant(
        "queries whose rows are bounded otherwise are read together",
        K + "sql/queries.py",
        "if other:",
        "if False:",
        BOUNDING,
    ),
    Mutant(
        "rows of other strata are read with a query's",
        K + "sql/queries.py",
        "() if _keeps_all(scopes[query.source], query.strata) else query.strata",
        "()",
        BOUNDING,
    ),
    Mutant(
        "what is foreseen multiplies joint groups without limit",
        K + "sql/queries.py",
        "<= MOST_GROUPS\n",
        "< 1e99\n",
        BOUNDING,
    ),
    Mutant(
        "any bins tell any others",
        K + "sql/cells.py",
        " and {*fewer} < {*edges}",
        "",
        CELLS,
    ),
    Mutant(
        "bins of which some are left out tell others",
        K + "sql/cells.py",
        "fine.has_all_bins and coarse.has_all_bins and ",
        "",
        CELLS,
    ),
    Mutant(
        "bins of another column tell these",
        K + "sql/cells.py",
        "fewer) if x == y:",
        "fewer):",
        CELLS,
    ),
    # --- bins by arithmetic, clipped sums ---
    Mutant(
        "an edge need not be where a root rises",
        K + "terms/operations.py",
        "< math.inf and all(rises)",
        "< math.inf",
        ROOTS,
    ),
    Mutant(
        "a real's edge is compared as a whole number's",
        K + "terms/operations.py",
        "apart = 1 if of is Type.INTEGER else 0",
        "apart = 1",
        ROOTS,
    ),
    Mutant(
        "what is rooted is not clamped",
        K + "sql/expressions.py",
        "if not self._within(expr.arg, expr.start, expr.stop):",
        "if False:",
        ROOTS,
    ),
    Mutant(
        "a sum is not clamped again to its own bounds",
        K + "sql/expressions.py",
        "if self._within(of, lower, upper):",
        "if self.plain(of):",
        SENSITIVITY,
    ),
    Mutant(
        "an interval that reaches further is within",
        K + "sql/expressions.py",
        "low <= ends[0] and ends[1] <= high",
        "low <= ends[0]",
        f"{ROOTS} {SENSITIVITY}",
    ),
    Mutant(
        "rows above the upper end count as they are",
        K + "proof/clipped_sums.py",
        "upper * sum(rows[last:])",
        "parts * sum(steps[last:])",
        CLIPPED,
    ),
    Mutant(
        "an end is taken for another part of a step",
        K + "proof/clipped_sums.py",
        "high.numerator * low.denominator,",
        "high.numerator * high.denominator,",
        CLIPPED,
    ),
    Mutant(
        "a real may be clipped one below an edge",
        K + "proof/clipped_sums.py",
        "if of is Type.INTEGER else -1)",
        "if of else -1)",
        CLIPPED,
    ),
    Mutant(
        "whole numbers are clipped one below any edge",
        K + "proof/clipped_sums.py",
        "above = math.floor(high) + 1",
        "above = high + 1",
        CLIPPED,
    ),
    Mutant(
        "whole numbers are compared exactly wherever they lie",
        K + "proof/clipped_sums.py",
        "rounding = int(abs(low)) >> 52 if of is Type.INTEGER else 0",
        "rounding = 0",
        CLIPPED,
    ),
    Mutant(
        "a clipped sum's counts may be of an earlier read than its sums",
        K + "gate.py",
        "cells = reader.cells(text)",
        "self._cells = cells = {**reader.cells(text), **getattr(self, '_cells', {})}",
        GATE,
    ),
    Mutant(
        "what one answer is made of is read apart",
        K + "sql/queries.py",
        "like.append([parts])",
        "like += [[(part,)] for part in parts]",
        BOUNDING,
    ),
    Mutant(
        "a power tells the sign of zero",
        K + "terms/operations.py",
        "pow({0} + 0e0, {1})",
        "pow({0}, {1})",
        RELATIONS,
    ),
    Mutant(
        "a real end is not rounded as its rows are",
        K + "proof/clipped_sums.py",
        "if of is Type.INTEGER or not -grid",
        "if of or not -grid",
        CLIPPED,
    ),
    Mutant(
        "an end may be no bin's",
        K + "proof/clipped_sums.py",
        "if min(first, last) < 0 or",
        "if",
        CLIPPED,
    ),
    Mutant(
        "bins and sums may be of different intervals",
        K + "checked.py",
        "if not inside or type_ is None or",
        "if type_ is None or",
        CLIPPED,
    ),
    Mutant(
        "a cheap answer is replayed at a higher price",
        K + "ledger/records.py",
        "nano >= ?",
        "nano <= ?",
        LEDGER,
    ),
    Mutant(
        "what is fresh is not charged",
        K + "gate.py",
        "if joint.nano > self._limit.nano:",
        "if False:",
        GATE,
    ),
    Mutant("a closed allowance answers", K + "gate.py", "if self._closed:", "if False:", GATE),
    Mutant(
        "a stale plan is run",
        K + "gate.py",
        "if contracts != {**self.contract.others, self.contract.table.lower(): self.contract}:",
        "if not contracts:",
        GATE,
    ),
    Mutant("declarations do not make a snapshot", K + "vault.py", ":{last}", "", GATE),
    Mutant(
        "the write-ahead log is no content",
        K + "rows_in_files.py",
        "if log.exists():",
        "if False:",
        READER,
    ),
    # --- what is said ---
    Mutant(
        "the engine's words leave",
        K + "reader.py",
        "with suppress(Exception):",
        "with suppress(MemoryError):",
        GATE,
    ),
    Mutant(
        "the engine's settings can be changed",
        K + "engine.py",
        "; SET lock_configuration = true",
        "",
        READER,
    ),
    Mutant(
        "the engine reads other files",
        K + "engine.py",
        "SET enable_external_access = false; ",
        "",
        READER,
    ),
    Mutant(
        "a selection is not checked for totality",
        K + "gate.py",
        "            check_expressions(query, self._scope(",
        "            str((",
        GATE,
    ),
    Mutant(
        "integers are added as integers",
        K + "terms/operations.py",
        'reads: str = "double"',
        'reads: str = "value"',
        f"{ORACLES} {RENDER}",
    ),
    Mutant(
        "a moment is told in the engine's zone",
        K + "sql/dialect.py",
        '"make_timestamp(epoch_us({0}))"',
        '"CAST({0} AS TIMESTAMP)"',
        RENDER,
    ),
    Mutant(
        "a decimal is cast, which fails on some row",
        K + "terms/operations.py",
        'f"round({{0}}, {d})"',
        'f"CAST(CAST({{0}} AS DECIMAL(38,{d})) AS DOUBLE)"',
        RENDER,
    ),
    Mutant(
        "a decimal keeps the error of its doubles",
        K + "terms/operations.py",
        'f"round({{0}}, {d})"',
        '"{0}"',
        RENDER,
    ),
    Mutant(
        "text is compared with numbers",
        K + "terms/operations.py",
        "if len(kinds) > 1 and kinds != NUMBERS:",
        "if False:",
        f"{RENDER} {ORACLES}",
    ),
    Mutant(
        "a public table with a unit is public",
        K + "terms/contract.py",
        'body["public"] and not owners',
        'body["public"]',
        GATE,
    ),
    Mutant(
        "a clock set back brings a period back",
        K + "ledger/running_sums.py",
        "sums.day = max(sums.day, day)",
        "sums.day = day",
        PERIODS,
    ),
    Mutant(
        "today is the clock's, whatever was charged",
        K + "ledger/records.py",
        "max(sums.day, now().date().isoformat())",
        "now().date().isoformat()",
        PERIODS,
    ),
    Mutant(
        "the total over all periods is that of one",
        K + "ledger/records.py",
        "rest=whole - losses[-1].nano",
        "rest=whole - losses[0].nano",
        PERIODS,
    ),
    Mutant(
        "charges of one kind are told as amounts of another",
        K + "ledger/records.py",
        "if spending.kinds - {row[0]}:",
        "if False:",
        LEDGER,
    ),
    Mutant(
        "a budget goes on after its last day",
        K + "ledger/records.py",
        '0 if "" < budget.until < today else budget.whole or MAX_NANO',
        "budget.whole or MAX_NANO",
        PERIODS,
    ),
    Mutant(
        "a quarter begins with each month",
        K + "terms/budget.py",
        "(day.month - 1) // 3 * 3 + 1",
        "day.month",
        PERIODS,
    ),
    Mutant(
        "the ceiling of everybody binds nobody",
        K + "ledger/records.py",
        ' or ["*"]',
        "",
        "tests/session/test_spending.py",
    ),
    Mutant(
        "all share the ceiling of each",
        K + "ledger/records.py",
        'who if holder == "*" and who else holder',
        "holder",
        "tests/session/test_spending.py",
    ),
    Mutant(
        "a query may read a table that is hidden from who asks",
        K + "terms/contract.py",
        "other is None or (other.hidden and not on_the_way)",
        "other is None",
        GRANTS,
    ),
    Mutant(
        "a plan names a hidden table",
        "sqlpriv/plan/relations/from_clause.py",
        "if contract is None or contract.hidden:",
        "if contract is None:",
        GRANTS,
    ),
    Mutant(
        "weights are read of a hidden table",
        "sqlpriv/session/access/private_tables.py",
        "if table and table.lower() not in self.contracts():",
        "if False:",
        GRANTS,
    ),
    Mutant(
        "a declaration that is no grant keeps seals",
        K + "ledger/records.py",
        'if changes.keys() == {"grants"} else {}',
        "",
        GRANTS,
    ),
    Mutant(
        "a grant ends seals",
        K + "ledger/records.py",
        'last = max(last, body.pop("as_of", number))',
        'last = max(last, number, body.pop("as_of", 0))',
        GRANTS,
    ),
    Mutant(
        "a table that is made anew is for everybody",
        "sqlpriv/session/access/renames.py",
        '"account": body["account"], "grants": body["grants"]}',
        '"account": body["account"]}',
        GRANTS,
    ),
    Mutant(
        "a table under another name has another account",
        K + "terms/contract.py",
        "return self.account or self.table.lower()",
        "return self.table.lower()",
        RENAMES,
    ),
    Mutant(
        "a renamed table is charged by its name",
        K + "gate.py",
        "self.contract.payer,",
        "self.unit.table,",
        RENAMES,
    ),
    # --- Spark's forms ---
    Mutant(
        "Spark's sums are not split",
        SPARK_TEXT,
        '"sum": "(CAST(sum(shiftright(CAST({0} AS BIGINT), 20)) AS DECIMAL(20,0)) * 1048576"\n'
        '    " + sum(CAST({0} AS BIGINT) & 1048575))"',
        '"sum": "sum(CAST({0} AS BIGINT))"',
        SPARK_FORMS,
        slow=True,
    ),
    Mutant(
        "Spark's array_position of what is not listed",
        SPARK_TEXT,
        "nullif(array_position(array({0}), {1}), 0)",
        "array_position(array({0}), {1})",
        SPARK_FORMS,
        slow=True,
    ),
    Mutant(
        "Spark's own floor",
        SPARK_TEXT,
        '"(rint({0}) - CASE WHEN rint({0}) > {0} THEN 1D ELSE 0D END)"',
        '"floor({0})"',
        SPARK_FORMS,
        slow=True,
    ),
    Mutant(
        "Spark's labels stand in quotes",
        SPARK_TEXT,
        'case str() if "\\0" not in value and self.hexed:',
        "case str() if False:",
        SPARK_FORMS,
        slow=True,
    ),
    Mutant(
        "a file that changes while Spark gets ready is paid for",
        K + "reader.py",
        "            if fingerprint(self._vault) != self.fingerprint:\n                raise",
        "            if False:\n                raise",
        "tests/engines/test_killed_servers.py",
        slow=True,
    ),
    # --- what is kept is what would be made anew ---
    Mutant(
        "contracts are kept whatever is declared",
        ACCESS + "kept_contracts.py",
        "kept is not None and kept[0] == state",
        "kept is not None",
        KEPT,
    ),
    Mutant(
        "contracts do not depend on budgets",
        ACCESS + "kept_contracts.py",
        'for table in ("declaration", "budget", "snapshot", "fact")',
        'for table in ("declaration", "snapshot", "fact")',
        KEPT,
    ),
    Mutant(
        "contracts that were read too early are kept",
        ACCESS + "kept_contracts.py",
        "self._kept = state, kernel.contracts()",
        "self._kept = kernel.contracts(), 0\n        self._kept = _state_of(kernel), self._kept[0]",
        KEPT,
    ),
    Mutant(
        "the mark stays where it is",
        K + "ledger/store.py",
        "if mode and self.execute(COUNTED).fetchone()[0] != self._counted:",
        "if False:",
        MARK,
    ),
    Mutant(
        "a mean's rounds are taken for those of other counts",
        "sqlpriv/answer/rounds/adaptive_means.py",
        "return id(request), tuple(r.id for r in released if r.query == counted)",
        "return 0, ()",
        "tests/session/test_lower_price.py",
    ),
    Mutant(
        "a program is kept whatever is declared",
        QUERIES + "kept_programs.py",
        "and kept.contracts is contracts\n",
        "\n",
        KEPT,
    ),
    Mutant(
        "a program is kept whatever is set",
        QUERIES + "kept_programs.py",
        "and kept.circumstances == circumstances",
        "",
        KEPT,
    ),
    Mutant(
        "a program with a subquery's answer is kept",
        QUERIES + "kept_programs.py",
        "if compiled.program.is_lasting:",
        "if True:",
        KEPT,
    ),
    Mutant(
        "a query in parts is read again at each step to its answer",
        ACCESS + "kept_statements.py",
        "t.Select | cmd.Unanswerable)",
        "t.Select)",
        PLANNED_ONCE,
    ),
    Mutant(
        "a form that was refused is planned again",
        "sqlpriv/dialect/division/divide.py",
        "self._refusals[key, keys_alone] = refusal",
        "pass",
        PLANNED_ONCE,
    ),
    Mutant(
        "a statement that was refused is planned again as a part",
        "sqlpriv/dialect/division/divide.py",
        "if whole is not None:",
        "if False:",
        PLANNED_ONCE,
    ),
    Mutant(
        "a query is planned to see whether it can be, and then planned",
        QUERIES + "private_steps.py",
        "        planned = plan_at_price()\n",
        "        plan_at_price()\n        planned = plan_at_price()\n",
        PLANNED_ONCE,
    ),
    Mutant(
        "an answer is kept whatever is sealed",
        QUERIES + "kept_programs.py",
        "named in self.lookups.hashes for",
        "False for",
        KEPT,
    ),
    Mutant(
        "an answer is kept that was looked up too early",
        QUERIES + "kept_programs.py",
        "return None if kept.is_outdated(ledger) else kept",
        "return kept",
        KEPT,
    ),
    # --- rows that the owner declared closed ---
    Mutant(
        "a replay is cheaper than what is asked",
        K + "vault.py",
        "find_seals(snapshot, named, price)",
        "find_seals(snapshot, named, type(price)(0))",
        f"{GATE} {CLOSED}",
    ),
    Mutant(
        "a question finds another's answer",
        K + "gate.py",
        "self._find(m.query.source, named, m.price) for named, m in named_queries",
        "self._find(m.query.source, named_queries[0][0], m.price) for named, m in named_queries",
        GATE,
    ),
    Mutant(
        "a day is closed with the one before it",
        TIMES,
        "else dt.timedelta(days=1)",
        "else dt.timedelta(0)",
        CLOSED,
    ),
    Mutant(
        "rows of later days are closed",
        TIMES,
        'compared not in ("<", "<=", "=")',
        'compared not in ("<", "<=", "=", ">")',
        CLOSED,
    ),
    Mutant("a list is closed with its first day", TIMES, "return max(\n", "return min(\n", CLOSED),
    Mutant(
        "any time column is the window's",
        TIMES,
        "if name.lower() != column or compared",
        "if compared",
        CLOSED,
    ),
    Mutant(
        "a join is closed with its left side",
        TIMES,
        "parts = (left, right)",
        "parts = (left,)",
        CLOSED,
    ),
    Mutant(
        "answers of before the rows were closed serve",
        ACCESS + "closed_rows.py",
        "first = max(first, days[at][0])",
        "pass",
        CLOSED,
    ),
    Mutant(
        "answers of other declarations serve",
        ACCESS + "closed_rows.py",
        "first = max((self.since.get(table, 0) for table in tables), default=0)",
        "first = 0",
        CLOSED,
    ),
    Mutant(
        "a unit that is declared otherwise is the same",
        ACCESS + "closed_rows.py",
        "history.states_closed(ends, _with_ways(ends, contract))",
        "history.states_closed(ends, ends)",
        CLOSED,
    ),
    Mutant(
        "a window that was dropped was always there",
        ACCESS + "closed_rows.py",
        "declared[different[-1] + 1 if different else 0 :]",
        "[x for x, part in zip(declared, lasting_parts) if part == lasting_parts[-1]]",
        CLOSED,
    ),
    Mutant(
        "closed rows are looked at when they are asked about",
        ACCESS + "closed_rows.py",
        "earlier = self.earlier_states(source, contract)",
        "earlier = []",
        f"{CLOSED} {LATE_ROWS}",
    ),
    Mutant(
        "a statement that is cancelled frees its session when it ends",
        "sqlpriv/interfaces/server/running_statements.py",
        "time.sleep(job.hold(taken) - taken)",
        "job.stopped.wait(job.hold(taken) - taken)",
        "tests/interfaces/server/test_running.py",
    ),
    Mutant(
        "closed days are opened again",
        "sqlpriv/session/declarations/windows.py",
        "window.closed_before < before.closed_before",
        "False",
        WINDOWS,
    ),
    Mutant(
        "everybody is told whether closed rows changed",
        "sqlpriv/session/declarations/windows.py",
        "if access.owner else []",
        "",
        WINDOWS,
    ),
    Mutant(
        "today stays today in a session that is open over midnight",
        ACCESS + "kept_statements.py",
        "named, dt.date.today())",
        "named)",
        KEPT,
    ),
    Mutant(
        "rows that ORDER BY sorts are as laid out",
        "sqlpriv/answer/named_outputs.py",
        "not (output.order_by or ",
        "not (",
        NAMED,
    ),
    Mutant(
        "labels of an ENUM are texts",
        "sqlpriv/answer/named_outputs.py",
        "as_laid_out and plain_keys and",
        "as_laid_out and",
        NAMED,
    ),
)


def copied(into: Path) -> Path:
    """A copy of what the tests need; `_udfs` is found inside it, not in an editable install."""
    for folder in ("sqlpriv", "udfs", "tests", "examples"):
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "_udfs")
        shutil.copytree(REPOSITORY / folder, into / folder, ignore=ignored)
    shutil.copy(REPOSITORY / "pyproject.toml", into)
    (into / "sqlpriv" / "_udfs").symlink_to("../udfs")
    return into


def run(copy: Path, tests: str, slow: bool) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "slow" if slow else "not slow",
        *tests.split(),
    ]
    paths = {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SQLPRIV_HYPOTHESIS": "mutants",
    }
    return subprocess.run(
        command, cwd=copy, env={**os.environ, **paths}, capture_output=True, text=True
    )


def attempt(mutant: Mutant, original: Path) -> tuple[Mutant, str, float]:
    """Returns what became of a mutant, and the seconds it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(original, copy, symlinks=True)
        target = copy / mutant.file
        text = target.read_text()
        if text.count(mutant.old) != 1:
            return mutant, f"LOST: its text occurs {text.count(mutant.old)} times", 0.0
        target.write_text(text.replace(mutant.old, mutant.new))
        done = run(copy, mutant.tests, mutant.slow)
    # 1: a test failed. Anything else (a copy that does not even load, say) catches nothing.
    outcome = {0: "SURVIVED", 1: "caught"}.get(
        done.returncode, f"BROKEN: {(done.stdout + done.stderr)[-800:]}"
    )
    if done.returncode == 0 and " passed" not in done.stdout:
        outcome = "UNTRIED: its tests were skipped, as where pyspark or Java is missing"
    return mutant, outcome, time.monotonic() - began


def main(names: list[str]) -> int:
    """Runs the mutants whose description holds one of the names, or all; 0 if all are caught."""
    chosen = [m for m in MUTANTS if not names or any(n in m.what for n in names)]
    with tempfile.TemporaryDirectory() as folder:
        original = copied(Path(folder))
        found = [m for m in chosen if (original / m.file).read_text().count(m.old) == 1]
        print(f"{len(chosen)} mutants, {len(found)} found in the code", flush=True)
        for slow in sorted({m.slow for m in chosen}):
            tests = sorted({t for m in chosen if m.slow is slow for t in m.tests.split()})
            if (done := run(original, " ".join(tests), slow)).returncode:
                print(f"{done.stdout}{done.stderr}\nthe tests fail on the unbroken code")
                return 1
        caught = 0
        with ThreadPoolExecutor(WORKERS) as pool:
            for mutant, outcome, seconds in pool.map(partial(attempt, original=original), chosen):
                print(f"{outcome:<9} {seconds:5.1f} s  {mutant.what} ({mutant.file})", flush=True)
                caught += outcome == "caught"
    print(f"{caught} of {len(chosen)} caught")
    return int(caught < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Our own statements: SHOW PRIVACY, GRANT, PUBLISH, EVALUATE, settings, unit and file tables."""

from __future__ import annotations

from sqlpriv.dialect.reading.alter_actions import check_options, key_or_link, whole_number
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import declarations as decl

_FORMS_OF_FILES = (
    "write FROM PARQUET 'people/*.parquet' or FROM DUCKDB 'people.duckdb', or copy them in:"
    " CREATE TABLE t AS FROM …"
)
_POSTGRESQL = ("POSTGRES", "POSTGRESQL", "PG")
_WRITE_THEM_OUT = (
    "DuckDB's package comes without a reader of PostgreSQL; write the rows out: in psql"
    " \\copy people TO 'people.csv' CSV HEADER; here COPY (FROM read_csv('people.csv',"
    " allow_quoted_nulls = false)) TO 'people.parquet'; CREATE TABLE people FROM PARQUET"
    " 'people.parquet'"
)
"""psql writes an empty text in quotes and NULL without any, which read_csv else takes for one."""
_RIGHTS = "write GRANT SELECT ON t TO 'ada', or REVOKE SELECT ON t FROM 'ada'"


def show(c: TokenCursor) -> cmd.Show:
    """Returns `SHOW PRIVACY TABLES | BUDGET [HISTORY] | RELEASES [DETAILS] | DECLARATIONS |
    WINDOWS`, or `SHOW GRANTS | SYNTHESIZERS`."""
    first = c.peek()
    for what in ("grants", "synthesizers"):
        if c.accept("SHOW", what.upper()):
            c.end()
            return cmd.Show(what, first.pos)
    c.expect("SHOW", "PRIVACY")
    if c.peek().upper not in ("TABLES", "BUDGET", "RELEASES", "DECLARATIONS", "WINDOWS"):
        names = "DECLARATIONS, TABLES, BUDGET, RELEASES or WINDOWS"
        raise c.refuse(f"expected {names}, found {c.peek().shown}")
    what = c.next().upper.lower()
    if (what, c.peek().upper) in (("releases", "DETAILS"), ("budget", "HISTORY")):
        what += f" {c.next().upper.lower()}"
    c.end()
    return cmd.Show(what, first.pos)


def table_info(c: TokenCursor) -> cmd.Describe:
    """Returns `PRAGMA table_info('t')`, as tools write it."""
    first = c.peek()
    c.expect("PRAGMA", "TABLE_INFO", "(")
    token = c.peek()
    table = c.constant() if token.kind is Kind.STRING else c.name("the name of a table")
    c.expect(")")
    c.end()
    return cmd.Describe(str(table), c.since(first), first.pos, as_pragma=True)


def publish(c: TokenCursor) -> cmd.Publish:
    """Returns `PUBLISH [table, …] TO 'target'`."""
    first = c.next()

    def table() -> str:
        return c.name("the name of a released table" + ", or TO" * (c.peek(-1) is first))

    tables = () if c.at("TO") else c.read_list(table)
    c.expect("TO")
    place = c.peek()
    target = c.constant()
    if not isinstance(target, str):
        raise Refused.at(place, "the place to publish to is a text", "as in TO 'bi.duckdb'")
    c.end()
    return cmd.Publish(tables, target, first.pos)


def set_option(c: TokenCursor) -> cmd.SetOption:
    """Returns `SET privacy_… = value` or `RESET privacy_…`."""
    first = c.next()
    if c.peek(1).upper.startswith("PRIVACY_"):
        c.next()  # SESSION, GLOBAL or LOCAL: the setting is the session's in any case.
    name = c.name("the name of a setting").lower()
    value: Value = None
    if first.upper == "SET":
        if not (c.accept("=") or c.accept("TO")):
            raise c.refuse_unexpected("=")
        value = c.value()
    c.end()
    return cmd.SetOption(name, value, first.pos)


# --- CREATE PU TABLE -----------------------------------------------------------------------------


def create_unit_table(c: TokenCursor) -> cmd.CreateUnitTable:
    """Returns `CREATE [OR REPLACE] PU TABLE [IF NOT EXISTS] t (…, PRIVACY_KEY (col), …)` taken
    apart into DuckDB's CREATE TABLE and our declarations.

    Raises:
        Refused: No list of columns, or no privacy key among it.
    """
    first = c.next()
    replaced = c.accept("OR", "REPLACE")
    c.expect("PU", "TABLE")
    opening = c.peek()
    c.accept("IF", "NOT", "EXISTS")
    table = c.table()
    head = f"CREATE {'OR REPLACE ' if replaced else ''}TABLE {c.since(opening)}"
    if not c.at("("):
        raise c.refuse(
            "CREATE PU TABLE lists its columns",
            "for CREATE TABLE … AS, add the key afterwards: ALTER TABLE t "
            "ADD PRIVACY_KEY (c), then ALTER TABLE t SET PU",
        )
    elements = c.in_parentheses(lambda: _element(c))
    columns = [element for element in elements if isinstance(element, str)]
    actions = [element for element in elements if not isinstance(element, str)]
    if sum(isinstance(action, decl.AddPrivacyKey) for action in actions) != 1:
        hint = "put PRIVACY_KEY (column) into the list of columns, once"
        raise Refused.at(first, "CREATE PU TABLE names one privacy key", hint)
    c.end()
    declared = (*actions, decl.SetUnit(True))
    return cmd.CreateUnitTable(table, f"{head} ({', '.join(columns)})", declared, c.since(first))


def _element(c: TokenCursor) -> str | decl.Action:
    """Reads an element of the column list: the text of DuckDB's own, or what ours declares."""
    if c.at("PRIVACY_KEY", "(") or c.at("PRIVACY_LINK", "("):
        return key_or_link(c)
    first, depth = c.peek(), 0
    while depth or not (c.at(",") or c.at(")")):
        if c.peek().kind is Kind.END:
            raise c.refuse_unexpected(")")
        sign = c.next().upper
        depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
    if c.peek() is first:
        raise c.refuse_unexpected("a column")
    return c.since(first)


def create_file_table(c: TokenCursor) -> cmd.CreateFileTable | None:
    """Returns `CREATE TABLE t FROM PARQUET | ICEBERG | DUCKDB …`; None where the table's name is
    not followed by FROM.

    Raises:
        Refused: A form of files that is not read in place.
    """
    first = c.next()
    or_replace = c.accept("OR", "REPLACE")
    if not c.accept("TABLE"):
        return None
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    if not c.at_name():
        return None
    table = c.name("the name of a table")
    if not c.accept("FROM"):
        return None
    form, inside, snapshot = c.next(), "", None
    if form.upper not in ("PARQUET", "ICEBERG", "DUCKDB"):
        hint = _WRITE_THEM_OUT if form.upper in _POSTGRESQL else _FORMS_OF_FILES
        raise Refused.at(form, f"rows are not read in place from {form.shown}", hint)
    paths = c.in_parentheses(c.constant) if c.at("(") else (c.constant(),)
    if not all(isinstance(path, str) and path for path in paths):
        raise Refused.at(form, "files are named by texts", "as in FROM PARQUET 'people/*.parquet'")
    if form.upper == "ICEBERG" and c.accept("SNAPSHOT"):
        snapshot = whole_number(c.constant(), "a snapshot", form)
    if form.upper == "DUCKDB":
        inside = c.table() if c.accept("TABLE") else table
    c.end()
    files = tuple(map(str, paths))
    return cmd.CreateFileTable(
        table, form.upper, files, inside, snapshot, or_replace, if_not_exists, first.pos
    )


def evaluate(c: TokenCursor) -> cmd.Evaluate:
    """Returns `EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY a, b [OPTIONS (…)]`.

    Raises:
        Refused: Another shape, a column twice, or an option that there is not.
    """
    first = c.peek()
    c.expect("EVALUATE", "SYNTHETIC", "TABLE")
    synthetic = c.table()
    c.expect("AGAINST")
    real = c.table()
    if not c.at("STRATIFY"):
        raise Refused.at(
            c.peek(),
            "EVALUATE compares the two tables group by group, and no groups are named",
            f"name their columns: EVALUATE SYNTHETIC TABLE … AGAINST {real} STRATIFY BY sex",
        )
    c.expect("STRATIFY", "BY")
    places = c.read_list(lambda: (c.peek(), c.name("a column of the strata")))
    strata = tuple(column for _, column in places)
    for i, (token, column) in enumerate(places):
        if column.lower() in map(str.lower, strata[:i]):
            raise Refused.at(token, f"{column} is named twice")
    token = c.peek()
    options = c.options() if c.accept("OPTIONS") else ()
    check_options(options, token, ("target", "positive", "held_out", "report"))
    c.end()
    return cmd.Evaluate(synthetic, real, strata, options, c.since(first), first.pos)


def grant_select(c: TokenCursor) -> cmd.GrantSelect:
    """Returns `GRANT SELECT ON t, u | ALL TABLES TO 'ada', PUBLIC`, or `REVOKE SELECT … FROM …`.

    Raises:
        Refused: Another right than SELECT, or one on less than a table.
    """
    first = c.next()
    if not c.accept("SELECT"):
        raise c.refuse(f"{c.peek().shown} is no right here: SELECT is the only one", _RIGHTS)
    if c.at("("):
        raise c.refuse("a right is on whole tables", _RIGHTS)
    c.expect("ON")
    tables: tuple[str, ...] = ()
    if c.accept("ALL", "TABLES"):
        c.accept("IN", "SCHEMA", "MAIN")
    else:
        c.accept("TABLE")
        tables = c.read_list(c.table)
    allowed = first.upper == "GRANT"
    c.expect("TO" if allowed else "FROM")
    principals = c.read_list(lambda: _principal(c))
    if c.at("WITH"):
        raise c.refuse("a right cannot be passed on: owners alone grant", _RIGHTS)
    c.end()
    return cmd.GrantSelect(tables, principals, allowed, first.pos)


def _principal(c: TokenCursor) -> str:
    """Reads `'ada'`, `ada` or PUBLIC, which is returned as `*`."""
    token = c.peek()
    if token.kind is Kind.WORD and c.accept("PUBLIC"):
        return "*"
    name = c.constant() if token.kind is Kind.STRING else c.name("a principal, such as 'ada'")
    if not isinstance(name, str) or not name or name == "*" or name.lower() == "public":
        raise Refused.at(token, "this is no principal", "write 'ada'; for everybody, PUBLIC")
    return name

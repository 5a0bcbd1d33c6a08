"""Our own statements: declarations, SHOW PRIVACY, synthetic tables, session settings."""

from __future__ import annotations

import datetime as dt

from sqlpriv.dialect.constants import refusal
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements.commands import (
    Action,
    AddPrivacyKey,
    AddPrivacyLink,
    AlterPrivacy,
    CreateFileTable,
    CreateUnitTable,
    DeclareFromSchema,
    DeclareMany,
    Describe,
    DropDomain,
    DropPrivacyKey,
    DropPrivacyLink,
    DropSynthetic,
    Evaluate,
    Publish,
    SetBound,
    SetBudget,
    SetDomainBetween,
    SetDomainIn,
    SetDomainReferences,
    SetOption,
    SetPublic,
    SetUnit,
    Show,
)
from sqlpriv.statements.tree import Options


def show(c: TokenCursor) -> Show:
    """Returns `SHOW PRIVACY TABLES | BUDGET [HISTORY] | RELEASES [DETAILS] | DECLARATIONS`, or
    `SHOW SYNTHESIZERS`."""
    first = c.peek()
    if c.accept("SHOW", "SYNTHESIZERS"):
        c.end()
        return Show("synthesizers", first.pos)
    c.expect("SHOW", "PRIVACY")
    if c.peek().upper not in ("TABLES", "BUDGET", "RELEASES", "DECLARATIONS"):
        raise c.refuse_unexpected("DECLARATIONS, TABLES, BUDGET or RELEASES")
    what = c.next().upper.lower()
    if (what, c.peek().upper) in (("releases", "DETAILS"), ("budget", "HISTORY")):
        what += f" {c.next().upper.lower()}"
    c.end()
    return Show(what, first.pos)


def table_info(c: TokenCursor) -> Describe:
    """Returns `PRAGMA table_info('t')`, as tools write it, as DESCRIBE t."""
    first = c.peek()
    c.expect("PRAGMA", "TABLE_INFO", "(")
    token = c.peek()
    table = c.constant() if token.kind is Kind.STRING else c.name("the name of a table")
    c.expect(")")
    c.end()
    return Describe(str(table), c.since(first), first.pos)


def publish(c: TokenCursor) -> Publish:
    """Returns `PUBLISH [table, …] TO 'target'`."""
    first, tables = c.next(), []
    if not c.at("TO"):
        tables.append(c.name("the name of a released table, or TO"))
    while tables and c.accept(","):
        tables.append(c.name("the name of a released table"))
    c.expect("TO")
    place = c.peek()
    target = c.constant()
    if not isinstance(target, str):
        raise refusal(place, "the place to publish to is a text", "as in TO 'bi.duckdb'")
    c.end()
    return Publish(tuple(tables), target, first.pos)


def set_option(c: TokenCursor) -> SetOption:
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
    return SetOption(name, value, first.pos)


def drop_synthetic(c: TokenCursor) -> DropSynthetic:
    """Returns `DROP SYNTHETIC TABLE [IF EXISTS] name`."""
    first = c.peek()
    c.expect("DROP", "SYNTHETIC", "TABLE")
    if_exists = c.accept("IF", "EXISTS")
    name = c.name("the name of a synthetic table")
    c.end()
    return DropSynthetic(name, if_exists, first.pos)


def alter(c: TokenCursor) -> AlterPrivacy | None:
    """Returns `ALTER TABLE t <one of our actions>`; None where the action is not ours."""
    first = c.peek()
    c.expect("ALTER", "TABLE")
    if c.at("IF", "EXISTS") or not c.at_name():
        return None
    table = c.name("the name of a table")
    if c.accept("."):
        if table.lower() != "main":
            return None
        table = c.name("the name of a table")
    action = _action(c)
    if action is None:
        return None
    c.end()
    return AlterPrivacy(table, action, c.since(first), first.pos)


def _action(c: TokenCursor) -> Action | None:
    if c.accept("ADD", "PRIVACY_KEY", "("):
        c.index -= 1
        return AddPrivacyKey(c.column_in_parentheses())
    if c.accept("ADD", "PRIVACY_LINK", "("):
        c.index -= 1
        return _link(c)
    if c.accept("DROP", "PRIVACY_KEY"):
        return DropPrivacyKey()
    if c.accept("DROP", "PRIVACY_LINK"):
        return DropPrivacyLink(c.column_in_parentheses())
    for word, on in (("SET", True), ("UNSET", False)):
        if c.accept(word, "PU"):
            return SetUnit(on)
        if c.accept(word, "PUBLIC"):
            return SetPublic(on)
    if c.accept("SET", "PRIVACY", "FROM", "SCHEMA"):
        return DeclareFromSchema()
    if c.accept("SET", "PRIVACY", "("):
        return _many(c)
    if c.accept("SET", "PRIVACY"):
        return _bound_or_budget(c)
    return _column_action(c) if c.accept("ALTER") else None


def _link(c: TokenCursor) -> AddPrivacyLink:
    column = c.column_in_parentheses()
    c.expect("REFERENCES")
    return AddPrivacyLink(column, c.table(), c.column_in_parentheses())


def _many(c: TokenCursor) -> DeclareMany:
    """Reads what stands in the parentheses of `SET PRIVACY (…)`. A key is protected with it."""
    actions = [_declaration(c)]
    while c.accept(","):
        actions.append(_declaration(c))
    c.expect(")")
    protects = any(isinstance(action, AddPrivacyKey) for action in actions)
    return DeclareMany((*actions, SetUnit(True)) if protects else tuple(actions))


def _declaration(c: TokenCursor) -> Action:
    if c.accept("KEY"):
        return AddPrivacyKey(c.column_in_parentheses())
    if c.accept("LINK"):
        return _link(c)
    if c.accept("PUBLIC"):
        return SetPublic(True)
    if c.accept("COLUMN"):
        return _domain(c, c.name("the name of a column"))
    if c.at("BOUND") or c.at("BUDGET"):
        return _bound_or_budget(c)
    raise c.refuse_unexpected("KEY, LINK, PUBLIC, BOUND, BUDGET or COLUMN")


def _bound_or_budget(c: TokenCursor) -> SetBound | SetBudget:
    token = c.peek()
    if c.accept("BOUND"):
        options = _known_options(c, token, ("rows_per_unit", "groups_per_unit"))
        return SetBound(**{name: _whole(value, name, token) for name, value in options})
    if c.accept("BUDGET"):
        numbers = ("epsilon", "delta", "rho", "keys_delta", "total")
        options = _known_options(c, token, (*numbers, "per", "until"))
        for name, value in options:
            if name in numbers and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise refusal(token, f"{name} is a number")
        return SetBudget(options, _holder(c))
    if c.at("DOMAIN"):
        raise c.refuse("a domain is of a column",
                       "write ALTER TABLE t ALTER COLUMN c SET PRIVACY DOMAIN …")  # fmt: skip
    raise c.refuse_unexpected("(, FROM SCHEMA, BOUND or BUDGET")


def _holder(c: TokenCursor) -> str:
    """Reads `[FOR 'principal']`; '' where it is not there."""
    if not c.accept("FOR"):
        return ""
    token = c.peek()
    name = c.constant()
    if not isinstance(name, str) or not name:
        raise refusal(token, "a ceiling is for a principal", "write … FOR 'team_a'")
    return name


def _whole(value: Value, name: str, token: Token) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal(token, f"{name} is a whole number")
    return value


def _known_options(c: TokenCursor, token: Token, known: tuple[str, ...]) -> Options:
    options = c.options()
    _check_options(options, token, known)
    return options


def _check_options(options: Options, token: Token, known: tuple[str, ...]) -> None:
    for name, _ in options:
        if name not in known:
            raise refusal(token, f"there is no option {name}", f"one of: {', '.join(known)}")


def _column_action(c: TokenCursor) -> Action | None:
    c.accept("COLUMN")
    if not c.at_name():
        return None
    column = c.name("the name of a column")
    if c.accept("DROP", "PRIVACY", "DOMAIN"):
        return DropDomain(column)
    return _domain(c, column) if c.accept("SET", "PRIVACY", "DOMAIN") else None


def _domain(c: TokenCursor, column: str) -> Action:
    if c.accept("IN"):
        return SetDomainIn(column, _values(c), c.accept("NOT", "NULL"))
    if c.accept("BETWEEN"):
        return _between(c, column)
    if c.accept("REFERENCES"):
        return SetDomainReferences(column, c.table(), c.column_in_parentheses())
    raise c.refuse_unexpected("IN (…), BETWEEN (low, high) or REFERENCES table(column)")


def _values(c: TokenCursor) -> tuple[Value, ...]:
    c.expect("(")
    values = [c.constant()]
    while c.accept(","):
        values.append(c.constant())
    c.expect(")")
    return tuple(values)


def _between(c: TokenCursor, column: str) -> SetDomainBetween:
    """Reads `(low, high)` or `low AND high`, then `[OR NULL | NOT NULL]`."""
    inside = c.accept("(")
    lower = _bound(c)
    c.expect("," if inside else "AND")
    upper = _bound(c)
    if inside:
        c.expect(")")
    nullable = c.accept("OR", "NULL")
    return SetDomainBetween(column, lower, upper, nullable, c.accept("NOT", "NULL"))


def _bound(c: TokenCursor) -> Value:
    token = c.peek()
    value = c.constant()
    if isinstance(value, bool) or not isinstance(value, int | float | str | dt.date):
        raise refusal(token, "the end of a privacy domain is a number or a date",
                      "write BETWEEN (0, 100), with OR NULL behind it if NULL counts")  # fmt: skip
    return value


# --- CREATE PU TABLE -----------------------------------------------------------------------------


def create_unit_table(c: TokenCursor) -> CreateUnitTable:
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
        raise c.refuse("CREATE PU TABLE lists its columns",
                       "for CREATE TABLE … AS, add the key afterwards: ALTER TABLE t "
                       "ADD PRIVACY_KEY (c), then ALTER TABLE t SET PU")  # fmt: skip
    c.next()
    columns, actions = _elements(c)
    if sum(isinstance(action, AddPrivacyKey) for action in actions) != 1:
        raise refusal(first, "CREATE PU TABLE names one privacy key",
                      "put PRIVACY_KEY (column) into the list of columns, once")  # fmt: skip
    c.expect(")")
    c.end()
    actions = (*actions, SetUnit(True))
    return CreateUnitTable(table, f"{head} ({', '.join(columns)})", actions, c.since(first))


def _elements(c: TokenCursor) -> tuple[list[str], tuple[Action, ...]]:
    """Reads the elements of the column list: the texts of DuckDB's own, and what ours declare."""
    columns: list[str] = []
    actions: list[Action] = []
    while True:
        if c.accept("PRIVACY_KEY", "("):
            c.index -= 1
            actions.append(AddPrivacyKey(c.column_in_parentheses()))
        elif c.accept("PRIVACY_LINK", "("):
            c.index -= 1
            actions.append(_link(c))
        else:
            columns.append(_column_text(c))
        if not c.accept(","):
            return columns, tuple(actions)


def _column_text(c: TokenCursor) -> str:
    first, depth = c.peek(), 0
    while depth or not (c.at(",") or c.at(")")):
        if c.peek().kind is Kind.END:
            raise c.refuse_unexpected(")")
        sign = c.next().upper
        depth += (sign in ("(", "[", "{")) - (sign in (")", "]", "}"))
    if c.peek() is first:
        raise c.refuse_unexpected("a column")
    return c.since(first)


def create_file_table(c: TokenCursor) -> CreateFileTable | None:
    """Returns `CREATE TABLE t FROM PARQUET | ICEBERG …`; None where FROM does not follow the name.

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
    form, snapshot = c.next(), None
    if form.upper not in ("PARQUET", "ICEBERG"):
        raise refusal(form, f"rows are not read in place from {form.shown}",
                      "write FROM PARQUET 'people/*.parquet', or copy them in: "
                      "CREATE TABLE t AS FROM …")  # fmt: skip
    paths = _values(c) if c.at("(") else (c.constant(),)
    if not all(isinstance(path, str) and path for path in paths):
        raise refusal(form, "files are named by texts", "as in FROM PARQUET 'people/*.parquet'")
    if form.upper == "ICEBERG" and c.accept("SNAPSHOT"):
        snapshot = _whole(c.constant(), "a snapshot", form)
    c.end()
    return CreateFileTable(
        table, form.upper, tuple(map(str, paths)), snapshot, or_replace, if_not_exists, first.pos
    )


def evaluate(c: TokenCursor) -> Evaluate:
    """Returns `EVALUATE SYNTHETIC TABLE s AGAINST t STRATIFY BY a, b [OPTIONS (…)]`.

    Raises:
        Refused: Another shape, a column twice, or an option that there is not.
    """
    first = c.peek()
    c.expect("EVALUATE", "SYNTHETIC", "TABLE")
    synthetic = c.table()
    c.expect("AGAINST")
    real = c.table()
    c.expect("STRATIFY", "BY")
    strata: list[str] = []
    while True:
        token = c.peek()
        column = c.name("a column of the strata")
        if column.lower() in map(str.lower, strata):
            raise refusal(token, f"{column} is named twice")
        strata.append(column)
        if not c.accept(","):
            break
    token = c.peek()
    options = c.options() if c.accept("OPTIONS") else ()
    _check_options(options, token, ("target", "positive", "held_out", "report"))
    c.end()
    return Evaluate(synthetic, real, tuple(strata), options, c.since(first), first.pos)

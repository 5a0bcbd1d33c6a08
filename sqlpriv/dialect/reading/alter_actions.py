"""ALTER TABLE with one of our actions: what an owner declares of a table."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress

from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import declarations as decl
from sqlpriv.statements.tree import Options


def alter(c: TokenCursor) -> cmd.AlterPrivacy | None:
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
    return cmd.AlterPrivacy(table, action, c.since(first), first.pos)


def _action(c: TokenCursor) -> decl.Action | None:
    if c.at("ADD", "PRIVACY_KEY", "(") or c.at("ADD", "PRIVACY_LINK", "("):
        c.next()
        return key_or_link(c)
    if c.accept("DROP", "PRIVACY_KEY"):
        return decl.DropPrivacyKey()
    if c.accept("DROP", "PRIVACY_LINK"):
        return decl.DropPrivacyLink(c.columns_in_parentheses())
    if c.accept("DROP", "PRIVACY", "WINDOW") or c.accept("UNSET", "PRIVACY", "WINDOW"):
        return decl.DropWindow()
    if c.at("UNSET", "PRIVACY"):
        hint = (
            "write SET PRIVACY … with other values, DROP PRIVACY WINDOW, UNSET PU or UNSET PUBLIC"
        )
        raise c.refuse("of what SET PRIVACY declares, a window alone can be unset", hint)
    for word, on in (("SET", True), ("UNSET", False)):
        if c.accept(word, "PU"):
            return decl.SetUnit(on)
        if c.accept(word, "PUBLIC"):
            return decl.SetPublic(on)
    if c.accept("SET", "PRIVACY", "FROM", "SCHEMA"):
        return decl.DeclareFromSchema()
    if c.accept("SET", "PRIVACY", "FROM"):
        if c.peek().kind is not Kind.STRING:
            raise c.refuse_unexpected("SCHEMA or the name of a file, such as 'dictionary.csv'")
        return decl.DeclareFromFile(str(c.constant()))
    if c.accept("SET", "PRIVACY"):
        return _many(c) if c.at("(") else _option_list(c)
    return _column_action(c) if c.accept("ALTER") else None


def key_or_link(c: TokenCursor) -> decl.AddPrivacyKey | decl.AddPrivacyLink:
    """Reads `KEY (a, b)` or `LINK (a, b) REFERENCES t(c, d)`; the word may have PRIVACY_ before
    it."""
    if c.next().upper.endswith("KEY"):
        return decl.AddPrivacyKey(c.columns_in_parentheses())
    columns = c.columns_in_parentheses()
    c.expect("REFERENCES")
    parent = c.table()
    if not c.at("("):
        hint = f"write REFERENCES {parent}(id), with the column that {columns[0]} is equal to"
        raise c.refuse(f"a link names the column of {parent} that it refers to", hint)
    opening, parents = c.peek(), c.columns_in_parentheses()
    if len(columns) != len(parents):
        hint = "write LINK (a, b) REFERENCES t(a, b), with as many columns as the key of t has"
        raise Refused.at(opening, "a link has as many columns as what it refers to", hint)
    further = tuple(zip(columns[1:], parents[1:], strict=True))
    return decl.AddPrivacyLink(columns[0], parent, parents[0], further)


def _many(c: TokenCursor) -> decl.DeclareMany:
    """Reads what stands in the parentheses of `SET PRIVACY (…)`. A key is protected with it."""
    actions = c.in_parentheses(lambda: _declaration(c))
    protects = any(isinstance(action, decl.AddPrivacyKey) for action in actions)
    return decl.DeclareMany((*actions, decl.SetUnit(True)) if protects else actions)


def _declaration(c: TokenCursor) -> decl.Action:
    if c.at("KEY") or c.at("LINK"):
        return key_or_link(c)
    if c.accept("PUBLIC"):
        return decl.SetPublic(True)
    if c.accept("COLUMN"):
        return _domain(c, c.name("the name of a column"))
    if c.at("BOUND") or c.at("BUDGET") or c.at("WINDOW"):
        return _option_list(c)
    raise c.refuse_unexpected("KEY, LINK, PUBLIC, BOUND, BUDGET, WINDOW or COLUMN")


def _option_list(
    c: TokenCursor,
) -> decl.SetBound | decl.SetBoundAuto | decl.SetBudget | decl.SetWindow:
    token = c.peek()
    if c.accept("WINDOW"):
        return _window(c)
    if c.accept("BOUND"):
        options = c.options()
        if ("rows_per_unit", "auto") in options:
            price = tuple(x for x in options if x != ("rows_per_unit", "auto"))
            return decl.SetBoundAuto(_one_price(price, token))
        check_options(options, token, ("rows_per_unit", "groups_per_unit"))
        return decl.SetBound(**{name: whole_number(value, name, token) for name, value in options})
    if c.accept("BUDGET"):
        numbers = ("epsilon", "delta", "rho", "keys_delta", "total")
        options = c.options()
        check_options(options, token, (*numbers, "per", "until"))
        for name, value in options:
            if name in numbers and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise Refused.at(token, f"{name} is a number")
        return decl.SetBudget(options, _holder(c))
    if c.at("DOMAIN"):
        hint = "write ALTER TABLE t ALTER COLUMN c SET PRIVACY DOMAIN …"
        raise c.refuse("a domain is of a column", hint)
    expected = "(, FROM, BOUND, BUDGET or WINDOW"
    if c.peek().upper in ("KEY", "UNIT", "LINK", "PUBLIC", "COLUMN"):
        hint = "a list is in parentheses: SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1))"
        raise c.refuse(f"expected {expected}, found {c.peek().shown}", hint)
    raise c.refuse_unexpected(expected)


def _window(c: TokenCursor) -> decl.SetWindow:
    """Reads `([column,] closed_before = DATE '2026-11-01')`."""
    c.expect("(")
    column = ""
    if not c.at("CLOSED_BEFORE"):
        column = c.name("the time column of the rows")
        c.accept(",")
    hint = "write SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')"
    if not c.accept("CLOSED_BEFORE", "="):
        raise c.refuse("a window says before which day rows are closed", hint)
    token = c.peek()
    day = c.constant()
    with suppress(ValueError):
        day = dt.date.fromisoformat(day) if isinstance(day, str) else day
    if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
        raise Refused.at(token, "rows are closed before a day", hint)
    c.expect(")")
    return decl.SetWindow(column, day)


def _holder(c: TokenCursor) -> str:
    """Reads `[FOR 'principal']`; '' where it is not there."""
    if not c.accept("FOR"):
        return ""
    token = c.peek()
    name = c.constant()
    if not isinstance(name, str) or not name:
        raise Refused.at(token, "a ceiling is for a principal", "write … FOR 'team_a'")
    return name


def whole_number(value: Value, name: str, token: Token) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused.at(token, f"{name} is a whole number")
    return value


def check_options(options: Options, token: Token, known: tuple[str, ...]) -> None:
    for name, _ in options:
        if name not in known:
            raise Refused.at(token, f"there is no option {name}", f"one of: {', '.join(known)}")


def _column_action(c: TokenCursor) -> decl.Action | None:
    c.accept("COLUMN")
    if not c.at_name():
        return None
    column = c.name("the name of a column")
    if c.accept("DROP", "PRIVACY", "DOMAIN"):
        return decl.DropDomain(column)
    return _domain(c, column) if c.accept("SET", "PRIVACY", "DOMAIN") else None


def _domain(c: TokenCursor, column: str) -> decl.Action:
    if c.accept("IN"):
        values = c.in_parentheses(c.constant)
        return decl.SetDomainIn(column, values, c.accept("NOT", "NULL"))
    if c.accept("BETWEEN"):
        return _range_domain(c, column)
    if c.accept("REFERENCES"):
        return decl.SetDomainReferences(column, c.table(), c.column_in_parentheses())
    token = c.peek()
    if c.accept("AUTO"):
        return decl.SetDomainAuto(column, _one_price(c.options(), token))
    raise c.refuse_unexpected(
        "IN (…), BETWEEN (low, high), REFERENCES table(column) or AUTO (epsilon = …)"
    )


def _one_price(options: Options, token: Token) -> Options:
    """Returns the price of a declaration that is measured: `epsilon` or `rho`, one of them."""
    check_options(options, token, ("epsilon", "rho"))
    if len(options) != 1:
        hint = "write epsilon = 0.1"
        raise Refused.at(token, "what is found by noised counts has one price", hint)
    return options


def _range_domain(c: TokenCursor, column: str) -> decl.SetDomainBetween:
    """Reads `(low, high)` or `low AND high`, then `[OR NULL | NOT NULL]`."""
    inside = c.accept("(")
    lower = _bound(c)
    c.expect("," if inside else "AND")
    upper = _bound(c)
    if inside:
        c.expect(")")
    nullable = c.accept("OR", "NULL")
    return decl.SetDomainBetween(column, lower, upper, nullable, c.accept("NOT", "NULL"))


def _bound(c: TokenCursor) -> Value:
    token = c.peek()
    value = c.constant()
    if isinstance(value, bool) or not isinstance(value, int | float | str | dt.date | dt.time):
        hint = "write BETWEEN (0, 100), with OR NULL behind it if NULL counts"
        raise Refused.at(token, "the end of a privacy domain is a number, a date or a time", hint)
    return value
